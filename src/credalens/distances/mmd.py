"""Maximum mean discrepancy: the distance of mean embeddings for a kernel on the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, map_instances, rows_in_cache
from credalens._protocols import CredalSetLike
from credalens._warnings import warn_caller
from credalens.distances import choquet
from credalens.distances.base import (
    Distance,
    Seminorm,
    block_rows,
    raise_too_many,
    square_matrix,
)
from credalens.distances.maximin_distance import maximin_distance
from credalens.distances.minimum_norm_point import minimum_norm


@dataclass(frozen=True, eq=False, repr=False)
class MMD(Distance):
    """Maximum mean discrepancy, ``sqrt((p - q)^T k (p - q))`` for a kernel matrix k.

    The test functions are the unit ball of the reproducing kernel Hilbert space of k.

    Parameters
    ----------
    kernel : array-like of shape (K, K)
        Symmetric and conditionally positive semidefinite: ``v^T k v >= 0`` for all v whose entries
        sum to 0, like those of differences of distributions. If it is 0 for some v, the distance
        of distributions that differ by v is 0 (a pseudo-metric), and a warning is issued. Terms
        that depend on one of the classes only, such as a constant, do not change the distance: they
        are subtracted first, so that they cost no digits.

    Notes
    -----
    Distributions are embedded in Euclidean space. Total uncertainty is attained at a member and
    epistemic uncertainty at a pair of members. The lower aleatoric end is the distance of the hull
    of the members to the nearest class, computed by projection with a certified gap; in general it
    is not attained at a member. The upper end is a non-convex problem, solved by branch and bound:
    the value is attained, and its certified error is below 1e-6 for up to 5 members.

    Examples
    --------
    >>> import credalens as cl
    >>> d = cl.MMD([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> round(float(d([0.5, 0.5, 0.0], [1.0, 0.0, 0.0])), 4)
    0.7071

    A mixture of these two members is nearer to the first class than both:

    >>> au = cl.aleatoric_uncertainty([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], d)
    >>> round(float(au.lower), 4)
    0.6124
    """

    kernel: Array
    #: Points of the classes in Euclidean space, ``(K, r)``, with ``d(p, q) = |p L - q L|``.
    _vertices: Array
    _smallest: float

    def __init__(self, kernel: Any) -> None:
        self._set(square_matrix(kernel, "kernel"))

    def _set(self, k: Array, centred: Array | None = None) -> None:
        K, size = len(k), float(np.abs(k).max())
        centred = _centred(k) if centred is None else centred
        # What the rounding of the entries can change, and that of the decomposition below.
        given = 2 * float(np.finfo(np.float64).eps) * size
        rounding = 1e-13 * K * float(np.abs(centred).max())
        skew = np.argwhere(np.abs(k - k.T) > rounding + 2 * given)
        if len(skew):
            z, y = skew[0]
            _validation.raise_invalid(
                "kernel",
                f"kernel[{z}, {y}] = {k[z, y]:.6g} but kernel[{y}, {z}] = {k[y, z]:.6g} "
                "(zero-based)",
                "pass a symmetric matrix",
            )
        # Differences of distributions sum to 0. An eigendecomposition on that subspace is used,
        # because Cholesky fails for the singular kernel I - J/K, which defines a metric.
        basis = np.linalg.qr(np.c_[np.ones(K), np.eye(K)[:, 1:]])[0][:, 1:]
        eigenvalues, directions = np.linalg.eigh(basis.T @ centred @ basis)
        smallest = float(eigenvalues.min(initial=np.inf))
        if smallest < -rounding - K * given:
            _validation.raise_invalid(
                "kernel",
                "is not positive semidefinite: on vectors that sum to 0, its smallest eigenvalue "
                f"is {smallest:.6g}",
                "v^T k v must not be negative for any v that sums to 0; check the kernel, or add "
                f"{-smallest:.3g} to its diagonal",
            )
        keep = eigenvalues > rounding
        if not keep.all():
            warn_caller(
                "kernel: is degenerate, so that the distance is a pseudo-metric: on vectors that "
                f"sum to 0, its smallest eigenvalue is {smallest:.3g}, zero up to rounding",
                UserWarning,
            )
        vertices = (basis @ directions[:, keep]) * np.sqrt(eigenvalues[keep])
        k.flags.writeable = False
        vertices.flags.writeable = False
        object.__setattr__(self, "kernel", k)
        object.__setattr__(self, "_vertices", vertices)
        object.__setattr__(self, "_smallest", smallest)

    @classmethod
    def from_embeddings(
        cls,
        vectors: Any,
        kernel: str | Callable[[Array, Array], Any] = "rbf",
        bandwidth: float | str = "median",
    ) -> Self:
        """Return the distance for classes with embeddings, for instance of their names.

        Parameters
        ----------
        vectors : array-like of shape (K, D)
            One vector per class.
        kernel : {"rbf", "laplacian", "linear"} or callable, default="rbf"
            ``exp(-|x - y|^2 / (2 h^2))``, ``exp(-|x - y| / h)``, ``x . y``, or a function of two
            arrays of vectors that returns the ``(K, K)`` matrix.
        bandwidth : float or "median", default="median"
            h; by default the median distance between two classes.

        Returns
        -------
        MMD

        Examples
        --------
        >>> import credalens as cl
        >>> d = cl.MMD.from_embeddings([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
        >>> near = d([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
        >>> far = d([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
        >>> bool(near < far)
        True
        """
        x = _validation.finite(vectors, "vectors").astype(np.float64)
        if x.ndim != 2 or x.size == 0:
            _validation.raise_invalid(
                "vectors", f"has shape {x.shape}", "pass one vector per class, (K, D)"
            )
        centred = None
        if callable(kernel):
            matrix = square_matrix(kernel(x, x), "kernel")
            if len(matrix) != len(x):
                _validation.raise_invalid(
                    "kernel",
                    f"returned shape {matrix.shape}",
                    f"it must return ({len(x)}, {len(x)})",
                )
        elif _validation.one_of(kernel, "kernel", ("rbf", "laplacian", "linear")) == "linear":
            matrix = x @ x.T
            near = x - x[0]  # without the common part, which does not change distances
            near = near - near.mean(axis=0)
            centred = near @ near.T
        else:
            apart = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
            ratio = apart / _bandwidth(bandwidth, apart)
            matrix = np.exp(-(ratio**2) / 2 if kernel == "rbf" else -ratio)
        distance = cls.__new__(cls)
        distance._set(matrix, centred)
        return distance

    def _key(self) -> Any:
        return self.kernel.shape, self.kernel.tobytes()

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # from the parameters
        """Number of classes K."""
        return len(self.kernel)

    @property
    def is_metric(self) -> bool:
        """Whether different distributions have a positive distance."""
        return int(self._vertices.shape[1]) == self.n_classes - 1

    def _embed(self, p: Array) -> Array:
        """Return the points ``(..., r)`` of distributions ``(..., K)``."""
        flat = p.reshape(-1, self.n_classes).astype(np.float64, copy=False)
        return np.asarray(flat @ self._vertices).reshape(*p.shape[:-1], self._vertices.shape[1])

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        return _norm(self._embed(p - q))

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""
        vertices = np.ascontiguousarray(self._vertices)

        def kernel(block: Array, diameter: Array) -> None:
            # Differences and not the Gram matrix, so that equal members have distance 0.
            _kernels.squared_euclidean_diameter(block, vertices, diameter, DEFAULT_THREADS)
            np.sqrt(diameter, out=diameter)

        (diameter,) = map_instances(kernel, points, [()], large=True)
        return np.asarray(diameter)

    def seminorm(self, n_classes: int) -> Seminorm:
        """Return the Euclidean distance of the embeddings."""
        return Seminorm(2, self._vertices)

    def _squared_distances(self, x: Array) -> Array:
        """Return the squared distances of points ``(b, M, r)`` from the classes, up to rounding."""
        V = self._vertices
        inner = np.tensordot(x, V, axes=(-1, 1))
        return np.asarray((x * x).sum(axis=-1)[..., None] - 2 * inner + (V * V).sum(axis=1))

    def minimax_dirac_distance(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

        def kernel(block: Array, worst: Array) -> None:
            x = self._embed(block)
            y = self._squared_distances(x).max(axis=1).argmin(axis=1)
            # Recomputed for the class found, without cancellation.
            worst[:] = _norm(x - self._vertices[y][:, None]).max(axis=1)

        (worst,) = map_instances(kernel, points, [()], rows=block_rows(points))
        return np.asarray(worst)

    def aleatoric(self, Q: CredalSetLike) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""

        def kernel(block: Array, lower: Array, upper: Array, error: Array) -> None:
            x = self._embed(block)
            lower[:], below = self._nearest_class(x)
            upper[:], above = maximin_distance(x, self._vertices)
            np.minimum(lower, upper, out=lower)  # can be violated by rounding only
            np.maximum(below, above, out=error)

        points = Q.detached("aleatoric uncertainty of an MMD").to_hull().generators
        M = points.shape[-2]
        raise_too_many(M, "the aleatoric uncertainty of an MMD")
        rows = max(1, min(512, block_rows(points, 1 + M)))
        lower, upper, error = map_instances(kernel, points, [()] * 3, rows=rows)
        return lower, upper, error

    def _nearest_class(self, x: Array) -> tuple[Array, Array]:
        """Return the smallest distance of a class to the hull of the rows, and its error.

        A class is not projected if its lower bound exceeds the distance of another class.
        """
        n = len(x)
        squares = self._squared_distances(x)
        K = squares.shape[2]
        member, ceiling = squares.argmin(axis=1), squares.min(axis=1)
        gram = np.einsum("nmr,nkr->nmk", x, x)
        own = np.einsum("nmm->nm", gram)
        # (x_i - v_y) . (x_m - v_y) = (s_iy + s_my - |x_i - x_m|^2) / 2, with i the nearest member.
        apart = own[:, :, None] + own[:, None, :] - 2 * gram
        rows = np.arange(n)[:, None]
        toward = (ceiling[:, None] + squares - apart[rows, member].transpose(0, 2, 1)) / 2
        at_member = np.sqrt(np.maximum(ceiling, np.finfo(float).tiny))
        floor = np.minimum(toward.min(axis=1) / at_member, at_member)
        # Squared distances lose half of the digits; these bounds only exclude classes.
        floor -= 1e-7 * np.sqrt(np.maximum(squares.max(axis=(1, 2)), 0.0))[:, None]
        value, bound = np.full((n, K), np.inf), floor
        first = ceiling.argmin(axis=1)
        self._project(x, np.arange(n), first, value, bound)
        more = (bound < value.min(axis=1, keepdims=True)) & np.isinf(value)
        i, y = np.nonzero(more)
        self._project(x, i, y, value, bound)
        best = value.min(axis=1)
        return best, np.maximum(best - bound.min(axis=1), 0.0)

    def _project(self, x: Array, i: Array, y: Array, value: Array, bound: Array) -> None:
        """Write the distances of classes y to the hulls i, and lower bounds of them."""
        chunk = rows_in_cache(x[0].size)
        for start in range(0, len(i), chunk):
            a, b = i[start : start + chunk], y[start : start + chunk]
            distance, error = minimum_norm(x[a] - self._vertices[b][:, None])
            value[a, b], bound[a, b] = distance, distance - error

    @cached_property
    def _faces(self) -> list[tuple[Array, Array]]:
        return list(choquet.ball_faces(self._vertices))

    def imprecision(self, Q: CredalSetLike) -> tuple[Array, Array]:
        """Return the maximum mean imprecision: exact for up to 7 classes, else a lower bound."""
        if self.n_classes <= choquet.FEW_CLASSES:
            sets = Q.detached("maximum mean imprecision")
            value = choquet.largest_on_faces(self._faces, choquet.event_widths(sets))
            return value, np.zeros_like(value)
        return super().imprecision(Q)

    def __repr__(self) -> str:
        return f"MMD(<kernel on {self.n_classes} classes>)"


def _centred(k: Array) -> Array:
    """Return ``k_ij`` minus the means of row i and column j plus that of all: the same distance.

    First minus row and column 0: differences of entries with a large common part are exact.
    """
    rest = (k - k[:, :1]) - (k[:1] - k[0, 0])
    rest = (rest + rest.T) / 2
    means = rest.mean(axis=1)
    return np.asarray(rest - means - means[:, None] + means.mean())


def _norm(x: Array) -> Array:
    return np.asarray(np.sqrt((x * x).sum(axis=-1)))


def _bandwidth(bandwidth: Any, apart: Array) -> float:
    """Return the width of a kernel: a positive number, or the median of the distances."""
    if isinstance(bandwidth, str):
        _validation.one_of(bandwidth, "bandwidth", ("median",))
        width = float(np.median(apart[np.triu_indices(len(apart), 1)])) if len(apart) > 1 else 1.0
        if width == 0:
            _validation.raise_invalid(
                "bandwidth",
                "is 0: more than half of the vectors are equal",
                "pass a positive number",
            )
        return width
    if not (np.ndim(bandwidth) == 0 and 0 < float(bandwidth) < np.inf):
        _validation.raise_invalid(
            "bandwidth", f"is {bandwidth!r}", "pass a positive number or 'median'"
        )
    return float(bandwidth)
