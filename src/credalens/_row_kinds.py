"""What rows of numbers are: distributions, or logits, percentages, counts, a transposed array."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: Largest deviation from 1 of the sums of rows that are used as they are: the rounding of single
#: precision, also after a conversion to double precision. Other rows are divided by their sums.
EXACT = 1e-6
#: Largest deviation that is rounding, and that of bfloat16. The margin admits three decimals:
#: 0.333 + 0.333 + 0.333 differs from 1 by slightly more than 1e-3.
ROUNDING, BFLOAT16_ROUNDING = 1e-3 + EXACT, 1e-2 + EXACT
#: Largest rounding error of a float16 that is close to 0: that of each of many classes adds up.
FLOAT16_UNDERFLOW = 2.0**-25
#: Largest deviation of rows that may be rescaled, such as those rounded to one digit.
NEAR = 0.1 + EXACT
#: A number whose exponential is 0.
LOG_OF_ZERO = -1e4
#: Rows and entries per axis that are inspected.
SAMPLE_ROWS, SAMPLE_LENGTH = 1000, 1000

RowKind = Literal[
    "distributions",
    "rounded below 0",
    "log-probabilities",
    "logits",
    "percentages",
    "counts",
    "nearly distributions",
    "several distributions",
    "equal sums",
    "scores",
    "unclear",
]


def row_kind(rows: NDArray[Any]) -> RowKind:
    """Return what rows ``(r, K)`` of numbers are, from at most `SAMPLE_ROWS` of them.

    Parameters
    ----------
    rows : array of shape (r, K)
        Rows with NaN or infinity are not considered; -inf is taken for the logarithm of 0.

    Returns
    -------
    str
        ``"distributions"`` also if fewer than half of the rows are not. ``"rounded below 0"``: sums
        of 1 within 10 %, and negative entries of at least -0.01. ``"log-probabilities"``: the
        exponentials sum to 1. ``"logits"``: negative entries, or entries above 1 with different
        sums. ``"percentages"``: sums of 100 within 1 %. ``"counts"``: integers. ``"nearly
        distributions"``: sums of 1 within 10 %. ``"several distributions"``: every row consists of
        several, see `distribution_groups`. ``"equal sums"``: several rows with the same sum.
        ``"scores"``: entries in [0, 1] with different sums, such as sigmoid outputs.

    Examples
    --------
    >>> import numpy as np
    >>> row_kind(np.array([[2.5, -1.0], [0.5, 3.0]]))
    'logits'
    >>> row_kind(np.array([[60.0, 40.0], [5.0, 95.0]]))
    'percentages'
    """
    with np.errstate(invalid="ignore", over="ignore"):
        sample = rows[:: max(1, len(rows) // SAMPLE_ROWS)][:SAMPLE_ROWS].astype(np.float64)
        sample[np.isneginf(sample)] = LOG_OF_ZERO
        sample = sample[np.isfinite(sample).all(axis=-1)]
        if not sample.size:
            return "unclear"
        sums = sample.sum(axis=-1)
        deviation = np.abs(sums - 1)
        valid = (sample >= 0).all(axis=-1) & (deviation <= ROUNDING)
        if 2 * valid.sum() > len(sample):
            return "distributions"
        if sample.min() < 0:
            return _kind_of_negative(sample, deviation)
        if (np.abs(sums - 100) <= 1 + EXACT).all():
            return "percentages"
        if len(sample) > 1 and distribution_groups(sample) is not None:
            return "several distributions"
        if (sample == np.rint(sample)).all() and sample.max() > 1:
            return "counts"
        if (deviation <= NEAR).all():
            return "nearly distributions"
        if len(sums) > 1 and sums.min() > 0 and np.ptp(sums) <= ROUNDING * sums.mean():
            return "equal sums"
        if len(sums) == 1:
            return "unclear"
        return "scores" if sample.max() <= 1 else "logits"


def _kind_of_negative(sample: NDArray[Any], deviation: NDArray[Any]) -> RowKind:
    if sample.min() >= -1e-2 and sample.max() <= 1.1 and (deviation <= NEAR).all():
        return "rounded below 0"
    if sample.max() <= EXACT and (np.abs(np.exp(sample).sum(axis=-1) - 1) <= 1e-2).all():
        return "log-probabilities"
    return "logits"


def distribution_groups(rows: NDArray[Any]) -> tuple[int, bool] | None:
    """Return into how many distributions, or percentages, rows ``(r, K)`` can be split.

    Returns
    -------
    tuple of int and bool, or None
        The number of distributions, and whether the classes of each are adjacent, rather than the
        first entries of all distributions, then the second, and so on. ``None`` without a split.

    Examples
    --------
    >>> import numpy as np
    >>> distribution_groups(np.array([[0.5, 0.5, 0.25, 0.75], [0.125, 0.875, 0.0, 1.0]]))
    (2, True)
    """
    rows = rows[:SAMPLE_ROWS]
    total = float(rows[:1].sum(dtype=np.float64))
    if not (rows >= 0).all() or not np.isfinite(total):
        return None
    for scale in (1, 100):
        count = round(total / scale)
        size, rest = divmod(rows.shape[-1], max(count, 1))
        if count > 1 and size > 1 and not rest:
            for adjacent in (True, False):
                shape = (-1, count, size) if adjacent else (-1, size, count)
                sums = rows.reshape(shape).sum(axis=2 if adjacent else 1, dtype=np.float64)
                if (np.abs(sums - scale) <= ROUNDING * scale).all():
                    return count, adjacent
    return None


def distribution_axis(array: NDArray[Any]) -> int | None:
    """Return the axis, other than the last, along which an array consists of distributions.

    ``None`` if there is none, or several. At most `SAMPLE_LENGTH` entries of every other axis are
    inspected.

    Examples
    --------
    >>> import numpy as np
    >>> distribution_axis(np.array([[0.5, 0.1, 0.2], [0.5, 0.9, 0.8]]))
    0
    """
    found = []
    for axis in (i for i in range(array.ndim - 1) if array.shape[i] > 1):
        # Of the axes before the last two, 100 entries suffice.
        limits = [100] * (array.ndim - 2) + [SAMPLE_LENGTH] * 2
        part = array[tuple(slice(None if i == axis else n) for i, n in enumerate(limits))]
        with np.errstate(invalid="ignore", over="ignore"):
            sums = part.sum(axis=axis, dtype=np.float64)
            if part.size and (part >= 0).all() and (np.abs(sums - 1) <= ROUNDING).all():
                found.append(axis)
    return found[0] if len(found) == 1 else None


def divide_inexact_rows(
    array: NDArray[Any], *, overwrite: bool = False
) -> tuple[NDArray[Any], float]:
    """Return a copy with rows divided by sums that are not 1 up to `EXACT`, and the largest error.

    Other rows keep their bits, so that the result for a row does not depend on the others.
    `overwrite` allows to use the memory of the array.
    """
    sums = np.asarray(array.sum(axis=-1, dtype=np.float64))
    deviation = np.abs(sums - 1)
    largest = float(deviation.max(initial=0.0))
    sums[deviation <= EXACT] = 1.0  # dividing by 1 changes no bit
    result = array if overwrite else np.empty(array.shape, array.dtype.newbyteorder("="))
    return np.divide(array, sums[..., None], out=result, casting="same_kind"), largest
