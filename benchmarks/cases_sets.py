"""Probability intervals, neighbourhoods and capacities: every measure, its peers and its sizes."""

from __future__ import annotations

import numpy as np

import credalens as cl
from benchmarks import peers, peers_lp, peers_probly, peers_sets
from benchmarks.cases_hull import ALL_EVENTS
from benchmarks.cells import Case, Peer, Size, axes
from benchmarks.peers_batch import hartley_of_masses
from benchmarks.total_variation import dirichlet

NARROW = axes(Size(1000, 0, 10), N=(1, 100, 10_000), K=(3, 14, 20))
WIDE = axes(Size(1000, 0, 10), N=(1, 100, 10_000), K=(3, 30, 100))
CAPACITY = axes(Size(1000, 0, 6), N=(1, 100, 10_000), K=(3, 8, 10))
VERTICES = axes(Size(100, 0, 5), N=(1, 10, 1000), K=(3, 4, 7))

MARGINALS = "K! extreme points"


def boxes(size):
    """Return the class bounds of ten members."""
    P = dirichlet((size.N, 10, size.K), seed=size.K)
    return P.min(axis=1), P.max(axis=1)


def neighbourhoods(size):
    rng = np.random.default_rng(size.K)
    return dirichlet((size.N, size.K), seed=size.K), rng.uniform(0.02, 0.3, size.N)


def masses(size):
    """Return masses of all events; a third of them are zero."""
    rng = np.random.default_rng(size.K)
    m = rng.exponential(size=(size.N, 1 << size.K)) * (rng.random((size.N, 1 << size.K)) < 2 / 3)
    m[:, 0] = 0.0
    m[:, -1] += 0.1
    return (m / m.sum(axis=1, keepdims=True),)


def lower_probabilities(size):
    values = peers_sets.belief_events(*masses(size))
    values[:, -1] = 1.0
    return (values,)


MEASURES = {
    "TU": cl.total_uncertainty,
    "AU_lower": lambda Q: Q.tv_closed_forms(epistemic=False)[1],
    "AU_upper": lambda Q: cl.aleatoric_uncertainty(Q).upper,
    "EU": cl.epistemic_uncertainty,
    "S*": cl.upper_entropy,
    "S_*": cl.lower_entropy,
    "GH": lambda Q: cl.generalized_hartley(Q, method="exact"),
    "imprecision bound": cl.imprecision_bound,
}


def _ours(kind, measure):
    return lambda *data: measure(kind(*data))


def _events(function, most=14):
    return Peer("NumPy, all events", function, most=lambda size: most >= size.K,
                why_not=ALL_EVENTS, whole=True)  # fmt: skip


def _vertices(function, most=7):
    return Peer(
        "NumPy, all extreme points", function, most=lambda size: most >= size.K, why_not=MARGINALS
    )


def _linprog(function):
    return Peer("SciPy linprog", function, 1e-6)


def _slsqp(function, most=100):
    return Peer("SciPy SLSQP", function, 1e-4, most=lambda size: most >= size.K,
                why_not="2^K inequalities")  # fmt: skip


def _numpy(function):
    return Peer("NumPy", function, whole=True)


def _probly(name, kind, reason=""):
    return Peer("probly 0.9.1", peers_probly.new(name, kind), 1e-6, loads=peers_probly.load_new,
                reason=reason, whole=True)  # fmt: skip


def _old_probly(name):
    """Return probly's measure of the intervals of members; the bounds are passed as members."""
    run = peers_probly.old(name)
    return Peer("probly 0.3.0", lambda a, b: run(np.stack([a, b], axis=1)), 1e-4,
                loads=peers.load_probly)  # fmt: skip


def _cases(of, kind, make, sizes, found):
    """Return a case for every measure, with its peers in `found`."""
    for name, measure in MEASURES.items():
        chosen = sizes.get(name, sizes["all"])
        yield Case(name, of, make, _ours(kind, measure), tuple(found.get(name, ())), chosen)


