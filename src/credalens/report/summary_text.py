"""The results in sentences."""

from __future__ import annotations

import math

from credalens import _validation
from credalens.evaluation import rejection_order
from credalens.evaluation.kinds import Kind
from credalens.evaluation.review import REVIEWED_SHARE
from credalens.report.data import ReportData

#: Confidence level of the guarantees on the page.
CONFIDENCE = 0.95
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
    return [_keep_sentence(data), _reason_sentence(data), _accuracy_sentence(data)]


def level(value: float) -> str:
    """Return an accuracy or a confidence level in percent."""
    return f"{100 * value:.4g}{SPACE}%"


def _keep_sentence(data: ReportData) -> str:
    """Return what can be kept, or what to review first."""
    review, n = data.review, data.n
    best, limit = review.best, measure(review.threshold)
    first = (
        f"Of {counted(n, 'prediction')}, the {number(review.n_review)} with total uncertainty "
        f"above {limit} ({percent(review.n_review, n)}) are the first to review."
        if review.n_review
        else f"Of {counted(n, 'prediction')}, none has a total uncertainty above {limit}."
    )
    if not review.guarantees:
        return first
    if best is None:
        target = level(review.guarantees[-1].target)
        return (
            f"No part of the {counted(n, 'prediction')} can be kept at an accuracy of {target}: no "
            f"threshold on total uncertainty reaches it with {level(CONFIDENCE)} confidence."
        )
    if review.source != "labels":
        if best.threshold != math.inf:
            return first
        return f"All {counted(n, 'prediction')} can be kept at an accuracy of {level(best.target)}."
    kept = n - review.n_review
    return (
        f"Of {counted(n, 'prediction')}, {number(kept)} ({percent(kept, n)}) can be kept at an "
        f"accuracy of {level(best.target)}: those with total uncertainty up to {limit}."
    )


#: Reasons to review a prediction, by the kinds after the first.
REASONS = (
    "every model finds the input hard",
    "the models disagree",
    "every model finds the input hard, and they disagree",
)


def _reason_sentence(data: ReportData) -> str:
    n_review = data.review.n_review
    if not n_review:
        return "No prediction is more uncertain than the threshold."
    if data.config.n_members == 1:
        return "Epistemic uncertainty, i.e. disagreement, needs several models."
    pairs = zip(REASONS, data.kind_counts[1:], strict=True)
    reasons = [(reason, count) for reason, count in pairs if count]
    if len(reasons) == 1:
        return f"The reason to review {_these(data)}: {reasons[0][0]}."
    listed = "; ".join(f"{reason} ({number(count)})" for reason, count in reasons)
    return f"The reasons to review {_these(data)}: {listed}."


def _these(data: ReportData) -> str:
    n_review = data.review.n_review
    if n_review == 1:
        return "it" if data.review.source != "labels" else "the other one"
    if data.review.source == "labels":
        return f"the other {number(n_review)}"
    # The sentence before is about all predictions.
    whole = data.review.guarantees and (data.review.best is None or data.review.source == "share")
    return f"the {number(n_review)} most uncertain ones" if whole else "them"


def limit_text(data: ReportData) -> str:
    """Return the meaning of the predictions that are not reviewed."""
    return f"total uncertainty is at most {measure(data.review.threshold)}"


def _accuracy_sentence(data: ReportData) -> str:
    if data.correct is None:
        return "There are no labels, so that the accuracy is not known."
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


def advice(data: ReportData, kind: Kind) -> str:
    """Return what to do with the predictions of a kind, given what the labels support."""
    best = data.review.best
    if kind.ambiguous or kind.unknown:
        return kind.advice
    if data.labels is None:
        return "The first predictions to accept; labels are needed to measure their accuracy."
    if best is None or best.threshold is None or data.review.threshold > best.threshold:
        return "Accept them only if this accuracy is enough."
    return (
        f"Keep them: at least {level(best.target)} are correct, with "
        f"{level(CONFIDENCE)} confidence."
    )


def without_text(data: ReportData) -> str:
    """Return the figures without the models that distort the uncertainty."""
    figures = data.without
    if figures is None:
        return ""
    parts = [
        f"mean total uncertainty is {measure(figures.mean_total[1])}, not "
        f"{measure(figures.mean_total[0])}",
        f"the models disagree on {_share(figures.disagree[1])} of the predictions, not on "
        f"{_share(figures.disagree[0])}",
    ]
    if figures.kept is not None and figures.accuracy is not None and figures.target is not None:
        parts += [
            f"the accuracy is {_share(figures.accuracy[1])}, not {_share(figures.accuracy[0])}",
            f"{_share(figures.kept[1])} can be kept at an accuracy of {level(figures.target)}, not "
            f"{_share(figures.kept[0])}",
        ]
    pronoun = "it" if len(data.diagnosis.spoilers) == 1 else "them"
    return f"Without {pronoun} {'; '.join(parts)}."


def _share(value: float) -> str:
    return f"{100 * value:.1f}{SPACE}%"


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
    """Return the rule by which a prediction is reviewed, and how the threshold was chosen."""
    review, rule = data.review, data.rule
    limit = measure(review.threshold)
    how = {
        "given": "as requested",
        "share": "so that the requested share is reviewed, "
        f"at least {level(data.config.review_share or REVIEWED_SHARE)}",
        "labels": "the largest at which the accuracy of the predictions that are kept reaches the "
        f"target with {level(CONFIDENCE)} confidence (exact binomial bounds, corrected for the "
        "search over thresholds and targets)",
    }[review.source]
    return (
        f"The rule: a prediction is reviewed if its total uncertainty is above {limit}, {how}. It "
        "is ambiguous if every distribution in its credal set has a risk of at least half of that "
        f"({measure(rule.aleatoric)}), and the models disagree if two of them are as far apart "
        f"(epistemic uncertainty at least {measure(rule.epistemic)}). One of the two holds for "
        "every prediction above the threshold, since total uncertainty is at most the smallest "
        "risk plus the largest distance."
    )
