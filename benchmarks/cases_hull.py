"""Convex hulls: every measure, its peers and its sizes."""

from __future__ import annotations

import functools

import numpy as np

import credalens as cl
from benchmarks import peers, peers_batch, peers_lp, peers_probly
from benchmarks.cells import Case, Peer, Size, axes
from benchmarks.total_variation import dirichlet

BASE = Size(1000, 10, 10)
WIDE = axes(BASE, N=(1, 100, 10_000, 100_000), M=(2, 40, 160), K=(3, 30, 100, 1000))
USUAL = axes(BASE, N=(1, 100, 10_000), M=(2, 40, 160), K=(3, 30, 100))
EVENTS = axes(BASE, N=(1, 100, 10_000), M=(2, 40, 160), K=(3, 6, 14, 18))
GENERAL = axes(Size(100, 10, 10), N=(1, 10, 1000), M=(2, 5, 20), K=(3, 30, 100))
FEW = axes(Size(100, 10, 5), N=(1, 10, 1000), M=(2, 40), K=(3, 4, 6))

#: Further sizes, at which ratios are required.
BATCHES = {"further": (Size(10_000, 10, 10), Size(10_000, 10, 100))}

#: Pairs of antithetic permutations of the sampled Hartley measure.
PAIRS = 500


def uniform(size):
    """Return members uniform on the simplex, which disagree: the most expensive case."""
    return (dirichlet((size.N, size.M, size.K), seed=size.K),)


def single(size):
    """Return the same members in single precision."""
    return (dirichlet((size.N, size.M, size.K), np.float32, seed=size.K),)


def confident(size):
    """Return members with probability zero for a third of the classes, as in float32 softmax."""
    P = dirichlet((size.N, size.M, size.K), seed=size.K)
    P[np.broadcast_to(np.random.default_rng(0).random((size.N, 1, size.K)) < 1 / 3, P.shape)] = 0
    P[:, :, 0] += 1e-3
    P /= P.sum(axis=2, keepdims=True)
    return (P,)


def each(function):
    """Return a function of a batch from a function of one instance."""

    def run(P):
        return np.array([function(p) for p in P])

    return run


def _highspy():
    import highspy

    return highspy


def _pot():
    import ot

    return ot


def few(most):
    """Return whether a peer is run, by the number of classes."""
    return lambda size: most >= size.K and size.N * size.M * 2**size.K <= 2e9


READ = Peer("read limit", peers_batch.read, limit=True, whole=True)
CHECKED = 'credalens validates every row in the same pass (`validate="later"`); NumPy does not'
UNCHECKED = "`validate=False`: neither credalens nor NumPy validates the rows"
ALL_EVENTS = "stores 2^K events per instance"


def numpy(function, *, whole=True, **more):
    return Peer("NumPy", function, whole=whole, **more)


def by_pdist(points, metric, scale):
    return Peer("SciPy pdist", lambda P: peers_batch.by_pdist(points(P), metric, scale))


def new_probly(name, tolerance, **more):
    run = peers_probly.new(name, peers_probly.hull)
    return Peer("probly 0.9.1", run, tolerance, loads=peers_probly.load_new, **more)


def old_probly(name, tolerance, **more):
    return Peer("probly 0.3.0", peers_probly.old(name), tolerance, loads=peers.load_probly, **more)


def _closed_forms(P, validate="later"):
    return cl.ConvexHull(P, validate=validate).tv_closed_forms(epistemic=True)


def _unchecked(P):
    return _closed_forms(P, validate=False)


def _quantify(P):
    u = cl.quantify(P)
    return u.total, *u.aleatoric, u.epistemic


def _games(cost=None):
    make = (lambda p: 1 - p) if cost is None else (lambda p: p @ cost(p.shape[1]))
    return (
        Peer("SciPy linprog", each(lambda p: peers_lp.linprog_game(make(p)))),
        Peer("highspy, solver reused", lambda P: _highs(P, cost, True), loads=_highspy),
        Peer("highspy, new solver per problem", lambda P: _highs(P, cost, False), loads=_highspy),
    )


