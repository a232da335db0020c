"""What a family of measures says of a batch of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Total, aleatoric and epistemic uncertainty of a batch of credal sets.

    `aleatoric` is an `Interval` for distances, an array otherwise. `error` is the certified error
    of what needed a solver or an estimate: for distances the duality gap of the aleatoric ends, for
    entropy that of the upper entropy, for Hartley that gap plus the standard error of the
    generalized Hartley measure if it was sampled.
    """

    total: Any
    aleatoric: Any
    epistemic: Any
    error: Any
