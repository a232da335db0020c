"""The axioms over every kind of credal set, not hulls only."""

import numpy as np
import pytest

import credalens as cl


def contamination(members):
    """Neighbourhoods of the mean whose size grows with the spread of the members."""
    return cl.Contamination(members.mean(axis=-2), np.ptp(members, axis=-2).max(axis=-1))


def ball(members):
    return cl.TotalVariationBall(members.mean(axis=-2), np.ptp(members, axis=-2).max(axis=-1))


def envelope(members):
    """The lower probability of the box of the members, which is 2-monotone."""
    return cl.LowerProbability(cl.ProbabilityIntervals.from_members(members).lower_probabilities())


def belief(members):
    """Half on the mean, half on the events of the classes that some member finds likely."""
    mean = members.mean(axis=-2)
    K = mean.shape[-1]
    masses = np.zeros((*mean.shape[:-1], 2**K))
    spread = np.ptp(members, axis=-2).max(axis=-1)
    for y in range(K):
        masses[..., 1 << y] += (1 - spread) * mean[..., y]
    masses[..., -1] += spread
    return cl.BeliefFunction(masses)


REPRESENTATIONS = {
    "intervals": cl.ProbabilityIntervals,
    "contamination": contamination,
    "ball": ball,
    "lower probability": envelope,
    "belief": belief,
}
KEPT = ("total", "epistemic", "aleatoric_upper", "upper_entropy", "generalized_hartley", "mmi")


@pytest.mark.slow
@pytest.mark.parametrize("measure", KEPT)
@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_the_axioms_hold_on_every_kind_of_set(name, measure):
    report = cl.axioms.check(measure, "A1-A4", n_classes=3, sets=REPRESENTATIONS[name], n_sets=60)
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["aleatoric_lower", "lower_entropy"])
@pytest.mark.parametrize("name", ["intervals", "contamination", "ball"])
def test_the_lower_ends_are_not_monotone_on_any(name, measure):
    report = cl.axioms.check(measure, "A3", n_classes=3, sets=REPRESENTATIONS[name], n_sets=60)
    assert not report["A3"].held


@pytest.mark.slow
def test_the_table_runs_over_other_sets():
    reports = cl.axioms.table(
        ["total", "aleatoric_lower"], n_classes=3, sets=cl.ProbabilityIntervals, n_sets=60
    )
    assert reports[0].ok
    assert not reports[1]["A3"].held


def test_epistemic_uncertainty_beyond_forty_classes():
    # Few wide intervals among many narrow ones: the diameter is a partition problem.
    rng = np.random.default_rng(0)
    K = 45
    lower = np.full(K, 0.9 / K)
    upper = lower + rng.uniform(0.001, 0.004, K)
    upper[:3] += (0.31, 0.32, 0.33)
    Q = cl.ProbabilityIntervals(lower, upper)
    value, error = cl.epistemic_uncertainty(Q, return_error=True)
    assert 0 <= error < 0.2
    assert 0 < value <= 0.5
    if error > 1e-9:
        with pytest.raises(ValueError, match="bounds"):
            cl.epistemic_uncertainty(Q)
    else:
        assert cl.epistemic_uncertainty(Q) == pytest.approx(value, abs=1e-9)
