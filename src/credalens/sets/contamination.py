"""Contamination models, the linear-vacuous mixtures."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from credalens._backend import NUMPY, Array, namespace, native, primitive
from credalens.sets import _neighbourhoods_native
from credalens.sets.base import CredalSet
from credalens.sets.box_decisions import BoxDecisions
from credalens.sets.events import event_sums
from credalens.sets.neighbourhood import Neighbourhood
from credalens.sets.support import row_max


class Contamination(BoxDecisions, Neighbourhood):
    """All ``(1 - epsilon) center + epsilon q``, q any distribution.

    Parameters
    ----------
    center : array-like of shape (..., K)
        The nominal distribution.
    epsilon : array-like of shape (...)
        Share of the contamination, in [0, 1].
    normalize : bool, default=False
        Divide each row by its sum first.
    validate : bool, default=True
        ``False`` skips the validation of the centers.

    Notes
    -----
    A simplex with K extreme points; every measure has a closed form.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.Contamination([0.5, 0.3, 0.2], epsilon=0.1)
    >>> Q.lower()
    array([0.45, 0.27, 0.18])
    >>> round(float(cl.epistemic_uncertainty(Q)), 6)
    0.05
    """

    array_names: ClassVar[tuple[str, ...]] = ("center", "epsilon")
    _is_ball: ClassVar[bool] = False

    def __init__(
        self, center: Any, epsilon: Any, *, normalize: bool = False, validate: bool = True
    ) -> None:
        self._init_arrays(center, epsilon, normalize=normalize, validate=validate)

    @property
    def epsilon(self) -> Any:
        """The share of the contamination, ``(...)``."""
        return self._array(1)

    @staticmethod
    def _bounds(center: Any, size: Any) -> tuple[Any, Any]:
        low = (1 - size) * center
        return low, namespace(low).clip(low + size, None, 1.0)

    def _native_expectation(self, f: Any, sign: float) -> Any:
        return _neighbourhoods_native.contaminated_expectation(self, f, sign)

    def lower_sum(self) -> Any:
        return 1.0 - self._scaled_epsilon(float(self.n_classes > 1))

    @primitive("Q->()", native=lambda Q, factor: native.widen(Q._arrays[1]) * factor)
    def _scaled_epsilon(self, factor: float) -> Any:
        return self._arrays[1].astype(np.float64, copy=False) * factor

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        center, epsilon = parts
        best = (1 - epsilon)[:, None] * center
        top = np.broadcast_to(f.argmax(axis=-1), len(best))
        best[np.arange(len(best)), top] += epsilon
        return best

    @primitive("Q->(),()", native=_neighbourhoods_native.contamination_minimax)
    def _minimax(self) -> tuple[Any, Any]:
        epsilon = self._arrays[1].astype(np.float64, copy=False)
        value = np.maximum((1 - epsilon) * row_max(self._arrays[0]), 1 / self.n_classes)
        return value, np.zeros_like(value)

    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return the diameter, epsilon, twice."""
        diameter = self._scaled_epsilon(float(self.n_classes > 1))
        return diameter, diameter

    def vertex_diameter(self, distance: Any) -> Any:
        """Return the largest distance between two members.

        An integral probability metric is a norm of ``p - q``: epsilon times the largest distance
        between two classes.
        """
        return self._scaled_epsilon(float(distance.diameter(np.eye(self.n_classes))))

    @primitive("Q->(),()", native=_neighbourhoods_native.contamination_max_entropy)
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, 0 and, if requested, the maximiser.

        Epsilon goes to the least probable classes.
        """
        return self._extreme_entropy(True, distribution)

    @primitive("Q->(),()", native=_neighbourhoods_native.contamination_min_entropy)
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, 0 and, if requested, the minimiser.

        Epsilon goes to the most probable class; the result majorises every other member.
        """
        return self._extreme_entropy(False, distribution)

    def hartley_exact(self, w: Array) -> Any:
        """Return the generalized Hartley measure in bits: ``epsilon log2 K``."""
        return self._scaled_epsilon(math.log2(self.n_classes))

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        """Return `hartley_exact`, for any number of classes, with error 0."""
        value = self.hartley_exact(log_v)
        return value, native.zeros_like(value)

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        center, epsilon = self._wide_arrays()
        values = (1 - epsilon) * event_sums(center)
        values[..., -1] = 1.0
        return values.astype(self.dtype, copy=False)

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        center, epsilon = self._wide_arrays()
        return (target >= (1 - epsilon) * center - limit).all(axis=-1)

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        target, _ = self._validate_point(p, None)
        center, epsilon = self._wide_arrays()
        distance = np.maximum((1 - epsilon) * center - target, 0.0).sum(axis=-1)
        return distance, np.zeros_like(distance)

    def _contains_set(self, inner: CredalSet, tolerance: float) -> Array:
        return np.asarray((inner.lower() >= self.lower() - tolerance).all(axis=-1))

    @primitive("Q,(k)->Q")
    def translate(self, t: Any) -> Self:
        shift = self._validate_shift(t)
        center, epsilon = self._wide_arrays()
        low = self._clip_to_simplex((1 - epsilon) * center + shift, "lower probability")
        moved = low / np.where(epsilon < 1, 1 - epsilon, 1.0)
        moved = np.where(epsilon < 1, moved, center).astype(self.dtype)
        sizes = np.broadcast_to(self._arrays[1], moved.shape[:-1])
        return self._from_validated((moved, sizes), NUMPY)

    @primitive("Q->(v,k)")
    def extreme_points(self) -> Any:
        """Return the K extreme points, ``(..., K, K)``: epsilon on one class."""
        center, epsilon = self._wide_arrays()
        low = ((1 - epsilon) * center)[..., None, :]
        return np.asarray(low + epsilon[..., None] * np.eye(self.n_classes), self.dtype)
