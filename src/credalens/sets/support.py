"""Credal sets that can point to their best member for any test function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, laid_out, per_instance
from credalens.sets import columns
from credalens.sets.array_set import ArraySet
from credalens.sets.base import HasDiameter, is_tv

#: Numbers that a piece of a batch holds: temporaries stay in the cache and small beside the input.
PIECE = 1 << 18
#: A diameter whose certified bounds are this close is known.
CERTIFIED = 1e-9


class SupportSet(ArraySet):
    """A credal set that finds its best member for any test function.

    From the best member follow expectations and, by column generation, matrix games; total
    variation needs more closed forms: of the ends of the classes, `_minimax` and `_tv_bounds`.
    """

    def _each(
        self,
        kernel: Callable[..., tuple[Array | None, ...]],
        shapes: list[tuple[int, ...]],
        dtype: Any = np.float64,
    ) -> list[Array]:
        """Run ``kernel(*parts)`` over float64 pieces of the batch and put its results together."""
        flat = [self._flat(part, core) for part, core in zip(self._parts, self._cores, strict=True)]
        n, most = len(flat[0]), max([part.size for part in flat])
        if n == 1 or 0 < most <= PIECE:  # what the kernel returns is the answer
            values = kernel(*[laid_out(part, np.float64) for part in flat])
            results = [np.asarray(value, dtype) for value in values]
        else:
            results = [np.empty((n, *shape), dtype) for shape in shapes]
            step = max(1, PIECE * n // most) if n else 1
            for start in range(0, n, step):
                piece = slice(start, start + step)
                values = kernel(*(laid_out(part[piece], np.float64) for part in flat))
                for result, value in zip(results, values, strict=True):
                    result[piece] = value
        batch = self.batch_shape
        if len(batch) == 1:
            return results
        return [r.reshape(batch + shape) for r, shape in zip(results, shapes, strict=True)]

    # ---- what a representation says

    @abstractmethod
    def _best(self, f: Array, *parts: Array) -> Array:
        """Return the members ``(n, K)`` with the largest expectation of f.

        `f` is one test function ``(K,)`` or one per instance; `parts` are float64.
        """

    @abstractmethod
    def _class_lower(self) -> Array:
        """Return the lower probability of each class, ``(..., K)``."""

    @abstractmethod
    def _class_upper(self) -> Array:
        """Return the upper probability of each class, ``(..., K)``."""

    @abstractmethod
    def _class_tops(self) -> tuple[Array, Array]:
        """Return the largest lower and the largest upper probability of a class."""

    @abstractmethod
    def _minimax(self) -> Array:
        """Return ``min over p of max over y of p_y``."""

    def _minimax_and_gap(self) -> tuple[Array, Array]:
        """Return `_minimax` and its certified gap."""
        value = self._minimax()
        return value, np.zeros(value.shape)

    @abstractmethod
    def _tv_bounds(self) -> tuple[Array, Array]:
        """Return bounds of the total variation diameter, equal where it is known exactly."""

    # ---- what follows

    def _class_ends(self) -> tuple[Array, Array]:
        """Return the lower and the upper probability of each class, ``(..., K)``."""
        return self._class_lower(), self._class_upper()

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
            ``(...)`` for one test function, ``(..., F)`` for many, ``(..., K)`` by default. Found
            greedily: O(K log K) for each test function.
        """
        return self._expectation(f, -1.0)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function; see `lower`."""
        return self._expectation(f, 1.0)

    def _expectation(self, f: Any, sign: float) -> Any:
        if f is None:
            return self.origin.wrap(self._class_upper() if sign > 0 else self._class_lower())
        functions = _validation.expectands(f, self.n_classes)
        many = np.atleast_2d(functions)

        def kernel(*parts: Array) -> tuple[Array]:
            # Not a matrix product, whose last bits depend on the number of rows.
            values = [(self._best(sign * one, *parts) * one).sum(axis=1) for one in many]
            return (np.stack(values, axis=-1) if values else np.empty((len(parts[0]), 0)),)

        (result,) = self._each(kernel, [(len(many),)], self.dtype)
        return self.origin.wrap(result if functions.ndim == 2 else result[..., 0])

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its certified gap.

        Without a cost in closed form, otherwise by column generation.
        """
        if cost is None:
            value, gap = self._minimax_and_gap()
            return np.asarray(1 - value, self.dtype), np.asarray(gap, self.dtype)
        costs = np.asarray(cost, np.float64)

        def kernel(*parts: Array) -> tuple[Array, Array]:
            return columns.cost_game(self._best_of(parts), costs, len(parts[0]))

        value, gap = self._each(kernel, [(), ()], self.dtype)
        return value, gap

    def _best_of(self, parts: tuple[Array, ...]) -> columns.Best:
        """Return what finds the best members of some instances of a piece."""
        return lambda f, some: self._best(f, *(part[some] for part in parts))

    def diameter(self, distance: HasDiameter) -> Array:
        """Return the largest distance between two members of the set.

        For total variation in closed form or by an exact search; for other distances between two
        corners, which must be few enough to be listed.

        Raises
        ------
        ValueError
            If only bounds can be certified; `diameter_bounds` returns them.
        """
        return self._tv_diameter() if is_tv(distance) else super().diameter(distance)

    def diameter_bounds(self, distance: HasDiameter) -> tuple[Array, Array]:
        """Return certified bounds of the diameter, equal where it is known exactly."""
        if not is_tv(distance):
            return super().diameter_bounds(distance)
        lower, upper = self._tv_bounds()
        return np.asarray(lower, self.dtype), np.asarray(upper, self.dtype)

    def _tv_diameter(self) -> Array:
        lower, upper = self._tv_bounds()
        open_ = upper - lower > CERTIFIED
        if np.count_nonzero(open_):
            where = tuple(np.argwhere(open_)[0])
            at = f" of instance {_validation.place(where)} (zero-based)" if where else ""
            raise ValueError(
                f"diameter: that{at} in total variation is only certified to lie between "
                f"{lower[where]:.6g} and {upper[where]:.6g}, the exact search being too long for "
                f"{self.n_classes} classes; ask for bounds (diameter_bounds, return_error=True)"
            )
        return np.asarray(lower, self.dtype)

    def choquet_is_lower(self) -> Array:
        """Say whether Choquet integrals by the lower probability are the lower expectations."""
        return np.asarray(self.is_two_monotone())  # all above its lower probability is in the set

    def lower_sum(self) -> Array:
        """Return the sum of the lower probabilities of the classes, float64."""
        return smallest_sum(self._class_lower()[..., None, :])

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Array, Array, Any]:
        """Return total, the lower aleatoric end and, if asked, epistemic by total variation."""
        total, lower = [self._rest(top) for top in self._class_tops()]
        return total, lower, self._tv_diameter() / 2 if epistemic else None

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Array, Array, Array, Any, Array]:
        """Return total, both aleatoric ends, epistemic if asked, and the certified error.

        Where a diameter is known between bounds only, epistemic is half the lower one, and the
        error that of all.
        """
        total, lower, half = self.tv_closed_forms(epistemic=False)
        value, gap = self._minimax_and_gap()
        upper, error = self._rest(value), np.asarray(gap, total.dtype)
        # True by definition: rounding must not break it.
        np.minimum(np.maximum(upper, lower, out=upper), total, out=upper)
        if epistemic:
            least, most = self._tv_bounds()
            half = np.asarray(least, total.dtype) / 2
            error = np.maximum(error, np.asarray((most - least) / 2, total.dtype))
        return total, lower, upper, half, error

    def _rest(self, p: Array) -> Array:
        """Return one minus probabilities, which rounding may have left above 1."""
        if self.n_classes == 1:  # which is certain
            return np.zeros(self.batch_shape, self.dtype)
        return np.asarray(np.maximum(1.0 - p, 0.0), self.dtype)

    def _answer_entropy(
        self, kernel: Callable[..., tuple[Array, Array, Array | None]], distribution: bool
    ) -> tuple[Array, Array, Array | None]:
        """Run a kernel that returns values, errors and, if asked, distributions."""
        K, where = self.n_classes, None
        if distribution:
            value, error, where = self._each(kernel, [(), (), (K,)])
        else:
            value, error = self._each(lambda *parts: kernel(*parts)[:2], [(), ()])
        if K == 1:  # precise, whatever rounding says
            value.fill(0.0)
        return value, error, where

    def _in_simplex(self, moved: Array) -> Array:
        """Return lower ends that a shift has moved, refused if one has become negative."""
        outside = moved < -8 * float(np.finfo(self.dtype).eps)
        if outside.any():
            where = tuple(np.argwhere(outside)[0])
            _validation.refuse(
                "t",
                f"moves the lower end at index {_validation.place(where)} (zero-based) to "
                f"{moved[where]:.6g}, out of the simplex",
                "pass a smaller shift",
            )
        return np.maximum(moved, 0.0)


def largest(rows: Array) -> Array:
    """Return the largest entry of each row ``(..., K)``, float64."""

    def kernel(block: Array, top: Array) -> None:  # of a hull of one member each
        _kernels.closed_forms(block, None, top, None, None, AS_WANTED)

    return per_instance(rows[..., None, :], kernel, [()], dtype=np.float64, large=True)[0]


def smallest_sum(rows: Array) -> Array:
    """Return the sum over the columns of ``(..., M, K)`` of their smallest entry, float64."""

    def kernel(block: Array, total: Array) -> None:
        _kernels.closed_forms(block, None, None, None, total, AS_WANTED)

    return per_instance(rows, kernel, [()], dtype=np.float64, large=True)[0]


def entropy(p: Array) -> Array:
    """Return the Shannon entropy of ``(..., K)`` in nats; ``0 log 0 = 0``."""
    rows = laid_out(p, np.float64).reshape(-1, 1, p.shape[-1])
    value = np.empty(len(rows))
    _kernels.min_entropy(rows, value, None, AS_WANTED)  # of a hull of one member each
    return value.reshape(p.shape[:-1])
