"""The rule that names a spoiler, and the words for what each member does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from credalens.evaluation.diagnosis import MemberDiagnosis

#: A member that decides total uncertainty on this share of the instances may be a spoiler.
DOMINANT = 0.5
#: Below this number of instances only constant members are looked for.
ENOUGH = 30
#: What happens by chance more often than this is held against no member.
BY_CHANCE = 0.05
#: A member with less than this share of the median accuracy is called weak.
WEAK = 0.75
#: A constant member is said to predict a class if it gives it this much.
SURE = 0.99


def find_spoilers(d: MemberDiagnosis) -> list[int]:
    """Return the spoilers by the rule that `diagnose_members` states."""
    matters = (d.total_change < 0) | (d.in_widest_pair > 0)
    blind = d.constant & matters & inputs_differ(d)
    others = d.total_change.sum() - d.total_change
    dominant = (d.decides_total >= DOMINANT) & (d.total_change < others) & labels_differ(d)
    ignorant = d.brier >= 1 - d.frequencies @ d.frequencies  # the score of the frequencies
    return [int(m) for m in np.flatnonzero(blind | (dominant & ignorant))]


def inputs_differ(d: MemberDiagnosis) -> bool:
    """Say whether a constant member stands out: among the others none would be so by chance."""
    varied = ~d.constant
    if d.n_instances < 2 or 2 * varied.sum() < d.n_members:
        return False
    # One is added, so that few inputs are not taken for proof.
    share = (d.repeats[varied] * (d.n_instances - 1) + 1).max() / d.n_instances
    return bool(d.n_members * share ** (d.n_instances - 1) < BY_CHANCE)


def labels_differ(d: MemberDiagnosis) -> bool:
    """Say whether there are members, instances and different labels enough to tell who knows."""
    by_chance = np.sum(d.frequencies**d.n_instances)
    return bool(d.n_members > 2 and d.n_instances >= ENOUGH and by_chance < BY_CHANCE)


def verdict(d: MemberDiagnosis, m: int) -> str:
    """Return one line on member `m`."""
    name = d.names[m]
    if d.n_instances == 0:
        return f"{name}: no instance to judge by"
    if d.n_members == 1:
        return f"{name} is the only member: the set is a single distribution everywhere"
    acts = f"alone sets TU on {percent(d.decides_total[m])} of instances"
    if d.constant[m]:
        harmless = "" if m in d.spoilers else _why_constant_is_spared(d)
        return f"{name} {_constant(d, m)} and {acts}{harmless}"
    if m in d.spoilers:
        against = "labels" if d.accuracy is not None else "vote of the members"
        return (
            f"{name} fits the {against} no better than the class frequencies do and {acts}; "
            f"without it mean TU is {d.mean_total + d.total_change[m]:.2f}, not {d.mean_total:.2f}"
        )
    return f"{name} {'; '.join([*_remarks(d, m), acts])}"


def _constant(d: MemberDiagnosis, m: int) -> str:
    row = d.first_prediction[m]
    top = int(np.argmax(row))
    if row[top] >= SURE:
        return f"predicts class {top} for every input"
    return f"gives every input the same probabilities (most, {row[top]:.2f}, to class {top})"


def _why_constant_is_spared(d: MemberDiagnosis) -> str:
    if not inputs_differ(d):
        return "; the inputs are too few or too much alike to judge it by that"
    return ", which does no harm: it lies within the others"


def _remarks(d: MemberDiagnosis, m: int) -> list[str]:
    remarks = []
    if d.accuracy is not None:
        usual = float(np.median(d.accuracy))
        if d.accuracy[m] < WEAK * usual:
            remarks.append(
                f"is weak (accuracy {percent(d.accuracy[m])}, the median is {percent(usual)})"
            )
    if d.log_likelihood is not None and d.log_likelihood[m] == -np.inf:
        remarks.append("rules out a label that occurred (likelihood 0)")
    return remarks


def percent(share: float) -> str:
    """Write a share so that 100 % means all and 0 % none."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def table(d: MemberDiagnosis) -> str:
    """Return the figures as a table, with the verdicts that say more than the figures do."""
    heads = ["member", "sets TU", "widest", "TU change", "EU change"]
    if d.accuracy is not None:
        heads += ["accuracy", "rel. likelihood"]
    ratio = d.relative_likelihood
    rows = []
    for m, name in enumerate(d.names):
        row = [name, percent(d.decides_total[m]), percent(d.in_widest_pair[m])]
        row += [f"{d.total_change[m]:.4f}", f"{d.epistemic_change[m]:.4f}"]
        if d.accuracy is not None and ratio is not None:
            row += [f"{d.accuracy[m]:.4f}", f"{ratio[m]:.4g}"]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        f"{d.n_members} members, {d.n_instances} instances, mean TU {d.mean_total:.4f}, "
        f"mean EU {d.mean_epistemic:.4f}"
    ]
    for row in (heads, *rows):
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]))
    return "\n".join([*lines, *notes(d)])


def notes(d: MemberDiagnosis) -> list[str]:
    """Return the verdicts of note: spoilers first, then what is constant or weak."""
    if not d.spoilers:
        lines = ["no member spoils the uncertainty"]
    else:
        lines = [f"SPOILER: {d.verdicts[m]}" for m in d.spoilers]
    for m in range(d.n_members):
        if m not in d.spoilers and (d.constant[m] or _remarks(d, m)):
            lines.append(f"note: {d.verdicts[m]}")
    return lines
