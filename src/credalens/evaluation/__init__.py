"""Evaluation of uncertainty scores and of ensemble members."""

from credalens.evaluation.active import ActiveLearning, active_learning_curve
from credalens.evaluation.bootstrap import BootstrapResult, bootstrap
from credalens.evaluation.compare import ScoreComparison, compare_scores
from credalens.evaluation.diagnosis import MemberDiagnosis, diagnose_members
from credalens.evaluation.guarantee import Guarantee, guaranteed_threshold
from credalens.evaluation.kinds import kinds
from credalens.evaluation.likelihood import trim
from credalens.evaluation.ood import OODComparison, OODScores, ood_scores
from credalens.evaluation.reasons import Reason, reasons
from credalens.evaluation.rejection import RejectionCurve, rejection_curve, rejection_order
from credalens.evaluation.risk_curve import RiskCurve, risk_curve
from credalens.evaluation.scorer import SelectiveScorer, make_selective_scorer
from credalens.evaluation.selective import (
    GroupedSelectiveMetrics,
    SelectiveMetrics,
    selective_metrics,
)
from credalens.evaluation.vote import majority_vote

__all__ = [
    "ActiveLearning",
    "BootstrapResult",
    "GroupedSelectiveMetrics",
    "Guarantee",
    "MemberDiagnosis",
    "OODComparison",
    "OODScores",
    "Reason",
    "RejectionCurve",
    "RiskCurve",
    "ScoreComparison",
    "SelectiveMetrics",
    "SelectiveScorer",
    "active_learning_curve",
    "bootstrap",
    "compare_scores",
    "diagnose_members",
    "guaranteed_threshold",
    "kinds",
    "majority_vote",
    "make_selective_scorer",
    "ood_scores",
    "reasons",
    "rejection_curve",
    "rejection_order",
    "risk_curve",
    "selective_metrics",
    "trim",
]
