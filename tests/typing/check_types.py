"""What users write most, with the types that a type checker must infer; see test_typing.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
from numpy.typing import NDArray

import credalens as cl
from credalens.distances import Distance


class Tensor:
    """Stands for a tensor of PyTorch."""

    requires_grad: bool = False


if TYPE_CHECKING:
    members: NDArray[np.float64] = np.full((3, 2, 4), 0.25)
    Q = cl.ConvexHull(members)
    tensor = Tensor()

    assert_type(Q, cl.ConvexHull)
    assert_type(Q[0], cl.ConvexHull)
    assert_type(Q.to_intervals(), cl.ProbabilityIntervals)
    assert_type(cl.as_credal_set(members), cl.CredalSet)
    real = cl.RealHull.from_normal(members[..., 0], 1.0)
    assert_type(cl.quantify(real), cl.Uncertainty)
    assert_type(cl.total_uncertainty(real), NDArray[Any])
    assert_type(cl.aleatoric_uncertainty(real), cl.Interval)
    assert_type(cl.quantify(members), cl.Uncertainty)
    assert_type(cl.quantify(Q, "entropy", base="e"), cl.Uncertainty)
    assert_type(cl.quantify([[0.5, 0.5], [0.1, 0.9]], cl.TotalVariation()), cl.Uncertainty)
    assert_type(cl.quantify(members, ["tv", "hartley"]), dict[str | Distance, cl.Uncertainty])
    assert_type(cl.quantify(tensor), cl.Uncertainty)
    assert_type(cl.total_uncertainty(members), NDArray[Any])
    assert_type(cl.total_uncertainty(Q, "ordinal"), NDArray[Any])
    assert_type(cl.total_uncertainty(tensor), Tensor)
    assert_type(cl.aleatoric_uncertainty(members), cl.Interval)
    assert_type(cl.aleatoric_uncertainty(tensor), cl.Interval)
    assert_type(cl.aleatoric_uncertainty(members, end="lower"), NDArray[Any])
    assert_type(cl.aleatoric_uncertainty(Q, return_error=True), tuple[cl.Interval, NDArray[Any]])
    assert_type(cl.epistemic_uncertainty(members), NDArray[Any])
    assert_type(cl.epistemic_uncertainty(tensor), Tensor)
    assert_type(cl.upper_entropy(members), NDArray[Any])
    assert_type(cl.lower_entropy(tensor, base=2), Tensor)
    assert_type(cl.generalized_hartley(members), NDArray[Any])
    assert_type(cl.maximum_mean_imprecision(members), NDArray[Any])
    assert_type(cl.mutual_information(members), NDArray[Any])
    assert_type(cl.predictive_entropy(tensor, "e"), Tensor)
    assert_type(cl.volume(Q), NDArray[Any])
    assert_type(cl.quantify_dirichlet(members), cl.Uncertainty)
    assert_type(cl.quantify_multilabel(members, "max"), cl.Uncertainty)
    assert_type(cl.Possibility.from_conformal([0.5], [0.1, 0.9]), cl.Possibility)
    assert_type(cl.imprecision_bound(tensor), Tensor)
    assert_type(cl.majority_vote(members), NDArray[np.intp])
    assert_type(cl.rejection_curve([0, 1, 1], [0, 1, 0], [0.1, 0.2, 0.3]), cl.RejectionCurve)
    assert_type(cl.selective_metrics([0, 1], [0, 1], [0.1, 0.2]), cl.SelectiveMetrics)
    assert_type(cl.selective_metrics([0, 1], [0, 1], [0.1, 0.2]).aurc, float)
    grouped = cl.selective_metrics([0, 1], [0, 1], [0.1, 0.2], groups=["a", "b"])
    assert_type(grouped, cl.GroupedSelectiveMetrics)
    assert_type(grouped["a"], cl.SelectiveMetrics)
    assert_type(cl.decide(members), NDArray[Any])
    assert_type(cl.decide(tensor, rule="hurwicz", alpha=0.3), Tensor)
    assert_type(cl.admissible(Q), NDArray[Any])
    assert_type(cl.admissible(members, return_error=True), tuple[NDArray[Any], NDArray[Any]])
    assert_type(cl.cost_with_abstention(3, 0.2), NDArray[Any])
    assert_type(cl.set_metrics([0], [[True, False]]), cl.SetMetrics)
    assert_type(cl.set_metrics([0], [[True, False]], groups=["a"]), cl.GroupedSetMetrics)
    known = np.full((3, 4), 0.25)
    assert_type(cl.validity.coverage(members, known), cl.validity.Coverage)
    assert_type(cl.validity.coverage(Q, known, [0, 0, 1]), cl.validity.GroupedCoverage)
    assert_type(cl.validity.reliability(members, [0, 1, 2]), cl.validity.Reliability)
    assert_type(cl.validity.calibrate(members, [0, 1, 2]), cl.validity.Calibration)
    assert_type(cl.validity.repair(members, [0, 1, 2]), cl.validity.Repair)
    assert_type(cl.validity.repair(members, [0, 1, 2])(members), NDArray[np.float64])
    assert_type(cl.validity.calibrate(members, [0, 1, 2])(Q), cl.ConvexHull)
    assert_type(cl.validity.calibration_test(members, [0, 1, 2]).pvalue, float)
    assert_type(cl.bootstrap([True, False], [0.1, 0.2]), cl.BootstrapResult)
    assert_type(cl.compare_scores([True], None, {"a": [1]}), cl.ScoreComparison)
    assert_type(cl.make_selective_scorer("augrc", measure="tv"), cl.SelectiveScorer)
    assert_type(cl.ood_scores([0.1], [0.2]), cl.OODScores)
    assert_type(cl.ood_scores(members, members, "tv total"), cl.OODScores)
    assert_type(cl.ood_scores(members, members, ["tv", "entropy"]), cl.OODComparison)
