"""Contamination and total variation balls: hand-computed cases and the door."""

import numpy as np
import pytest

import credalens as cl
import oracles
import oracles_entropy
from oracles_sets import ball, ball_corners, centers


def same(a, b, atol=1e-9):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("kind", "name"), [(cl.Contamination, "epsilon"), (cl.TotalVariationBall, "radius")]
)
def test_the_door(kind, name):
    with pytest.raises(ValueError, match=rf"{name}: is 1.2; pass numbers in \[0, 1\]"):
        kind([0.5, 0.5], 1.2)
    with pytest.raises(ValueError, match=rf"{name}: is -0.1 at index 1 \(zero-based\)"):
        kind([[0.5, 0.5]] * 2, [0.1, -0.1])
    with pytest.raises(ValueError, match=f"{name}: is NaN"):
        kind([0.5, 0.5], np.nan)
    with pytest.raises(ValueError, match=rf"{name}: has shape \(3,\)"):
        kind([[0.5, 0.5]] * 2, [0.1, 0.1, 0.1])
    with pytest.raises(ValueError, match=r"center: row 1 \(zero-based\) sums to 0.9"):
        kind([[0.5, 0.5], [0.5, 0.4]], 0.1)
    same(kind([[0.5, 0.5], [2, 2]], 0.1, normalize=True).center(), 0.5)
    grid = kind([0.5, 0.5], np.full((2, 3), 0.1))
    assert grid.batch_shape == (2, 3)
    same(getattr(grid, name), 0.1)


def test_contamination_by_hand():
    Q = cl.Contamination([0.5, 0.3, 0.2], 0.4)
    same(Q.lower(), [0.3, 0.18, 0.12])
    same(Q.upper(), [0.7, 0.58, 0.52])
    u = cl.quantify(Q)
    same([u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic], [0.7, 0.3, 2 / 3, 0.2])
    same(Q.max_entropy(distribution=True)[2], 1 / 3)  # .4 is enough to level all
    same(Q.min_entropy(distribution=True)[2], [0.7, 0.18, 0.12])
    same(cl.generalized_hartley(Q), 0.4 * np.log2(3))
    # (.45, .27, .18) with .1 poured in: .18 + .09 = .27, the rest, .01, on two classes.
    where = cl.Contamination([0.5, 0.3, 0.2], 0.1).max_entropy(distribution=True)[2]
    same(where, [0.45, 0.275, 0.275])


def test_contamination_is_its_box():
    Q = cl.Contamination(centers(20, 6, np.random.default_rng(0)), np.linspace(0, 1, 20))
    box = Q.to_intervals()
    for measure in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy,
                    cl.lower_entropy, cl.generalized_hartley):  # fmt: skip
        same(measure(Q), measure(box))
    same(cl.aleatoric_uncertainty(Q).upper, cl.aleatoric_uncertainty(box).upper)
    assert np.all(box >= Q)
    assert np.all(box <= Q)


def test_the_ball_is_smaller_than_its_box():
    Q = cl.TotalVariationBall([0.4, 0.4, 0.1, 0.1], 0.15)
    value, p = cl.upper_entropy(Q, return_distribution=True)
    # .15 is cut from two classes, .075 each, and poured on the other two.
    same(p, [0.325, 0.325, 0.175, 0.175])
    assert round(float(value), 4) == 1.9341
    same(cl.upper_entropy(Q.to_intervals()), 2.0)
    assert not Q.to_intervals() <= Q


def test_the_ball_by_hand():
    Q = cl.TotalVariationBall([0.6, 0.3, 0.1], 0.2)
    u = cl.quantify(Q)
    # TU = 1 - .4; AU from 1 - .8 to 1 - .4 (all of .2 is cut from the top class).
    same([u.total, u.aleatoric.lower, u.aleatoric.upper], [0.6, 0.2, 0.6])
    same(u.epistemic, 0.2)  # event {0}: from .4 to .8
    same(Q.min_entropy(distribution=True)[2], [0.8, 0.2, 0.0])
    same(Q.lower([1.0, 2.0, 4.0]), 0.8 + 2 * 0.2)
    same(Q.upper([1.0, 2.0, 4.0]), 0.4 + 2 * 0.3 + 4 * 0.3)
    assert Q.contains([0.5, 0.3, 0.2])
    assert not Q.contains([0.39, 0.4, 0.21])


def test_the_diameter_of_a_ball_needs_a_search():
    # Three classes of 1/3 and a radius of .4: an event of probability 1/3 reaches from 0 to 11/15,
    # no event lies between .4 and .6.
    Q = cl.TotalVariationBall(np.full(3, 1 / 3), 0.4)
    same(cl.epistemic_uncertainty(Q), (0.4 + 1 / 3) / 2)
    for radius in (0.5, 0.7, 1.0):
        P = ball_corners(np.full(3, 1 / 3), radius)
        Q = cl.TotalVariationBall(np.full(3, 1 / 3), radius)
        same(cl.epistemic_uncertainty(Q), oracles.epistemic_uncertainty(P))


