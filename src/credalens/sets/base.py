"""What every credal set can be asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from credalens import _validation
from credalens._arrays import NUMPY, Array, Origin, is_native, namespace, to_numpy
from credalens.sets.anywhere import Recipe, answer_anywhere
from credalens.sets.events import event_count, two_monotone

if TYPE_CHECKING:
    from credalens.sets.hull import ConvexHull
    from credalens.sets.intervals import ProbabilityIntervals


class HasDiameter(Protocol):
    """What a set needs of a distance."""

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

    def reach(self, points: Array) -> Array:
        """Return the least over y of the largest distance of a row from ``delta_y``."""


def is_tv(distance: Any) -> bool:
    """Say whether a distance is total variation, and nothing that was made of it."""
    # Sets and distances do not import each other: a distance is known by its name.
    return bool(vars(type(distance)).get("name") == "tv")


class CredalSet(ABC):
    """A batch of closed convex sets of probability vectors.

    ``Q[i]`` picks sets of the batch, ``len(Q)`` counts those along its first axis, and ``Q <= R``
    says of each set whether it lies in that of R.

    A representation must say its shape and list its corners (`extreme_points`); every other
    question is then answered here, from the corners. A representation that knows a better way
    overrides the question. One that is given by arrays begins with ``ArraySet``.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.Contamination([0.7, 0.2, 0.1], 0.1)
    >>> isinstance(Q, cl.CredalSet), Q.batch_shape, Q.n_classes
    (True, (), 3)
    >>> Q.to_hull()
    ConvexHull(batch_shape=(), n_members=3, n_classes=3, dtype=float64)
    >>> bool(Q <= cl.Contamination([0.7, 0.2, 0.1], 0.3))
    True
    """

    #: Where the data came from; results go back there.
    origin: Origin = NUMPY
    #: How to make the sets of a chunk, if the data are Dask arrays.
    _recipe: Recipe

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        answer_anywhere(cls)

    def _defer(self, recipe: Recipe) -> None:
        """Become sets of Dask arrays; what there is of them now are sets of no instance."""
        none = recipe.build(*recipe.data.empty())
        for name, value in vars(none).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "origin", Origin("dask", where="lazy"))
        object.__setattr__(self, "_recipe", recipe)

    @classmethod
    def _deferred(cls, recipe: Recipe) -> Self:
        new = cls.__new__(cls)
        new._defer(recipe)
        return new

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, ``()`` for a single set."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes K."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the data."""

    @abstractmethod
    def extreme_points(self) -> Any:
        """Return the corners, ``(..., V, K)``; a set with fewer repeats one of its own."""

    @abstractmethod
    def __getitem__(self, index: Any) -> Self:
        """Return the sets at `index` of the batch."""

    @abstractmethod
    def plain(self) -> Self:
        """Return the same sets with NumPy as their origin, sharing memory.

        For tensors that stay where they are, what answers for them there.
        """

    def on_host(self) -> Self:
        """Return the same sets with NumPy as their origin, copied from another device if need be.

        Dask arrays are not computed but refused.
        """
        return self.plain()

    def settled(self, origin: Origin) -> Self:
        """Return the same sets as if their data had come from `origin`, if that can be said."""
        return self

    def answer(self, x: Any) -> Any:
        """Return what was computed, in the dtype and array library of the data."""
        return self.origin.wrap(x if is_native(x) else np.asarray(x, self.dtype))

    def to_hull(self) -> ConvexHull:
        """Return the convex hull of the corners."""
        from credalens.sets.hull import ConvexHull

        return ConvexHull(self.extreme_points(), validate=False)

    def to_intervals(self) -> ProbabilityIntervals:
        """Return the smallest box round the set: its lower and upper class probabilities."""
        from credalens.sets.intervals import ProbabilityIntervals

        return ProbabilityIntervals(*class_bounds(self))

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError("a single credal set has no len(); its batch_shape is ()")
        return self.batch_shape[0]

    def lower(self, f: Any = None) -> Any:
        """Return the smallest expectation over the set of each test function.

        Parameters
        ----------
        f : array-like, optional
            One test function ``(K,)`` or many ``(F, K)``. By default the indicators of the
            classes, i.e. the lower probability of each class.

        Returns
        -------
        array
            ``(...)`` for one test function, ``(..., F)`` for many, ``(..., K)`` by default.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.ConvexHull([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
        >>> Q.lower(), float(Q.lower([0, 1, 10]))
        (array([0.2, 0.3, 0.1]), 1.3)
        """
        return self.to_hull().lower(f)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function; see `lower`."""
        return self.to_hull().upper(f)

    def lower_probability(self, event: Any) -> Any:
        """Return the smallest probability of an event.

        Parameters
        ----------
        event : sequence of int, or array-like of bool
            The classes of the event, or a mask ``(K,)`` of them; ``(F, K)`` for many events.

        Returns
        -------
        array
            ``(...)`` for one event, ``(..., F)`` for many.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.ConvexHull([[0.5, 0.25, 0.25], [0.125, 0.625, 0.25]])
        >>> float(Q.lower_probability([0, 2])), float(Q.upper_probability([0, 2]))
        (0.375, 0.75)
        """
        return self.lower(_validation.event(event, self.n_classes))

    def upper_probability(self, event: Any) -> Any:
        """Return the largest probability of an event; see `CredalSet.lower_probability`."""
        return self.upper(_validation.event(event, self.n_classes))

    def widths(self, f: Any = None) -> Array:
        """Return ``upper(f) - lower(f)`` of each test function, float64; see `lower`."""
        upper = np.asarray(self.upper(f), np.float64)
        return np.asarray(upper - np.asarray(self.lower(f), np.float64))

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its certified gap.

        `cost` is ``(K, K)``, rows for what is true, columns for what is decided; by default 1 off
        the diagonal. The value is attained by a p of the set, so that it is a lower bound whose
        distance to the optimum is at most the gap.
        """
        return self.to_hull().maximin(cost)

    def risks(self, cost: Array) -> tuple[Array, Array]:
        """Return the least over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        `cost` is ``(K, K)`` as in `maximin`.
        """
        return np.min(self.upper(cost.T), axis=-1), np.min(self.lower(cost.T), axis=-1)

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y.

        Refused where the values of the batch would take more than 4 GB.
        """
        n_events = event_count(self.n_classes, self.batch_shape)
        plain, steps = self.plain(), []
        for start in range(0, n_events, 256):
            events = np.arange(start, min(n_events, start + 256))[:, None]
            steps.append(plain.lower((events >> np.arange(self.n_classes) & 1).astype(np.float64)))
        return self.origin.wrap(np.concatenate(steps, axis=-1))

    def is_two_monotone(self) -> Any:
        """Say whether ``lower(A | B) + lower(A & B) >= lower(A) + lower(B)`` for all events.

        Choquet integrals are then the lower expectations over all distributions above the lower
        probability: those of the set, if it holds all of them. O(K^2 2^K).
        """
        return self.origin.wrap(np.asarray(two_monotone(self.plain().lower_probabilities())))

    def choquet(self, f: Any) -> Any:
        """Return the Choquet integrals of test functions by the lower probability.

        `f` is ``(K,)`` or ``(F, K)``. A lower bound of ``lower(f)``, equal to it for 2-monotone
        sets that hold all distributions above their lower probability. It needs the lower
        probabilities of K nested events only, those of the largest f.
        """
        functions = _validation.expectands(f, self.n_classes)
        plain, values = self.plain(), []
        for one in np.atleast_2d(functions):
            order = np.argsort(-one, kind="stable")
            nested = np.zeros((self.n_classes, self.n_classes), bool)
            for size, y in enumerate(order):
                nested[size:, y] = True
            steps = one[order] - np.append(one[order][1:], 0.0)
            values.append(np.sum(plain.lower_probability(nested) * steps, axis=-1))
        result = np.stack(values, axis=-1) if values else np.empty((*self.batch_shape, 0))
        result = np.asarray(result, self.dtype)
        return self.origin.wrap(result if functions.ndim == 2 else result[..., 0])

    def choquet_is_lower(self) -> Array:
        """Say whether Choquet integrals by the lower probability are the lower expectations.

        They are for 2-monotone sets that hold all distributions above their lower probability; of
        other sets nothing is said.
        """
        return np.zeros(self.batch_shape, bool)

    def diameter(self, distance: HasDiameter) -> Array:
        """Return the largest distance between two members of the set."""
        return self.to_hull().diameter(distance)

    def reach(self, distance: HasDiameter) -> Array:
        """Return ``min over y of max over p of d(p, delta_y)``, which is at a corner."""
        return self.to_hull().reach(distance)

    def diameter_bounds(self, distance: HasDiameter) -> tuple[Array, Array]:
        """Return certified bounds of the diameter, equal where it is known exactly."""
        diameter = self.diameter(distance)
        return diameter, diameter

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Array, Array, Any]:
        """Return total, the lower aleatoric end and, if asked, epistemic by total variation."""
        return self.to_hull().tv_closed_forms(epistemic=epistemic)

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Array, Array, Array, Any, Array]:
        """Return total, both aleatoric ends, epistemic if asked, and the certified error."""
        return self.to_hull().tv_uncertainty(epistemic=epistemic)

    def lower_sum(self) -> Array:
        """Return the sum of the lower probabilities of the classes, float64."""
        return np.asarray(np.sum(self.lower(), axis=-1, dtype=np.float64))

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, its certified gap and, if asked, where it is."""
        return self.to_hull().max_entropy(distribution=distribution)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, its certified error and, if asked, where it is."""
        return self.to_hull().min_entropy(distribution=distribution)

    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, w by size ``(K + 1,)``."""
        return self.to_hull().hartley_exact(w)

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return an unbiased estimate of `hartley_exact` and its standard error.

        `log_v` holds the logarithms of the weights times the number of events of each size;
        `pairs` permutations are drawn or, if it is 0, up to `most`, until the standard error is
        below ``max(rtol * value, atol)``.
        """
        return self.to_hull().hartley_sample(log_v, seed, pairs, rtol, atol, most)

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Distributions, broadcast against the batch.
        tolerance : float, optional
            Largest difference in a coordinate that still counts as in. By default 1e-9, 1e-6 for
            data in single precision, 2e-3 in half precision.

        Returns
        -------
        bool or array of bool
        """
        return self.to_hull().contains(p, tolerance)

    def _target(self, p: Any, tolerance: float | None) -> tuple[Array, float]:
        """Return `p` checked as distributions that may be in the sets, and the tolerance."""
        target, _ = point(p, self.n_classes)
        _validation.together("p", target.shape[:-1], "batch_shape", self.batch_shape)
        if tolerance is None:
            return target, _validation.slack_of(self.dtype)
        return target, _validation.number(tolerance, "tolerance", least=0)

    def _shift(self, t: Any) -> Array:
        """Return `t` checked as a shift of distributions, float64."""
        shift = _validation.finite(t, "t").astype(np.float64, copy=False)
        if shift.ndim < 1 or shift.shape[-1] != self.n_classes:
            _validation.refuse(
                "t",
                f"has shape {shift.shape}",
                f"pass one shift per class, (..., {self.n_classes})",
            )
        _validation.together("t", shift.shape[:-1], "batch_shape", self.batch_shape)
        sums = np.asarray(shift.sum(axis=-1))
        off = np.abs(sums) > _validation.tolerance_of(self.dtype)
        if off.any():
            where = tuple(np.argwhere(off)[0])
            at = f"row {_validation.place(where)} (zero-based) " if where else ""
            _validation.refuse("t", f"{at}sums to {sums[where]:.6g}", "pass a shift that sums to 0")
        return shift

    def center(self) -> Any:
        """Return a point in the middle of the set, ``(..., K)``."""
        return self.to_hull().center()

    def translate(self, t: Any) -> CredalSet:
        """Return the set moved by `t`.

        Parameters
        ----------
        t : array-like of shape (K,) or (..., K)
            What is added to the probability of each class; the entries sum to 0.

        Returns
        -------
        CredalSet
            Of the same kind, or a `ConvexHull`.

        Raises
        ------
        ValueError
            If a corner would leave the simplex.
        """
        return self.to_hull().translate(t)

    def __le__(self, other: Any) -> Any:
        """Say whether each set lies in the set of `other`, up to rounding."""
        if not isinstance(other, CredalSet):
            return NotImplemented
        if other.n_classes != self.n_classes:
            _validation.refuse(
                "other", f"has {other.n_classes} classes", f"pass a set over {self.n_classes}"
            )
        slack = _validation.slack_of(self.dtype, other.dtype)
        _validation.together("other", other.batch_shape, "batch_shape", self.batch_shape)
        held = other.on_host()._holds(self.on_host(), slack)
        return self.origin.wrap(np.asarray(held))

    def __ge__(self, other: Any) -> Any:
        """Say whether each set holds the set of `other`, up to rounding."""
        # Named, not `other <= self`: Python asks the subclass first, which would come back here.
        return other.__le__(self) if isinstance(other, CredalSet) else NotImplemented

    def _holds(self, inner: CredalSet, tolerance: float) -> Array:
        """Say whether the corners of `inner` are in this set; a certified game for each."""
        corners = np.moveaxis(np.asarray(inner.extreme_points()), -2, 0)
        inside = np.ones(np.broadcast_shapes(self.batch_shape, inner.batch_shape), bool)
        step = max(1, (1 << 20) // max(1, math.prod(corners.shape[1:])))
        for start in range(0, len(corners), step):
            inside &= np.all(self.contains(corners[start : start + step], tolerance), axis=0)
        return inside

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(batch_shape={self.batch_shape}, "
            f"n_classes={self.n_classes}, dtype={self.dtype})"
        )


answer_anywhere(CredalSet)


def lazy_error() -> TypeError:
    """Return the error for what cannot be said of Dask arrays before they are computed."""
    return TypeError(
        "the set: holds Dask arrays, and this needs their values; compute them before, "
        "as by members.compute()"
    )


def point(p: Any, n_classes: int, name: str = "p") -> tuple[Array, Origin]:
    """Return `p` checked as one distribution over `n_classes`, or many, and its origin."""
    origin = to_numpy(p, name)[1]
    array = _validation.distributions(p, name)
    if array.shape[-1] != n_classes:
        _validation.refuse(
            name, f"has {array.shape[-1]} classes", f"pass distributions over {n_classes} classes"
        )
    return array, origin


def class_bounds(Q: CredalSet) -> tuple[Any, Any]:
    """Return lower and upper class probabilities, where the rows of `Q` are, of at most 1."""
    # A row that sums to a little more than 1 may have an entry above 1.
    low, high = Q.lower(), Q.upper()
    xp = namespace(low)
    return xp.clip(low, None, 1.0), xp.clip(high, None, 1.0)
