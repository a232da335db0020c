"""What every distance between distributions can be asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from credalens import _validation
from credalens._arrays import Array, lazy, namespace, native, origin_of, per_instance, to_numpy
from credalens.distances.choquet import lipschitz_bound

#: Most points whose distances from one another are held.
MOST_POINTS = 5000
#: Numbers that a step over a block of instances may hold at once: 1 MB, which stays in the cache.
BLOCK_FLOATS = 1 << 17


@dataclass(frozen=True, eq=False)
class Seminorm:
    """A distance that is a norm of linear features: ``d(p, q) = scale |(p - q) matrix|``."""

    #: 1, 2 or infinity.
    order: float
    #: Features, ``(K, F)``; ``None`` for the probabilities themselves.
    matrix: Array | None = None
    scale: float = 1.0


class Corners(Protocol):
    """A set that is given by finitely many points."""

    @property
    def members(self) -> Any:
        """The points, ``(..., M, K)``."""


class Questions(Protocol):
    """What a distance needs of a credal set (see `credalens.sets.CredalSet`)."""

    @property
    def n_classes(self) -> int:
        """Number of classes K."""

    def widths(self, f: Any = None) -> Array:
        """Return largest minus smallest expectations, float64."""

    def choquet_is_lower(self) -> Array:
        """Say whether Choquet integrals by the lower probability are lower expectations."""

    def risks(self, cost: Array) -> tuple[Array, Array]:
        """Return the least over y of the largest and of the smallest expected cost."""

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return the value and the certified gap of a matrix game."""

    def diameter(self, distance: Any) -> Array:
        """Return the largest distance between two members."""

    def reach(self, distance: Any) -> Array:
        """Return the least over y of the largest distance from ``delta_y``."""

    def to_hull(self) -> Corners:
        """Return the hull of the corners."""

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Array, Array, Any]:
        """Return total, the lower aleatoric end and, if asked, epistemic by total variation."""

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Array, Array, Array, Any, Array]:
        """Return total, both aleatoric ends, epistemic if asked, and the certified error."""


