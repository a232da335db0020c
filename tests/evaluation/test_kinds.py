"""Kinds of predictions."""

import numpy as np
import pytest

import credalens as cl


def test_kinds_are_those_of_the_reasons():
    members = np.random.default_rng(0).dirichlet(np.full(4, 0.4), (300, 3))
    for distance in ("tv", "ordinal", "kolmogorov"):
        found = cl.kinds(members, distance, review_threshold=0.3)
        reasons = cl.reasons(members, distance, review_threshold=0.3)
        assert found.tolist() == [reason.kind for reason in reasons]
        assert set(found) == {"clear", "ambiguous", "unknown", "both"} or distance != "tv"


def test_kinds_by_the_definition_for_total_variation():
    members = np.random.default_rng(1).dirichlet(np.full(3, 0.5), (200, 4))
    u = cl.quantify(members)
    hard = np.all(1 - members.max(axis=2) >= 0.4, axis=1)  # every member, hence every mixture
    expected = np.where(
        hard,
        np.where(u.epistemic >= 0.2, "both", "ambiguous"),
        np.where(u.epistemic >= 0.2, "unknown", "clear"),
    )
    assert cl.kinds(members).tolist() == expected.tolist()
    assert (u.total[expected == "clear"] < 0.8).all()


def test_five_certain_members_that_disagree_are_unknown():
    assert cl.kinds(np.eye(5)) == "unknown"
    assert cl.kinds(np.full((5, 5), 0.2)) == "ambiguous"
    assert cl.kinds([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]) == "both"


@pytest.mark.parametrize("distance", ["tv", "ordinal", "kolmogorov"])
def test_total_uncertainty_is_at_most_the_smallest_risk_plus_the_largest_distance(distance):
    for K in (2, 3, 6):
        members = np.random.default_rng(K).dirichlet(np.full(K, 0.3), (500, 4))
        u = cl.quantify(members, distance)
        assert (u.total <= u.aleatoric.lower + 2 * u.epistemic + u.error + 1e-12).all()


def test_kinds_of_any_set_and_batch_shape():
    members = np.random.default_rng(2).dirichlet(np.ones(3), (2, 5, 4))
    assert cl.kinds(members).shape == (2, 5)
    assert cl.kinds(members[0, 0]).shape == ()
    box = cl.ConvexHull(members).to_intervals()
    assert cl.kinds(box).shape == (2, 5)


@pytest.mark.parametrize("threshold", [0, 1, -0.1, True, "x", np.nan])
def test_thresholds_outside_of_the_unit_interval_raise(threshold):
    with pytest.raises(ValueError, match=r"review_threshold: is .*; pass a number in \(0, 1\)"):
        cl.kinds([[[0.5, 0.5]]], review_threshold=threshold)