def _highs(P, cost, keep):
    return peers_lp.highs_games(P, None if cost is None else cost(P.shape[2]), keep=keep)


def _wasserstein(make):
    made = functools.cache(make)
    return lambda P: cl.epistemic_uncertainty(P, made(P.shape[2]))


def _tree(K):
    parents = peers_batch.tree_parents(K)
    return cl.Wasserstein.tree(parents, np.ones(len(parents)))


def _pot_peer(cost):
    return Peer("POT emd2", lambda P: peers_batch.by_pot(P, cost(P.shape[2])), loads=_pot)


def _sampled(P):
    return cl.generalized_hartley(P, method="sample", n_samples=PAIRS, random_state=0)


ordinal = functools.cache(cl.Wasserstein.ordinal)
kernel_distance = functools.cache(lambda K: cl.MMD(peers_batch.kernel(K)))

CASES = (
    Case("TU", "hull", uniform, cl.total_uncertainty,
         (numpy(peers_batch.total), READ), WIDE),
    Case("AU_lower", "hull", uniform,
         lambda P: cl.ConvexHull(P, validate="later").tv_closed_forms(epistemic=False)[1],
         (numpy(peers_batch.aleatoric_lower), READ), WIDE,
         note="a method of the set is timed, because the measure always computes both ends"),
    Case("AU_upper", "hull", uniform, lambda P: cl.aleatoric_uncertainty(P).upper,
         (Peer("paper's pseudocode, linprog", each(peers.linprog_upper)), *_games()[1:]),
         USUAL | BATCHES, certificate=lambda P: cl.aleatoric_uncertainty(P, return_error=True)[1]),
    Case("EU", "hull", uniform, cl.epistemic_uncertainty,
         (numpy(peers_batch.epistemic), by_pdist(lambda P: P, "cityblock", 0.25), READ), WIDE),
    Case("TU + AU_lower + EU", "hull", uniform, _closed_forms,
         (numpy(peers.numpy_closed_forms), READ), WIDE | BATCHES, note=CHECKED),
    Case("TU + AU_lower + EU, unchecked", "hull", uniform, _unchecked,
         (numpy(peers.numpy_closed_forms), READ), WIDE | BATCHES, note=UNCHECKED),
    Case("TU + AU_lower + EU, float32", "hull", single, _closed_forms,
         (numpy(peers.numpy_closed_forms, tolerance=1e-5), READ),
         axes(BASE, K=(3, 30, 100)) | BATCHES, note=CHECKED),
    Case("TU + AU_lower + EU, float32, unchecked", "hull", single, _unchecked,
         (numpy(peers.numpy_closed_forms, tolerance=1e-5), READ),
         axes(BASE, K=(3, 30, 100)) | BATCHES, note=UNCHECKED),
    Case("quantify tv", "hull", uniform, _quantify,
         (Peer("paper's pseudocode, SciPy", each(peers.literal_total_variation)), READ), USUAL),
    Case("S*", "hull", uniform, cl.upper_entropy,
         (Peer("paper's pseudocode, SLSQP", each(peers.slsqp_upper_entropy), 1e-4),
          new_probly("upper_entropy", 1e-4, whole=True),
          old_probly("upper_entropy_convex_hull", 1e-4)), USUAL,
         certificate=lambda P: cl.upper_entropy(P, return_error=True)[1]),
    Case("S*, classes without mass", "hull", confident, cl.upper_entropy,
         (Peer("paper's pseudocode, SLSQP", each(peers.slsqp_upper_entropy), 1e-4),
          new_probly("upper_entropy", 1e-4, whole=True),
          old_probly("upper_entropy_convex_hull", 1e-4)),
         axes(BASE, N=(1, 100), K=(3, 30, 100)),
         certificate=lambda P: cl.upper_entropy(P, return_error=True)[1]),
    Case("S_*", "hull", uniform, cl.lower_entropy,
         (numpy(peers_batch.lower_entropy), new_probly("lower_entropy", 1e-6, whole=True),
          old_probly("lower_entropy_convex_hull", 1e-4)), USUAL),
    Case("GH", "hull", uniform, lambda P: cl.generalized_hartley(P, method="exact"),
         (numpy(peers_batch.hartley, most=few(14), why_not=ALL_EVENTS, whole=False),
          Peer("paper's pseudocode, Python", each(peers.literal_hartley),
               most=lambda size: size.K <= 10, why_not="3^K terms"),
          new_probly("generalized_hartley", 1e-6, most=lambda size: size.K <= 10,
                     why_not="3^K terms"),
          old_probly("generalised_hartley", 1e-6, most=lambda size: size.K <= 10,
                     why_not="3^K terms")), EVENTS),
    Case("GH sampled", "hull", uniform, _sampled,
         (numpy(lambda P: peers_batch.hartley_sample(P, PAIRS), tolerance=0.1, whole=False),),
         axes(Size(100, 10, 10), N=(1, 10, 1000), M=(2, 40), K=(30, 100)),
         note=f"both draw {PAIRS} antithetic pairs of permutations; the estimates are random"),
    Case("MMI tv", "hull", uniform, cl.maximum_mean_imprecision,
         (numpy(lambda P: peers_batch.widest_event(*peers_batch.event_bounds(P)),
                most=few(14), why_not=ALL_EVENTS, whole=False),
          by_pdist(lambda P: P, "cityblock", 0.5)), EVENTS),
    Case("MMI ordinal", "hull", uniform, lambda P: cl.maximum_mean_imprecision(P, "ordinal"),
         (), FEW),
    Case("imprecision bound", "hull", uniform, cl.imprecision_bound,
         (numpy(peers_batch.imprecision_bound), READ), USUAL),
    Case("TU, W1 ordinal", "hull", uniform,
         lambda P: cl.total_uncertainty(P, ordinal(P.shape[2])),
         (numpy(peers_batch.ordinal_total),), USUAL),
    Case("AU_upper, W1 ordinal", "hull", uniform,
         lambda P: cl.aleatoric_uncertainty(P, ordinal(P.shape[2])).upper,
         _games(peers_batch.line_cost), USUAL),
    Case("EU, W1 ordinal", "hull", uniform,
         lambda P: cl.epistemic_uncertainty(P, ordinal(P.shape[2])),
         (numpy(peers_batch.ordinal), by_pdist(peers_batch.cumulated, "cityblock", 0.5),
          Peer("SciPy wasserstein_distance", peers_batch.ordinal_scipy),
          _pot_peer(peers_batch.line_cost)), USUAL),
    Case("EU, W1 tree", "hull", uniform, _wasserstein(_tree),
         (numpy(lambda P: peers_batch.pairs(peers_batch.tree_flows(P), peers_batch.absolute) / 2),
          by_pdist(peers_batch.tree_flows, "cityblock", 0.5), _pot_peer(peers_batch.tree_cost)),
         USUAL),
    Case("EU, W1 general metric", "hull", uniform,
         _wasserstein(lambda K: cl.Wasserstein(peers_batch.cloud_cost(K))),
         (_pot_peer(peers_batch.cloud_cost),), GENERAL),
    Case("EU, MMD", "hull", uniform,
         lambda P: cl.epistemic_uncertainty(P, kernel_distance(P.shape[2])),
         (numpy(peers_batch.mmd),
          by_pdist(lambda P: P @ peers_batch.kernel_root(P.shape[2]), "euclidean", 0.5)), USUAL),
    Case("EU, Kolmogorov", "hull", uniform, lambda P: cl.epistemic_uncertainty(P, "kolmogorov"),
         (numpy(peers_batch.kolmogorov), by_pdist(peers_batch.cumulated, "chebyshev", 0.5)), USUAL),
)  # fmt: skip
