"""What every representation must do: the same as the hull of its corners, everywhere."""

import inspect
import pickle

import numpy as np
import pytest

import credalens as cl
import oracles
import oracles_entropy
from credalens import CredalSet
from credalens.distances import NAMES, TestFunctions
from oracles_sets import NOT_CORES, REPRESENTATIONS, UNLISTED, corners_of

N = 10
SIZES = (1, 2, 3, 4)
ORDINAL = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))


def sets(name, K, n=N, seed=0):
    return (REPRESENTATIONS | UNLISTED)[name](n, K, np.random.default_rng([seed, K]))


def parts_of(Q):
    """What the constructor of a set takes, which the set answers under the same names."""
    found = []
    for name, parameter in inspect.signature(type(Q)).parameters.items():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            value = getattr(Q, name)
            found.append(value() if callable(value) else value)
    return found


every = pytest.mark.parametrize("name", REPRESENTATIONS)
with_unlisted = pytest.mark.parametrize("name", REPRESENTATIONS | UNLISTED)
all_sizes = pytest.mark.parametrize("K", SIZES)


def same(a, b, atol=1e-9):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@pytest.mark.slow
@every
@all_sizes
def test_total_variation_agrees_with_the_oracles_on_the_corners(name, K):
    Q = sets(name, K)
    u = cl.quantify(Q)
    for i in range(len(Q)):
        P = corners_of(Q[i])
        same(u.total[i], oracles.total_uncertainty(P))
        same(u.aleatoric.lower[i], oracles.aleatoric_lower(P), 1e-7)
        same(u.aleatoric.upper[i], oracles.aleatoric_upper(P), 1e-7)
        same(u.epistemic[i], oracles.epistemic_uncertainty(P))


@pytest.mark.slow
@every
@pytest.mark.parametrize("K", [*SIZES, 6])
@pytest.mark.parametrize("n", [1, 19])
def test_the_imprecision_bound_is_what_lower_probabilities_leave(name, K, n):
    Q = sets(name, K, n=n)
    least = Q.lower().sum(axis=-1) if K > 4 else [corners_of(one).min(axis=0).sum() for one in Q]
    same(cl.imprecision_bound(Q), 1 - np.asarray(least), 1e-12)


@every
@all_sizes
def test_entropies_agree_with_the_oracles_on_the_corners(name, K):
    Q = sets(name, K)
    upper, _, p = Q.max_entropy(distribution=True)
    lower, error, q = Q.min_entropy(distribution=True)
    assert np.all(error <= 1e-11)
    for i in range(len(Q)):
        P = np.maximum(corners_of(Q[i]), 0)
        # Gibbs' inequality at the maximiser is a certificate, and it must be a member.
        assert Q[i].contains(p[i])
        same(upper[i] / np.log(2), oracles_entropy.entropy(p[i]))
        same(upper[i] / np.log(2), oracles_entropy.upper_bound(P, p[i]), 2e-9)
        assert Q[i].contains(q[i])
        same(lower[i] / np.log(2), oracles_entropy.entropy(q[i]))
        same(lower[i] / np.log(2), oracles_entropy.lower_entropy(P))


@every
@all_sizes
def test_hartley_agrees_with_the_moebius_inverse(name, K):
    Q = sets(name, K)
    exact = cl.generalized_hartley(Q, method="exact")
    sampled, error = cl.generalized_hartley(Q, method="sample", return_error=True)
    for i in range(len(Q)):
        expected = oracles_entropy.generalized_hartley(np.maximum(corners_of(Q[i]), 0))
        same(exact[i], expected)
        same(sampled[i], expected, 1e-9 + 5 * error[i])


