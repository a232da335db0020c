"""The definitions of the measures, written out for one convex hull.

Every function takes the members of one hull, ``P`` of shape ``(M, K)``, and returns a number. They
are slow and literal: they show the formulas, and the tests compare the fast implementations with
them. `credalens.measures.table` names the one of each measure.

Examples
--------
>>> import numpy as np
>>> from credalens.measures import reference
>>> P = np.array([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
>>> round(float(reference.total_uncertainty(P)), 3)
0.5
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from credalens._backend import Array

Distance = Callable[[Array, Array], Array]
Entropy = Callable[[Array], float]


def total_variation(p: Array, q: Array) -> Array:
    """Return half the L1 distance, the largest difference of the probabilities of an event."""
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def wasserstein_on_line(p: Array, q: Array) -> Array:
    """Return the Wasserstein-1 distance for classes 0, ..., K - 1 on a line."""
    return np.asarray(np.abs(np.cumsum(p - q, axis=-1)).sum(axis=-1))


def kolmogorov(p: Array, q: Array) -> Array:
    """Return the largest difference of the cumulative distribution functions."""
    return np.asarray(np.abs(np.cumsum(p - q, axis=-1)).max(axis=-1))


DISTANCES: dict[str, Distance] = {
    "tv": total_variation,
    "ordinal": wasserstein_on_line,
    "kolmogorov": kolmogorov,
}


def total_uncertainty(P: Array, d: Distance = total_variation) -> float:
    """Return ``min_y max_p d(p, delta_y)``: d is convex, so that a member attains the maximum.

    For total variation this is ``1 - max_y min_m P[m, y]``.
    """
    diracs = np.eye(P.shape[1])
    return float(min(max(d(p, dirac) for p in P) for dirac in diracs))


def aleatoric_uncertainty(p: Array, d: Distance = total_variation) -> float:
    """Return ``min_y d(p, delta_y)`` of one distribution; for total variation ``1 - max_y p_y``."""
    return float(min(d(p, dirac) for dirac in np.eye(len(p))))


def aleatoric_lower(P: Array, d: Distance = total_variation) -> float:
    """Return ``min_p min_y d(p, delta_y)`` over the hull.

    For each y a convex problem in the weights of the members. If d is linear in p, as for total
    variation, a member attains the minimum: ``1 - max_m max_y P[m, y]``.
    """

    def nearest(dirac: Array) -> float:
        return _minimize(lambda w: float(d(w @ P, dirac)), len(P))

    return min(nearest(dirac) for dirac in np.eye(P.shape[1]))


def aleatoric_upper(P: Array, d: Distance = total_variation) -> float:
    """Return ``max_p min_y d(p, delta_y)`` over the hull, a linear programme if d is linear in p.

    With ``C[m, y] = d(P[m], delta_y)`` it is ``max t`` subject to ``w C >= t``: Algorithm 4.
    """
    from scipy.optimize import linprog

    diracs = np.eye(P.shape[1])
    C = np.array([[d(p, dirac) for dirac in diracs] for p in P])
    M, K = C.shape
    solution = linprog(
        np.r_[np.zeros(M), -1.0],
        A_ub=np.c_[-C.T, np.ones(K)],
        b_ub=np.zeros(K),
        A_eq=[np.r_[np.ones(M), 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * (M + 1),
    )
    return float(-solution.fun)


def kolmogorov_aleatoric_upper(P: Array, d: Distance = kolmogorov) -> float:
    """Return the upper aleatoric end for Kolmogorov, whose distances to Diracs are not linear.

    ``min_y d(p, delta_y) = max_k min(F_k, 1 - F_k)`` with the cumulative probabilities ``F_k`` of
    p, and over the hull each ``F_k`` attains every value between its smallest and its largest.
    """
    F = np.cumsum(P, axis=1)[:, :-1]
    nearest = np.clip(0.5, F.min(axis=0), F.max(axis=0))
    return float(np.minimum(nearest, 1 - nearest).max(initial=0.0))


#: The upper aleatoric end of distances that are not linear in p.
ALEATORIC_UPPER = {"kolmogorov": kolmogorov_aleatoric_upper}


def epistemic_uncertainty(P: Array, d: Distance = total_variation) -> float:
    """Return half the diameter, ``max_{p, q} d(p, q) / 2``; two members attain it.

    For total variation this is ``max_{m, m'} sum_y |P[m, y] - P[m', y]| / 4``.
    """
    return float(max(d(p, q) for p in P for q in P) / 2)


def entropy(p: Array) -> float:
    """Return the Shannon entropy of one distribution in bits, with ``0 log 0 = 0``."""
    return float(-sum(x * math.log2(x) for x in p if x > 0)) + 0.0


def upper_entropy(P: Array) -> float:
    """Return ``max_p H(p)`` over the hull, a concave problem in the weights: Algorithm 2."""
    return -_minimize(lambda w: -entropy(w @ P), len(P))


def lower_entropy(P: Array) -> float:
    """Return ``min_p H(p)``: entropy is concave, so that a member attains the minimum."""
    return min(entropy(p) for p in P)


def entropy_difference(P: Array) -> float:
    """Return ``S* - S_*``."""
    return upper_entropy(P) - lower_entropy(P)


def lower_probability(P: Array, event: tuple[int, ...]) -> float:
    """Return ``min_m P[m](A)`` of an event, a tuple of classes."""
    return float(P[:, list(event)].sum(axis=1).min())


def upper_probability(P: Array, event: tuple[int, ...]) -> float:
    """Return ``max_m P[m](A)`` of an event, a tuple of classes."""
    return float(P[:, list(event)].sum(axis=1).max())


def generalized_hartley(P: Array) -> float:
    """Return ``sum_A m(A) log2 |A|`` with the Moebius inverse m of the lower probability."""
    total = 0.0
    for A in _events(range(P.shape[1])):
        mass = sum((-1) ** (len(A) - len(B)) * lower_probability(P, B) for B in _events(A))
        total += mass * math.log2(len(A))
    return total


def hartley_residual(P: Array) -> float:
    """Return ``S* - GH``."""
    return upper_entropy(P) - generalized_hartley(P)


def maximum_mean_imprecision(P: Array) -> float:
    """Return the largest difference of the upper and lower probability of an event."""
    events = _events(range(P.shape[1]))
    return max(upper_probability(P, A) - lower_probability(P, A) for A in events)


def imprecision_bound(P: Array) -> float:
    """Return ``1 - sum_y lower({y})``, an upper bound of the maximum mean imprecision."""
    return max(0.0, 1 - sum(lower_probability(P, (y,)) for y in range(P.shape[1])))


def brier(p: Array) -> float:
    """Return ``1 - |p|^2``, the generalised entropy of the Brier score."""
    return 1 - sum(float(x) ** 2 for x in p)


def spherical(p: Array) -> float:
    """Return ``1 - |p|``, the generalised entropy of the spherical score."""
    return 1 - math.sqrt(sum(float(x) ** 2 for x in p))


def zero_one(p: Array) -> float:
    """Return ``1 - max_y p_y``, the generalised entropy of the zero-one score."""
    return 1 - float(max(p))


#: The generalised entropy G of each scoring rule.
GENERALISED_ENTROPIES: dict[str, Entropy] = {
    "log": entropy,
    "brier": brier,
    "spherical": spherical,
    "zero_one": zero_one,
}


def entropy_of_mean(P: Array, G: Entropy = entropy) -> float:
    """Return ``G(mean)``: total uncertainty of the members as a sample."""
    return G(P.mean(axis=0))


def mean_entropy(P: Array, G: Entropy = entropy) -> float:
    """Return the mean of ``G(p)`` over the members: aleatoric uncertainty."""
    return sum(G(p) for p in P) / len(P)


def entropy_difference_of_mean(P: Array, G: Entropy = entropy) -> float:
    """Return ``G(mean) - mean G``: mutual information for Shannon entropy."""
    return entropy_of_mean(P, G) - mean_entropy(P, G)


def sum_over_classes(measure: Callable[[Array], float], P: Array) -> float:
    """Return the sum over the classes y of a measure of ``(p_y, 1 - p_y)``."""
    return sum(measure(np.stack([p, 1 - p], axis=1)) for p in P.T)


def median_distance(P: Array) -> float:
    """Return ``min_q mean_m |p_m - q|_1 / 2``, a linear programme in q and the differences."""
    from scipy.optimize import linprog

    M, K = P.shape
    each, own = np.tile(np.eye(K), (M, 1)), np.eye(M * K)
    solution = linprog(
        np.r_[np.zeros(K), np.full(M * K, 0.5 / M)],
        A_ub=np.block([[each, -own], [-each, -own]]),
        b_ub=np.r_[P.ravel(), -P.ravel()],
        A_eq=[np.r_[np.ones(K), np.zeros(M * K)]],
        b_eq=[P.sum() / M],
    )
    return float(solution.fun)


def kullback_leibler(p: Array, q: Array) -> float:
    """Return ``sum_y p_y log2(p_y / q_y)``, infinite if some ``q_y = 0 < p_y``."""
    if any(y == 0 < x for x, y in zip(p, q, strict=True)):
        return math.inf
    return float(sum(x * math.log2(x / y) for x, y in zip(p, q, strict=True) if x > 0))


def square_distance(p: Array, q: Array) -> float:
    """Return ``|p - q|^2``, the divergence of the Brier score."""
    return float(((p - q) ** 2).sum())


def spherical_divergence(p: Array, q: Array) -> float:
    """Return ``|p| - <p, q> / |q|``, the divergence of the spherical score."""
    return float(np.sqrt(p @ p) - p @ q / np.sqrt(q @ q))


#: The divergence of each scoring rule that two members attain.
DIVERGENCES: dict[str, Callable[[Array, Array], float]] = {
    "log": kullback_leibler,
    "brier": square_distance,
    "spherical": spherical_divergence,
}


def scoring_lower(P: Array, G: Entropy) -> float:
    """Return ``min_p G(p)`` over the hull: G is concave, so that a member attains the minimum."""
    return min(G(p) for p in P)


def scoring_upper(P: Array, G: Entropy) -> float:
    """Return ``max_p G(p)`` over the hull, a concave problem in the weights of the members."""
    return aleatoric_upper(P) if G is zero_one else -_minimize(lambda w: -G(w @ P), len(P))


def scoring_divergence(P: Array, D: Callable[[Array, Array], float]) -> float:
    """Return ``max_{p, q} D(p, q)`` over the hull, which two members attain."""
    return max(D(p, q) for p in P for q in P)


def zero_one_divergence(P: Array) -> float:
    """Return ``max_{p, q} max_z p_z - p_y`` over the hull, where y is an argmax of q.

    Class y is one if some mixture has ``q_y >= q_z`` for all z: a linear programme for each y.
    """
    from scipy.optimize import linprog

    M, K = P.shape
    regrets = [0.0]
    for y in range(K):
        leads = linprog(
            np.zeros(M),
            A_ub=(P - P[:, [y]]).T,
            b_ub=np.full(K, 1e-12),
            A_eq=np.ones((1, M)),
            b_eq=[1.0],
        )
        if leads.status == 0:
            regrets.append(max(float(p.max() - p[y]) for p in P))
    return max(regrets)


def labelwise_credal(P: Array, part: int) -> float:
    """Return the sum over the classes of a measure of ``[a, b]``, lower and upper probability.

    Part 0 is ``min(1 - a, b)``, part 1 ``min(a, 1 - b)``, part 2 ``b - a``.
    """
    bounds = ((float(p.min()), float(p.max())) for p in P.T)
    return sum((min(1 - a, b), min(a, 1 - b), b - a)[part] for a, b in bounds)


def volume(P: Array) -> float:
    """Return the volume of the hull in the first K - 1 coordinates, from a triangulation."""
    from scipy.spatial import Delaunay, QhullError

    points = P[:, :-1]
    dimension = points.shape[1]
    if dimension == 1:
        return float(np.ptp(points))
    if len(points) <= dimension or np.linalg.matrix_rank(points - points[0]) < dimension:
        return 0.0
    try:
        simplices = points[Delaunay(points).simplices]
    except QhullError:
        return 0.0
    edges = simplices[:, 1:] - simplices[:, :1]
    return float(np.abs(np.linalg.det(edges)).sum() / math.factorial(dimension))


def _events(classes: range | tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the nonempty subsets."""
    for size in range(1, len(classes) + 1):
        yield from itertools.combinations(classes, size)


def _minimize(function: Callable[[Array], float], n_members: int) -> float:
    """Return the minimum of a convex function of the weights, to about 1e-6."""
    from scipy.optimize import minimize

    def normalized(w: Array) -> float:
        w = np.clip(w, 0, None)
        return function(w / w.sum())

    if n_members == 1:
        return function(np.ones(1))
    starts = [np.full(n_members, 1 / n_members), *(0.9 * np.eye(n_members) + 0.1 / n_members)]
    solutions = [
        minimize(
            normalized,
            start,
            method="SLSQP",
            bounds=[(0, 1)] * n_members,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-12, "maxiter": 500},
        )
        for start in starts
    ]
    return float(min(min(s.fun for s in solutions), *map(function, np.eye(n_members))))
