"""Maximum mean discrepancy: the distance of mean embeddings under a kernel on the classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, per_instance
from credalens.distances import choquet
from credalens.distances.base import (
    BLOCK_FLOATS,
    Distance,
    Questions,
    Seminorm,
    block_rows,
    refuse_many,
    square_matrix,
)
from credalens.distances.farthest import farthest
from credalens.distances.projection import nearest


@dataclass(frozen=True, eq=False, repr=False)
class MMD(Distance):
    """Maximum mean discrepancy, ``sqrt((p - q)^T k (p - q))`` for a kernel matrix k.

    The test functions are the unit ball of the kernel's Hilbert space: distributions are compared
    by all functions that are smooth in the sense of k.

    Parameters
    ----------
    kernel : array-like of shape (K, K)
        Symmetric, and positive semi-definite where it matters: ``v^T k v >= 0`` for all v whose
        entries sum to 0, as differences of distributions do. If it is 0 for some v, distributions
        that differ by v are not told apart (a pseudo-metric), and a warning says so.

    Notes
    -----
    Distributions become points in Euclidean space. Total uncertainty is at a member and epistemic
    uncertainty at a pair of members. The lower aleatoric end is the distance of the nearest vertex
    from the hull of the members, an exact projection with a certified gap, and in general not at a
    member. The upper end is not a convex problem: it comes from branch and bound, as a value that
    is attained and a certified error above it, below 1e-6 for up to 5 members.

    Examples
    --------
    >>> import credalens as cl
    >>> d = cl.MMD([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> round(float(d([0.5, 0.5, 0.0], [1.0, 0.0, 0.0])), 4)
    0.7071

    Between these two members lies a distribution that is nearer to the first class than either:

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

    def _set(self, k: Array) -> None:
        K = len(k)
        size = float(np.abs(k).max())
        skew = np.argwhere(np.abs(k - k.T) > 1e-12 * size)
        if len(skew):
            z, y = skew[0]
            _validation.refuse(
                "kernel",
                f"kernel[{z}, {y}] = {k[z, y]:.6g} but kernel[{y}, {z}] = {k[y, z]:.6g}, places "
                "being zero-based",
                "pass a symmetric matrix",
            )
        # Only differences of distributions count, and these sum to 0. An eigendecomposition on that
        # subspace, as Cholesky fails on the singular kernel I - J/K, which is a metric.
        basis = np.linalg.qr(np.c_[np.ones(K), np.eye(K)[:, 1:]])[0][:, 1:]
        eigenvalues, directions = np.linalg.eigh(basis.T @ k @ basis)
        smallest = float(eigenvalues.min(initial=np.inf))
        rounding = 1e-13 * K * size
        if smallest < -rounding:
            _validation.refuse(
                "kernel",
                "is not positive semi-definite: on vectors that sum to 0, its smallest eigenvalue "
                f"is {smallest:.6g}",
                "v^T k v must not be negative for any v that sums to 0; check the kernel, or add "
                f"{-smallest:.3g} to its diagonal",
            )
        keep = eigenvalues > rounding
        if not keep.all():
            warnings.warn(
                "kernel: does not tell all distributions apart (a pseudo-metric): on vectors that "
                f"sum to 0, its smallest eigenvalue is {smallest:.3g}, zero but for rounding",
                UserWarning,
                stacklevel=4,
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
        """Return the distance for classes that have embeddings, say of their names.

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
            _validation.refuse(
                "vectors", f"has shape {x.shape}", "pass one vector per class, (K, D)"
            )
        if callable(kernel):
            matrix = square_matrix(kernel(x, x), "kernel")
            if len(matrix) != len(x):
                _validation.refuse("kernel", f"returned shape {matrix.shape}",
                                   f"it must return ({len(x)}, {len(x)})")  # fmt: skip
        elif _validation.one_of(kernel, "kernel", ("rbf", "laplacian", "linear")) == "linear":
            matrix = x @ x.T
        else:
            apart = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
            ratio = apart / _bandwidth(bandwidth, apart)
            matrix = np.exp(-(ratio**2) / 2 if kernel == "rbf" else -ratio)
        distance = cls.__new__(cls)
        distance._set(matrix)
        return distance

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # read off the parameters
        """Number of classes K."""
        return len(self.kernel)

    @property
    def is_metric(self) -> bool:
        """Whether all distributions are told apart."""
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

        def kernel(block: Array, wide: Array) -> None:
            # Differences, not the Gram matrix: members that are equal must be at distance 0.
            _kernels.square_diameter(block, vertices, wide, AS_WANTED)
            np.sqrt(wide, out=wide)

        (wide,) = per_instance(points, kernel, [()], large=True)
        return wide

    def seminorm(self, n_classes: int) -> Seminorm:
        """Return the Euclidean distance of the embeddings."""
        return Seminorm(2, self._vertices)

    def _squares(self, x: Array) -> Array:
        """Return the squared distances of points ``(b, M, r)`` from the classes, up to rounding."""
        V = self._vertices
        inner = np.tensordot(x, V, axes=(-1, 1))
        return np.asarray((x * x).sum(axis=-1)[..., None] - 2 * inner + (V * V).sum(axis=1))

    def reach(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

        def kernel(block: Array, worst: Array) -> None:
            x = self._embed(block)
            y = self._squares(x).max(axis=1).argmin(axis=1)
            # Once more without cancellation, now that the class is known.
            worst[:] = _norm(x - self._vertices[y][:, None]).max(axis=1)

        (worst,) = per_instance(points, kernel, [()], rows=block_rows(points))
        return worst

    def aleatoric(self, Q: Questions) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""

        def kernel(block: Array, lower: Array, upper: Array, error: Array) -> None:
            x = self._embed(block)
            lower[:], below = self._nearest_class(x)
            upper[:], above = farthest(x, self._vertices)
            np.minimum(lower, upper, out=lower)  # true by definition, but for rounding
            np.maximum(below, above, out=error)

        points = Q.to_hull().members
        M = points.shape[-2]
        refuse_many(M, "an MMD, whose aleatoric uncertainty")
        rows = max(1, min(512, block_rows(points, 1 + M)))
        lower, upper, error = per_instance(points, kernel, [()] * 3, rows=rows)
        return lower, upper, error

    def _nearest_class(self, x: Array) -> tuple[Array, Array]:
        """Return the least distance of a class from the hull of the rows, and its error.

        A class whose bound at its nearest member is above another's value is not projected.
        """
        n = len(x)
        squares = self._squares(x)
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
        # Squares lose half of the digits of a short distance; this bound only saves work.
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
        """Write the distances of classes y from the hulls i, and lower bounds on them."""
        chunk = max(1, BLOCK_FLOATS // max(1, x[0].size))
        for start in range(0, len(i), chunk):
            a, b = i[start : start + chunk], y[start : start + chunk]
            distance, error = nearest(x[a] - self._vertices[b][:, None])
            value[a, b], bound[a, b] = distance, distance - error

    @cached_property
    def _faces(self) -> list[tuple[Array, Array]]:
        return list(choquet.ball_faces(self._vertices))

    def imprecision(self, Q: Questions) -> tuple[Array, Array]:
        """Return the maximum mean imprecision: exact for up to 7 classes, else a bound below."""
        if self.n_classes <= choquet.FEW_CLASSES:
            value = choquet.largest_on_faces(self._faces, choquet.event_widths(Q))
            return value, np.zeros_like(value)
        return super().imprecision(Q)

    def __repr__(self) -> str:
        return f"MMD(<kernel on {self.n_classes} classes>)"


def _norm(x: Array) -> Array:
    return np.asarray(np.sqrt((x * x).sum(axis=-1)))


def _bandwidth(bandwidth: Any, apart: Array) -> float:
    """Return the width of a kernel: a positive number, or the median of the distances."""
    if isinstance(bandwidth, str):
        _validation.one_of(bandwidth, "bandwidth", ("median",))
        width = float(np.median(apart[np.triu_indices(len(apart), 1)])) if len(apart) > 1 else 1.0
        if width == 0:
            _validation.refuse("bandwidth", "is 0: more than half of the vectors are the same",
                               "pass a positive number")  # fmt: skip
        return width
    if not (np.ndim(bandwidth) == 0 and 0 < float(bandwidth) < np.inf):
        _validation.refuse("bandwidth", f"is {bandwidth!r}", "pass a positive number or 'median'")
    return float(bandwidth)