_BOX = peers_sets.event_measures(peers_sets.box_events)
_CONTAMINATION = peers_sets.event_measures(peers_sets.contamination_events)
_BALL = peers_sets.event_measures(peers_sets.ball_events)
_CAPACITY = peers_sets.event_measures(peers_sets.capacity_events)
_BELIEF = peers_sets.event_measures(peers_sets.belief_events)


def _capacity_peers(measures, events):
    return {
        "TU": [_numpy(measures["TU"])],
        "AU_lower": [_numpy(measures["AU_lower"])],
        "AU_upper": [_linprog(lambda v: peers_lp.capacity_upper(events(v)))],
        "EU": [_numpy(measures["EU"])],
        "S*": [_slsqp(lambda v: peers_lp.capacity_entropy(events(v)), most=8)],
        "S_*": [_vertices(measures["S_*"])],
        "GH": [_numpy(measures["GH"])],
        "imprecision bound": [_numpy(measures["bound"])],
    }


RELAXED = "uses the probability intervals of the ball, a larger set"

CASES = (
    *_cases("intervals", cl.ProbabilityIntervals, boxes, {"all": WIDE, "EU": NARROW, "GH": NARROW,
                                                          "S_*": NARROW}, {
        "TU": [_numpy(peers_sets.box_total)],
        "AU_lower": [_numpy(peers_sets.box_aleatoric_lower)],
        "AU_upper": [_linprog(peers_lp.box_upper)],
        "EU": [_events(_BOX["EU"])],
        "S*": [_slsqp(peers_lp.box_entropy), _probly("upper_entropy", peers_probly.intervals),
               _old_probly("upper_entropy")],
        "S_*": [_vertices(_BOX["S_*"]), _probly("lower_entropy", peers_probly.intervals),
                _old_probly("lower_entropy")],
        "GH": [_events(_BOX["GH"])],
        "imprecision bound": [_numpy(peers_sets.box_bound)],
    }),
    *_cases("contamination", cl.Contamination, neighbourhoods, {"all": WIDE, "GH": NARROW}, {
        "TU": [_numpy(peers_sets.contamination_total)],
        "AU_lower": [_numpy(peers_sets.contamination_aleatoric_lower)],
        "AU_upper": [_linprog(peers_lp.contamination_upper)],
        "EU": [_numpy(peers_sets.contamination_epistemic)],
        "S*": [_slsqp(peers_lp.contamination_entropy)],
        "S_*": [_numpy(peers_sets.contamination_lower_entropy)],
        "GH": [_events(_CONTAMINATION["GH"])],
        "imprecision bound": [_numpy(peers_sets.contamination_bound)],
    }),
    *_cases("TV ball", cl.TotalVariationBall, neighbourhoods,
            {"all": WIDE, "EU": NARROW, "GH": NARROW, "S_*": NARROW}, {
        "TU": [_numpy(peers_sets.ball_total)],
        "AU_lower": [_numpy(peers_sets.ball_aleatoric_lower)],
        "AU_upper": [_linprog(peers_lp.ball_upper)],
        "EU": [_events(_BALL["EU"])],
        "S*": [_slsqp(peers_lp.ball_entropy),
               _probly("upper_entropy", peers_probly.ball, RELAXED)],
        "S_*": [_vertices(_BALL["S_*"]), _probly("lower_entropy", peers_probly.ball, RELAXED)],
        "GH": [_events(_BALL["GH"])],
        "imprecision bound": [_numpy(peers_sets.ball_bound)],
    }),
    *_cases("lower probability", cl.LowerProbability, lower_probabilities,
            {"all": CAPACITY, "S_*": VERTICES},
            _capacity_peers(_CAPACITY, peers_sets.capacity_events)),
    *_cases("belief function", cl.BeliefFunction, masses, {"all": CAPACITY, "S_*": VERTICES},
            _capacity_peers(_BELIEF, peers_sets.belief_events) | {
        "GH": [_numpy(hartley_of_masses)],
    }),
)  # fmt: skip
