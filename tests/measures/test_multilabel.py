"""Several binary labels: against the literal definitions over all predictions and distributions."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

import credalens as cl

AGGREGATES = ("hamming", "max", "labels")
CASES = [
    np.array([[0.9, 0.4, 0.0], [0.7, 0.6, 0.1]]),
    np.array([[0.2, 0.5, 1.0]]),
    np.array([[0.0, 1.0], [1.0, 1.0], [0.3, 0.0]]),
    *np.random.default_rng(0).random((3, 3, 3)),
    np.random.default_rng(1).random((4, 2)),
]


def all_predictions(n_labels):
    return np.array(list(itertools.product([0, 1], repeat=n_labels)))


def joint(marginals):
    """The distribution over all 2^L combinations of independent labels."""
    every = all_predictions(len(marginals))
    return np.prod(np.where(every == 1, marginals, 1 - marginals), axis=1)


def vertices(members):
    return [np.array(p) for p in itertools.product(*zip(members.min(0), members.max(0)))]  # noqa: B905


def hamming_oracle(members):
    """TU, both aleatoric ends and EU, with distributions over all combinations of labels."""
    corners, every = vertices(members), all_predictions(members.shape[1])
    loss = (every[:, None] != every).mean(axis=2)
    joints = [joint(p) for p in corners]
    total = min(max(q @ loss[y] for q in joints) for y in range(len(every)))
    lower = min((loss @ q).min() for q in joints)
    # max t over the box of probabilities, with t <= the expected loss of every prediction.
    slope = (1 - 2 * every) / every.shape[1]
    bounds = [*zip(members.min(0), members.max(0), strict=True), (None, None)]
    solved = linprog(
        np.r_[np.zeros(every.shape[1]), -1],
        np.c_[-slope, np.ones(len(every))],
        every.mean(axis=1),
        bounds=bounds,
    )
    widest = max(transport(p, q, loss) for p in joints for q in joints)
    return total, lower, -solved.fun, widest / 2


def transport(p, q, cost):
    """The Wasserstein distance, by the linear programme over couplings."""
    n = len(p)
    rows, columns = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    return linprog(cost.ravel(), A_eq=np.r_[rows, columns], b_eq=np.r_[p, q]).fun


def max_oracle(members):
    corners, every = vertices(members), all_predictions(members.shape[1])

    def risk(p, y):
        return np.abs(y - p).max()

    # The best prediction has risk max_l min(p_l, 1 - p_l), piecewise linear in every p_l.
    knots = [
        {low, high, min(max(0.5, low), high)}
        for low, high in zip(members.min(0), members.max(0), strict=True)
    ]
    best = [min(risk(np.array(p), y) for y in every) for p in itertools.product(*knots)]
    total = min(max(risk(p, y) for p in corners) for y in every)
    return total, min(best), max(best), max(risk(p, q) for p in corners for q in corners) / 2


def parts(u):
    return u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic


@pytest.mark.slow
@pytest.mark.parametrize("members", CASES)
def test_hamming_loss_over_all_combinations_of_labels(members):
    assert_allclose(parts(cl.quantify_multilabel(members)), hamming_oracle(members), atol=1e-9)


@pytest.mark.parametrize("members", CASES)
def test_the_most_uncertain_label(members):
    found = parts(cl.quantify_multilabel(members, "max"))
    assert_allclose(found, max_oracle(members), atol=1e-12)


def test_labels_are_two_classes_each():
    members = np.random.default_rng(2).random((20, 5, 4))
    members[:4] = members[:4].round()
    both = np.stack([1 - members, members], axis=-1).swapaxes(1, 2)
    expected = cl.quantify(both)
    found = cl.quantify_multilabel(members, "labels")
    assert found.total.shape == (20, 4)
    for ours, theirs in zip(parts(found), parts(expected), strict=True):
        assert_allclose(ours, theirs, atol=1e-12)
    assert not found.error.any()


def test_the_prediction_has_the_smallest_largest_expected_loss():
    for members in CASES:
        every = all_predictions(members.shape[1])
        corners = vertices(members)
        worst = [max(np.abs(y - p).mean() for p in corners) for y in every]
        chosen = cl.decide_multilabel(members)
        assert chosen.dtype == bool
        assert max(np.abs(chosen - p).mean() for p in corners) == pytest.approx(min(worst))
        assert cl.quantify_multilabel(members).total == pytest.approx(min(worst))
    assert_array_equal(cl.decide_multilabel([[0.5, 0.4], [0.5, 0.6]]), [False, False])  # ties


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.just(3), st.integers(1, 4), st.integers(1, 4)),
           elements=st.floats(0, 1)),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_invariants(members, random):
    for aggregate in AGGREGATES:
        total, lower, upper, epistemic = parts(cl.quantify_multilabel(members, aggregate))
        assert (lower <= upper + 1e-15).all()
        assert (upper <= total + 1e-15).all()
        assert (epistemic <= total + 1e-15).all()
        assert ((total >= 0) & (total <= 1)).all()
        order = random.sample(range(members.shape[1]), members.shape[1])
        doubled = np.concatenate([members[:, order], members], axis=1)
        again = parts(cl.quantify_multilabel(doubled, aggregate))
        flipped = parts(cl.quantify_multilabel(1 - members, aggregate))
        alone = parts(cl.quantify_multilabel(members[1], aggregate))
        own = (total, lower, upper, epistemic)
        for x, y, z, w in zip(own, again, flipped, alone, strict=True):
            assert_array_equal(x, y)
            assert_allclose(x, z, atol=1e-12)
            assert_array_equal(x[1], w)
        # One member more cannot make the set smaller.
        if members.shape[1] > 1:
            fewer = parts(cl.quantify_multilabel(members[:, 1:], aggregate))
            assert (total >= fewer[0] - 1e-15).all()
            assert (lower <= fewer[1] + 1e-15).all()
            assert (upper >= fewer[2] - 1e-15).all()
            assert (epistemic >= fewer[3] - 1e-15).all()


def test_missing_members():
    members = np.random.default_rng(3).random((6, 4, 3))
    mask = np.random.default_rng(4).random((6, 4)) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    missing = np.where(mask[..., None], members, np.nan)
    found = cl.quantify_multilabel(missing, "labels", mask=mask)
    for i in range(6):
        alone = cl.quantify_multilabel(members[i][mask[i]], "labels")
        for x, y in zip(parts(found), parts(alone), strict=True):
            assert_array_equal(x[i], y)
        decided = cl.decide_multilabel(missing, mask=mask)[i]
        assert_array_equal(decided, cl.decide_multilabel(members[i][mask[i]]))
    of_all = cl.quantify_multilabel(members, mask=[True, False, True, True])
    assert_array_equal(of_all.total, cl.quantify_multilabel(members[:, [0, 2, 3]]).total)


def test_shapes_dtypes_and_rounding():
    members = np.random.default_rng(5).random((2, 3, 4, 5)).astype(np.float32)
    for aggregate in AGGREGATES:
        u = cl.quantify_multilabel(members, aggregate)
        assert u.total.shape == (2, 3, 5) if aggregate == "labels" else (2, 3)
        assert u.total.dtype == u.epistemic.dtype == u.error.dtype == np.float32
    half = cl.quantify_multilabel(members.astype(np.float16))
    assert half.total.dtype == np.float32
    assert cl.quantify_multilabel(np.ones((0, 2, 3))).total.shape == (0,)
    u = cl.quantify_multilabel([[1 + 1e-9, -1e-9]])
    assert u.total == u.epistemic == 0
    assert u.aleatoric.lower == 0
    assert pickle.loads(pickle.dumps(u)).total == 0
    before = members.copy()
    cl.quantify_multilabel(members)
    assert_array_equal(before, members)


@pytest.mark.parametrize(
    ("members", "mask", "message"),
    [
        ([[0.5, 2.5]], None, r"members: is 2.5 at index \(0, 1\) .*; pass probabilities: divide"),
        ([[0.5], [-3.0]], None, r"members: is -3 at index \(1, 0\) .*; pass probabilities: of log"),
        ([[0.5, np.nan]], None, r"members: is NaN at index \(0, 1\) .*; .* by mask"),
        ([0.5, 0.5], None, r"members: has shape \(2,\); pass one probability per member and label"),
        (np.ones((2, 0)), None, r"members: has shape \(2, 0\)"),
        ([[0.5], [0.5]], [1, 0], r"mask: has dtype int64; pass booleans"),
        (
            [[0.5], [0.5]],
            [True],
            r"mask: has shape \(1,\); pass one entry per member, shape",
        ),
        ([[[0.5]], [[0.5]]], [[True], [False]], r"mask: has no member of instance 1 "),
    ],
)
def test_errors(members, mask, message):
    with pytest.raises(ValueError, match=message):
        cl.quantify_multilabel(members, mask=mask)


def test_unknown_aggregate():
    with pytest.raises(ValueError, match="aggregate: is 'mean'; choose one of 'hamming'"):
        cl.quantify_multilabel([[0.5]], "mean")
