"""Risk-coverage curves with exact expectations over tied scores, and sums over them.

Instances are retained in order of increasing uncertainty. Instances of equal score form a block; in
random order within a block of weight T and loss S, the first j units have an expected loss of
``j S / T``. With C and D the weight and the loss before the block, the risks ``r_k = D_k / k`` of
the block sum to ``S + (D - C S / T) (H(C + T) - H(C))`` with the harmonic numbers H, which digamma
continues to real weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array

#: How equal scores are ordered.
TIES = ("average", "first")
#: From here on the asymptotic series of the harmonic numbers is exact to rounding.
_ASYMPTOTIC = 24.0


def retention_order(keys: list[Array], ties: str) -> tuple[NDArray[np.intp], Array | None]:
    """Return the order of increasing uncertainty, and the first position of each block.

    The positions are None if every instance is a block: for ``ties="first"``, where of equal scores
    the last in the original order is retained first, and for distinct scores.
    """
    if ties == "first":
        return np.lexsort([-key for key in reversed(keys)])[::-1], None
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
    new = np.zeros(len(order), bool)
    new[:1] = True
    for key in keys:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, None if new.all() else np.flatnonzero(new)


def harmonic_difference(start: Any, stop: Any) -> Array:
    """Return ``H(stop) - H(start)`` for the harmonic numbers, continued to real numbers >= 0."""
    start, stop = np.broadcast_arrays(np.asarray(start, float), np.asarray(stop, float))
    x = start + 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.log1p((stop - start) / x) + (_series(stop + 0.5) - _series(x))
    small = start < _ASYMPTOTIC
    if np.any(small):
        from scipy.special import digamma

        result = np.asarray(result)
        result[small] = digamma(stop[small] + 1) - digamma(start[small] + 1)
    return np.asarray(result)


def _series(x: Array) -> Array:
    """Return ``digamma(x + 1/2) - log(x)`` for large x."""
    u = 1 / (x * x)
    return np.asarray(u * (1 / 24 - u * (7 / 960 - u * (31 / 8064 - u * (127 / 30720)))))


def retained_weight(total: Any, max_rejection: float) -> Any:
    """Return the weight that is retained when the share `max_rejection` is rejected.

    If the total weight is a whole number, the rejected weight is rounded down to one.
    """
    if np.ndim(total) == 0 and float(total).is_integer():
        # As a decimal fraction: 0.29 of 100 instances are 29, not 28.
        return int(total) - math.floor(Fraction(str(max_rejection)) * int(total))
    return total * (1 - max_rejection)


@dataclass(frozen=True)
class CurveSums:
    """Sums over the retained weights k = 1 .. W of a curve; arrays over resamples, or numbers."""

    #: The total weight W.
    weight: Any
    #: The total loss.
    loss: Any
    #: The sum of the risks r_k.
    risk: Any
    #: The sum of the losses D_k.
    generalized: Any
    #: The sum of the risks r_k over k > `retained`.
    tail_risk: Any
    #: The smallest retained weight of `tail_risk`.
    retained: Any


class RiskCoverage:
    """Weights and losses of the blocks of a curve, in order of increasing uncertainty.

    Blocks are along the first axis of the arrays; a second axis are resamples. `weight` is None for
    blocks of one instance of weight 1. `steps` are ``H(C + T) - H(C)`` of each block, if known.
    """

    def __init__(self, weight: Array | None, loss: Array, steps: Array | None = None) -> None:
        self._weight, self.loss, self._steps = weight, loss, steps
        self.end_loss = np.cumsum(loss, axis=0)
        if weight is None:
            self.end_weight = np.arange(1.0, len(loss) + 1)
        else:
            self.end_weight = np.cumsum(weight, axis=0)

    @classmethod
    def from_instances(
        cls, loss: Array, weight: Array | None, order: Array, starts: Array | None
    ) -> RiskCoverage:
        """Return the curve of instances in the order and blocks of `retention_order`.

        Weights are positive; None stands for unit weights.
        """
        ordered = loss[order].astype(np.float64)
        if weight is not None:
            weight = weight[order]
            ordered *= weight
            if starts is not None:
                ordered, weight = (np.add.reduceat(x, starts) for x in (ordered, weight))
            return cls(weight, ordered)
        if starts is None:
            return cls(None, ordered)
        steps = np.add.reduceat(1 / np.arange(1.0, len(order) + 1), starts)
        weight = np.diff(starts, append=len(order)).astype(np.float64)
        return cls(weight, np.add.reduceat(ordered, starts), steps)

    @cached_property
    def weight(self) -> Array:
        """Weight of each block."""
        return np.ones(len(self.loss)) if self._weight is None else self._weight

    @cached_property
    def start_weight(self) -> Array:
        """Weight before each block."""
        return _shifted(self.end_weight)

    @cached_property
    def start_loss(self) -> Array:
        """Loss before each block."""
        return _shifted(self.end_loss)

    @cached_property
    def mean_loss(self) -> Array:
        """Mean loss of each block, 0 for a block without weight."""
        if self._steps is not None:  # of instances, so that no block is without weight
            return np.asarray(self.loss / self.weight)
        return np.divide(
            self.loss, self.weight, out=np.zeros(self.loss.shape), where=self.weight > 0
        )

    def sums(self, retained: Any = 0) -> CurveSums:
        """Return the sums over the curve; `retained` is that of `CurveSums.tail_risk`."""
        if self._weight is None:
            risks = self.end_loss / self.end_weight
            risk, generalized = risks.sum(), self.end_loss.sum()
            tail = risks[int(retained) :].sum() if retained else risk
        else:
            risk = tail = self._risk_sum()
            if np.any(np.asarray(retained) > 0):
                tail = self._risk_sum(retained)
            generalized = _dot(self.weight, self.start_loss)
            generalized += (_dot(self.weight, self.loss) + self.end_loss[-1]) / 2
        total, loss = self.end_weight[-1], self.end_loss[-1]
        return CurveSums(total, loss, risk, generalized, tail, retained)

    def _risk_sum(self, retained: Any = None) -> Any:
        """Return the sum of the risks, or that over larger weights than `retained`."""
        # In place: at a million blocks, allocating a temporary takes longer than computing it.
        slope = self.start_weight * self.mean_loss
        np.subtract(self.start_loss, slope, out=slope)
        steps = self._steps
        if steps is None:
            steps = harmonic_difference(self.start_weight, self.end_weight)
        if retained is None:
            slope *= steps
            slope += self.loss
            return slope.sum(axis=0)
        begin = np.clip(retained, self.start_weight, self.end_weight)  # of the part of each block
        cut = (begin > self.start_weight) & (begin < self.end_weight)
        steps = np.where(begin < self.end_weight, steps, 0.0)
        steps[cut] = harmonic_difference(begin[cut], self.end_weight[cut])
        return ((self.end_weight - begin) * self.mean_loss + slope * steps).sum(axis=0)

    def loss_at(self, retained: Array) -> Array:
        """Return the expected loss of the first units of weight, for each of several weights."""
        return self._inside(retained, self.start_loss, self.loss)

    def quality_at(self, retained: Array) -> Array:
        """Return 1 minus the mean loss of the first units of weight."""
        start = self.start_weight - self.start_loss
        return self._inside(retained, start, self.weight - self.loss) / retained

    def _inside(self, retained: Array, start: Array, gain: Array) -> Array:
        at = np.minimum(np.searchsorted(self.end_weight, retained), len(self.weight) - 1)
        part = np.minimum(retained - self.start_weight[at], self.weight[at])
        return np.asarray(start[at] + part * gain[at] / self.weight[at])

    def coverage_at(self, risk: float) -> float:
        """Return the largest coverage with at most this risk, 0 if there is none."""
        total = self.end_weight[-1]
        whole = bool((np.floor(self.weight) == self.weight).all())
        within = np.flatnonzero(self.end_loss / self.end_weight <= risk)
        block = int(within[-1]) if len(within) else -1
        best = float(self.end_weight[block]) if block >= 0 else 0.0
        if 0 < block + 1 < len(self.weight):
            # The risk increases within the next block, up to `risk` at this weight.
            start, loss, mean = (
                float(x[block + 1]) for x in (self.start_weight, self.start_loss, self.mean_loss)
            )
            limit = (start * mean - loss) / (mean - risk)
            candidates = [math.floor(limit) + i for i in (-1, 0, 1)] if whole else [limit]
            for k in candidates:
                if best < k and (loss + (k - start) * mean) / k <= risk:
                    best = float(k)
        return best / float(total)


def oracle_curve(
    loss: Array, weight: Array | None, values: tuple[float, float] | None
) -> RiskCoverage:
    """Return the curve of the order by the losses themselves; `values` as in `two_values`."""
    if values is not None:
        total = float(len(loss)) if weight is None else float(weight.sum())
        large = loss == values[1]
        return binary_oracle(
            total, float(np.count_nonzero(large) if weight is None else weight[large].sum()), values
        )
    if weight is None:
        return RiskCoverage(None, np.sort(loss))
    return RiskCoverage.from_instances(loss, weight, np.argsort(loss), None)


def binary_oracle(total: Any, n_large: Any, values: tuple[float, float]) -> RiskCoverage:
    """Return the curve of an order by losses that take two values, from the weights of both."""
    small, large = values
    weight = np.stack(np.broadcast_arrays(total - n_large, n_large)).astype(np.float64)
    scale = np.reshape([small, large], (2,) + (1,) * (weight.ndim - 1))
    return RiskCoverage(weight, weight * scale)


def two_values(loss: Array) -> tuple[float, float] | None:
    """Return the smallest and the largest loss if there are no others, else None."""
    if loss.dtype == np.bool_:
        return 0.0, 1.0
    small, large = float(loss.min()), float(loss.max())
    return (small, large) if ((loss == small) | (loss == large)).all() else None


def largest_loss(loss: Array) -> float:
    """Return the largest absolute value of a loss."""
    return 1.0 if loss.dtype == np.bool_ else float(max(loss.max(), -loss.min()))


def _dot(x: Array, y: Array) -> Any:
    """Return the sum of products over the blocks."""
    return np.einsum("b...,b...->...", x, y)


def _shifted(sums: Array) -> Array:
    """Return the cumulative sums before each block."""
    before = np.empty_like(sums)
    before[0] = 0
    before[1:] = sums[:-1]
    return before
