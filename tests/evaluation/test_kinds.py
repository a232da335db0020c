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
    middle = (u.aleatoric.lower + u.aleatoric.upper) / 2
    expected = np.where(
        middle >= 0.4,
        np.where(u.epistemic >= 0.2, "both", "ambiguous"),
        np.where(u.epistemic >= 0.2, "unknown", "clear"),
    )
    assert cl.kinds(members).tolist() == expected.tolist()


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
