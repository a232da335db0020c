"""Sums over bins of probabilities, and the expected calibration error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array

#: Ways to divide [0, 1] into bins.
BINNINGS = ("width", "frequency")


def bin_edges(values: Array, n_bins: int, binning: str) -> Array:
    """Return ``n_bins + 1`` edges: of equal width, or with about equally many of `values`."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if binning == "width":
        return edges
    inner = np.quantile(values, edges[1:-1])
    return np.concatenate([[0.0], inner, [1.0]])


def bin_indices(values: Array, edges: Array) -> NDArray[np.intp]:
    """Return the bin of each value; a value at an edge belongs to the bin above, 1 to the last."""
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.intp)


def bin_sums(index: NDArray[np.intp], n_bins: int, *columns: Array) -> list[Array]:
    """Return the number of values in each bin, and the sum of each column there."""
    counts = np.bincount(index, minlength=n_bins).astype(np.float64)
    return [counts, *(np.bincount(index, column, n_bins) for column in columns)]


def calibration_error(probability: Array, hit: Array, n_bins: int, binning: str) -> float:
    """Return the expected calibration error of the probabilities ``(n,)`` of events.

    The mean over the instances of the absolute difference between the mean probability and the
    relative frequency of the event in their bin.

    Examples
    --------
    >>> import numpy as np
    >>> round(calibration_error(np.array([0.9, 0.8]), np.array([True, False]), 2, "width"), 3)
    0.35
    """
    index = bin_indices(probability, bin_edges(probability, n_bins, binning))
    _, expected, observed = bin_sums(index, n_bins, probability, hit.astype(np.float64))
    return float(np.abs(expected - observed).sum() / len(probability))


def top_label_error(predictions: Array, labels: Array, n_bins: int, binning: str) -> float:
    """Return the expected calibration error of the most probable classes of ``(n, K)``."""
    top = predictions.argmax(axis=1)
    confidence = predictions[np.arange(len(top)), top].astype(np.float64)
    return calibration_error(confidence, top == labels, n_bins, binning)


def classwise_error(predictions: Array, labels: Array, n_bins: int, binning: str) -> float:
    """Return the mean over the classes of the calibration errors of ``(n, K)``."""
    columns = predictions.T.astype(np.float64)
    return float(np.mean([
        calibration_error(column, labels == k, n_bins, binning) for k, column in enumerate(columns)
    ]))  # fmt: skip
