"""Total, aleatoric and epistemic uncertainty of credal sets: exact, certified and fast."""

from credalens import _interrupts as _interrupts  # isort: skip  # before what takes long

from typing import TYPE_CHECKING, Any

from credalens._backend import get_num_threads, limit_threads, set_num_threads
from credalens.decisions import (
    GroupedSetMetrics,
    SetMetrics,
    admissible,
    cost_with_abstention,
    decide,
    decide_multilabel,
    set_metrics,
)
from credalens.distances import MMD, Kolmogorov, TestFunctions, TotalVariation, Wasserstein
from credalens.evaluation import (
    ActiveLearning,
    BootstrapResult,
    GroupedSelectiveMetrics,
    Guarantee,
    MemberDiagnosis,
    OODComparison,
    OODScores,
    Reason,
    RejectionCurve,
    RiskCurve,
    ScoreComparison,
    SelectiveMetrics,
    SelectiveScorer,
    active_learning_curve,
    bootstrap,
    compare_scores,
    diagnose_members,
    guaranteed_threshold,
    kinds,
    majority_vote,
    make_selective_scorer,
    ood_scores,
    reasons,
    rejection_curve,
    rejection_order,
    risk_curve,
    selective_metrics,
    trim,
)
from credalens.measures import (
    Interval,
    Uncertainty,
    aleatoric_uncertainty,
    epistemic_uncertainty,
    expected_entropy,
    generalized_hartley,
    imprecision_bound,
    lower_entropy,
    maximum_mean_imprecision,
    mutual_information,
    predictive_entropy,
    quantify,
    quantify_dirichlet,
    quantify_multilabel,
    summarize,
    total_uncertainty,
    upper_entropy,
    volume,
)
from credalens.sets import (
    BeliefFunction,
    Contamination,
    ConvexHull,
    CredalSet,
    KLBall,
    LowerProbability,
    OrdinalBall,
    Possibility,
    ProbabilityIntervals,
    RealHull,
    TopKHull,
    TotalVariationBall,
    as_credal_set,
    from_probly,
)

if TYPE_CHECKING:
    from credalens import validity as validity

__all__ = [
    "MMD",
    "ActiveLearning",
    "BeliefFunction",
    "BootstrapResult",
    "Contamination",
    "ConvexHull",
    "CredalSet",
    "GroupedSelectiveMetrics",
    "GroupedSetMetrics",
    "Guarantee",
    "Interval",
    "KLBall",
    "Kolmogorov",
    "LowerProbability",
    "MemberDiagnosis",
    "OODComparison",
    "OODScores",
    "OrdinalBall",
    "Possibility",
    "ProbabilityIntervals",
    "RealHull",
    "Reason",
    "RejectionCurve",
    "RiskCurve",
    "ScoreComparison",
    "SelectiveMetrics",
    "SelectiveScorer",
    "SetMetrics",
    "TestFunctions",
    "TopKHull",
    "TotalVariation",
    "TotalVariationBall",
    "Uncertainty",
    "Wasserstein",
    "active_learning_curve",
    "admissible",
    "aleatoric_uncertainty",
    "as_credal_set",
    "bootstrap",
    "compare_scores",
    "cost_with_abstention",
    "decide",
    "decide_multilabel",
    "diagnose_members",
    "epistemic_uncertainty",
    "expected_entropy",
    "from_probly",
    "generalized_hartley",
    "get_num_threads",
    "guaranteed_threshold",
    "imprecision_bound",
    "kinds",
    "limit_threads",
    "lower_entropy",
    "majority_vote",
    "make_selective_scorer",
    "maximum_mean_imprecision",
    "mutual_information",
    "ood_scores",
    "predictive_entropy",
    "quantify",
    "quantify_dirichlet",
    "quantify_multilabel",
    "reasons",
    "rejection_curve",
    "rejection_order",
    "risk_curve",
    "selective_metrics",
    "set_metrics",
    "set_num_threads",
    "summarize",
    "total_uncertainty",
    "trim",
    "upper_entropy",
    "volume",
]


#: Subpackages that are imported on first use; most of them need optional libraries.
_LAZY = (
    "axioms", "datasets", "engine", "explore", "io", "monitor", "plots", "policy", "predictors",
    "report", "validity",
)  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "__version__"})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"credalens.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("credalens")
    raise AttributeError(f"module 'credalens' has no attribute {name!r}")
