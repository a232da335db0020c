"""Decision rules against their definitions, linear programmes and each other."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import credalens as cl
from credalens.decisions import ADMISSIBILITY_RULES, DECISION_RULES
from oracles_sets import REPRESENTATIONS, corners_of


def highs_margin(costs, d):
    """The largest t such that a mixture of rows has ``c_d' - c_d >= t`` for all other d'."""
    M, D = costs.shape
    others = [e for e in range(D) if e != d]
    if not others:
        return 0.0
    A = np.hstack([costs[:, [d]].T.repeat(len(others), 0) - costs[:, others].T,
                   np.ones((len(others), 1))])  # fmt: skip
    found = linprog(
        np.append(np.zeros(M), -1.0), A, np.zeros(len(others)),
        np.append(np.ones((1, M)), [[0.0]], axis=1), [1.0],
        [(0, None)] * M + [(None, None)],
    )  # fmt: skip
    assert found.status == 0
    return -found.fun


def members_and_costs(seed, n=30):
    """Random members and costs of many shapes: few and many actions, ties, zeros, Diracs."""
    rng = np.random.default_rng(seed)
    M, K, D = rng.integers(1, 7), rng.integers(1, 6), rng.integers(1, 7)
    P = rng.dirichlet(np.full(K, rng.choice([0.1, 0.5, 2.0])), (n, M))
    if seed % 3 == 0:
        P = np.round(P * 8) + 0.0
        P[..., 0] += P.sum(axis=-1) == 0
        P /= P.sum(axis=-1, keepdims=True)
    cost = rng.integers(0, 5, (K, D)).astype(float) if seed % 2 else rng.normal(size=(K, D))
    return P, cost


@pytest.mark.parametrize("seed", range(40))
def test_rules_by_their_definitions(seed):
    P, cost = members_and_costs(seed)
    E = P @ cost
    upper, lower = E.max(axis=1), E.min(axis=1)
    criteria = {
        "gamma_minimax": upper,
        "gamma_minimin": lower,
        "hurwicz": 0.3 * upper + 0.7 * lower,
        "minimax_regret": (E - E.min(axis=2, keepdims=True)).max(axis=1),
    }
    assert criteria.keys() == DECISION_RULES.keys()
    for rule, criterion in criteria.items():
        found = cl.decide(P, cost, rule, alpha=0.3)
        own = np.take_along_axis(criterion, found[:, None], axis=1)[:, 0]
        np.testing.assert_allclose(own, criterion.min(axis=1), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_admissible_actions_by_linear_programmes(seed):
    P, cost = members_and_costs(seed)
    E = P @ cost
    scale = max(np.ptp(cost), 1e-9)
    found, error = cl.admissible(P, cost, return_error=True)
    maximal = cl.admissible(P, cost, "maximal")
    intervals = cl.admissible(P, cost, "interval_dominance")
    assert (error >= 0).all()
    for i, d in np.ndindex(found.shape):
        margin = highs_margin(E[i], d)
        if abs(margin) > max(1e-8 * scale, error[i, d]):
            assert found[i, d] == (margin > 0), (i, d, margin)
        # The best of the other actions in the worst case, one by one.
        worst = [(E[i, :, e] - E[i, :, d]).max() for e in range(E.shape[2]) if e != d]
        if abs(min(worst, default=1.0)) > 1e-9 * scale:
            assert maximal[i, d] == (min(worst, default=1.0) >= 0)
        best = E[i].max(axis=0).min() - E[i, :, d].min()
        if abs(best) > 1e-9 * scale:
            assert intervals[i, d] == (best >= 0)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_each_rule_contains_the_next(seed):
    P, cost = members_and_costs(seed, n=20)
    for costs in (cost, None):
        sets = [cl.admissible(P, costs, rule) for rule in ADMISSIBILITY_RULES]
        for inner, outer in itertools.pairwise(sets):
            assert (inner <= outer).all()
        assert sets[0].any(axis=-1).all()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-3, 3), st.floats(0.1, 10))
def test_invariances(seed, shift, scale):
    """Order and copies of members, order of actions, affine changes of all costs, the batch."""
    P, cost = members_and_costs(seed, n=8)
    rng = np.random.default_rng(seed)
    rows, actions = rng.permutation(P.shape[1]), rng.permutation(cost.shape[1])
    changed = np.concatenate([P[:, rows], P[:, :1]], axis=1)
    for rule in ADMISSIBILITY_RULES:
        mask = cl.admissible(P, cost, rule)
        again = cl.admissible(changed, scale * cost[:, actions] + shift, rule)
        assert (again == mask[:, actions]).all()
        assert (cl.admissible(P[3], cost, rule) == mask[3]).all()


def test_zero_one_costs_are_the_default():
    P = np.random.default_rng(0).dirichlet(np.ones(5), (200, 4))
    cost = 1 - np.eye(5)
    for rule in DECISION_RULES:
        assert (cl.decide(P, rule=rule) == cl.decide(P, cost, rule)).all()
    for rule in ADMISSIBILITY_RULES:
        assert (cl.admissible(P, rule=rule) == cl.admissible(P, cost, rule)).all()


def test_the_gamma_minimax_risk_is_total_uncertainty():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(4), (300, 3))
    for distance in ("tv", "ordinal"):
        cost = cl.Wasserstein.ordinal(range(4)).dirac_costs if distance == "ordinal" else None
        choice = cl.decide(P, cost)
        costs = 1 - P if cost is None else P @ cost
        risk = costs.max(axis=1)[np.arange(300), choice]
        np.testing.assert_allclose(risk, cl.total_uncertainty(P, distance), atol=1e-12)


@pytest.mark.parametrize("price", [0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
def test_gamma_minimax_abstains_if_total_uncertainty_exceeds_the_price(price):
    rng = np.random.default_rng(2)
    P = rng.dirichlet(np.full(4, 0.4), (500, 3))
    P[:100] = np.round(P[:100] * 4) / 4  # many values on a grid
    P[:100, :, 0] += 1 - P[:100].sum(axis=-1)
    P = np.abs(P) / np.abs(P).sum(axis=-1, keepdims=True)
    abstains = cl.decide(P, cl.cost_with_abstention(4, price)) == 4
    total = cl.total_uncertainty(P)
    clear = np.abs(total - price) > 1e-12
    assert (abstains == (total > price))[clear].all()
    exact = P[total == price]
    assert (
        not (cl.decide(exact, cl.cost_with_abstention(4, price)) == 4).any() if len(exact) else True
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_every_set_is_like_the_hull_of_its_extreme_points(name):
    rng = np.random.default_rng(3)
    Q = REPRESENTATIONS[name](12, 4, rng)
    for cost in (None, rng.normal(size=(4, 3)), cl.cost_with_abstention(4, 0.4)):
        costs = 1 - np.eye(4) if cost is None else cost
        choices = {rule: cl.decide(Q, cost, rule) for rule in DECISION_RULES}
        masks = {rule: cl.admissible(Q, cost, rule) for rule in ADMISSIBILITY_RULES}
        for i in range(12):
            E = corners_of(Q[i]) @ costs
            upper, lower = E.max(axis=0), E.min(axis=0)
            regret = (E - E.min(axis=1, keepdims=True)).max(axis=0)
            criteria = (upper, lower, (upper + lower) / 2, regret)
            for rule, criterion in zip(DECISION_RULES, criteria, strict=True):
                assert criterion[choices[rule][i]] == pytest.approx(criterion.min(), abs=1e-9)
            for d in range(E.shape[1]):
                margin = highs_margin(E, d)
                assert abs(margin) < 1e-7 or masks["e_admissible"][i, d] == (margin > 0)
                worst = (E - E[:, [d]]).max(axis=0).min()
                assert abs(worst) < 1e-9 or masks["maximal"][i, d] == (worst >= 0)
                best = upper.min() - lower[d]
                assert abs(best) < 1e-9 or masks["interval_dominance"][i, d] == (best >= 0)


def test_boxes_have_closed_forms_for_zero_one_costs():
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.ones(5), (400, 3))
    Q = cl.ProbabilityIntervals(P.min(axis=1), P.max(axis=1))
    low, high = np.asarray(Q.lower()), np.asarray(Q.upper())
    maximal = high >= low.max(axis=1, keepdims=True)
    possible = np.minimum(high[:, None, :], high[:, :, None]).sum(axis=2) >= 1
    assert (cl.admissible(Q, rule="maximal") == maximal).all()
    assert (cl.admissible(Q, rule="interval_dominance") == maximal).all()
    assert (cl.admissible(Q) == (maximal & possible)).all()
    assert (maximal & ~possible).any()


@pytest.mark.parametrize(
    ("P", "expected"),
    [
        ([[1.0]], [True]),
        ([[0.5, 0.5]], [True, True]),
        ([[1.0, 0.0]], [True, False]),
        (np.eye(4), [True] * 4),
        (np.full((3, 4), 0.25), [True] * 4),
        ([[0.6, 0.4, 0.0], [0.6, 0.4, 0.0]], [True, False, False]),
        ([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], [True, False, True]),
        ([[0.55, 0.4, 0.05], [0.05, 0.4, 0.55]], [True, True, True]),
        ([[0.4, 0.4, 0.2], [0.4, 0.2, 0.4]], [True, True, True]),
    ],
)
def test_hand_checked_sets_of_labels(P, expected):
    for dtype in (np.float64, np.float32):
        found, error = cl.admissible(np.array(P, dtype), return_error=True)
        assert found.tolist() == expected
        assert found.dtype == bool
        assert (error == 0).all()


def test_ties_within_rounding_are_kept():
    # Both actions cost the same, but for the last bit.
    cost = np.array([[0.1 + 0.2, 0.3], [1.0, 1.0]])
    for rule in ADMISSIBILITY_RULES:
        assert cl.admissible([[0.7, 0.3], [0.2, 0.8]], cost, rule).tolist() == [True, True]


def test_batches_and_dtypes():
    P = np.random.default_rng(6).dirichlet(np.ones(3), (2, 5, 4)).astype(np.float32)
    assert cl.decide(P).shape == (2, 5)
    assert cl.decide(P).dtype.kind == "i"
    assert cl.admissible(P).shape == (2, 5, 3)
    assert cl.decide(P[0, 0]).shape == ()
    assert cl.decide(np.empty((0, 4, 3))).shape == (0,)
    assert cl.admissible(np.empty((0, 4, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"cost": [[1, 0]]},
            r"cost: has shape \(1, 2\), and there are 3 classes; pass one row per",
        ),
        ({"cost": np.ones((5, 3))}, r"cost: has shape \(5, 3\).*; transpose it: rows are classes"),
        ({"cost": [0, 1, 2]}, r"cost: has shape \(3,\)"),
        ({"cost": np.full((3, 2), np.nan)}, r"cost: is NaN at index \(0, 0\)"),
        ({"rule": "minimax"}, "rule: is 'minimax'; choose one of 'gamma_minimax'"),
        ({"rule": "hurwicz", "alpha": 2}, r"alpha: is 2; pass a number in \[0, 1\]"),
    ],
)
def test_invalid_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        cl.decide(np.full((2, 2, 3), 1 / 3), **options)
