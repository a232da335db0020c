"""Total, aleatoric and epistemic uncertainty of credal sets: exact, certified and fast."""

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
    quantify,
    total_uncertainty,
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
    "majority_vote",
    "quantify",
    "rejection_curve",
    "rejection_order",
    "total_uncertainty",
]
