"""Risk-rejection curves and selective metrics of real-valued targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl

rng = np.random.default_rng(0)
y = rng.normal(size=97)
predicted = y + rng.normal(size=97) * np.linspace(0.1, 2, 97)
score = np.linspace(0.1, 2, 97) + rng.normal(size=97) * 0.3


def test_points_are_means_of_the_retained_losses():
    curve = cl.risk_curve(y, predicted, score, n_bins=13, loss="squared")
    order = np.argsort(-score, kind="stable")
    for b in range(13):
        kept = order[b * 97 // 13 :]
        assert_allclose(curve.risk[b], ((y - predicted)[kept] ** 2).mean())
    heights = (curve.risk[1:] + curve.risk[:-1]) / 2
    assert_allclose(curve.mean, heights.mean())
    assert curve.monotonicity_ratio == (np.diff(curve.risk) <= 0).mean()
    assert len(curve[:5]) == 5


def test_ties_weights_and_the_complement_of_accuracy():
    tied = cl.risk_curve(y, predicted, np.ones(97), n_bins=4)
    assert_allclose(tied.risk, np.abs(y - predicted).mean())
    doubled = cl.risk_curve(np.tile(y, 2), np.tile(predicted, 2), np.tile(score, 2), n_bins=2)
    weighted = cl.risk_curve(y, predicted, score, n_bins=2, sample_weight=np.full(97, 2))
    assert_allclose(weighted.risk, doubled.risk)
    wrong = rng.random(97) < 0.3
    accuracy = cl.rejection_curve(~wrong, None, score).accuracy
    assert_allclose(cl.risk_curve(None, None, score, loss=wrong).risk, 1 - accuracy)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_selective_metrics_of_real_targets(loss):
    losses = np.abs(y - predicted) ** (2 if loss == "squared" else 1)
    found = cl.selective_metrics(y, predicted, score, loss=loss)
    kept = losses[np.argsort(score)]
    risks = np.cumsum(kept) / np.arange(1, 98)
    best = np.cumsum(np.sort(losses)) / np.arange(1, 98)
    assert_allclose(found.aurc, risks.mean())
    assert_allclose(found.prr, (risks[-1] - risks.mean()) / (risks[-1] - best.mean()))
    assert cl.selective_metrics(y, predicted, losses, loss=loss).prr == pytest.approx(1)
    # The ratio does not depend on the unit of the target, the area does.
    scaled = cl.selective_metrics(1000 * y, 1000 * predicted, score, loss=loss)
    assert_allclose(scaled.prr, found.prr)
    assert_array_equal(np.isnan([found.auroc, scaled.auroc]), True)


def test_errors():
    with pytest.raises(ValueError, match="y_pred: has 3 entries; pass 97"):
        cl.risk_curve(y, predicted[:3], score)
    with pytest.raises(ValueError, match="n_bins: is 1"):
        cl.risk_curve(y, predicted, score, n_bins=1)
