"""The rule that identifies spoilers, and the text of a member diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credalens._backend import Array
from credalens._results import align

if TYPE_CHECKING:
    from credalens.evaluation.diagnosis import MemberDiagnosis

#: Share of the instances on which a spoiler of the second rule decides total uncertainty.
DOMINANT = 0.5
#: Number of instances below which only constant members are reported.
MIN_INSTANCES = 30
#: Probability of an event by chance above which it is no evidence against a member.
CHANCE_LEVEL = 0.05
#: A member whose accuracy is below this share of the median of the others is weak.
WEAK = 0.75
#: Increase of the area under the accuracy-rejection curve that counts as harm of a member.
AUC_GAIN = 0.01
#: A constant member predicts a class if it gives it at least this probability.
CERTAIN = 0.99


def find_spoilers(d: MemberDiagnosis) -> list[int]:
    """Return the spoilers by the rule in `diagnose_members`."""
    matters = (d.total_change < 0) | (d.in_widest_pair > 0)
    constant = d.constant & matters & constancy_is_significant(d)
    judged = labels_vary(d) & (d.n_present >= MIN_INSTANCES)
    found = constant | (is_poor(d) & does_harm(d) & judged)
    return [int(m) for m in np.flatnonzero(found)]


def is_poor(d: MemberDiagnosis) -> Array:
    """Return which members are clearly less accurate than the others, or uninformative."""
    accuracy, others = own_accuracy(d), median_of_others(d)
    variance = accuracy * (1 - accuracy) + others * (1 - others)
    error = np.sqrt(variance / np.maximum(d.n_present, 1))
    weak = (accuracy < WEAK * others) & (others - accuracy > 2 * error)
    # 1 - sum of squares is the Brier score of the class frequencies.
    uninformative = d.brier >= 1 - d.frequencies @ d.frequencies
    return np.asarray(weak | (uninformative & (accuracy < others)))


def does_harm(d: MemberDiagnosis) -> Array:
    """Return which members dominate total uncertainty, or make it rank errors worse."""
    others = d.total_change.sum() - d.total_change
    dominant = (d.decides_total >= DOMINANT) & (d.total_change < others)
    if d.auc_change is None or d.vote_accuracy is None:
        return np.asarray(dominant)
    variance = d.vote_accuracy * (1 - d.vote_accuracy) / max(d.n_instances, 1)
    gain = max(AUC_GAIN, 2 * float(np.sqrt(variance)))  # beyond chance
    return np.asarray((dominant | (d.auc_change >= gain)) & (d.auc_change >= 0))


def own_accuracy(d: MemberDiagnosis) -> Array:
    """Return the accuracies or, without labels, the agreements with the vote of the others."""
    return d.agreement if d.accuracy is None else d.accuracy


def median_of_others(d: MemberDiagnosis) -> Array:
    """Return, for each member, the median accuracy of the other members."""
    accuracy = own_accuracy(d)
    if len(accuracy) < 2:
        return accuracy
    return np.array([np.median(np.delete(accuracy, m)) for m in range(len(accuracy))])


def constancy_is_significant(d: MemberDiagnosis) -> Array:
    """Return which members are unlikely to be constant by chance."""
    varying, n = ~d.constant & (d.n_present > 0), np.maximum(d.n_present, 1)
    if d.n_instances < 2 or 2 * varying.sum() < d.n_members:
        return np.zeros(d.n_members, bool)
    # The first input is included, so that few inputs do not count as proof.
    share = ((d.repeats * (n - 1) + 1) / n)[varying].max()
    return np.asarray((n > 1) & (d.n_members * share ** (n - 1) < CHANCE_LEVEL))


def labels_vary(d: MemberDiagnosis) -> bool:
    """Return whether members, instances and distinct labels suffice to compare Brier scores."""
    by_chance = np.sum(d.frequencies**d.n_instances)
    return bool(d.n_members > 2 and d.n_instances >= MIN_INSTANCES and by_chance < CHANCE_LEVEL)


def verdict(d: MemberDiagnosis, m: int) -> str:
    """Return one sentence on member `m`."""
    name = d.names[m]
    if d.n_instances == 0:
        return f"{name}: no instance to judge by"
    if d.n_members == 1:
        return f"{name} is the only member: the set is a single distribution everywhere"
    if m in d.spoilers:
        return f"{name} {fault(d, m)}" + ("" if d.constant[m] else f"; {without(d, m)}")
    share = f"alone sets TU on {percent(d.decides_total[m])} of instances"
    if d.constant[m]:
        if not constancy_is_significant(d)[m]:
            harmless = "; the inputs are too few or too similar to judge it by that"
        else:
            harmless = ", which does no harm: it lies within the others"
        return f"{name} {_constant(d, m)} and {share}{harmless}"
    return f"{name} {'; '.join([*_remarks(d, m), share])}"


def fault(d: MemberDiagnosis, m: int) -> str:
    """Return what is wrong with a spoiler."""
    what = _constant(d, m) if d.constant[m] else _poor(d, m)
    return f"{what} and alone sets TU on {percent(d.decides_total[m])} of instances"


def _constant(d: MemberDiagnosis, m: int) -> str:
    row = d.first_prediction[m]
    top = int(np.argmax(row))
    if row[top] >= CERTAIN:
        return f"predicts class {top} for every input"
    return f"gives every input the same probabilities (most, {row[top]:.2f}, to class {top})"


def _poor(d: MemberDiagnosis, m: int) -> str:
    accuracy, others = own_accuracy(d)[m], median_of_others(d)[m]
    if accuracy < WEAK * others:
        fits = "is correct" if d.accuracy is not None else "agrees with the vote of the others"
        return (
            f"{fits} on {percent(accuracy)} of instances (median of the others {percent(others)})"
        )
    reference = "labels" if d.accuracy is not None else "vote of the members"
    return f"fits the {reference} no better than the class frequencies do"


def without(d: MemberDiagnosis, m: int) -> str:
    """Return the figures of the ensemble without a member, next to those with it."""
    figures = [f"mean TU is {d.mean_total + d.total_change[m]:.2f}, not {d.mean_total:.2f}"]
    pairs = (("accuracy", d.vote_accuracy, d.accuracy_change), ("AUC", d.auc, d.auc_change))
    for name, value, change in pairs:
        if value is not None and change is not None:
            figures.append(f"{name} {100 * (value + change[m]):.1f} %, not {100 * value:.1f} %")
    return f"without it {', '.join(figures)}"


def _remarks(d: MemberDiagnosis, m: int) -> list[str]:
    remarks = []
    if d.accuracy is not None and d.accuracy[m] < WEAK * (others := median_of_others(d)[m]):
        remarks.append(
            f"is weak (accuracy {percent(d.accuracy[m])}, median of the others {percent(others)})"
        )
    if d.log_likelihood is not None and d.log_likelihood[m] == -np.inf:
        remarks.append("rules out a label that occurred (likelihood 0)")
    return remarks


def percent(share: float) -> str:
    """Format a share so that 100 % means all and 0 % none."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def table(d: MemberDiagnosis) -> str:
    """Return a table of the members, followed by the verdicts of note."""
    columns = {"member": list(d.names), **table_columns(d)}
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    summary = (
        f"{d.n_members} members, {d.n_instances} instances, mean TU {d.mean_total:.4f}, "
        f"mean EU {d.mean_epistemic:.4f}"
    )
    return "\n".join([summary, *align(rows), *notes(d)])


