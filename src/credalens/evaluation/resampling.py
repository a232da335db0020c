"""Bootstrap resamples of risk-coverage curves.

Two schemes draw n rows with replacement:

- `resample_rows` draws the rows, in a kernel, for several scores on the same resamples. A resample
  costs O(n) per score.
- `resample_blocks` draws how many rows of each block of similar scores are in a resample, for one
  score and 0/1 losses. A resample costs O(number of blocks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array
from credalens.evaluation.curve_metrics import curve_metrics
from credalens.evaluation.risk_coverage import (
    CurveSums,
    RiskCoverage,
    binary_oracle,
    largest_loss,
    retained_weight,
    retention_order,
    two_values,
)

#: Rows are grouped into about this many blocks of equal size,
UNIFORM_BLOCKS = 256
#: and at small coverages, where the risk changes fast, a block has at most the share 1/16 of the
#: rows before it.
GEOMETRIC_BLOCKS = 16


@dataclass(frozen=True)
class Resamples:
    """The curves of resamples; arrays have the resamples along the last axis."""

    #: Sums of each score.
    sums: list[CurveSums]
    #: Sums of the order by the losses.
    oracle: CurveSums
    #: 1 minus the mean loss at each retained weight that was asked for, ``(scores, cuts, R)``.
    accuracy: Array
    #: The two values of the losses, see `two_values`.
    values: tuple[float, float] | None
    #: The largest absolute value of a loss.
    largest: float = 1.0

    def metrics(self, score: int = 0) -> dict[str, Array]:
        """Return the metrics of a score by name."""
        return curve_metrics(self.sums[score], self.oracle, self.values, self.largest)


def resample_rows(
    losses: Array,
    weights: Array | None,
    keys: list[list[Array]],
    *,
    cuts: Array,
    max_rejection: float,
    n_resamples: int,
    random_state: Any,
) -> Resamples:
    """Draw resamples of n rows and return their curves for several scores.

    Parameters
    ----------
    losses : array of shape (n,)
    weights : array of shape (n,), or None
        Positive weights, which drawn rows keep.
    keys : list of lists of arrays of shape (n,)
        The sort keys of each score.
    cuts : array of float
        Positive retained weights at which the accuracy is read. With weights, they are scaled by
        the weight of the resample.
    max_rejection : float
        That of the prediction-rejection ratio.
    n_resamples : int
    random_state : int, RandomState, Generator or None
    """
    n, values = len(losses), two_values(losses)
    if n > np.iinfo(np.int32).max:
        _validation.raise_invalid("y", f"has {n} entries", "draw a sample of at most 2**31 - 1")
    ranked = keys if values is not None else [*keys, [losses]]  # the oracle is the last
    total = float(n if weights is None else weights.sum())
    retained = float(retained_weight(total, max_rejection))
    points, index = np.unique([*cuts, retained] if retained else cuts, return_inverse=True)
    base, scale = _base_and_scale(losses, values)
    # The kernel seeds batches of resamples by consecutive numbers.
    rng = np.random.default_rng(_validation.seed(random_state))
    W, D = np.empty((2, n_resamples))
    risk, generalized = np.empty((2, len(ranked), n_resamples))
    cut_loss, cut_risk = np.empty((2, len(ranked), len(points), n_resamples))
    _kernels.resampled_risks(
        *_orders(ranked), np.asarray((losses - base) / scale, np.float64), weights,
        np.asarray(points, np.float64), int(rng.integers(2**63)),
        W, D, risk, generalized, cut_loss, cut_risk, DEFAULT_THREADS,
    )  # fmt: skip
    moved = W / total  # 1 without weights
    kept = retained * moved

    def sums(s: int) -> CurveSums:
        tail = risk[s] - cut_risk[s, index[-1]] if retained else risk[s]
        return CurveSums(
            W,
            scale * D + base * W,
            scale * risk[s] + base * W,
            scale * generalized[s] + base * W * (W + 1) / 2,
            scale * tail + base * (W - kept),
            kept,
        )

    found = [sums(s) for s in range(len(ranked))]
    if values is None:
        oracle = found.pop()
    else:
        n_large = (found[0].loss - values[0] * W) / (values[1] - values[0] or 1.0)
        oracle = binary_oracle(W, n_large, values).sums(kept)
    at = index[: len(cuts)]
    accuracy = 1 - base - scale * cut_loss[: len(keys), at] / (np.reshape(cuts, (-1, 1)) * moved)
    return Resamples(found, oracle, accuracy, values, largest_loss(losses))


def _orders(ranked: list[list[Array]]) -> tuple[Array, Array]:
    """Return the order of each score, and whether a row in this order is the last of its ties."""
    n = len(ranked[0][0])
    order, last = np.empty((len(ranked), n), np.int32), np.ones((len(ranked), n), np.uint8)
    for s, keys in enumerate(ranked):
        order[s], starts = retention_order(keys, "average")
        if starts is not None:
            last[s] = 0
            last[s, np.append(starts[1:], n) - 1] = 1
    return order, last


def _base_and_scale(losses: Array, values: tuple[float, float] | None) -> tuple[float, float]:
    """Return b and s such that the kernel is given the losses ``(l - b) / s``.

    Rows without loss cost least: the more frequent of two values becomes 0, the other one 1.
    """
    if values is None or values[0] == values[1]:
        return 0.0, 1.0
    small, large = values
    if 2 * np.count_nonzero(losses == large) > len(losses):
        return large, small - large
    return small, large - small


def resample_blocks(
    curve: RiskCoverage, *, cuts: Array, max_rejection: float, n_resamples: int, random_state: Any
) -> Resamples:
    """Draw resamples of the rows of a curve with 0/1 losses and unit weights.

    Blocks of equal score are merged with their neighbours into about `UNIFORM_BLOCKS`, if there are
    more. The numbers of errors and of correct rows of each block in a resample have a multinomial
    distribution. Rows of a block are treated as if their scores were equal, which is exact if they
    are; otherwise the number of errors grows linearly within a block of a resample. The number of
    errors of a resample is drawn first, so that it is the same for every score.
    """
    n = int(curve.end_weight[-1])
    errors, rows = _merged(curve)
    rng = np.random.default_rng(_validation.seed(random_state))
    n_errors = rng.binomial(n, errors.sum() / n, n_resamples)
    losses = _multinomial(rng, n_errors, errors)
    drawn = RiskCoverage(losses + _multinomial(rng, n - n_errors, rows - errors), losses)
    retained = retained_weight(float(n), max_rejection)
    oracle = binary_oracle(float(n), n_errors, (0.0, 1.0))
    accuracy = 1 - _losses_at(drawn, cuts) / np.reshape(cuts, (-1, 1))
    return Resamples([drawn.sums(retained)], oracle.sums(retained), accuracy[None], (0.0, 1.0))


def _merged(curve: RiskCoverage) -> tuple[Array, Array]:
    """Return the numbers of errors and of rows of the merged blocks."""
    if len(curve.weight) <= UNIFORM_BLOCKS:
        return curve.loss, curve.weight
    middle = (curve.start_weight + curve.end_weight) / 2
    near = GEOMETRIC_BLOCKS * np.log1p(middle / GEOMETRIC_BLOCKS)
    block = np.floor(near + UNIFORM_BLOCKS * middle / curve.end_weight[-1])
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    return np.add.reduceat(curve.loss, starts), np.add.reduceat(curve.weight, starts)


def _multinomial(rng: np.random.Generator, totals: Array, masses: Array) -> Array:
    """Return the numbers of draws from each block, ``(blocks, resamples)``."""
    counts = np.zeros((len(masses), len(totals)))
    used = np.flatnonzero(masses)
    if len(used):
        counts[used] = rng.multinomial(totals, masses[used] / masses.sum()).T
    return counts


def _losses_at(curves: RiskCoverage, cuts: Array) -> Array:
    """Return the loss of the first units of weight of each resample, ``(cuts, resamples)``."""
    n_resamples = curves.loss.shape[1]
    # One increasing sequence over all resamples, so that one call interpolates in all of them.
    offset = np.arange(n_resamples) * (curves.end_weight[-1, 0] + 1.0)
    start = np.zeros((1, n_resamples))
    weight = (np.concatenate([start, curves.end_weight]) + offset).T.ravel()
    loss = np.concatenate([start, curves.end_loss]).T.ravel()
    at = np.add.outer(offset, cuts)
    return np.asarray(np.interp(at.ravel(), weight, loss).reshape(at.shape).T)
