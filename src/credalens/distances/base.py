"""The base class of distances between distributions, and distances by name."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import (
    Array,
    backend_of,
    map_instances,
    namespace,
    native,
    rows_in_cache,
)
from credalens._backend.lazy import LazyBatch
from credalens._edges import Edges, Line
from credalens._protocols import CredalSetLike
from credalens.distances.choquet import lipschitz_bound

#: Largest number of points whose pairwise distances are stored.
MAX_POINTS = 5000
#: Up to this number of classes the last distances that were created by name are cached.
FEW_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Seminorm:
    """A distance that is a norm of linear features: ``d(p, q) = scale |(p - q) matrix|``."""

    #: 1, 2 or infinity.
    order: float
    #: Features, ``(K, F)``, or the edges of a line or tree, whose masses are the features; ``None``
    #: for the probabilities themselves.
    matrix: Array | Edges | None = None
    scale: float = 1.0

    def n_features(self, n_classes: int) -> int:
        """Return the number of features F."""
        if isinstance(self.matrix, Edges):
            return len(self.matrix.length)
        return n_classes if self.matrix is None else int(self.matrix.shape[1])

    def features(self, x: Any) -> Any:
        """Return the features ``(..., F)`` of tensors ``(..., K)``, in the dtype for sums."""
        if isinstance(self.matrix, Edges):
            return self.matrix.native_masses(x)
        return native.matmul(x, self.matrix)

    def dense(self) -> Array | None:
        """Return the matrix ``(K, F)``; ``None`` for the probabilities themselves."""
        return self.matrix.matrix if isinstance(self.matrix, Edges) else self.matrix


class Distance(ABC):
    """An integral probability metric between distributions over K classes.

    A subclass defines `between`, the distance of two distributions. If the distance to a Dirac
    measure is linear in p, `dirac_costs` reduces total and aleatoric uncertainty to risks of
    decisions; otherwise the subclass also defines `aleatoric`. The other methods have default
    implementations. Instances are immutable; subclasses with parameters define `_key` for equality
    and hashing. A distance that has a name (`as_distance`) is created with the number of classes.

    Examples
    --------
    Errors cost twice as much as in total variation:

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

    #: Number of classes of the parameters; ``None`` if the distance is defined for any number.
    n_classes: int | None = None

    def _key(self) -> Any:
        """Return the parameters as a hashable object, by default the identity."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    @property
    def is_metric(self) -> bool:
        """Whether it is a metric: separating, symmetric, with the triangle inequality."""
        return True

    @property
    def dirac_costs(self) -> Array | None:
        """``(K, K)`` matrix c with ``d(p, delta_y) = E_p[c(., y)]``, ``None`` if there is none."""
        return None

    def ground_costs(self) -> Array | Edges | None:
        """Return `dirac_costs`, or the edges of a line or tree that they are the lengths of."""
        return self.dirac_costs

    @abstractmethod
    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""

    def to_diracs(self, points: Array) -> Array:
        """Return ``d(p, delta_y)`` for the rows p of float64 ``(b, M, K)`` and every y."""
        return self.between(points[..., None, :], np.eye(points.shape[-1]))

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, diameter: Array) -> None:
            rows = block.astype(np.float64, copy=False)
            diameter[:] = 0.0
            for m in range(1, rows.shape[1]):
                distance = self.between(rows[:, :m], rows[:, m : m + 1])
                np.maximum(diameter, distance.max(axis=1), out=diameter)

        (diameter,) = map_instances(kernel, points, [()], rows=block_rows(points))
        return np.asarray(diameter)

    def diameter_bounds(self, points: Array) -> tuple[Array, Array]:
        """Return certified bounds of `diameter`, the same array twice if it is exact."""
        diameter = self.diameter(points)
        return diameter, diameter

    def minimax_dirac_distance(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

        def kernel(block: Array, radius: Array) -> None:
            distance = self.to_diracs(block.astype(np.float64, copy=False))
            distance.max(axis=1).min(axis=1, out=radius)

        (radius,) = map_instances(kernel, points, [()], rows=block_rows(points, points.shape[-1]))
        return np.asarray(radius)

    def seminorm(self, n_classes: int) -> Seminorm | None:
        """Return the distance as a norm of linear features, if it is one.

        Tensors on a device, and gradients, need this form.
        """
        return None

    def line(self, n_classes: int) -> Line | None:
        """Return the classes on a line, if the distance is Wasserstein or Kolmogorov on it."""
        return None

    def diameter_of(self, Q: CredalSetLike) -> Any:
        """Return the largest distance between two members of each set."""
        return Q.vertex_diameter(self)

    def diameter_bounds_of(self, Q: CredalSetLike) -> tuple[Any, Any]:
        """Return certified bounds of the diameter, equal where it is known exactly."""
        return Q.vertex_diameter_bounds(self)

    def total(self, Q: CredalSetLike) -> Any:
        """Return ``min over y of max over p of d(p, delta_y)``."""
        costs = self.ground_costs()
        if costs is None:
            return Q.minimax_dirac_distance(self)
        return Q.minimax_and_minimin_risk(costs)[0]

    def aleatoric(self, Q: CredalSetLike) -> tuple[Any, Any, Any]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""
        costs = self.ground_costs()
        if costs is None:
            raise TypeError(f"{type(self).__name__} has no dirac_costs and must define aleatoric()")
        return Q.cost_uncertainty(costs)[1:]

    def epistemic(self, Q: CredalSetLike) -> Any:
        """Return half the diameter."""
        return self.diameter_of(Q) / 2

    def decompose(self, Q: CredalSetLike) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic, and the largest error of the ends."""
        # The diameter first, as it raises if a cost is not a metric.
        least, most = self.diameter_bounds_of(Q)
        costs = self.ground_costs()
        if costs is not None:
            total, lower, upper, error = Q.cost_uncertainty(costs)
        else:
            total, (lower, upper, error) = self.total(Q), self.aleatoric(Q)
        if most is not least:
            error = namespace(error).maximum(error, (most - least) / 2)
        return total, lower, upper, least / 2, error

    def component_errors(self, Q: CredalSetLike) -> tuple[Any, Any, Any, Any] | None:
        """Return the errors of total, both aleatoric ends and epistemic uncertainty.

        ``None`` if only the aleatoric ends have one, that of `decompose`.
        """
        return None

    def total_and_error(self, Q: CredalSetLike) -> tuple[Any, Any]:
        """Return `total` and its certified error, None if it is exact."""
        errors = self.component_errors(Q)
        return self.total(Q), None if errors is None else errors[0]

    def relative_error(self, error: Any, value: Any) -> Any:
        """Return an error of a value as a share of what is large: here 1, of probabilities."""
        return error

    def imprecision(self, Q: CredalSetLike) -> tuple[Any, Any]:
        """Return the maximum mean imprecision, and an upper bound of its error.

        The diameter is a lower bound, exact where Choquet integrals are lower expectations. A test
        function differs between two classes by at most the distance of their Dirac measures, which
        gives an upper bound.
        """
        sets = Q.detached("maximum mean imprecision")
        value = np.asarray(self.diameter_of(sets), np.float64)
        exact = sets.choquet_is_lower()
        if exact.all():
            return value, np.zeros_like(value)
        costs = self.ground_costs()
        if costs is None:
            diracs = np.eye(sets.n_classes)
            costs = self.between(diracs[:, None], diracs)
        bound = lipschitz_bound(sets, costs)
        return value, np.where(exact, 0.0, np.maximum(bound - value, 0.0))

    def check_classes(self, n_classes: int, name: str = "distance") -> None:
        """Raise if the distance is defined for another number of classes."""
        if self.n_classes not in (None, n_classes):
            _validation.raise_invalid(
                name,
                f"is defined for {self.n_classes} classes, the distributions have {n_classes}",
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
        placements = {backend_of(p).placement, backend_of(q).placement}
        if "lazy" in placements:
            return LazyBatch.of([p, q], [1, 1], ["p", "q"]).map(self)
        if "device" in placements:
            return self._between_tensors(p, q)
        first, second = _validation.distributions(p, "p"), _validation.distributions(q, "q")
        if first.shape[-1] != second.shape[-1]:
            _validation.raise_invalid(
                "q", f"has {second.shape[-1]} classes", f"pass {first.shape[-1]}, as in p"
            )
        _validation.check_broadcastable("q", second.shape, "p", first.shape)
        self.check_classes(first.shape[-1])
        dtype = np.result_type(first.dtype, second.dtype)
        result = self.between(*(x.astype(np.float64, copy=False) for x in (first, second)))
        return backend_of(p).wrap(np.asarray(result, dtype))

    def _between_tensors(self, p: Any, q: Any) -> Any:
        first, second = _validation.native_pair(p, q)
        K = int(first.shape[-1])
        norm = self.seminorm(K)
        if norm is None:
            _validation.raise_invalid(
                "p",
                "is a tensor on another device, or requires grad, and this distance needs a solver",
                "pass p.detach().cpu()",
            )
        self.check_classes(K)
        features = norm.features(native.widen(first) - native.widen(second))
        distance = norm.scale * native.norm(features, norm.order)
        return namespace(distance).astype(distance, first.dtype, copy=False)


#: Distances that are determined by the number of classes, by name.
NAMES: dict[str, Callable[[Any], Distance]] = {}


def as_distance(distance: Any, n_classes: int | None = None) -> Distance:
    """Return `distance` if it is one, otherwise the distance of that name.

    Parameters
    ----------
    distance : Distance or str
        A distance, which is returned unchanged, or a name: ``"tv"``, ``"ordinal"`` or
        ``"kolmogorov"``.
    n_classes : int, optional
        Number of classes K. Raises ValueError if the distance is defined for another number.

    Returns
    -------
    Distance

    Examples
    --------
    >>> from credalens.distances import as_distance
    >>> as_distance("ordinal", 3).dirac_costs
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if isinstance(distance, str):
        if n_classes is None or n_classes <= FEW_CLASSES:
            return _cached(distance, n_classes)
    elif isinstance(distance, Distance):
        if n_classes is not None:
            distance.check_classes(n_classes)
        return distance
    return NAMES[_validation.one_of(distance, "distance", NAMES)](n_classes)


@functools.lru_cache(maxsize=8)
def _cached(name: str, n_classes: int | None) -> Distance:
    return NAMES[_validation.one_of(name, "distance", NAMES)](n_classes)


def raise_too_many(points: int, what: str) -> None:
    """Raise if a set has too many extreme points for comparing all pairs."""
    if points > MAX_POINTS:
        _validation.raise_invalid(
            "distance",
            f"{what} compares all {points:,} extreme points of a set with one another",
            f"pass a set of at most {MAX_POINTS:,}, or another distance",
        )


def block_rows(points: Array, times: int = 1) -> int:
    """Return the number of instances of ``(..., M, K)`` per block, with `times` temporaries."""
    return rows_in_cache(points.shape[-2] * points.shape[-1] * times)


def square_matrix(x: Any, name: str) -> Array:
    """Return `x` validated as a finite square matrix of float64, read-only."""
    array = _validation.finite(x, name).astype(np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        _validation.raise_invalid(
            name, f"has shape {array.shape}", "pass a square matrix, one row and column per class"
        )
    array.flags.writeable = False
    return array
