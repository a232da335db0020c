"""Probabilities of events over Kullback-Leibler balls, and the generalized Hartley measure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, map_instances, primitive, rows_in_cache
from credalens.sets import exponential_tilting as tilting
from credalens.sets.events import event_sums
from credalens.sets.radius_ball import RadiusBall
from credalens.sets.set_functions import event_dot
from credalens.sets.thresholded_additive import sample_events

#: Largest number of classes for sums over all events.
MAX_SUMMED = 20


class KLBallEvents(RadiusBall):
    """Queries of `KLBall` about events, whose bounds are those of a ball of two classes."""

    @staticmethod
    def _in_nats(center: Array, radius: Array) -> tuple[Array, Array]:
        """Return rows that sum to 1 up to rounding, and radii in nats."""
        return center / center.sum(axis=-1, keepdims=True), radius * math.log(2)

    @primitive("Q->()")
    def is_two_monotone(self) -> Any:
        return np.ones(self.batch_shape, bool)

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        center, radius = self._wide_arrays()
        lead, K = self.batch_shape, self.n_classes

        def kernel(center: Array, radius: Array, values: Array) -> None:
            values[:] = _lower_of_events(*self._in_nats(center, radius))

        parts = [center, radius[..., 0]]
        (values,) = map_instances(
            kernel, parts, [(1 << K,)], self.core_ndims, dtype=self.dtype,
            block_dtype=np.float64, rows=rows_in_cache(8 << K),
        )  # fmt: skip
        return np.asarray(values).reshape(*lead, 1 << K)

    @primitive("Q,(k)->(k)")
    def lower_prefixes(self, order: Array) -> Any:
        center, radius = self._in_nats(*self._wide_arrays())
        lead = np.broadcast_shapes(self.batch_shape, order.shape[:-1])
        order = np.broadcast_to(order, (*lead, self.n_classes))
        ordered = np.take_along_axis(np.broadcast_to(center, order.shape), order, axis=-1)
        values = np.ones(order.shape)
        mass, rest = _prefix_sums(ordered)
        values[..., :-1] = tilting.event_bound(mass, rest, radius, upper=False)
        return values

    @primitive("Q->()")
    def hartley_exact(self, w: Array) -> Any:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights w ``(K + 1,)``.

        A sum over all events, for at most 20 classes.
        """
        K = self.n_classes
        if K > MAX_SUMMED:
            _validation.raise_invalid(
                "method",
                f"is 'exact' for {K} classes, a sum over 2**{K} events",
                f"pass method='sample', or at most {MAX_SUMMED} classes",
            )
        sizes = event_sums(np.ones(K)).astype(np.int64)
        weights = np.asarray(w, np.float64)[sizes]

        def kernel(center: Array, radius: Array, value: Array) -> None:
            values = _lower_of_events(*self._in_nats(center, radius))
            value[:] = np.maximum(math.log2(K) - event_dot(values, weights), 0.0)

        (value,) = map_instances(
            kernel, self._parts, [()], self.core_ndims, dtype=np.float64,
            block_dtype=np.float64, rows=rows_in_cache(8 << K),
        )  # fmt: skip
        return value

    @primitive("Q->(),()")
    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        """Return an unbiased estimate of `hartley_exact` and its standard error."""
        if self.n_classes == 1:
            return np.zeros(self.batch_shape), np.zeros(self.batch_shape)

        def kernel(center: Array, radius: Array, value: Array, error: Array) -> None:
            center, radius = self._in_nats(center, radius)

            def lower(order: Array, some: Array) -> tuple[Array, Array]:
                mass, rest = _prefix_sums(center[some][:, order])
                limit = radius[some, None]
                # The center alone sums to log2 K: its differences have a smaller variance.
                return (
                    tilting.event_bound(mass, rest, limit, upper=False) - mass,
                    tilting.event_bound(rest, mass, limit, upper=False) - rest,
                )

            value[:], error[:] = sample_events(
                np.zeros(len(center)), lower, log_v, seed, pairs, rtol, atol, max_pairs
            )

        value, error = self._map(kernel, [(), ()])
        return value, error


def _prefix_sums(ordered: Array) -> tuple[Array, Array]:
    """Return the sums of the first 1, ..., K - 1 entries of each row, and of the others."""
    mass = np.cumsum(ordered, axis=-1)[..., :-1]
    return mass, np.cumsum(ordered[..., :0:-1], axis=-1)[..., ::-1]


def _lower_of_events(center: Array, radius: Array) -> Array:
    """Return the lower probability of every event, ``(n, 2**K)``."""
    mass = event_sums(center)
    values = np.zeros_like(mass)
    rest = mass[:, ::-1][:, 1:-1]  # the complement of event i is 2^K - 1 - i
    values[:, 1:-1] = tilting.event_bound(mass[:, 1:-1], rest, radius[:, None], upper=False)
    values[:, -1] = 1.0
    return values
