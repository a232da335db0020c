"""The generalized Hartley measure of boxes and balls, exactly and by sampling."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from credalens import _validation
from credalens._backend import DEFAULT_THREADS, Array, primitive
from credalens.sets.support import SupportSet

#: Largest number of classes for sums over all events by meet in the middle.
MIDDLE_CLASSES = 40
#: Pairs of permutations in the first step of an adaptive estimate.
FIRST_PAIRS = 32


class ThresholdedAdditiveSet(SupportSet):
    """A set whose lower probability is additive plus ``max(0, w(B) - threshold)``.

    Summed over all events with the weights of the Hartley measure, the additive part has a closed
    form; the rest is a sum over subsets, computed by meet in the middle.
    """

    @property
    @abstractmethod
    def _hartley_kernel(self) -> Callable[..., None]:
        """The kernel of `hartley_exact`."""

    @abstractmethod
    def _hartley_terms(self, *parts: Array) -> tuple[Array, Array, Array]:
        """Return ``log2 K`` minus the additive part, in bits, w ``(n, K)`` and the threshold."""

    @primitive("Q->()")
    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights w ``(K + 1,)``.

        By meet in the middle, O(K 2^(K/2)), for at most 40 classes.
        """
        if self.n_classes > MIDDLE_CLASSES:
            _validation.raise_invalid(
                "method",
                f"is 'exact' for {self.n_classes} classes, a sum over 2**{self.n_classes} events",
                f"pass method='sample', or at most {MIDDLE_CLASSES} classes",
            )

        arguments = (np.asarray(w), DEFAULT_THREADS)
        (value,) = self._map(self._hartley_kernel, [()], arguments=arguments)
        return np.asarray(value)

    @primitive("Q->(),()")
    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Array, Array]:
        """Return `hartley_exact` with error 0 up to 40 classes, an unbiased estimate beyond."""
        if self.n_classes <= MIDDLE_CLASSES:
            value = self.hartley_exact(size_weights(log_v))
            return value, np.zeros_like(value)

        def kernel(*parts: Array) -> None:
            *inputs, value, error = parts
            terms = self._hartley_terms(*inputs)
            value[:], error[:] = _sample(*terms, log_v, seed, pairs, rtol, atol, max_pairs)

        value, error = self._map(kernel, [(), ()])
        return value, error


def size_weights(log_v: Array) -> Array:
    """Return the weight of an event of each size, from log weights times numbers of events."""
    K = len(log_v) - 1
    w = np.zeros(K + 1)
    for b in range(1, K):
        w[b] = math.exp(log_v[b]) / math.comb(K, b)
    return w


def _sample(
    additive: Array,
    weights: Array,
    threshold: Array,
    log_v: Array,
    seed: int,
    pairs: int,
    rtol: float,
    atol: float,
    max_pairs: int,
) -> tuple[Array, Array]:
    """Estimate ``additive - sum over 0 < |B| < K of w(|B|) max(0, weights(B) - threshold)``."""
    total, limit = weights.sum(axis=1, keepdims=True), threshold[:, None]

    def lower(order: Array, some: Array) -> tuple[Array, Array]:
        sums = np.cumsum(weights[some][:, order], axis=1)[:, :-1]
        return (
            np.maximum(sums - limit[some], 0.0),
            np.maximum(total[some] - sums - limit[some], 0.0),
        )

    return sample_events(additive, lower, log_v, seed, pairs, rtol, atol, max_pairs)


def sample_events(
    additive: Array,
    lower: Callable[[Array, Array], tuple[Array, Array]],
    log_v: Array,
    seed: int,
    pairs: int,
    rtol: float,
    atol: float,
    max_pairs: int,
) -> tuple[Array, Array]:
    """Estimate ``additive - sum over 0 < |B| < K of w(|B|) lower(B)``.

    The prefixes of a random permutation are one random event of each size; the prefixes of the
    reversed permutation, the complements, are the antithetic ones. All instances use the same
    permutations. ``lower(order, some)`` returns the lower probabilities ``(len(some), K - 1)`` of
    the prefixes of an order, and of their complements. Returns unbiased estimates and their
    standard errors over the pairs.
    """
    K = len(log_v) - 1
    v = np.exp(log_v[1:K])
    rng = np.random.default_rng(seed)
    value, error = np.empty((2, len(additive)))
    # Instances that have converged are removed, so that others do not change them.
    active, drawn, goal = np.arange(len(additive)), 0, pairs or FIRST_PAIRS
    mean, spread = np.zeros((2, len(additive)))
    while len(active):
        while drawn < goal:
            drawn += 1
            prefixes, rests = lower(rng.permutation(K), active)
            term = prefixes @ v
            term += rests[:, ::-1] @ v
            step = term / 2 - mean
            mean += step / drawn
            spread += step * (term / 2 - mean)
        value[active] = additive[active] - mean
        error[active] = np.sqrt(spread / (drawn * max(drawn - 1, 1)))
        goal *= 2
        if pairs or goal > max_pairs:
            break
        short = error[active] > np.maximum(rtol * value[active], atol)
        active, mean, spread = active[short], mean[short], spread[short]
    return value, error
