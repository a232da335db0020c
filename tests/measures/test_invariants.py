"""What must hold for every ensemble: hypothesis looks for one for which it does not.

Members are made of small integers, which give ties, zeros and Dirac measures, or of powers of ten,
which give entries of every size.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.measures.table import MEASURES
from ensembles import FEW_CLASSES

#: Two roundings of numbers below 1, and the certified gap, which is far smaller than that.
EPS = 1e-12


@st.composite
def batches(draw, min_members=1, min_classes=1, max_size=6, dtypes=(np.float64,)):
    """An ensemble ``(n, M, K)``."""
    n = draw(st.integers(1, 4))
    M = draw(st.integers(min_members, max_size))
    K = draw(st.integers(min_classes, max_size))
    whole = st.integers(0, 5).map(float)
    powers = st.integers(-14, 0).map(lambda e: 10.0**e)
    fractions = st.floats(0, 1, width=32)
    entries = draw(st.sampled_from([whole, powers, fractions]))
    P = draw(hnp.arrays(np.float64, (n, M, K), elements=entries))
    P = P.copy()
    P[..., 0] += P.sum(axis=-1) <= 1e-30  # no row without mass
    P /= P.sum(axis=-1, keepdims=True)
    P = P.astype(draw(st.sampled_from(dtypes)))
    P.flags.writeable = False
    return P


def weights(draw, n, M):
    w = draw(hnp.arrays(np.float64, (n, M), elements=st.integers(0, 5).map(float))) + 0.0
    w[:, 0] += w.sum(axis=1) == 0
    return w / w.sum(axis=1, keepdims=True)


def numbers(P):
    u = cl.quantify(P)
    return np.stack([u.total, *u.aleatoric, u.epistemic])


# ---------------------------------------------------------------- the instance alone


@pytest.mark.slow
@given(batches(dtypes=(np.float32, np.float64)), st.data())
def test_a_value_does_not_depend_on_its_batch(P, data):
    whole = numbers(P)
    for i, instance in enumerate(P):
        assert_array_equal(numbers(instance), whole[:, i])
    # In another batch, at another place, among other instances.
    order = data.draw(st.lists(st.integers(0, len(P) - 1), min_size=1, max_size=30))
    assert_array_equal(numbers(P[order]), whole[:, order])
    others = np.random.default_rng(len(order)).dirichlet(np.ones(P.shape[2]), (7, P.shape[1]))
    mixed = np.concatenate([others.astype(P.dtype), P])
    assert_array_equal(numbers(mixed)[:, 7:], whole)


@pytest.mark.slow
@given(batches(), st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter(P, random):
    order = random.sample(range(P.shape[1]), P.shape[1])
    assert_allclose(numbers(P[:, order]), numbers(P), rtol=0, atol=EPS)
    exact = [0, 1]  # minima and maxima
    assert_array_equal(numbers(P[:, order])[exact], numbers(P)[exact])


@pytest.mark.slow
@given(batches(), st.randoms(use_true_random=False))
def test_the_order_of_classes_does_not_matter(P, random):
    order = random.sample(range(P.shape[2]), P.shape[2])
    assert_allclose(numbers(P[..., order]), numbers(P), rtol=0, atol=EPS)


@pytest.mark.slow
@given(batches(), st.data())
def test_duplicated_members_do_not_matter(P, data):
    M = P.shape[1]
    again = data.draw(st.lists(st.integers(0, M - 1), min_size=1, max_size=8))
    more = numbers(np.concatenate([P, P[:, again]], axis=1))
    assert_allclose(more, numbers(P), rtol=0, atol=EPS)


@pytest.mark.slow
@given(batches(), st.integers(1, 3))
def test_classes_that_no_member_considers_do_not_matter(P, extra):
    empty = np.zeros((*P.shape[:2], extra))
    assert_allclose(numbers(np.concatenate([P, empty], axis=2)), numbers(P), rtol=0, atol=EPS)


@pytest.mark.slow
@given(st.data())
def test_mixtures_of_members_do_not_matter(data):
    P = data.draw(batches())
    w = weights(data.draw, 2, P.shape[1])
    mixed = w @ P
    more = numbers(np.concatenate([P, mixed], axis=1))
    assert_allclose(more, numbers(P), rtol=0, atol=EPS)
    assert cl.ConvexHull(P).contains(mixed.swapaxes(0, 1)).all()


# ---------------------------------------------------------------- every row of the measure table


def check_instance_alone(measure):
    for P in FEW_CLASSES.values():
        whole = measure(cl.ConvexHull(P))
        assert whole.shape == P.shape[:1]
        assert whole.dtype == P.dtype
        assert_array_equal(measure(cl.ConvexHull(P[::-1])), whole[::-1])
        assert_array_equal([measure(cl.ConvexHull(instance)) for instance in P], whole)
        assert measure(cl.ConvexHull(P[:0])).shape == (0,)


def check_same(measure, change):
    """Entropies are certified to 1e-9; other sums are taken in another order."""
    for P in FEW_CLASSES.values():
        rounding = max(4e-9, 20 * np.finfo(P.dtype).eps)
        before, after = measure(cl.ConvexHull(P)), measure(cl.ConvexHull(change(P)))
        assert_allclose(after, before, rtol=0, atol=rounding)


def turned(P):
    return P[:, ::-1]


def repeated(P):
    return np.concatenate([P, P[:, -2:]], axis=1)


def relabelled(P):
    return P[..., np.random.default_rng(0).permutation(P.shape[-1])]


def doubled(P):
    return np.repeat(P, 2, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_depends_on_the_instance_and_its_set_alone(name):
    check_instance_alone(MEASURES[name])
    check_same(MEASURES[name], turned)
    check_same(MEASURES[name], doubled)
    if not MEASURES[name].second_order:
        check_same(MEASURES[name], repeated)
    if "permutation" in MEASURES[name].claims:
        check_same(MEASURES[name], relabelled)


def test_measures_that_depend_on_something_else_are_found():
    def of_the_batch(Q):
        total = cl.total_uncertainty(Q)
        return total - total.mean()

    def of_the_order(Q):
        return Q.members[..., 0, :].max(axis=-1)

    def of_the_number(Q):
        return Q.members.max(axis=-1).mean(axis=-1)

    with pytest.raises(AssertionError):
        check_instance_alone(of_the_batch)
    with pytest.raises(AssertionError):
        check_same(of_the_order, turned)
    with pytest.raises(AssertionError):
        check_same(of_the_number, repeated)
    with pytest.raises(AssertionError):
        check_same(MEASURES["total:ordinal"], relabelled)
    for measure in MEASURES.values():
        if measure.second_order:  # a member that occurs twice counts twice
            with pytest.raises(AssertionError):
                check_same(measure, repeated)


# ---------------------------------------------------------------- the paper's properties


@pytest.mark.slow
@given(st.data())
def test_larger_sets_are_more_uncertain(data):
    P = data.draw(batches(min_members=2))
    some = data.draw(st.integers(1, P.shape[1] - 1))
    small, large = cl.quantify(P[:, :some]), cl.quantify(P)
    assert (small.total <= large.total).all()
    assert (small.epistemic <= large.epistemic + EPS).all()
    assert (small.aleatoric.lower >= large.aleatoric.lower).all()
    assert (small.aleatoric.upper <= large.aleatoric.upper + EPS).all()


@pytest.mark.slow
@given(batches(dtypes=(np.float32, np.float64)))
def test_dominance_and_bounds(P):
    u = cl.quantify(P)
    K = P.shape[2]
    rounding = 4 * np.finfo(P.dtype).eps
    # These two hold exactly, whatever was rounded.
    assert (u.aleatoric.lower <= u.aleatoric.upper).all()
    assert (u.aleatoric.upper <= u.total).all()
    assert (u.epistemic <= u.total + rounding).all()
    assert (u.aleatoric.upper <= 1 - 1 / K + rounding).all()
    assert (u.epistemic <= 0.5 + rounding).all()
    assert (u.epistemic >= 0).all()
    assert (u.aleatoric.lower >= -rounding).all()
    assert ((u.error >= 0) & (u.error <= 1e-9 + 2 * rounding)).all()


@pytest.mark.slow
@given(batches(min_classes=2), st.data())
def test_epistemic_uncertainty_does_not_depend_on_the_place(P, data):
    K = P.shape[2]
    P = 0.5 * P + 0.5 / K
    steps = data.draw(hnp.arrays(np.float64, K, elements=st.floats(-1, 1, width=16)))
    t = (steps - steps.mean()) / (4 * K)
    Q = cl.ConvexHull(P)
    moved = Q.translate(t)
    assert_allclose(
        cl.epistemic_uncertainty(moved), cl.epistemic_uncertainty(Q), rtol=0, atol=EPS
    )  # fmt: skip
    assert moved.contains(Q.center() + t).all()


@pytest.mark.slow
@given(batches(min_classes=2, min_members=2), st.integers(0, 10).map(lambda i: i / 100))
def test_small_changes_have_small_effects(P, s):
    # Each member moves a share s of the way to the next one: no entry by more than `step`.
    moved = (1 - s) * P + s * np.roll(P, 1, axis=1)
    step = np.abs(moved - P).max(axis=(1, 2))
    row = np.abs(moved - P).sum(axis=2).max(axis=1)
    change = np.abs(numbers(moved) - numbers(P))
    assert (change[:3] <= step + EPS).all()
    assert (change[3] <= row / 2 + EPS).all()


@pytest.mark.slow
@given(batches(min_classes=2))
def test_equal_members_have_no_epistemic_uncertainty(P):
    same = np.repeat(P[:, :1], P.shape[1], axis=1)
    u = cl.quantify(same)
    assert_array_equal(u.epistemic, 0)
    assert_array_equal(u.total, u.aleatoric.upper)
    assert_array_equal(u.total, u.aleatoric.lower)


@pytest.mark.slow
@given(batches(min_members=2, min_classes=2))
def test_epistemic_uncertainty_is_zero_only_for_equal_members(P):
    different = np.abs(P - P[:, :1]).max(axis=(1, 2)) > 0
    assert_array_equal(cl.epistemic_uncertainty(P) > 0, different)


@pytest.mark.slow
@given(batches())
def test_total_uncertainty_is_zero_only_for_one_dirac(P):
    certain = P.min(axis=1).max(axis=1) == 1
    assert_array_equal(cl.total_uncertainty(P) == 0, certain)


# ---------------------------------------------------------------- lower and upper


@pytest.mark.slow
@given(batches(), st.data())
def test_expectations_are_coherent(P, data):
    K = P.shape[2]
    f = data.draw(hnp.arrays(np.float64, (2, K), elements=st.floats(-1, 1, width=16)))
    Q = cl.ConvexHull(P)
    lower, upper = Q.lower(f), Q.upper(f)
    assert_allclose(lower, -Q.upper(-f), rtol=0, atol=EPS)
    assert (lower <= upper).all()
    assert (f.min(axis=1) - EPS <= lower).all()
    assert (upper <= f.max(axis=1) + EPS).all()
    assert (Q.upper(f[0] + f[1]) <= upper.sum(axis=-1) + EPS).all()
    assert (Q.lower(f[0] + f[1]) >= lower.sum(axis=-1) - EPS).all()


@pytest.mark.slow
@given(batches(max_size=5))
def test_corners_are_enough(P):
    Q = cl.ConvexHull(P)
    corners = Q.extreme_points()
    reduced = cl.ConvexHull(corners)
    assert_allclose(numbers(reduced), numbers(Q), rtol=0, atol=1e-11)
    for m in range(P.shape[1]):
        assert reduced.contains(P[:, m]).all()
