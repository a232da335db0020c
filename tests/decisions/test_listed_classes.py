"""Decisions with truncated predictions."""

import tracemalloc

import numpy as np
import pytest

import credalens as cl
from credalens.decisions import listed_classes
from topk_cases import cases, dense_members, truncate

RULES = ("e_admissible", "maximal", "interval_dominance")
DECISIONS = ("gamma_minimax", "gamma_minimin", "hurwicz", "minimax_regret")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_certain_classes_are_those_of_every_ensemble_with_these_lists(rule):
    undecided = 0
    for P, ids, probs in cases(3, 40):
        Q = cl.TopKHull(ids, probs, P.shape[1])
        mask, error = cl.admissible(Q, rule=rule, return_error=True)
        dense = cl.admissible(P, rule=rule)
        certain = error == 0
        assert (mask == dense)[certain].all(), (ids, probs, P)
        listed = np.isin(np.arange(P.shape[1]), ids)
        assert (mask >= dense)[listed].all(), (ids, probs, P)
        undecided += int((~certain).sum())
        classes, own, _ = cl.decisions.admissible_listed(Q, rule)
        assert own[classes >= 0].tolist() == mask[classes[classes >= 0]].tolist()
    assert undecided > 0


@pytest.mark.parametrize("rule", DECISIONS)
def test_decisions_of_complete_lists_are_those_of_the_hull(rule):
    rng = np.random.default_rng(0)
    for kind in ("dirichlet", "sparse", "ties", "dirac"):
        P = dense_members(rng, kind, 3, 6)
        Q = cl.TopKHull(*truncate(rng, P, 6), 6)
        assert int(cl.decide(Q, rule=rule)) == int(cl.decide(P, rule=rule))
        for admissible in RULES:
            np.testing.assert_array_equal(
                cl.admissible(Q, rule=admissible), cl.admissible(P, rule=admissible)
            )


def test_ties_are_broken_by_the_largest_possible_probabilities():
    # No class is listed by both members; class 2 has at most 0.3, class 7 at most 0.05.
    Q = cl.TopKHull([[[7, 8], [2, 3]]], [[[0.4, 0.3], [0.9, 0.05]]], 100)
    assert cl.decide(Q).tolist() == [2]
    assert cl.decide(Q, rule="gamma_minimin").tolist() == [2]


def test_a_batch_and_large_label_spaces():
    rng = np.random.default_rng(1)
    ids = np.stack([rng.permutation(128_256)[:20] for _ in range(12)]).reshape(3, 4, 20)
    probs = -np.sort(-rng.dirichlet(np.ones(20), size=(3, 4)) * 0.99, axis=-1)
    Q = cl.TopKHull(ids, probs, 128_256)
    assert cl.decide(Q).shape == (3,)
    classes, mask, error = cl.decisions.admissible_listed(Q)
    assert classes.shape == mask.shape == error.shape
    assert classes.shape[-1] <= 4 * 20 + 1
    assert mask.any(axis=-1).all()
    assert cl.admissible(Q).shape == (3, 128_256)


def test_games_of_many_classes_need_no_memory_for_all_of_them(monkeypatch):
    # Every one of 100 classes of each instance may be admissible: 2000 games of (5, 101) numbers.
    rng = np.random.default_rng(2)
    ids = np.arange(100).reshape(5, 20) + np.zeros((20, 1, 1), int)
    probs = rng.uniform(0.04, 0.05, size=(20, 5, 20))
    whole = cl.decisions.admissible_listed(cl.TopKHull(ids, probs, 128_256))
    monkeypatch.setattr(listed_classes, "BLOCK_NUMBERS", 1 << 13)
    tracemalloc.start()
    try:
        found = cl.decisions.admissible_listed(cl.TopKHull(ids, probs, 128_256))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2000 * 5 * 101 * 8 / 4
    for a, b in zip(found, whole, strict=True):
        np.testing.assert_array_equal(a, b)


def test_costs_are_refused():
    Q = cl.TopKHull([[0, 1]], [[0.5, 0.4]], 50)
    for function in (cl.decide, cl.admissible):
        with pytest.raises(ValueError, match="cost: is passed for truncated predictions"):
            function(Q, np.eye(50))
