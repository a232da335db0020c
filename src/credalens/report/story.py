"""What was found, in sentences with the numbers in them."""

from __future__ import annotations

import math

import numpy as np

from credalens import _validation
from credalens.evaluation import rejection_order
from credalens.evaluation.kinds import KINDS
from credalens.report.data import Findings

#: A space that does not break.
SPACE = "\u00a0"


def percent(count: int, total: int) -> str:
    """Return a share in percent that says 0 or 100 only where that is exact.

    Its spaces do not break.

    Examples
    --------
    >>> [percent(count, 10_000).replace(SPACE, " ") for count in (0, 1, 1250, 9_999, 10_000)]
    ['0 %', '< 0.1 %', '12.5 %', '> 99.9 %', '100 %']
    """
    share = 100 * count / total
    if count in (0, total):
        text = f"{share:.0f} %"
    elif share < 0.1:
        text = "< 0.1 %"
    else:
        text = "> 99.9 %" if share > 99.9 else f"{share:.1f} %"
    return text.replace(" ", SPACE)


def number(count: int) -> str:
    """Return a count with its thousands set apart."""
    return f"{count:,}"


def measure(value: float) -> str:
    """Return an uncertainty with three digits.

    Examples
    --------
    >>> measure(0.12345), measure(0.0), measure(1.5e-7), measure(12.3456)
    ('0.123', '0', '0.000', '12.3')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"


def span(lower: float, upper: float) -> str:
    """Return an interval, or one number where its ends read the same.

    Examples
    --------
    >>> span(0.25, 0.5), span(0.25, 0.25)
    ('0.250 to 0.500', '0.250')
    """
    return " to ".join(dict.fromkeys((measure(lower), measure(upper))))


def counts(found: Findings) -> list[int]:
    """Return how many predictions are of each kind."""
    return [int(c) for c in np.bincount(found.kinds, minlength=len(KINDS))]


def sentences(found: Findings) -> list[str]:
    """Return the three sentences at the top of the page."""
    clear, ambiguous, unknown, both = counts(found)
    n, look = found.n, found.n - clear
    first = (
        f"Of {counted(n, 'prediction')}, {number(look)} ({percent(look, n)}) "
        f"{'deserves' if look == 1 else 'deserve'} a second look."
    )
    if found.subject.n_members == 1:
        ambiguous_ones = "It is ambiguous" if look == 1 else "They are ambiguous"
        second = (
            f"{ambiguous_ones if look else 'No input is ambiguous'}; what one model does not know, "
            "only others could show."
        )
    elif look == 1:
        reason = (ambiguous and "the input is ambiguous") or (unknown and "the models disagree")
        second = f"It does because {reason or 'the input is ambiguous and the models disagree'}."
    elif look:
        second = (
            f"Of these, {_some(ambiguous)} because the input is ambiguous, {_some(unknown)} "
            f"because the models disagree, and {_some(both)} for both reasons."
        )
    else:
        second = "No input is ambiguous, and nowhere do the models disagree."
    return [first, second, _third(found, clear)]


def _third(found: Findings, clear: int) -> str:
    if found.correct is None:
        others = "Every prediction" if clear == found.n else f"The other {number(clear)}"
        if clear == 0:
            return "Without labels, how many of them are right is not known."
        one = found.subject.n_members == 1
        return (
            f"{others} may pass: {KINDS[0].told(found.subject.n_members)}"
            f"; how often {'it is' if one else 'they are'}, only labels can tell."
        )
    right = int(found.correct.sum())
    if found.n < 10:
        are = "is" if right == 1 else "are"
        return f"{right} of {found.n} {are} right: too few to reject 10{SPACE}% of them."
    off = found.n // 10
    kept = found.correct[rejection_order(found.main.total)[off:]]
    before, after = percent(right, found.n), percent(int(kept.sum()), len(kept))
    if before == after:
        change = f"leaves the accuracy of the rest at {before}"
    else:
        verb = "raises" if kept.mean() * found.n > right else "lowers"
        change = f"{verb} the accuracy of the rest from {before} to {after}"
    return f"Rejecting the 10{SPACE}% with the largest total uncertainty ({number(off)}) {change}."


def _some(count: int) -> str:
    return number(count) if count else "none"


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless there is one."""
    return _validation.counted(count, noun, number)


def sizes(found: Findings) -> str:
    """Say how many predictions there are, of what, and how many rows were left out."""
    subject, skipped = found.subject, found.n_skipped
    parts = [
        counted(found.n, "prediction"),
        counted(subject.n_members, "model"),
        "1 class" if subject.n_classes == 1 else f"{number(subject.n_classes)} classes",
        "without labels" if found.labels is None else "with labels",
    ]
    return " · ".join([*parts, *([f"{counted(skipped, 'bad row')} left out"] if skipped else [])])


def rule_in_words(found: Findings) -> str:
    """Say what makes a prediction deserve a second look."""
    rule, K = found.rule, found.subject.n_classes
    if found.subject.distance == "tv":
        level = f"{rule.level:g}"
        return (
            f"The rule: an input is ambiguous if the midpoint of its aleatoric interval is at "
            f"least {level}, i.e. the plausible models expect to be wrong on about {level} of such "
            f"inputs; the models disagree if epistemic uncertainty is at least "
            f"{rule.epistemic:g}, i.e. two of them differ by {level} or more in the probability "
            "of some outcome. Either deserves a second look."
        )
    return (
        f"The rule: an input is ambiguous if the midpoint of its aleatoric interval is at least "
        f"{rule.aleatoric:.4g}, and the models disagree if epistemic uncertainty is at least "
        f"{rule.epistemic:.4g}: {rule.level:g} of the largest risk with {K} classes, times "
        f"{K}/{K - 1}, and half of that. Either deserves a second look."
    )
