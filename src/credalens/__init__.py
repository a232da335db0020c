"""Total, aleatoric and epistemic uncertainty of credal sets: exact, certified and fast."""

from typing import Any

from credalens.distances import MMD, Kolmogorov, TestFunctions, TotalVariation, Wasserstein
from credalens.evaluation import (
    ActiveLearning,
    MemberDiagnosis,
    OODScores,
    RejectionCurve,
    active_learning_curve,
    diagnose_members,
    majority_vote,
    ood_scores,
    rejection_curve,
    rejection_order,
    trim,
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
    from_probly,
)

__all__ = [
    "MMD",
    "ActiveLearning",
    "BeliefFunction",
    "Contamination",
    "ConvexHull",
    "CredalSet",
    "Interval",
    "Kolmogorov",
    "LowerProbability",
    "MemberDiagnosis",
    "OODScores",
    "ProbabilityIntervals",
    "RejectionCurve",
    "TestFunctions",
    "TotalVariation",
    "TotalVariationBall",
    "Uncertainty",
    "Wasserstein",
    "active_learning_curve",
    "aleatoric_uncertainty",
    "as_credal_set",
    "diagnose_members",
    "epistemic_uncertainty",
    "from_probly",
    "generalized_hartley",
    "imprecision_bound",
    "lower_entropy",
    "majority_vote",
    "maximum_mean_imprecision",
    "ood_scores",
    "quantify",
    "rejection_curve",
    "rejection_order",
    "summarize",
    "total_uncertainty",
    "trim",
    "upper_entropy",
]


def __getattr__(name: str) -> Any:
    # Modules that import heavy libraries are loaded when they are first asked for.
    if name in ("axioms", "plots", "predictors", "report"):
        import importlib

        return importlib.import_module(f"credalens.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("credalens")
    raise AttributeError(f"module 'credalens' has no attribute {name!r}")
