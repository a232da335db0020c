"""Total, aleatoric and epistemic uncertainty of credal sets: exact, certified and fast."""

from typing import Any

from credalens.distances import MMD, Kolmogorov, TestFunctions, TotalVariation, Wasserstein
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
    imprecision_bound,
    lower_entropy,
    maximum_mean_imprecision,
    quantify,
    summarize,
    total_uncertainty,
    upper_entropy,
)
from credalens.sets import (
    BeliefFunction,
    Contamination,
    ConvexHull,
    CredalSet,
    LowerProbability,
    ProbabilityIntervals,
    TotalVariationBall,
    as_credal_set,
)

__all__ = [
    "MMD",
    "BeliefFunction",
    "Contamination",
    "ConvexHull",
    "CredalSet",
    "Interval",
    "Kolmogorov",
    "LowerProbability",
    "ProbabilityIntervals",
    "RejectionCurve",
    "TestFunctions",
    "TotalVariation",
    "TotalVariationBall",
    "Uncertainty",
    "Wasserstein",
    "aleatoric_uncertainty",
    "as_credal_set",
    "epistemic_uncertainty",
    "generalized_hartley",
    "imprecision_bound",
    "lower_entropy",
    "majority_vote",
    "maximum_mean_imprecision",
    "quantify",
    "rejection_curve",
    "rejection_order",
    "summarize",
    "total_uncertainty",
    "upper_entropy",
]


def __getattr__(name: str) -> Any:
    # Modules that import heavy libraries are loaded when they are first asked for.
    if name in ("axioms", "plots"):
        import importlib

        return importlib.import_module(f"credalens.{name}")
    raise AttributeError(f"module 'credalens' has no attribute {name!r}")
