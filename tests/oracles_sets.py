"""Corners of credal sets, slow and literal, and random sets of every representation."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

import credalens as cl
from credalens import _validation


class Listed(cl.CredalSet):
    """The smallest representation: one array, the extreme points."""

    core_ndims: ClassVar[tuple[int, ...]] = (2,)
    array_names: ClassVar[tuple[str, ...]] = ("points",)

    def __init__(self, points: Any) -> None:
        self._init_arrays(points)

    def _validate(self, points: Any) -> tuple[np.ndarray, ...]:
        return (_validation.probabilities(points, "points", axes=("extreme points", "classes")),)

    @property
    def points(self) -> Any:
        return self._array(0)

    def extreme_points(self) -> Any:
        return self._array(0)


def box_corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """All classes but one at a bound; the one takes what is left, if that lies in its interval."""
    K, corners = len(low), []
    for free in range(K):
        others = [y for y in range(K) if y != free]
        for ends in itertools.product(*((low[y], high[y]) for y in others)):
            left = 1 - sum(ends)
            if low[free] - 1e-12 <= left <= high[free] + 1e-12:
                corners.append(np.insert(np.array(ends), free, left))
    return np.array(corners)


def marginals(values: np.ndarray) -> np.ndarray:
    """What each class adds to the lower probability, for every order of the classes."""
    K = len(values).bit_length() - 1
    corners = []
    for order in itertools.permutations(range(K)):
        p, event = np.zeros(K), 0
        for y in order:
            p[y] = values[event | 1 << y] - values[event]
            event |= 1 << y
        corners.append(p)
    return np.array(corners)


def core_corners(values: np.ndarray) -> np.ndarray:
    """Solutions of K - 1 constraints ``p(B) = values[B]`` that satisfy all the others."""
    K = len(values).bit_length() - 1
    masks = np.array([[event >> y & 1 for y in range(K)] for event in range(1 << K)], float)
    corners = []
    for tight in itertools.combinations(range(1, (1 << K) - 1), K - 1):
        system = np.vstack([masks[list(tight)], np.ones(K)])
        if abs(np.linalg.det(system)) > 1e-9:
            p = np.linalg.solve(system, np.append(values[list(tight)], 1.0))
            if (masks @ p >= values - 1e-10).all():
                corners.append(p)
    return np.array(corners)


def ball_corners(center: np.ndarray, radius: float) -> np.ndarray:
    """The marginals of ``lower(B) = max(0, center(B) - radius)``."""
    K = len(center)
    values = [max(0.0, sum(center[y] for y in range(K) if event >> y & 1) - radius)
              for event in range(1 << K)]  # fmt: skip
    values[-1] = 1.0
    return marginals(np.array(values))


def corners_of(Q: cl.CredalSet) -> np.ndarray:
    """The corners of one set, from its data."""
    if isinstance(Q, Listed):
        return Q.points
    if isinstance(Q, cl.ProbabilityIntervals):
        return box_corners(Q.lower(), Q.upper())
    if isinstance(Q, cl.TotalVariationBall):
        return ball_corners(Q.center(), float(Q.radius))
    if isinstance(Q, cl.Contamination):
        return (1 - Q.epsilon) * Q.center() + Q.epsilon * np.eye(Q.n_classes)
    if isinstance(Q, cl.Possibility):
        K = Q.n_classes
        events = [[y for y in range(K) if not event >> y & 1] for event in range(1 << K)]
        values = [1 - max((Q.contour[y] for y in others), default=0) for others in events]
        return marginals(np.array(values))
    if isinstance(Q, cl.LowerProbability | cl.BeliefFunction):
        return marginals(Q.values) if Q.is_two_monotone() else core_corners(Q.values)
    raise NotImplementedError(f"write down the corners of {type(Q).__name__} here")


def centers(n: int, K: int, rng: np.random.Generator) -> np.ndarray:
    """Distributions flat and peaked, with zeros, ties and Dirac measures among them."""
    p = rng.dirichlet(np.full(K, 1.0), n)
    p[1::4] = rng.dirichlet(np.full(K, 0.2), len(p[1::4]))
    p[2::4] = np.eye(K)[rng.integers(K, size=len(p[2::4]))]
    p[3::4] = 1 / K
    return p


def intervals(n: int, K: int, rng: np.random.Generator) -> cl.ProbabilityIntervals:
    p = centers(n, K, rng)
    low, high = p * rng.random((n, K)), p + (1 - p) * rng.random((n, K)) * 0.6
    low[::5] = low[::5].min(axis=1, keepdims=True)  # equal intervals
    high[::5] = high[::5].max(axis=1, keepdims=True)
    high[4::5] = p[4::5]  # precise
    return cl.ProbabilityIntervals(low, high)


def contamination(n: int, K: int, rng: np.random.Generator) -> cl.Contamination:
    return cl.Contamination(centers(n, K, rng), np.r_[0.0, 1.0, rng.random(n)][:n])


def ball(n: int, K: int, rng: np.random.Generator) -> cl.TotalVariationBall:
    return cl.TotalVariationBall(centers(n, K, rng), np.r_[0.0, 1.0, rng.random(n) ** 2][:n])


def kl_ball(n: int, K: int, rng: np.random.Generator) -> cl.KLBall:
    return cl.KLBall(centers(n, K, rng), np.r_[0.0, np.inf, rng.exponential(0.5, n)][:n])


def ordinal_ball(n: int, K: int, rng: np.random.Generator) -> cl.OrdinalBall:
    return cl.OrdinalBall(centers(n, K, rng), np.r_[0.0, np.inf, rng.exponential(0.4, n)][:n])


def belief(n: int, K: int, rng: np.random.Generator) -> cl.BeliefFunction:
    masses = rng.dirichlet(np.full(1 << K, 0.2), n)
    masses[:, 0] = 0
    return cl.BeliefFunction(masses / masses.sum(axis=1, keepdims=True))


def possibility(n: int, K: int, rng: np.random.Generator) -> cl.Possibility:
    contour = rng.random((n, K))
    contour[1::4] = np.round(4 * contour[1::4]) / 4  # ties and zeros
    contour[2::4] = 0.0  # a Dirac measure
    contour[np.arange(n), rng.integers(K, size=n)] = 1.0
    contour[3::8] = 1.0  # all distributions
    return cl.Possibility(contour)


def two_monotone(n: int, K: int, rng: np.random.Generator) -> cl.LowerProbability:
    """Convex functions of a probability, ``max(0, a p(B) - b)`` with 1 for the sure event."""
    values = ball(n, K, rng).lower_probabilities()
    return cl.LowerProbability(0.7 * values + 0.3 * belief(n, K, rng).values)


def envelope(n: int, K: int, rng: np.random.Generator) -> cl.LowerProbability:
    """Lower envelopes of three distributions: coherent, mostly not 2-monotone."""
    members = rng.dirichlet(np.ones(K), (n, 3))
    return cl.LowerProbability(cl.ConvexHull(members).lower_probabilities())


def listed(n: int, K: int, rng: np.random.Generator) -> Listed:
    points = np.stack([centers(n, K, rng), rng.dirichlet(np.ones(K), n)], axis=1)
    # So that a single class has probability 1, not one that is off by rounding.
    return Listed(points / points.sum(axis=-1, keepdims=True))


REPRESENTATIONS = {
    "intervals": intervals,
    "contamination": contamination,
    "ball": ball,
    "belief": belief,
    "possibility": possibility,
    "two_monotone": two_monotone,
    "envelope": envelope,
    "listed": listed,
}

#: Those whose extreme points are not listed.
UNLISTED = {"kl_ball": kl_ball, "ordinal_ball": ordinal_ball}

#: Those that hold fewer than all distributions above their lower probability.
NOT_CORES = {"listed"}
