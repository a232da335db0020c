"""What a repair did and why, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from credalens import _validation

if TYPE_CHECKING:
    from credalens.validity.ensemble_repair import Repair


def member_names(names: Sequence[str] | None, n_members: int) -> tuple[str, ...]:
    """Return validated names of the members, by default "member 0", "member 1", ..."""
    if names is None:
        return tuple(f"member {m}" for m in range(n_members))
    if isinstance(names, str) or len(names) != n_members:
        _validation.raise_invalid(
            "names", f"is {names!r}", f"pass {n_members} names, one per member"
        )
    return tuple(str(name) for name in names)


def repair_report(repair: Repair) -> list[str]:
    """Return the sentences of `Repair.report`: members left out, then what was done to the rest."""
    left_out = np.setdiff1d(np.arange(repair.n_members), repair.kept)
    sentences = [
        f"{repair.names[m]} is left out: its relative likelihood "
        f"{repair.relative_likelihood[m]:.3g} is below alpha = {repair.alpha:.3g}"
        for m in left_out
    ]
    return [*sentences, _about_alpha(repair), *_recalibrations(repair), _about_mean(repair)]


def _about_alpha(repair: Repair) -> str:
    choice = repair.choice
    areas = choice.areas.mean(axis=1)
    kept = _validation.counted(len(repair.kept), "member")
    if len(areas) == 1:
        return f"{kept} kept: there is no smaller set to compare with"
    best = int(areas.argmax())
    start = f"alpha = {choice.alpha:.3g} keeps {kept} of {repair.n_members}: the cross-fitted area"
    text = f"{start} under the accuracy-rejection curve is {areas[choice.chosen]:.4f}"
    if choice.chosen == best:
        return f"{text}, the largest"
    return (
        f"{text}, within one standard error of the largest, {areas[best]:.4f} with "
        f"{_validation.counted(int(choice.n_kept[best]), 'member')}"
    )


def _recalibrations(repair: Repair) -> list[str]:
    calibration = repair.calibration
    if calibration is None:
        return ["members are not recalibrated: method is None"]
    sentences = []
    for m in repair.kept:
        before, after = calibration.log_loss_before[m], calibration.log_loss_after[m]
        change = f"cross-fitted log-loss {before:.4f} -> {after:.4f}"
        if not repair.scaling.recalibrated[m]:
            sentences.append(f"{repair.names[m]} is not recalibrated: {change}")
            continue
        how = calibration.method
        if calibration.temperature is not None:
            how = f"temperature {calibration.temperature[m]:.3g}"
        errors = f"ECE {calibration.ece_before[m]:.4f} -> {calibration.ece_after[m]:.4f}"
        sentences.append(f"{repair.names[m]} is recalibrated ({how}): {change}, {errors}")
    return sentences


def _about_mean(repair: Repair) -> str:
    if repair.common_temperature == 1.0:
        return "no common temperature is applied"
    mean = "underconfident" if repair.common_temperature < 1 else "overconfident"
    return (
        f"a common temperature of {repair.common_temperature:.3g} is applied to all kept members, "
        f"as their mean is {mean}"
    )
