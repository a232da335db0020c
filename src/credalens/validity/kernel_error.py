"""The squared kernel calibration error of many drawn labels at once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array

#: Rows from which the bandwidth is computed.
BANDWIDTH_ROWS = 1000


def draw_labels(p: Array, n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return labels ``(b, n)`` drawn from the rows of p ``(n, K)``."""
    ends = p.cumsum(axis=1)[:, :-1]
    uniform = rng.random((n_draws, len(p)))
    labels = np.zeros((n_draws, len(p)), np.intp)
    for end in ends.T:
        labels += uniform > end
    return labels


def median_distance(p: Array) -> float:
    """Return the median total variation distance of pairs of rows, 1 if it is 0."""
    from scipy.spatial.distance import pdist

    step = max(1, len(p) // BANDWIDTH_ROWS)
    distances = pdist(p[::step], "cityblock") / 2
    median = float(np.median(distances)) if len(distances) else 0.0
    return median if median > 0 else 1.0


@dataclass(frozen=True, eq=False)
class KernelError:
    """Kernel matrices of the predictions, in blocks, without their diagonals."""

    blocks: tuple[tuple[slice, Any], ...]
    n_pairs: int

    @classmethod
    def from_predictions(cls, p: Array, bandwidth: float, block_size: int) -> KernelError:
        """Compute ``exp(-TV(p_i, p_j) / bandwidth)`` for the pairs of rows in the same block."""
        from scipy.spatial.distance import cdist

        n_blocks = -(-len(p) // block_size)
        ends = np.linspace(0, len(p), n_blocks + 1).astype(int)
        blocks, n_pairs = [], 0
        for start, stop in itertools.pairwise(ends.tolist()):
            kernel = cdist(p[start:stop], p[start:stop], "cityblock")
            np.multiply(kernel, -0.5 / bandwidth, out=kernel)
            np.exp(kernel, out=kernel)
            np.fill_diagonal(kernel, 0.0)
            blocks.append((slice(start, stop), kernel.astype(np.float32)))
            n_pairs += (stop - start) * (stop - start - 1)
        return cls(tuple(blocks), n_pairs)

    def __call__(self, predictions: Array, labels: NDArray[np.intp]) -> Array:
        """Return the unbiased estimates ``(b,)`` for predictions ``(b, n, K)``, labels ``(b, n)``.

        The mean of ``k_ij <e_i - p_i, e_j - p_j>`` over pairs of different rows i and j, where e
        are the indicators of the labels. The predictions are overwritten.
        """
        residuals = np.negative(predictions, out=predictions)
        np.put_along_axis(
            residuals, labels[..., None], 1 + np.take_along_axis(residuals, labels[..., None], 2), 2
        )
        b, n, K = residuals.shape
        # One matrix product for all draws: rows are instances, columns draws and classes.
        columns = np.ascontiguousarray(residuals.transpose(1, 0, 2), np.float32).reshape(n, b * K)
        total = np.zeros(b)
        for rows, kernel in self.blocks:
            own = columns[rows]
            total += (kernel @ own * own).sum(axis=0, dtype=np.float64).reshape(b, K).sum(axis=1)
        return np.asarray(total / max(self.n_pairs, 1))