@pytest.mark.slow
@every
@all_sizes
def test_every_question_agrees_with_the_base_class(name, K):
    Q = sets(name, K, seed=1)
    rng = np.random.default_rng(K)
    f = rng.normal(size=(4, K))
    for question, arguments in (
        ("lower", ()), ("upper", ()), ("lower", (f,)), ("upper", (f,)), ("lower", (f[0],)),
        ("lower_sum", ()), ("lower_probabilities", ()), ("choquet", (f,)),
    ):  # fmt: skip
        same(getattr(Q, question)(*arguments), getattr(CredalSet, question)(Q, *arguments))
    for cost in (None, rng.random((K, K)), ORDINAL[:K, :K]):
        value, gap = Q.maximin(cost)
        same(value, CredalSet.maximin(Q, cost)[0])
        assert np.all((gap >= 0) & (gap <= 1e-9))
    for distance in (cl.TotalVariation(), TestFunctions(f)):
        same(Q.diameter(distance), CredalSet.diameter(Q, distance))
        same(Q.diameter_bounds(distance), CredalSet.diameter_bounds(Q, distance))
    for ours, base in zip(Q.tv_uncertainty(), CredalSet.tv_uncertainty(Q), strict=True):
        same(ours, base)
    closed = Q.tv_closed_forms(epistemic=True), CredalSet.tv_closed_forms(Q, epistemic=True)
    for ours, base in zip(*closed, strict=True):
        same(ours, base)
    same(Q.max_entropy()[0], CredalSet.max_entropy(Q)[0])
    same(Q.min_entropy()[0], CredalSet.min_entropy(Q)[0])
    monotone = CredalSet.is_two_monotone(Q)
    assert np.array_equal(Q.is_two_monotone(), monotone)
    assert np.all(Q.choquet(f) <= Q.lower(f) + 1e-9)
    if name not in NOT_CORES:
        same(Q.choquet(f)[monotone], Q.lower(f)[monotone])
    for p in rng.dirichlet(np.ones(K), 5):
        assert np.array_equal(Q.contains(p), CredalSet.contains(Q, p))


@every
@all_sizes
def test_corners_are_the_literal_ones(name, K):
    Q = sets(name, K, seed=2)
    corners = Q.extreme_points()
    for i in range(len(Q)):
        ours = {tuple(p) for p in np.round(corners[i], 8) + 0.0}
        literal = {tuple(p) for p in np.round(corners_of(Q[i]), 8) + 0.0}
        assert ours == literal
        assert Q[i].contains(corners[i]).all()


@pytest.mark.slow
@every
@pytest.mark.parametrize("distance", NAMES)
def test_measures_of_other_distances_are_those_of_the_hull(name, distance):
    Q = sets(name, 4, n=4)
    ours, hull = cl.quantify(Q, distance), cl.quantify(Q.to_hull(), distance)
    same(ours.total, hull.total)
    same(ours.aleatoric.lower, hull.aleatoric.lower)
    same(ours.aleatoric.upper, hull.aleatoric.upper)
    same(ours.epistemic, hull.epistemic)


@with_unlisted
def test_one_class_is_precise(name):
    Q = sets(name, 1)
    for measure in ("tv", "entropy", "hartley"):
        u = cl.quantify(Q, measure)
        upper = u.aleatoric.upper if measure == "tv" else u.aleatoric
        for value in (u.total, upper, u.epistemic):
            assert np.array_equal(value, np.zeros(len(Q)))


@pytest.mark.slow
@with_unlisted
def test_an_instance_depends_on_itself_alone(name):
    Q = sets(name, 4)
    whole = cl.quantify(Q, ["tv", "entropy", "hartley"])
    for i in range(len(Q)):
        alone = cl.quantify(Q[i], ["tv", "entropy", "hartley"])
        for family, u in whole.items():
            # An envelope has its corners listed, as many as the largest of the batch has.
            limit = 1e-12 if name == "envelope" else 0
            same(u.total[i], alone[family].total, limit)
            same(u.epistemic[i], alone[family].epistemic, limit)


@with_unlisted
def test_batches_behave_like_arrays(name):
    Q = sets(name, 3)
    assert (len(Q), Q.n_classes, Q.batch_shape, Q.dtype) == (N, 3, (N,), np.float64)
    grid = Q[np.arange(8).reshape(2, 4)]
    assert grid.batch_shape == (2, 4)
    assert grid[1, 2].batch_shape == ()
    assert grid[..., :2].batch_shape == (2, 2)
    same(cl.total_uncertainty(grid), cl.total_uncertainty(Q)[:8].reshape(2, 4))
    same(grid.lower(np.eye(3)).reshape(8, 3), Q[:8].lower())
    empty = Q[:0]
    assert cl.quantify(empty, "entropy").total.shape == (0,)
    assert empty.lower(np.ones((2, 3))).shape == (0, 2)
    with pytest.raises(IndexError, match="too many"):
        grid[0, 0, 0]
    with pytest.raises(IndexError, match="single credal set"):
        Q[0][0]
    with pytest.raises(AttributeError, match="immutable"):
        Q.anything = 1
    again = pickle.loads(pickle.dumps(Q))
    assert repr(again) == repr(Q)
    assert np.array_equal(again.lower(), Q.lower())


