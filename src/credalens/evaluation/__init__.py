"""How good a score is, what it is good for, and which member spoils it."""

from credalens.evaluation.active import ActiveLearning, active_learning_curve
from credalens.evaluation.diagnosis import MemberDiagnosis, diagnose_members
from credalens.evaluation.ood import OODScores, ood_scores
from credalens.evaluation.rejection import (
    RejectionCurve,
    rejection_curve,
    rejection_order,
)
from credalens.evaluation.trimming import trim
from credalens.evaluation.vote import majority_vote

__all__ = [
    "ActiveLearning",
    "MemberDiagnosis",
    "OODScores",
    "RejectionCurve",
    "active_learning_curve",
    "diagnose_members",
    "majority_vote",
    "ood_scores",
    "rejection_curve",
    "rejection_order",
    "trim",
]
