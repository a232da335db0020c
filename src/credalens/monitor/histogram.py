"""Histograms of one column: exact counts of values rounded to nine significant bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels
from credalens._backend import Array

#: Bits of the mantissa of single precision that are kept, in addition to the implicit one.
MANTISSA_BITS = 8
_SHIFT = 23 - MANTISSA_BITS
#: Number of buckets of numbers from 0 to 1, rounded up, and of all numbers.
_UP_TO_ONE, _EVERY = 1 << 15, 1 << (32 - _SHIFT)


def _no_counts() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class Histogram:
    """Counts of the values of a column, rounded to nine significant bits.

    Values are rounded to single precision and then to a multiple of 2**-8 of their power of two, so
    that the relative rounding error is at most 2**-9, about 0.2 %. Short binary fractions such as
    0, 0.25 and 1 are exact. Rounding does not depend on the other values and keeps their order, so
    that the sum of two histograms is, bit for bit, the histogram of all their values.

    Examples
    --------
    >>> histogram = Histogram()
    >>> histogram.add([0.25, 0.5, 0.5, float("nan")])
    >>> values, counts = histogram.table()
    >>> values.tolist(), counts.tolist(), histogram.missing
    ([0.25, 0.5], [1, 2], 1)
    """

    #: Counts by bucket; trailing buckets that are empty may be left out.
    counts: NDArray[np.int64] = field(default_factory=_no_counts)
    #: Number of NaN values.
    missing: int = 0

    def add(self, values: Any) -> None:
        """Add values ``(n,)``."""
        with np.errstate(over="ignore"):  # beyond single precision: infinity
            single = np.ascontiguousarray(values, np.float32)
        if not len(self.counts):
            self.counts = np.zeros(_UP_TO_ONE, np.int64)
        found = _kernels.bucket_counts(single, _SHIFT, self.counts)
        if found < 0:  # a larger or a negative value
            self.counts = np.concatenate(
                [self.counts, np.zeros(_EVERY - len(self.counts), np.int64)]
            )
            found = _kernels.bucket_counts(single, _SHIFT, self.counts)
        self.missing += found

    def __add__(self, other: Histogram) -> Histogram:
        """Return the histogram of the values of both."""
        short, long = sorted((self.counts, other.counts), key=len)
        counts = long.copy()
        counts[: len(short)] += short
        return Histogram(counts, self.missing + other.missing)

    @property
    def total(self) -> int:
        """Number of values without NaN."""
        return int(self.counts.sum())

    def table(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the rounded values that occur, in increasing order, and their counts."""
        buckets = np.flatnonzero(self.counts)
        values = _values(buckets)
        order = np.argsort(values, kind="stable")
        values, counts = values[order], self.counts[buckets][order]
        if len(values) > 1 and (np.diff(values) == 0).any():  # 0 and -0
            values, starts = np.unique(values, return_index=True)
            counts = np.add.reduceat(counts, starts)
        return values, counts

    def as_arrays(self) -> dict[str, Any]:
        """Return the buckets that are not empty, their counts and the number of NaN values."""
        buckets = np.flatnonzero(self.counts)
        return {
            "buckets": buckets.astype(np.int32),
            "counts": self.counts[buckets],
            "missing": np.int64(self.missing),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Histogram:
        """Return the histogram of `as_arrays`."""
        buckets = np.asarray(arrays["buckets"], np.int64)
        counts = np.zeros(int(buckets[-1]) + 1 if len(buckets) else 0, np.int64)
        counts[buckets] = arrays["counts"]
        return cls(counts, int(arrays["missing"]))


def _values(buckets: NDArray[np.int64]) -> Array:
    """Return the values that buckets stand for."""
    return (buckets.astype(np.uint32) << np.uint32(_SHIFT)).view(np.float32).astype(np.float64)


def common_table(
    first: Histogram, second: Histogram
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return the values that occur in one of two histograms, and the counts of each of them."""
    pair = [first.table(), second.table()]
    values = np.union1d(pair[0][0], pair[1][0])
    found = []
    for own, counts in pair:
        every = np.zeros(len(values), np.int64)
        every[np.searchsorted(values, own)] = counts
        found.append(every)
    return values, found[0], found[1]