def table_columns(d: MemberDiagnosis) -> dict[str, list[str]]:
    """Return the formatted columns of the table by heading."""
    columns = {
        "sets TU": [percent(x) for x in d.decides_total],
        "widest": [percent(x) for x in d.in_widest_pair],
        "TU change": [f"{x:.4f}" for x in d.total_change],
        "EU change": [f"{x:.4f}" for x in d.epistemic_change],
    }
    ratio = d.relative_likelihood
    if d.accuracy is not None and d.auc_change is not None and ratio is not None:
        columns["accuracy"] = [f"{x:.4f}" for x in d.accuracy]
        columns["AUC change"] = [f"{x:+.4f}" for x in d.auc_change]
        columns["rel. likelihood"] = [f"{x:.4g}" for x in ratio]
    return columns


def notes(d: MemberDiagnosis) -> list[str]:
    """Return the verdicts of note: spoilers first, then constant and weak members."""
    lines = [f"SPOILER: {d.verdicts[m]}" for m in d.spoilers]
    lines += [f"note: {text}" for text in remarks(d)]
    return lines if d.spoilers else ["no member spoils the uncertainty", *lines]


def remarks(d: MemberDiagnosis) -> list[str]:
    """Return the verdicts on constant and weak members that are not spoilers."""
    others = (m for m in range(d.n_members) if m not in d.spoilers)
    return [d.verdicts[m] for m in others if d.constant[m] or _remarks(d, m)]
