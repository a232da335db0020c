"""How good a score is: votes, orders and accuracy-rejection curves."""

from credalens.evaluation.rejection import (
    RejectionCurve,
    rejection_curve,
    rejection_order,
)
from credalens.evaluation.vote import majority_vote

__all__ = ["RejectionCurve", "majority_vote", "rejection_curve", "rejection_order"]