@pytest.mark.parametrize("K", [5, 6])
def test_the_ball_agrees_with_its_corners(K):
    Q = ball(10, K, np.random.default_rng(K))
    u = cl.quantify(Q, ["tv", "entropy"])
    for i in range(len(Q)):
        P = np.unique(np.round(ball_corners(Q[i].center(), float(Q.radius[i])), 13), axis=0)
        P = np.maximum(P, 0)
        same(u["tv"].aleatoric.upper[i], oracles.aleatoric_upper(P), 1e-7)
        same(u["tv"].epistemic[i], oracles.epistemic_by_pairs(P))
        best = Q[i].max_entropy(distribution=True)[2]
        same(u["entropy"].total[i], oracles_entropy.upper_bound(P, best))
        same(u["entropy"].aleatoric[i], oracles_entropy.lower_entropy(P))


def test_large_balls_are_sampled_without_bias():
    K = 45
    p = np.random.default_rng(2).dirichlet(np.ones(K))
    Q = cl.TotalVariationBall(p, [0.0, 0.2])
    value, error = cl.generalized_hartley(Q, random_state=1, n_samples=400, return_error=True)
    assert abs(value[0]) <= 5 * error[0] + 1e-9
    # A ball of 12 classes, exactly and by chains.
    small = cl.TotalVariationBall(np.random.default_rng(3).dirichlet(np.ones(12)), 0.3)
    from credalens.measures.hartley import weights
    from credalens.sets.thresholded_additive import _sample, size_weights

    w, log_v = weights(12)
    same(size_weights(log_v), w, 1e-13)
    exact = small.hartley_exact(w)
    estimate, spread = _sample(
        np.full(1, np.log2(12)), small.center()[None], np.array([0.3]), log_v, 0, 2000, 0, 0, 0
    )
    assert abs(estimate[0] - exact) <= 5 * spread[0]
    assert spread[0] < 0.05


def test_a_ball_that_the_simplex_cuts_off_does_not_move():
    Q = cl.TotalVariationBall([0.8, 0.1, 0.1], 0.2)
    with pytest.raises(ValueError, match="to_hull"):
        Q.translate([-0.1, 0.1, 0.0])
    same(Q.translate(np.zeros(3)).center(), [0.8, 0.1, 0.1])


@pytest.mark.parametrize("K", [64, 65])
def test_the_least_entropy_of_a_ball_of_many_classes(K):
    rng = np.random.default_rng(K)
    Q = cl.TotalVariationBall(rng.dirichlet(np.ones(K), 9), np.linspace(0, 1, 9))
    value, error, where = Q.min_entropy(distribution=True)
    for i, (p, radius) in enumerate(zip(Q.center(), Q.radius, strict=True)):
        # From the least probable classes, in their order, to the most probable one.
        order = np.argsort(p)
        kept = p[order]
        removed = np.diff(np.minimum(np.cumsum(np.append(0.0, kept)), radius))
        kept -= removed
        kept[-1] += removed.sum()
        same(where[i, order], kept, 1e-14)
        same(value[i], oracles_entropy.entropy(kept) * np.log(2), 1e-12)
    assert not error.any()


def test_diameters_scale_with_epsilon_for_every_distance():
    Q = cl.Contamination(centers(5, 4, np.random.default_rng(1)), np.linspace(0, 1, 5))
    for distance in ("tv", "ordinal", "kolmogorov"):
        same(cl.epistemic_uncertainty(Q, distance), cl.epistemic_uncertainty(Q.to_hull(), distance))


def test_the_diameter_of_a_ball_of_many_classes():
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(100):
        p, e = rng.dirichlet(np.full(60, rng.choice([0.02, 0.2, 1.0]))), rng.random()
        top = p.max()
        if top >= min(e, 0.5) or top >= 1 - e or top <= 1 - 2 * e:
            expected = min(0.5, (e + min(e, 1 - top)) / 2)
            found, error = cl.epistemic_uncertainty(cl.TotalVariationBall(p, e), return_error=True)
            assert abs(found - expected) < 1e-12
            assert error == 0
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("kind", [cl.Contamination, cl.TotalVariationBall])
def test_shifts_are_refused_with_their_place(kind):
    Q = kind(np.full((4, 3), 1 / 3), 0.1)
    with pytest.raises(ValueError, match=r"^t: sums to -0.2; pass a translation that sums to 0$"):
        Q.translate([-0.1, -0.1, 0.0])
    t = np.zeros((4, 3))
    t[2, 1] = 0.25
    with pytest.raises(ValueError, match=r"^t: sums to 0.25 at index 2 \(zero-based\);"):
        Q.translate(t)
    with pytest.raises(ValueError, match=r"^t: has shape \(3,\), batch_shape \(4,\); pass shapes"):
        Q.translate(np.zeros((3, 3)))
    assert kind([0.5, 0.5], 0.1).translate(np.zeros((2, 2))).batch_shape == (2,)