@pytest.mark.slow
@with_unlisted
def test_single_precision_stays_so(name):
    Q = sets(name, 4)
    frozen = [np.asarray(part, np.float32) for part in parts_of(Q)]
    for part in frozen:
        part.flags.writeable = False
    R = type(Q)(*frozen)
    assert R.dtype == np.float32
    if name != "envelope":  # whose middle is the mean of its corners: a close pair counts twice
        same(R.center(), Q.center(), 3e-5)
    for value, other in ((R.lower(), Q.lower()),
                         (cl.total_uncertainty(R), cl.total_uncertainty(Q)),
                         (cl.epistemic_uncertainty(R), cl.epistemic_uncertainty(Q)),
                         (cl.upper_entropy(R), cl.upper_entropy(Q)),
                         (cl.lower_entropy(R), cl.lower_entropy(Q)),
                         (cl.generalized_hartley(R), cl.generalized_hartley(Q))):  # fmt: skip
        assert value.dtype == np.float32
        same(value, other, 3e-5)


@pytest.mark.slow
@every
def test_nested_sets_compare(name):
    Q = sets(name, 4)
    hull, box = Q.to_hull(), Q.to_intervals()
    for small, large in ((Q, Q), (Q, box), (Q, hull), (hull, Q), (hull, box)):
        assert np.all(small <= large)
        assert np.all(large >= small)
    wide = np.argmax(cl.epistemic_uncertainty(Q))
    point = cl.ConvexHull(Q[wide].center()[None])
    assert point <= Q[wide]
    assert not Q[wide] <= point
    # The box may be larger; if so, something in it is not in the set.
    volume = [bool(box[i] <= Q[i]) for i in range(len(Q))]
    same(box.lower(), Q.lower())
    if name in ("intervals", "contamination"):
        assert all(volume)
    for other in REPRESENTATIONS:
        R = sets(other, 4, seed=3)[:5]
        by_corners = CredalSet._contains_set(R, Q[:5], 1e-9)
        assert np.array_equal(Q[:5] <= R, by_corners)
        assert np.array_equal(Q[:5] <= R, by_corners)
    with pytest.raises(ValueError, match="4 classes"):
        _ = sets(name, 3) <= Q
    with pytest.raises(TypeError):
        _ = Q <= 3


@pytest.mark.slow
@with_unlisted
def test_the_box_dominates_in_monotone_measures(name):
    Q = sets(name, 4)
    box = Q.to_intervals()
    for measure in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy,
                    cl.generalized_hartley):  # fmt: skip
        assert np.all(measure(box) >= measure(Q) - 1e-9)
    assert np.all(cl.lower_entropy(box) <= cl.lower_entropy(Q) + 1e-9)


@every
def test_translation_moves_every_corner(name):
    rng = np.random.default_rng(5)
    Q = sets(name, 3)
    small = Q[0]
    low = Q.lower()
    t = np.zeros((len(Q), 3))
    for i in range(len(Q)):
        a, b = rng.permutation(3)[:2]
        t[i, a], t[i, b] = -low[i, a] / 2, low[i, a] / 2
    if name == "ball":
        Q, t = cl.TotalVariationBall([[0.4, 0.4, 0.2], [0.3, 0.3, 0.4]], 0.1), [[-0.1, 0, 0.1]]
        t = np.repeat(t, 2, axis=0)
    moved = Q.translate(t)
    for i in range(len(Q)):
        ours = np.unique(np.round(moved[i].extreme_points(), 9) + 0.0, axis=0)
        expected = np.unique(np.round(Q[i].extreme_points() + t[i], 9) + 0.0, axis=0)
        if name == "contamination" and Q.epsilon[i] == 1:
            continue
        same(ours, expected, 1e-8)
    with pytest.raises(ValueError, match="sums to 0"):
        small.translate([0.1, 0.0, 0.0])
    with pytest.raises(ValueError, match="one number per class"):
        small.translate([0.0, 0.0])
    with pytest.raises(ValueError, match="simplex"):
        Q[0].translate([-1.0, 1.0, 0.0])
