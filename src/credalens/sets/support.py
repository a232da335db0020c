"""Credal sets that maximise any linear functional in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import (
    DEFAULT_THREADS,
    Array,
    as_contiguous,
    map_instances,
    namespace,
    native,
    primitive,
    rows_in_cache,
)
from credalens._edges import Edges
from credalens.sets import column_generation
from credalens.sets.base import CredalSet
from credalens.sets.line_queries import LineQueries
from credalens.sets.zero_one import mode_tolerance

#: A diameter is exact if its certified bounds differ by at most this.
CERTIFIED = 1e-9


def _native_lower(Q: Any, f: Any = None) -> Any:
    return Q._class_bounds()[0] if f is None else Q._native_expectation(f, -1.0)


def _native_upper(Q: Any, f: Any = None) -> Any:
    return Q._class_bounds()[1] if f is None else Q._native_expectation(f, 1.0)


def _native_maximin(Q: Any, cost: Array | None = None) -> Any:
    if cost is not None:
        return NotImplemented
    value, gap = Q._minimax()
    return 1 - value, gap


def native_largest_bounds(Q: Any) -> tuple[Any, Any]:
    """See `SupportSet._largest_class_bounds`."""
    low, high = Q._class_bounds()
    xp = namespace(low)
    return xp.max(low, axis=-1), xp.max(high, axis=-1)


class SupportSet(LineQueries):
    """A credal set whose support function is known: the maximiser of any test function.

    Expectations follow from the maximiser and, by column generation, matrix games. Total variation
    needs the class bounds, `_minimax` and `tv_diameter_bounds`.
    """

    @property
    def _parts(self) -> tuple[Array, ...]:
        """The arrays that the NumPy implementations read, with `core_ndims` core axes."""
        return self._arrays

    @property
    def _floats(self) -> int:
        """Number of floats of the temporaries of one instance."""
        return int(self._parts[0].shape[-1])

    def _map(
        self,
        kernel: Callable[..., Any],
        shapes: Sequence[tuple[int, ...] | None],
        dtype: Any = np.float64,
        arguments: tuple[Any, ...] = (),
    ) -> list[Any]:
        """Run ``kernel(*parts, *outputs, *arguments)`` over float64 blocks of the batch."""
        return map_instances(
            kernel, self._parts, shapes, self.core_ndims,
            dtype=dtype, block_dtype=np.float64, rows=rows_in_cache(self._floats),
            arguments=arguments,
        )  # fmt: skip

    # ---- defined by each representation

    @abstractmethod
    def _maximiser(self, f: Array, *parts: Array) -> Array:
        """Return the members ``(n, K)`` with the largest expectation of f.

        `f` is one test function ``(K,)`` or one per instance; `parts` are float64 blocks.
        """

    @abstractmethod
    def _class_bounds(self) -> tuple[Any, Any]:
        """Return the lower and upper probability of each class, ``(..., K)``, of any backend."""

    @abstractmethod
    def _minimax(self) -> tuple[Any, Any]:
        """Return ``min over p of max over y of p_y`` and its certified gap."""

    @abstractmethod
    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return certified bounds of the diameter in total variation."""

    def _native_expectation(self, f: Any, sign: float) -> Any:
        """Return the largest (sign 1) or smallest (-1) expectations for tensors."""
        return NotImplemented

    # ---- derived

    @primitive("Q->(f)", native=_native_lower)
    def lower(self, f: Any = None) -> Any:
        return self._expectation(f, -1.0)

    @primitive("Q->(f)", native=_native_upper)
    def upper(self, f: Any = None) -> Any:
        return self._expectation(f, 1.0)

    def _expectation(self, f: Any, sign: float) -> Any:
        if f is None:
            return np.array(self._class_bounds()[sign > 0], self.dtype)  # a copy
        functions = _validation.as_test_functions(f, self.n_classes)
        many = np.atleast_2d(functions)

        def kernel(*parts: Array) -> None:
            *inputs, output = parts
            for i, one in enumerate(many):
                # Not a matrix product, whose rounding depends on the number of rows.
                output[:, i] = (self._maximiser(sign * one, *inputs) * one).sum(axis=1)

        (result,) = self._map(kernel, [(len(many),)], self.dtype)
        return result if functions.ndim == 2 else result[..., 0][()]

    @primitive("Q->(),()", native=_native_maximin)
    def maximin(self, cost: Array | Edges | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its duality gap.

        In closed form for the default cost, otherwise by column generation.
        """
        if cost is None:
            value, gap = self._minimax()
            return 1 - value, gap
        if isinstance(cost, Edges) and cost.line is not None:
            upper, gap = self.cost_uncertainty(cost)[2:]
            return upper, gap
        costs = cost if isinstance(cost, Edges) else np.asarray(cost, np.float64)

        def kernel(*parts: Array) -> None:
            *inputs, value, gap = parts
            found = column_generation.cost_game(self._maximiser_of(inputs), costs, len(value))
            value[:], gap[:] = found

        value, gap = self._map(kernel, [(), ()], self.dtype)
        return value, gap

    @primitive("Q,(k)->(k)")
    def lower_prefixes(self, order: Array) -> Any:
        K = self.n_classes
        lead = np.broadcast_shapes(self.batch_shape, order.shape[:-1])
        parts = [
            np.broadcast_to(part, (*lead, *part.shape[part.ndim - core :]))
            for part, core in zip(self._parts, self.core_ndims, strict=True)
        ]

        def kernel(*blocks: Array) -> None:
            *inputs, ranks, values = blocks
            for size in range(1, K + 1):
                inside = (ranks < size).astype(np.float64)
                values[:, size - 1] = (self._maximiser(-inside, *inputs) * inside).sum(axis=1)

        ranks = np.argsort(np.broadcast_to(order, (*lead, K)), axis=-1)
        (values,) = map_instances(
            kernel, (*parts, ranks), [(K,)], (*self.core_ndims, 1), dtype=np.float64,
            block_dtype=np.float64, rows=rows_in_cache(4 * K),
        )  # fmt: skip
        return values

    def _maximiser_of(self, parts: list[Array]) -> column_generation.Maximiser:
        """Return the function that maximises test functions over some instances of a block."""
        return column_generation.Maximiser(
            lambda f, some: self._certified_maximiser(f, *(part[some] for part in parts))
        )

    def _certified_maximiser(self, f: Array, *parts: Array) -> Any:
        """Return `_maximiser` and, if it is not exact, how much larger an expectation may be."""
        return self._maximiser(f, *parts)

    @primitive("Q->(),()")
    def min_norm_point(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest ``|p|^2``, its gap and, if requested, the minimiser.

        By column generation.
        """
        K = self.n_classes

        def kernel(*parts: Array) -> None:
            *inputs, value, gap, where = parts
            found = column_generation.nearest_origin(self._maximiser_of(inputs), len(value), K)
            value[:], gap[:] = found[:2]
            if where is not None:
                where[:] = found[2]

        value, gap, where = self._map(kernel, [(), (), (K,) if distribution else None])
        return (value, gap, where) if distribution else (value, gap)

    def max_zero_one_divergence(self) -> Any:
        """Return ``max over p, q in the set of max_z p_z - p_y``, where y is an argmax of q.

        The largest over the classes y that have the largest probability in some q of the set, a
        game for each y, of ``max over z of upper(p_z - p_y)``.
        """
        K = self.n_classes
        best: Any = None
        for y in range(K):
            leads, gap = self.maximin(np.eye(K)[:, [y]] - np.eye(K))
            regret = self.upper(np.eye(K) - np.eye(K)[y])
            xp = namespace(regret)
            possible = leads + gap >= -mode_tolerance(self.dtype)
            regret = xp.where(possible, xp.max(regret, axis=-1), 0.0)
            best = regret if best is None else xp.maximum(best, regret)
        return best

    @primitive("Q->(),()", native=native_largest_bounds)
    def _largest_class_bounds(self) -> tuple[Any, Any]:
        """Return the largest lower and the largest upper class probability."""
        low, high = self._class_bounds()
        return row_max(low), row_max(high)

    def tv_diameter(self) -> Any:
        """Return the diameter in total variation, in closed form or by an exact search.

        Raises
        ------
        ValueError
            If only bounds are certified, which `tv_diameter_bounds` returns.
        """
        lower, upper = self.tv_diameter_bounds()
        if lower is not upper and namespace(lower).any(upper - lower > CERTIFIED):
            raise_uncertified(lower, upper, "total variation diameter", self.n_classes)
        return lower

    def choquet_is_lower(self) -> Array:
        return np.asarray(self.is_two_monotone())

    @primitive("Q->()", native=CredalSet.lower_sum)
    def lower_sum(self) -> Any:
        return row_sum(self._class_bounds()[0])

    def _tv_closed_ends(self) -> tuple[Any, Any]:
        """Return total uncertainty and the lower aleatoric end in total variation."""
        low, high = self._largest_class_bounds()
        return self._complement(low), self._complement(high)

    def _tv_ends(self) -> tuple[Any, Any, Any, Any]:
        """Return the same, the upper aleatoric end and its certified error."""
        total, lower = self._tv_closed_ends()
        value, error = self._minimax()
        return total, lower, native.clip_values(self._complement(value), lower, total), error

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        total, lower = self._tv_closed_ends()
        return total, lower, self.tv_diameter() / 2 if epistemic else None

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the certified error.

        If only bounds of the diameter are certified, epistemic uncertainty is half the lower bound,
        and the error is the largest of all.
        """
        total, lower, upper, error = self._tv_ends()
        half = None
        if epistemic:
            low, high = self.tv_diameter_bounds()
            half = low / 2
            if low is not high:
                error = namespace(error).maximum(error, (high - low) / 2)
        return total, lower, upper, half, error

    def _complement(self, p: Any) -> Any:
        return native.complement(p) if self.n_classes > 1 else 0 * p

    def _map_entropy(self, kernel: Callable[..., None], distribution: bool) -> tuple[Any, ...]:
        """Run a kernel that writes values, errors and, if requested, distributions."""
        K = self.n_classes
        value, error, where = self._map(kernel, [(), (), (K,) if distribution else None])
        if K == 1:  # 0, whatever rounding says
            value = np.zeros_like(value)
        return (value, error, where) if distribution else (value, error)


def raise_uncertified(lower: Any, upper: Any, what: str, n_classes: int) -> NoReturn:
    """Raise the error of a diameter for which only bounds are certified."""
    low, high = np.asarray(lower), np.asarray(upper)
    where = tuple(np.argwhere(high - low > CERTIFIED)[0])
    at = f" of instance {_validation.format_index(where)} (zero-based)" if where else ""
    raise ValueError(
        f"diameter: the {what}{at} is only certified to lie between {low[where]:.6g} and "
        f"{high[where]:.6g}, as the exact search takes too long for {n_classes} classes; use "
        "bounds (diameter_bounds, return_error=True)"
    )


def row_max(rows: Array) -> Array:
    """Return the largest entry of each row ``(..., K)``, float64."""

    def kernel(block: Array, top: Array) -> None:  # each row is a hull of one member
        _kernels.closed_forms(block, None, top, None, None, DEFAULT_THREADS)

    (top,) = map_instances(kernel, rows[..., None, :], [()], dtype=np.float64, large=True)
    return np.asarray(top)


def row_sum(rows: Array) -> Array:
    """Return the sum of each row ``(..., K)``, float64."""

    def kernel(block: Array, total: Array) -> None:
        _kernels.closed_forms(block, None, None, None, total, DEFAULT_THREADS)

    (total,) = map_instances(kernel, rows[..., None, :], [()], dtype=np.float64, large=True)
    return np.asarray(total)


def entropy(p: Array) -> Array:
    """Return the Shannon entropy of ``(..., K)`` in nats; ``0 log 0 = 0``."""
    rows = as_contiguous(p, np.float64).reshape(-1, 1, p.shape[-1])
    value = np.empty(len(rows))
    _kernels.min_entropy(rows, value, None, DEFAULT_THREADS)
    return value.reshape(p.shape[:-1])
