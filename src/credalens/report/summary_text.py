"""The results in sentences."""

from __future__ import annotations

import math

from credalens import _validation
from credalens.evaluation import rejection_order
from credalens.evaluation.kinds import KINDS
from credalens.report.data import ReportData

#: A no-break space.
SPACE = "\u00a0"


def percent(count: int, total: int) -> str:
    """Return a share in percent; 0 and 100 only if they are exact. Spaces do not break."""
    share = 100 * count / total
    if count in (0, total):
        text = f"{share:.0f} %"
    elif share < 0.1:
        text = "< 0.1 %"
    else:
        text = "> 99.9 %" if share > 99.9 else f"{share:.1f} %"
    return text.replace(" ", SPACE)


def number(count: int) -> str:
    """Return a count with thousands separators."""
    return f"{count:,}"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless the count is 1."""
    return _validation.counted(count, noun, number)


def measure(value: float) -> str:
    """Return an uncertainty with three digits."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"


def span(lower: float, upper: float) -> str:
    """Return an interval, or one number if both ends are formatted alike."""
    return " to ".join(dict.fromkeys((measure(lower), measure(upper))))


def sentences(data: ReportData) -> list[str]:
    """Return the three sentences at the top of the page."""
    clear, ambiguous, unknown, both = data.kind_counts
    n, review = data.n, data.n - clear
    first = (
        f"Of {counted(n, 'prediction')}, {number(review)} ({percent(review, n)}) "
        "should be reviewed."
    )
    if data.config.n_members == 1:
        subject = "It is ambiguous" if review == 1 else "They are ambiguous"
        second = (
            f"{subject if review else 'No input is ambiguous'}; epistemic uncertainty needs "
            "several models."
        )
    elif review == 1:
        reason = (ambiguous and "the input is ambiguous") or (unknown and "the models disagree")
        second = f"The reason: {reason or 'the input is ambiguous and the models disagree'}."
    elif review:
        counts = [number(count) if count else "none" for count in (ambiguous, unknown, both)]
        second = (
            f"Of these, {counts[0]} because the input is ambiguous, {counts[1]} because the "
            f"models disagree, and {counts[2]} for both reasons."
        )
    else:
        second = "No input is ambiguous, and the models disagree on none."
    return [first, second, _accuracy_sentence(data, clear)]


def _accuracy_sentence(data: ReportData, clear: int) -> str:
    if data.correct is None:
        if clear == 0:
            return "Their accuracy is unknown, since there are no labels."
        subject = "All predictions" if clear == data.n else f"The other {number(clear)}"
        verb = "is" if clear == 1 and clear < data.n else "are"
        return (
            f"{subject} {verb} clear: {KINDS[0].describe(data.config.n_members)}; measuring the "
            "accuracy needs labels."
        )
    n_correct = int(data.correct.sum())
    if data.n < 10:
        verb = "is" if n_correct == 1 else "are"
        return f"{n_correct} of {data.n} {verb} correct; too few to reject 10{SPACE}%."
    rejected = data.n // 10
    kept = data.correct[rejection_order(data.main.total)[rejected:]]
    before, after = percent(n_correct, data.n), percent(int(kept.sum()), len(kept))
    if before == after:
        change = f"does not change the accuracy, {before}"
    else:
        verb = "raises" if kept.mean() * data.n > n_correct else "lowers"
        change = f"{verb} the accuracy from {before} to {after}"
    return (
        f"Rejecting the 10{SPACE}% with the largest total uncertainty ({number(rejected)}) "
        f"{change}."
    )


def sizes(data: ReportData) -> str:
    """Return the numbers of predictions, models, classes and skipped rows."""
    n_classes, skipped = data.config.n_classes, data.n_skipped
    parts = [
        counted(data.n, "prediction"),
        counted(data.config.n_members, "model"),
        "1 class" if n_classes == 1 else f"{number(n_classes)} classes",
        "without labels" if data.labels is None else "with labels",
    ]
    return " · ".join(
        [*parts, *([f"{counted(skipped, 'invalid row')} skipped"] if skipped else [])]
    )


def rule_text(data: ReportData) -> str:
    """Return the rule by which a prediction should be reviewed."""
    rule, K = data.rule, data.config.n_classes
    if data.config.distance == "tv":
        level = f"{rule.level:g}"
        return (
            f"The rule: an input is ambiguous if the midpoint of its aleatoric interval is at "
            f"least {level}, i.e. the plausible models expect an error rate of about {level} on "
            f"such inputs; the models disagree if epistemic uncertainty is at least "
            f"{rule.epistemic:g}, i.e. two of them differ by {level} or more in the probability "
            "of some event. Predictions with either property should be reviewed."
        )
    return (
        f"The rule: an input is ambiguous if the midpoint of its aleatoric interval is at least "
        f"{rule.aleatoric:.4g}, and the models disagree if epistemic uncertainty is at least "
        f"{rule.epistemic:.4g}. The first threshold is {rule.level:g} times the largest risk with "
        f"{K} classes times {K}/{K - 1}, the second is half of it. Predictions with either "
        "property should be reviewed."
    )
