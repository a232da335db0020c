"""Metrics of selective prediction from sums over a risk-coverage curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credalens.evaluation.risk_coverage import CurveSums

#: The metrics by name, and whether a larger value is better.
METRICS: Mapping[str, bool] = {
    "aurc": False,
    "eaurc": False,
    "auarc": True,
    "augrc": False,
    "eaugrc": False,
    "prr": True,
    "auroc": True,
}


def curve_metrics(
    found: CurveSums, oracle: CurveSums, values: tuple[float, float] | None, largest: float
) -> dict[str, Any]:
    """Return the metrics by name; undefined ones are NaN.

    Parameters
    ----------
    found, oracle : CurveSums
        Sums over the curve of a score, and over that of the losses as the score; numbers, or arrays
        over resamples.
    values : pair of float, or None
        The two values of the losses, see `two_values`.
    largest : float
        The largest absolute value of a loss.
    """
    W, risk = found.weight, found.loss / found.weight
    aurc, augrc = found.risk / W, found.generalized / W**2
    n_tail = W - found.retained
    tail = n_tail * risk
    return {
        "aurc": aurc,
        # Not negative, but for rounding: no order is better than that of the oracle.
        "eaurc": np.maximum(found.risk - oracle.risk, 0) / W,
        "auarc": 1 - aurc,
        "augrc": augrc,
        "eaugrc": np.maximum(found.generalized - oracle.generalized, 0) / W**2,
        "prr": _ratio(
            tail - found.tail_risk, tail - oracle.tail_risk, 1e-14 * (n_tail + 1) * largest
        ),
        "auroc": np.full(np.shape(W), np.nan) if values is None else _auroc(found, values),
    }


def _auroc(found: CurveSums, values: tuple[float, float]) -> Any:
    """Return the probability that a row with the larger loss has the larger score.

    In pairs of such a row and a row with the smaller loss, the first is retained before the second
    in as many pairs, ties counted half, as the sum of the losses D_k exceeds its minimum.
    """
    small, large = values
    W = found.weight
    scale = large - small or np.nan
    n_large = (found.loss - small * W) / scale
    excess = (found.generalized - small * W * (W + 1) / 2) / scale - n_large * (n_large + 1) / 2
    return 1 - _ratio(excess, n_large * (W - n_large), 0)


def _ratio(numerator: Any, denominator: Any, zero: Any) -> Any:
    """Return a ratio, NaN if the denominator is at most `zero`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > zero, numerator / denominator, np.nan)
