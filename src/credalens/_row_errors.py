"""The errors for rows that are not distributions."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from credalens._backend import Array
from credalens._errors import format_index, raise_invalid
from credalens._row_kinds import NEAR, distribution_axis, distribution_groups, row_kind

#: What to do about rows that are not distributions, by their kind.
_FIXES = {
    "distributions": "correct or drop this row",
    "rounded below 0": "clip negative rounding, numpy.clip(x, 0, None)",
    "log-probabilities": "these are log-probabilities: pass numpy.exp of them, or use "
    "ConvexHull.from_logits",
    "logits": "these look like logits: use ConvexHull.from_logits",
    "percentages": "these look like percentages: {rescale}",
    "counts": "pass probabilities, not labels or counts; {rescale}",
    "nearly distributions": "{rescale}",
    "several distributions": "each row consists of {groups} distributions: pass {regrouped}",
    "equal sums": "{rescale}",
    "scores": "these are scores in [0, 1] that do not sum to 1, such as sigmoid outputs: pass "
    "softmax outputs",
    "unclear": "pass softmax outputs; for logits use ConvexHull.from_logits; for weights {rescale}",
}


def raise_row(
    array: Array,
    index: tuple[int, ...],
    name: str,
    tolerance: float,
    rescale: str = "",
    integers: bool = False,
) -> NoReturn:
    """Raise the error for the row at `index`, which is known to be invalid."""
    row = array[index]
    kind = row_kind(array.reshape(-1, array.shape[-1]))
    groups, adjacent = distribution_groups(array.reshape(-1, array.shape[-1])) or (1, True)
    sizes = f"{groups}, {array.shape[-1] // groups}"
    regrouped = f"numpy.reshape({name}, (*{name}.shape[:-1], {sizes}))"
    if not adjacent:
        sizes = f"{array.shape[-1] // groups}, {groups}"
        regrouped = f"numpy.reshape({name}, (*{name}.shape[:-1], {sizes})).swapaxes(-1, -2)"
    fix = _FIXES[kind].format(rescale=rescale, groups=groups, regrouped=regrouped)
    axis = distribution_axis(array)
    if axis is not None and tolerance != math.inf:
        sums = f"the sums over axis {axis} are 1"
        fix = f"{sums}: pass numpy.moveaxis({name}, {axis}, -1)"
    for word, bad in (("NaN", np.isnan(row)), ("infinite", np.isinf(row)), ("negative", row < 0)):
        if bad.any():
            y = int(np.argmax(bad))
            at = f"at index {format_index((*index, y))} (zero-based)"
            value = "" if word != "negative" else f": {row[y]:.6g}"
            if word == "NaN":
                fix = "drop or impute these predictions first"
                if name == "members" and np.isnan(row).all():
                    fix += ', or pass ConvexHull(members, missing="allow") if the member is missing'
            elif word == "infinite" or tolerance == math.inf:
                fix = "pass probabilities; for logits use ConvexHull.from_logits"
            raise_invalid(name, f"entry {at} is {word}{value}", fix)
    at = f"row {format_index(index)} (zero-based)" if index else "it"
    total = float(row.sum(dtype=np.float64))
    if tolerance == math.inf:
        raise_invalid(name, f"{at} sums to 0", "a row of zeros cannot be normalised")
    if integers:
        at = f"is not a distribution but integers: {at}"
    if kind == "distributions" and axis is None and abs(total - 1) <= NEAR:
        fix = f"{fix}; {rescale}"
    digits = 10 if row.dtype.itemsize >= 8 else 6
    y = int(np.argmax(row))
    above = f" and its entry {y} is {row[y]:.6g}, above 1" if row[y] > 1 + tolerance else ""
    raise_invalid(name, f"{at} sums to {total:.{digits}g}{above}", fix)
