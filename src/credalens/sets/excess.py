"""The generalized Hartley measure of boxes and balls, exactly and by random chains."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array
from credalens.sets.support import SupportSet

#: Most classes for sums over all events by meeting in the middle.
MIDDLE_CLASSES = 40
#: Pairs of permutations drawn at once.
STEP = 32


class ExcessSet(SupportSet):
    """A set whose lower probability is a sum over classes plus ``max(0, w(B) - threshold)``.

    Summed over all events with the weights of the Hartley measure, the first part is known; the
    second is a sum over subsets, found by meeting in the middle.
    """

    @abstractmethod
    def _excess(self, *parts: Array) -> tuple[Array, Array, Array]:
        """Return what the first part leaves of ``log2 K`` bits, w ``(n, K)`` and the threshold."""

    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights by size ``(K + 1,)``.

        By meeting in the middle, O(K 2^(K/2)). Refused beyond 40 classes.
        """
        if self.n_classes > MIDDLE_CLASSES:
            _validation.refuse(
                "method",
                f"is 'exact' for {self.n_classes} classes, a sum over 2**{self.n_classes} events",
                f"pass method='sample', or at most {MIDDLE_CLASSES} classes",
            )

        def kernel(*parts: Array) -> tuple[Array]:
            first, weights, threshold = self._excess(*parts)
            value = np.empty(len(first))
            _kernels.excess_sums(weights, threshold, np.asarray(w), value, AS_WANTED)
            return (np.maximum(first - value, 0.0),)

        return self._each(kernel, [()])[0]

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return `hartley_exact` with error 0 up to 40 classes, an unbiased estimate beyond."""
        if self.n_classes <= MIDDLE_CLASSES:
            value = self.hartley_exact(size_weights(log_v))
            return value, np.zeros_like(value)

        def kernel(*parts: Array) -> tuple[Array, Array]:
            return hartley_chains(*self._excess(*parts), log_v, seed, pairs, rtol, atol, most)

        value, error = self._each(kernel, [(), ()])
        return value, error


def size_weights(log_v: Array) -> Array:
    """Return the weight of an event of each size from the logarithms of the weights of sizes."""
    K = len(log_v) - 1
    w = np.zeros(K + 1)
    for b in range(1, K):
        w[b] = math.exp(log_v[b]) / math.comb(K, b)
    return w


def hartley_chains(
    first: Array,
    weights: Array,
    threshold: Array,
    log_v: Array,
    seed: int,
    pairs: int,
    rtol: float,
    atol: float,
    most: int,
) -> tuple[Array, Array]:
    """Estimate ``first - sum over 0 < |B| < K of w(|B|) max(0, weights(B) - threshold)``.

    The prefixes of a random permutation are one random event of each size; its reverse, whose
    prefixes are the complements, is its antithetic partner. All instances see the same
    permutations. Returns the unbiased estimates and their standard errors over the pairs.
    """
    K = weights.shape[1]
    v = np.exp(log_v[1:K])
    rng = np.random.default_rng(seed)
    value, error = np.empty((2, len(first)))
    # An instance that has reached its goal is left out: what the others need must not change it.
    active, drawn, goal = np.arange(len(first)), 0, pairs or STEP
    mean, spread = np.zeros((2, len(first)))
    while len(active):
        total, limit = weights.sum(axis=1, keepdims=True), threshold[:, None]
        while drawn < goal:
            drawn += 1
            sums = np.cumsum(weights[:, rng.permutation(K)], axis=1)[:, :-1]
            term = np.maximum(sums - limit, 0.0) @ v
            term += np.maximum(total - sums - limit, 0.0)[:, ::-1] @ v
            step = term / 2 - mean
            mean += step / drawn
            spread += step * (term / 2 - mean)
        value[active] = first - mean
        error[active] = np.sqrt(spread / (drawn * max(drawn - 1, 1)))
        goal *= 2
        if pairs or goal > most:
            break
        short = error[active] > np.maximum(rtol * value[active], atol)
        active, first, weights, threshold = (
            active[short],
            first[short],
            weights[short],
            threshold[short],
        )
        mean, spread = mean[short], spread[short]
    return value, error
