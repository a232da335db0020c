"""Policies of every kind, for tests."""

from __future__ import annotations

import numpy as np

import credalens as cl
from credalens.policy import (
    CalibrationData,
    DecisionRule,
    Policy,
    PolicyGuarantee,
    ThresholdRule,
)
from credalens.validity.ensemble_repair import RepairScaling
from credalens.validity.scaling import IsotonicScaling, TemperatureScaling, VectorScaling

M, K = 3, 4
MEMBERS, CLASSES = ("a", "b", "c"), ("cat", "dog", "red fox", "bird")


def members(n: int = 60, seed: int = 0, dtype: type = np.float64) -> np.ndarray:
    """Predictions ``(n, M, K)``."""
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.full(K, 0.4), n)[:, None]
    points = 0.7 * center + 0.3 * rng.dirichlet(np.ones(K), (n, M))
    return (points / points.sum(axis=-1, keepdims=True)).astype(dtype)


def policy(rule=None, **given) -> Policy:
    """A policy for `members`."""
    given = {"n_classes": K, "member_names": MEMBERS, "class_names": CLASSES} | given
    return Policy(rule=ThresholdRule(0.5) if rule is None else rule, **given)


def _knots(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.random(4)), np.sort(rng.random(4)) + 0.01


def repairs() -> dict[str, RepairScaling]:
    """Maps of repairs, by the kind of recalibration."""
    rng = np.random.default_rng(3)
    every, some = np.arange(M), np.array([0, 2])
    used = np.array([True, False, True])
    knots = tuple(tuple(_knots(4 * m + k) for k in range(K)) for m in range(M))
    return {
        "none": RepairScaling(None, np.zeros(M, bool), some, 0.8),
        "temperature": RepairScaling(TemperatureScaling(np.array([0.5, 2.0, 1.3])), used, every),
        "vector": RepairScaling(
            VectorScaling(rng.uniform(0.5, 2, (M, K)), rng.normal(size=(M, K))), used, some, 1.2
        ),
        "isotonic": RepairScaling(IsotonicScaling(knots), used, some),
    }


def policies() -> dict[str, Policy]:
    """Policies of every kind of rule, score and repair, by name."""
    cost = np.array([[0, 1, 5.0], [2, 0, 5], [1, 3, 5], [4, 4, 5]])
    guarantee = PolicyGuarantee("precision", 1, 0.9, 0.95, 0.975, 0.91, 0.95, 120)
    nothing = PolicyGuarantee("sensitivity", 0, 0.9, 0.95, 0.975, np.nan, np.nan, 0)
    data = CalibrationData(60, 40, 39, 37, (("a.npy", "0" * 64), ("-", None)))
    rng = np.random.default_rng(5)
    square = rng.random((K, K))
    found = {
        "threshold": policy(guarantees=(guarantee, nothing), calibration=data),
        "by class": policy(ThresholdRule([0.3, 0.6, np.inf, -np.inf]), class_names=None),
        "entropy": policy(ThresholdRule(1.1), measure="entropy", column="entropy_total"),
        "lower end": policy(ThresholdRule(0.2), column="tv_aleatoric_lower"),
        "ordinal": policy(ThresholdRule(0.9), distance="ordinal", column="ordinal_total"),
        "mmi": policy(ThresholdRule(0.3), measure="mmi", column="mmi"),
        "mmd": policy(distance=cl.MMD(square @ square.T), column="mmd_total"),
        "wasserstein": policy(
            distance=cl.Wasserstein(np.abs(np.subtract.outer(range(K), range(K)))),
            column="wasserstein_total",
        ),
        "labels": policy(DecisionRule(K)),
        "maximal labels": policy(DecisionRule(K, admissible="maximal")),
        "abstain": policy(DecisionRule(K, abstain=0.4)),
        "costs": policy(
            DecisionRule(K, cost, ("treat", "wait", "ask again"), criterion="hurwicz", alpha=0.3)
        ),
        "weights": policy(weights=[1, 0, 2], measure="information", column="information_total"),
        "reading": policy(reading={"temperature": "2.0"}),
    }
    for name, repair in repairs().items():
        found[f"repair {name}"] = policy(repair=repair)
    return found


POLICIES = policies()