class Distance(ABC):
    """An integral probability metric between distributions over K classes.

    A distance must say how far two distributions are apart (`between`). If it is linear in p when
    its second argument is a Dirac measure, `dirac_costs` makes total and aleatoric uncertainty
    risks of deciding for a class, which every set can answer; otherwise it also answers
    `aleatoric`. The rest has a plain answer here, which a distance that knows a better way
    overrides. One that has a name (`credalens.distances.as_distance`) is given the number of
    classes.

    Examples
    --------
    Being wrong costs twice as much as in total variation:

    >>> import numpy as np
    >>> import credalens as cl
    >>> from credalens.distances import Distance
    >>> class Twice(Distance):
    ...     n_classes = 2
    ...     dirac_costs = 2 * (1 - np.eye(2))
    ...
    ...     def between(self, p, q):
    ...         return np.abs(p - q).sum(axis=-1)
    >>> u = cl.quantify([[0.9, 0.1], [0.6, 0.4]], Twice())
    >>> print(f"{u.total:.2f} {u.aleatoric.upper:.2f} {u.epistemic:.2f}")
    0.80 0.80 0.30
    """

    #: Number of classes that the parameters were made for; ``None`` if any number will do.
    n_classes: int | None = None

    @property
    def is_metric(self) -> bool:
        """Whether it separates distributions, is symmetric and keeps the triangle inequality."""
        return True

    @property
    def dirac_costs(self) -> Array | None:
        """``(K, K)`` matrix c with ``d(p, delta_y) = E_p[c(., y)]``, ``None`` if there is none."""
        return None

    @abstractmethod
    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""

    def to_diracs(self, points: Array) -> Array:
        """Return ``d(p, delta_y)`` for the rows p of float64 ``(b, M, K)`` and every y."""
        return self.between(points[..., None, :], np.eye(points.shape[-1]))

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, wide: Array) -> None:
            rows = block.astype(np.float64, copy=False)
            wide[:] = 0.0
            for m in range(1, rows.shape[1]):
                apart = self.between(rows[:, :m], rows[:, m : m + 1])
                np.maximum(wide, apart.max(axis=1), out=wide)

        (wide,) = per_instance(points, kernel, [()], rows=block_rows(points))
        return wide

    def reach(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

        def kernel(block: Array, worst: Array) -> None:
            apart = self.to_diracs(block.astype(np.float64, copy=False))
            apart.max(axis=1).min(axis=1, out=worst)

        (worst,) = per_instance(points, kernel, [()], rows=block_rows(points, points.shape[-1]))
        return worst

    def seminorm(self, n_classes: int) -> Seminorm | None:
        """Return the distance as a norm of linear features, if that is what it is.

        It is what tensors that stay where they are, and gradients, need of a distance.
        """
        return None

    def total(self, Q: Questions) -> Array:
        """Return ``min over y of max over p of d(p, delta_y)``."""
        return Q.reach(self) if self.dirac_costs is None else Q.risks(self.dirac_costs)[0]

    def aleatoric(self, Q: Questions) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""
        return self._linear(Q)[1:]

    def _linear(self, Q: Questions) -> tuple[Array, Array, Array, Array]:
        """Return total, both aleatoric ends and the error from `dirac_costs`."""
        costs = self.dirac_costs
        if costs is None:
            raise TypeError(f"{type(self).__name__} has no dirac_costs and must define aleatoric()")
        total, lower = Q.risks(costs)
        upper, gap = Q.maximin(costs)
        # True by definition: rounding must not break it.
        xp = namespace(upper)
        lower = xp.minimum(lower, total)
        return total, lower, xp.clip(upper, lower, total), gap

    def epistemic(self, Q: Questions) -> Array:
        """Return half the diameter."""
        return Q.diameter(self) / 2

    def imprecision(self, Q: Questions) -> tuple[Array, Array]:
        """Return the maximum mean imprecision and how far the value may lie below it.

        It is at least the diameter, and equal to it where Choquet integrals are lower expectations.
        No test function changes between two classes by more than their Dirac measures are apart,
        which bounds it from above.
        """
        apart = self.dirac_costs
        if apart is None:
            diracs = np.eye(Q.n_classes)
            apart = self.between(diracs[:, None], diracs)
        bound = lipschitz_bound(Q, apart)
        value = np.asarray(Q.diameter(self), np.float64)
        return value, np.where(Q.choquet_is_lower(), 0.0, np.maximum(bound - value, 0.0))

    def everything(self, Q: Questions) -> tuple[Array, Array, Array, Array, Array]:
        """Return total, both aleatoric ends, epistemic, and the largest error of the ends."""
        epistemic = self.epistemic(Q)  # first: a cost that is not a metric is refused at once
        if self.dirac_costs is not None:
            total, lower, upper, error = self._linear(Q)
        else:
            total, (lower, upper, error) = self.total(Q), self.aleatoric(Q)
        return total, lower, upper, epistemic, error

    def check_classes(self, n_classes: int, name: str = "distance") -> None:
        """Refuse to compare distributions over another number of classes."""
        if self.n_classes not in (None, n_classes):
            _validation.refuse(
                name,
                f"is made for {self.n_classes} classes, the distributions have {n_classes}",
                f"pass one for {n_classes} classes",
            )

    def __call__(self, p: Any, q: Any) -> Any:
        """Return the distance between `p` and `q`.

        Parameters
        ----------
        p, q : array-like of shape (..., K)
            Distributions, broadcast against each other.

        Returns
        -------
        array of shape (...)
        """
        where = {origin_of(p).where, origin_of(q).where}
        if where != {"host"}:
            return self._between_elsewhere(p, q, lazily="lazy" in where)
        origin = to_numpy(p, "p")[1]
        first, second = _validation.distributions(p, "p"), _validation.distributions(q, "q")
        if first.shape[-1] != second.shape[-1]:
            _validation.refuse(
                "q", f"has {second.shape[-1]} classes", f"pass {first.shape[-1]}, as in p"
            )
        _validation.together("q", second.shape, "p", first.shape)
        self.check_classes(first.shape[-1])
        dtype = np.result_type(first.dtype, second.dtype)
        wide = (x.astype(np.float64, copy=False) for x in (first, second))
        result = self.between(*wide)
        return origin.wrap(np.asarray(result, dtype))

    def _between_elsewhere(self, p: Any, q: Any, *, lazily: bool) -> Any:
        """Return distances of Dask arrays, or of tensors that stay where they are."""
        if lazily:
            data = lazy.batch([p, q], [1, 1], ["p", "q"])
            if data.shape:
                return lazy.ask(data, self)
            return lazy.ask(lazy.batch([p[None], q[None]], [1, 1], ["p", "q"]), self)[0]
        pair = _validation.native_pair(p, q)
        norm = self.seminorm(int(pair[0].shape[-1]))
        if norm is None:
            _validation.refuse("p", "is a tensor on another device, or requires grad, and this "
                               "distance takes a solver", "pass p.detach().cpu()")  # fmt: skip
        self.check_classes(int(pair[0].shape[-1]))
        difference = native.widened(pair[0]) - native.widened(pair[1])
        apart = norm.scale * native.norm(native.mapped(difference, norm.matrix), norm.order)
        return namespace(apart).astype(apart, pair[0].dtype, copy=False)


def refuse_many(points: int, whose: str) -> None:
    """Refuse sets of more corners than can be compared with one another."""
    if points > MOST_POINTS:
        _validation.refuse(
            "distance",
            f"is {whose} compares all {points:,} corners of a set with one another",
            f"pass sets of at most {MOST_POINTS:,} corners or members",
        )


def block_rows(points: Array, times: int = 1) -> int:
    """Return how many instances of ``(..., M, K)`` to take at once, each held `times` over."""
    return max(1, BLOCK_FLOATS // max(1, math.prod(points.shape[-2:]) * times))


def square_matrix(x: Any, name: str) -> Array:
    """Return `x` checked as a finite square matrix of float64, read-only."""
    array = _validation.finite(x, name).astype(np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        _validation.refuse(
            name, f"has shape {array.shape}", "pass a square matrix, one row and column per class"
        )
    array.flags.writeable = False
    return array
