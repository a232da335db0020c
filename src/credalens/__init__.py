"""Total, aleatoric and epistemic uncertainty of credal sets: exact, certified and fast."""

from typing import Any

from credalens.distances import TotalVariation
from credalens.evaluation import (
    RejectionCurve,
    majority_vote,
    rejection_curve,
    rejection_order,
)
from credalens.measures import (
    Interval,
    Uncertainty,
    aleatoric_uncertainty,
    epistemic_uncertainty,
    generalized_hartley,
    lower_entropy,
    quantify,
    total_uncertainty,
    upper_entropy,
)
from credalens.sets import ConvexHull, CredalSet, as_credal_set

__all__ = [
    "ConvexHull",
    "CredalSet",
    "Interval",
    "RejectionCurve",
    "TotalVariation",
    "Uncertainty",
    "aleatoric_uncertainty",
    "as_credal_set",
    "epistemic_uncertainty",
    "generalized_hartley",
    "lower_entropy",
    "majority_vote",
    "quantify",
    "rejection_curve",
    "rejection_order",
    "total_uncertainty",
    "upper_entropy",
]


def __getattr__(name: str) -> Any:
    # Modules that import heavy libraries are loaded when they are first asked for.
    if name in ("axioms", "plots"):
        import importlib

        return importlib.import_module(f"credalens.{name}")
    raise AttributeError(f"module 'credalens' has no attribute {name!r}")
