"""Policies: what was decided in an evaluation, in a file that can be applied to new predictions."""

from credalens.policy.application import PolicyResult
from credalens.policy.estimator import PolicyEstimator
from credalens.policy.fitting import fit_policy
from credalens.policy.policy import Policy
from credalens.policy.records import CalibrationData, PolicyGuarantee
from credalens.policy.rules import HAND_OVER, KEEP, DecisionRule, ThresholdRule

__all__ = [
    "HAND_OVER",
    "KEEP",
    "CalibrationData",
    "DecisionRule",
    "Policy",
    "PolicyEstimator",
    "PolicyGuarantee",
    "PolicyResult",
    "ThresholdRule",
    "fit_policy",
]
