"""Possibility distributions: consonant belief functions, given by their contour."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import (
    DEFAULT_THREADS,
    NUMPY,
    Array,
    backend_of,
    is_lazy,
    namespace,
    native,
    primitive,
    to_numpy,
)
from credalens._backend.lazy import LazyBatch
from credalens.sets import _possibility_native
from credalens.sets.contours import extreme_points, falling, most_uniform, shifted, unsorted
from credalens.sets.support import SupportSet, entropy
from credalens.sets.zero_one import mode_tolerance

#: Most classes for which the 2^(K-1) extreme points are listed.
MAX_LISTED = 16
#: Most classes that kernels sort one instance after the other; NumPy sorts longer rows faster.
MAX_SORTED = 32


class Possibility(SupportSet):
    """All distributions with ``p(A) <= max over y in A of contour[y]``, for every event A.

    Parameters
    ----------
    contour : array-like of shape (..., K)
        The degree of possibility of each class, in [0, 1]; the largest of an instance is 1.
    validate : bool, default=True
        ``False`` skips validation.

    Notes
    -----
    The credal set of a consonant belief function, whose focal sets are the i most possible classes,
    for i = 1, ..., K. Unlike `BeliefFunction`, which takes a mass for each of the 2^K events, it
    works with any number of classes. With the contour in decreasing order, c_1 = 1 >= c_2 >= ...:
    total uncertainty and maximum mean imprecision (TV) are c_2, epistemic uncertainty is c_2 / 2,
    the upper aleatoric end is 1 minus the largest ``(1 - c_{i+1}) / i``, and the generalized
    Hartley measure is ``sum_i c_i log2(i / (i - 1))``: O(K log K) at most, and O(K) for the
    imprecision. Only `extreme_points`, and queries that need them, are limited to few classes.

    References
    ----------
    D. Dubois, H. Prade, "Possibility theory", 1988; Chau et al. (2026) on the imprecision of
    plausibility measures.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.Possibility([1.0, 0.4, 0.1])
    >>> Q.lower(), Q.upper()
    (array([0.6, 0. , 0. ]), array([1. , 0.4, 0.1]))
    >>> cl.quantify(Q)
    Uncertainty(total=0.4, aleatoric_lower=0, aleatoric_upper=0.4, epistemic=0.2, error=0)
    >>> round(float(cl.generalized_hartley(Q)), 4)   # .3 log2 2 + .1 log2 3
    0.4585
    """

    core_ndims: ClassVar[tuple[int, ...]] = (1,)
    array_names: ClassVar[tuple[str, ...]] = ("contour",)

    def __init__(self, contour: Any, *, validate: bool = True) -> None:
        self._init_arrays(contour, validate=validate)

    def _validate(self, contour: Any, *, validate: bool) -> tuple[Array, ...]:
        array = _validation.numeric(contour, "contour")
        if array.ndim < 1 or array.shape[-1] == 0:
            _validation.raise_invalid(
                "contour", f"has shape {array.shape}", "pass one degree per class, (..., K)"
            )
        if not validate:
            return (array,)
        top = array.max(axis=-1, keepdims=True)
        if (top == 1).all() and array.min(initial=1.0) >= 0:
            return (array,)
        _validation.finite(array, "contour")
        slack = max(_validation.tolerance_of(array.dtype), _validation.half_rounding(contour))
        outside = (array < 0) | (array > 1 + slack)
        _validation.raise_first(
            outside, array, "contour", "is {:.6g}{}", "pass degrees of possibility in [0, 1]"
        )
        _validation.raise_first(
            np.abs(top[..., 0] - 1) > slack, top[..., 0], "contour",
            "has the largest degree {:.6g}{}, so that no distribution satisfies it",
            "make the largest degree 1, for example with contour / contour.max(-1, keepdims=True)",
        )  # fmt: skip
        return (array / top,)

    @classmethod
    def from_conformal(cls, scores_calibration: Any, scores: Any) -> Self:
        """Return the possibility distribution of split conformal prediction.

        Parameters
        ----------
        scores_calibration : array-like of shape (n,)
            Nonconformity scores of the true classes of n calibration instances, such as one minus
            the predicted probability.
        scores : array-like of shape (..., K)
            Nonconformity scores of all classes of new instances.

        Returns
        -------
        Possibility
            The degree of class y is its conformal p-value,
            ``(1 + #{i : scores_calibration[i] >= scores[y]}) / (n + 1)``; the largest of an
            instance is set to 1.

        Notes
        -----
        The classes with a degree above alpha are the conformal prediction region: if calibration
        and new instances are exchangeable, it contains the true class with probability at least
        1 - alpha, and its lower probability is at least 1 - alpha.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.Possibility.from_conformal([0.1, 0.2, 0.4, 0.7], [0.3, 0.8, 0.6])
        >>> Q.contour
        array([1. , 0.2, 0.4])
        """
        known = _validation.vector(scores_calibration, "scores_calibration")
        known = np.sort(_validation.finite(known, "scores_calibration"))
        if not len(known):
            _validation.raise_invalid("scores_calibration", "is empty", "pass at least one score")
        if is_lazy(scores):
            build = partial(cls.from_conformal, known)
            return cls._from_lazy(LazyBatch.of([scores], [1], ["scores"], build))
        new = _validation.finite(to_numpy(scores, "scores"), "scores")
        n = len(known)
        contour = (1 + n - np.searchsorted(known, new, side="left")) / (n + 1)
        if contour.ndim and contour.shape[-1]:
            contour = np.where(contour == contour.max(axis=-1, keepdims=True), 1.0, contour)
        contour = np.asarray(contour, new.dtype)
        backend = backend_of(scores)
        return cls(contour if backend is NUMPY else backend.wrap(contour))

    @property
    def contour(self) -> Any:
        """The degrees of possibility, ``(..., K)``."""
        return self._array(0)

    # ---- what `SupportSet` needs

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        """Each focal set gives its mass to its class with the largest f.

        In the order of decreasing possibility these are the classes at which f exceeds all before.
        """
        (contour,) = parts
        order, degrees = falling(contour)
        values = np.take_along_axis(np.broadcast_to(f, contour.shape), order, axis=1)
        before = np.maximum.accumulate(values, axis=1)
        record = np.ones(values.shape, bool)
        record[:, 1:] = values[:, 1:] > before[:, :-1]
        later = np.maximum.accumulate(np.where(record, degrees, 0.0)[:, ::-1], axis=1)[:, ::-1]
        mass = np.where(record, degrees - shifted(later), 0.0)
        return unsorted(mass, order)

    def _class_bounds(self) -> tuple[Any, Any]:
        contour = self._arrays[0]
        xp = namespace(contour)
        high = native.widen(contour) if self.backend is not NUMPY else contour.astype(np.float64)
        second = _possibility_native.second_largest(high)
        top = high == xp.max(high, axis=-1, keepdims=True)
        return xp.where(top, 1.0 - second[..., None], xp.zeros_like(high)), high

    @primitive("Q->(),()", native=_possibility_native.minimax)
    def _minimax(self) -> tuple[Any, Any]:
        return _possibility_native.minimax(self)

    def _tv_closed_ends(self) -> tuple[Any, Any]:
        second = self._second_largest()
        return second, native.zeros_like(second)

    @primitive("Q->(),(),(),()", native=SupportSet._tv_ends)
    def _tv_ends(self) -> tuple[Any, Any, Any, Any]:
        if self.n_classes > MAX_SORTED:
            return super()._tv_ends()
        total, upper = self._map(_kernels.contour_tv, [(), ()], arguments=(DEFAULT_THREADS,))
        return total, native.zeros_like(total), upper, native.zeros_like(total)

    def lower_sum(self) -> Any:
        return 1.0 - self._second_largest()

    @primitive("Q->()", native=lambda Q: _possibility_native.second_largest(Q._arrays[0]))
    def _second_largest(self) -> Any:
        return _possibility_native.second_largest(self._arrays[0].astype(np.float64, copy=False))

    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return the diameter, the second largest degree, twice."""
        diameter = self._second_largest()
        return diameter, diameter

    @primitive("Q->()")
    def is_two_monotone(self) -> Any:
        return np.ones(self.batch_shape, bool)

    # ---- closed forms

    def _line_kernel(self) -> Callable[..., None]:
        return _kernels.possibility_line

    @primitive("Q->(),()")
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, 0 and, if requested, the maximiser.

        Every member majorises the maximiser, a decreasing regression of the masses.
        """

        def kernel(contour: Array, value: Array, error: Array, where: Any) -> None:
            error.fill(0.0)
            if where is None and self.n_classes <= MAX_SORTED:
                _kernels.contour_max_entropy(contour, value, DEFAULT_THREADS)
                return
            best = most_uniform(contour)
            value[:] = entropy(best)
            if where is not None:
                where[:] = best

        return self._map_entropy(kernel, distribution)

    @primitive("Q->(),()")
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy, 0, of the Dirac measure at a class of degree 1."""
        value = np.zeros(self.batch_shape)
        if not distribution:
            return value, value.copy()
        mode = self._arrays[0].argmax(axis=-1)
        return value, value.copy(), np.eye(self.n_classes)[mode]

    @primitive("Q->()", native=_possibility_native.hartley)
    def hartley_exact(self, w: Array) -> Any:
        """Return the generalized Hartley measure in bits: ``sum_i c_i log2(i / (i - 1))``."""
        if self.n_classes > MAX_SORTED:
            return _possibility_native.hartley(self, w)
        return self._map(_kernels.contour_hartley, [()], arguments=(DEFAULT_THREADS,))[0]

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        """Return `hartley_exact`, for any number of classes, with error 0."""
        value = self.hartley_exact(log_v)
        return value, native.zeros_like(value)

    @primitive("Q->(),()")
    def min_norm_point(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest ``|p|^2``, its gap and, if requested, the minimiser.

        The same distribution as in `max_entropy`.
        """

        def kernel(contour: Array, value: Array, gap: Array, where: Any) -> None:
            best = most_uniform(contour)
            value[:] = (best * best).sum(axis=1)
            gap[:] = np.maximum(value - (best * self._maximiser(-best, contour)).sum(axis=1), 0.0)
            if where is not None:
                where[:] = best

        value, gap, where = self._map(kernel, [(), (), (self.n_classes,) if distribution else None])
        return (value, gap, where) if distribution else (value, gap)

    def max_square_norm(self) -> Any:
        """Return 1, of a Dirac measure."""
        second = self._second_largest()
        return namespace(second).ones_like(second)

    def max_divergence(self, loss: str) -> Any:
        """Return the largest divergence; in closed form for the log and Brier scores.

        Infinite for the log score if a second class is possible, as a Dirac measure is a member;
        twice the square of its degree for the Brier score.
        """
        if loss == "spherical":
            return super().max_divergence(loss)
        second = self._second_largest()
        if loss == "brier":
            return 2 * second**2
        xp = namespace(second)
        return xp.where(second > 0, xp.full_like(second, math.inf), xp.zeros_like(second))

    def max_zero_one_divergence(self) -> Any:
        """Return 1 if the second largest degree is at least 1/2, otherwise 0.

        Then the second class is the argmax of a member, and has probability 0 in another.
        """
        second = self._second_largest()
        xp = namespace(second)
        ones = xp.ones_like(second)
        return xp.where(second >= 0.5 - mode_tolerance(self.dtype), ones, 0 * ones)

    @primitive("Q->(k)", native=_possibility_native.center)
    def center(self) -> Any:
        """Return the pignistic probability: each focal set shares its mass equally, ``(..., K)``.

        See Smets (2005), "Decision making in the TBM: the necessity of the pignistic
        transformation".
        """

        def kernel(contour: Array, result: Array) -> None:
            order, degrees = falling(contour)
            share = (degrees - shifted(degrees)) / np.arange(1, self.n_classes + 1)
            result[:] = unsorted(np.cumsum(share[:, ::-1], axis=1)[:, ::-1], order)

        return self._map(kernel, [(self.n_classes,)], self.dtype)[0]

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        order, degrees = falling(self._arrays[0].astype(np.float64))
        target = np.broadcast_to(target, np.broadcast_shapes(target.shape, order.shape))
        mass = np.take_along_axis(target, np.broadcast_to(order, target.shape), axis=-1)
        # The classes from the i-th on have upper probability c_i.
        after = np.cumsum(mass[..., ::-1], axis=-1)[..., ::-1]
        return (after <= degrees + limit).all(axis=-1)

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        # The largest excess of an event over its upper probability, as the set is 2-monotone.
        target, _ = self._validate_point(p, None)
        order, degrees = falling(self._arrays[0].astype(np.float64))
        target = np.broadcast_to(target, np.broadcast_shapes(target.shape, order.shape))
        mass = np.take_along_axis(target, np.broadcast_to(order, target.shape), axis=-1)
        after = np.cumsum(mass[..., ::-1], axis=-1)[..., ::-1]
        distance = np.maximum(after - degrees, 0.0).max(axis=-1)
        return distance, np.zeros_like(distance)

    @primitive("Q->(v,k)")
    def extreme_points(self) -> Any:
        """Return the extreme points, ``(..., 2^(K-1), K)``, some of them equal for equal degrees.

        For each set of classes that contains the most possible one: in the order of decreasing
        possibility, a class has the difference of its degree and that of the next. Raises
        ValueError for more than 16 classes.
        """
        K = self.n_classes
        if K > MAX_LISTED:
            _validation.raise_invalid(
                "contour",
                f"has {K} classes, and the set 2**{K - 1} extreme points",
                f"pass at most {MAX_LISTED} classes, or use a measure with a closed form: those of "
                "total variation, the ordinal distance, entropy and Hartley, or the epistemic "
                "uncertainty of Kolmogorov",
            )
        points = extreme_points(self._arrays[0].reshape(-1, K))
        return points.reshape(*self.batch_shape, *points.shape[1:])
