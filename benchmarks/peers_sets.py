"""Intervals, neighbourhoods and capacities in NumPy: closed forms, all events, extreme points."""

from __future__ import annotations

import functools
from itertools import permutations

import numpy as np

from benchmarks.peers_batch import events, hartley_of_masses, moebius


def _entropy(p):
    return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)


def _from_class_bounds(low):
    """Return TU and the imprecision bound from the lower probabilities of the classes."""
    return 1 - low.max(axis=1), 1 - low.sum(axis=1)


def box_events(low, high):
    sums = events(low.shape[1]).T
    return np.maximum(low @ sums, 1 - high @ (1 - sums))


def contamination_events(center, epsilon):
    values = (1 - epsilon[:, None]) * (center @ events(center.shape[1]).T)
    values[:, -1] = 1.0
    return values


def ball_events(center, radius):
    values = np.maximum(center @ events(center.shape[1]).T - radius[:, None], 0.0)
    values[:, -1] = 1.0
    return values


def belief_events(masses):
    """Return the lower probabilities of a belief function: sums over subsets."""
    values = np.array(masses)
    step = 1
    while step < values.shape[1]:
        view = values.reshape(len(values), -1, 2, step)
        view[:, :, 1] += view[:, :, 0]
        step *= 2
    return values


def capacity_events(values):
    return values


def event_measures(lower_events):
    """Return the measures that are functions of the lower probability of every event, by name."""

    def single(*data):
        K = _classes(*data)
        return lower_events(*data)[:, 1 << np.arange(K)]

    def total(*data):
        return _from_class_bounds(single(*data))[0]

    def bound(*data):
        return _from_class_bounds(single(*data))[1]

    def aleatoric_lower(*data):
        values = lower_events(*data)
        K = _classes(*data)
        return values[:, ((1 << K) - 1) ^ (1 << np.arange(K))].min(axis=1)

    def epistemic(*data):
        values = lower_events(*data)
        return (1 - values[:, ::-1] - values).max(axis=1) / 2

    def hartley(*data):
        return hartley_of_masses(moebius(lower_events(*data)))

    def lower_entropy(*data):
        return _vertex_entropy(lower_events(*data))

    return {"TU": total, "bound": bound, "AU_lower": aleatoric_lower, "EU": epistemic,
            "GH": hartley, "S_*": lower_entropy}  # fmt: skip


def _classes(first, *_rest):
    wide = first.shape[1]
    return wide if len(_rest) else wide.bit_length() - 1


@functools.cache
def _chains(K):
    """Return the chain of events of every permutation of the classes, ``(K!, K + 1)``."""
    orders = np.array(list(permutations(range(K))))
    return np.concatenate([np.zeros((len(orders), 1), int), np.cumsum(1 << orders, axis=1)], axis=1)


def _vertex_entropy(values):
    """Return the smallest entropy of the extreme points of 2-monotone lower probabilities."""
    chains = _chains(values.shape[1].bit_length() - 1)
    return np.array([_entropy(np.diff(v[chains], axis=1)).min() for v in values])


# ---------------------------------------------------------------- closed forms, O(K)
def box_total(low, high):
    return _from_class_bounds(low)[0]


def box_bound(low, high):
    return _from_class_bounds(low)[1]


def box_aleatoric_lower(low, high):
    return 1 - high.max(axis=1)


def contamination_total(center, epsilon):
    return 1 - (1 - epsilon) * center.max(axis=1)


def contamination_bound(center, epsilon):
    return epsilon.copy()


def contamination_aleatoric_lower(center, epsilon):
    return (1 - epsilon) * (1 - center.max(axis=1))


def contamination_epistemic(center, epsilon):
    return epsilon / 2


def contamination_lower_entropy(center, epsilon):
    """Return the smallest entropy of the K extreme points."""
    K = center.shape[1]
    low = (1 - epsilon[:, None]) * center
    return _entropy(low[:, None] + epsilon[:, None, None] * np.eye(K)).min(axis=1)


def ball_total(center, radius):
    return 1 - np.maximum(center.max(axis=1) - radius, 0)


def ball_bound(center, radius):
    return 1 - np.maximum(center - radius[:, None], 0).sum(axis=1)


def ball_aleatoric_lower(center, radius):
    return np.maximum(1 - center.max(axis=1) - radius, 0)
