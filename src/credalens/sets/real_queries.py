"""The queries of hulls of distributions on the real line."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credalens._backend import NUMPY, Array, map_instances, primitive, rows_in_cache
from credalens.sets.hull_members import MemberArrays
from credalens.sets.member_weights import shares
from credalens.sets.missing_members import replace_missing
from credalens.sets.real_validation import as_levels, raise_not_real

#: What the kernels compute, in the order of their arguments.
OUTPUTS = ("total", "lower", "gap", "decision", "diameter", "weights")


@dataclass(frozen=True)
class MinimaxPrediction:
    """The point whose largest expected absolute error is smallest; see `RealHull.minimax`.

    Its certificate are two numbers: `risk` is attained by the prediction, and no other prediction
    has a risk below ``risk - error``, since that is the smallest mean absolute deviation of the
    mixture with `weights`.
    """

    #: The prediction, ``(...)``.
    prediction: Any
    #: Its largest expected absolute error over the members: the total uncertainty, ``(...)``.
    risk: Any
    #: How far the risk may be above the smallest one, ``(...)``.
    error: Any
    #: Weights of the members ``(..., M)``, at most two of them positive: the mixture that attains
    #: the upper aleatoric end up to `error`.
    weights: Any


class RealQueries(MemberArrays):
    """The queries of `RealHull`; a representation has a kernel, moments and quantiles."""

    #: Relative rounding error of the closed forms of the kernel.
    _rounding: ClassVar[float] = 0.0

    @abstractmethod
    def _solve(self, block: Array, *outputs: Any) -> None:
        """Run the kernel on ``(b, M, S)``; outputs in the order of `OUTPUTS`, None to leave out."""

    def _computed(self, *wanted: str) -> dict[str, Any]:
        """Return some outputs of the kernel by name."""
        shapes: list[tuple[int, ...] | None] = [
            None if name not in wanted else (self.n_members,) if name == "weights" else ()
            for name in OUTPUTS
        ]
        return dict(
            zip(OUTPUTS, map_instances(self._solve, self._members, shapes, large=True), strict=True)
        )

    @primitive("Q->(),(),(),(),()")
    def wasserstein_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the certified error.

        One pass over the data. The error is that of the total uncertainty and of the upper
        aleatoric end, which equals it.
        """
        names = ("total", "lower", "gap", *(("diameter",) if epistemic else ()))
        found = self._computed(*names)
        total, diameter = found["total"], found["diameter"]
        # The inequality holds by definition; rounding may break it.
        lower = np.minimum(found["lower"], total)
        error = found["gap"] + self._rounding * total
        return total, lower, total, None if diameter is None else diameter / 2, error

    @primitive("Q->(),()")
    def wasserstein_diameter(self) -> tuple[Any, Any]:
        """Return certified bounds of the largest Wasserstein distance of two members."""
        diameter = self._computed("diameter")["diameter"]
        return diameter, diameter * (1 + self._rounding) if self._rounding else diameter

    def minimax(self) -> MinimaxPrediction:
        """Return the prediction whose largest expected absolute error is smallest.

        Returns
        -------
        MinimaxPrediction
            Its `risk` is the total uncertainty.

        Examples
        --------
        >>> import credalens as cl
        >>> found = cl.RealHull.from_normal([0.0, 4.0], [1.0, 2.0]).minimax()
        >>> print(f"{found.prediction:.4f} {found.risk:.4f} {found.weights.round(2)}")
        2.1950 2.2049 [0.39 0.61]
        """
        return MinimaxPrediction(*self._minimax(), self._minimax_weights())

    @primitive("Q->(),(),()")
    def _minimax(self) -> tuple[Any, Any, Any]:
        found = self._computed("total", "gap", "decision")
        return found["decision"], found["total"], found["gap"] + self._rounding * found["total"]

    @primitive("Q->Q")
    def _minimax_weights(self) -> Any:
        if not self.backend.ragged:
            return self._computed("weights")["weights"]
        # A missing member has the predictions, and hands its weight to, the first that is present.
        given, _, mask = self._arrays
        dense = self._derived((replace_missing(given, mask), None, None), NUMPY)
        weights = np.asarray(dense._computed("weights")["weights"])
        moved = np.where(mask, 0.0, weights).sum(axis=-1, keepdims=True)
        first = np.arange(mask.shape[-1]) == mask.argmax(axis=-1)[..., None]
        return np.asarray(np.where(mask, weights, 0.0) + first * moved, self.dtype)

    @abstractmethod
    def _moments(self, block: Array) -> tuple[Array, Array]:
        """Return means and variances ``(b, M)`` of the members ``(b, M, S)``, in float64."""

    def second_order(self, loss: str) -> tuple[Any, Any, Any]:
        """Return total, mean and excess risk of the squared error, ``loss="brier"``.

        As for classes, where the Brier score is the squared error of the indicators: the variance
        of the mixture, the mean of the members' variances, and the variance of their means.
        """
        if loss != "brier":
            raise_not_real(f"second_order({loss!r})")
        return self._variances()

    def second_order_errors(self, loss: str) -> tuple[Any, Any, Any] | None:
        """Return None: these are exact."""
        return None

    @primitive("Q->(),(),()")
    def _variances(self) -> tuple[Any, Any, Any]:
        def kernel(block: Array, weights: Array, total: Any, within: Array, between: Array) -> None:
            means, variances = self._moments(block)
            center = np.einsum("bm,bm->b", weights, means)
            np.einsum("bm,bm->b", weights, variances, out=within)
            np.einsum("bm,bm->b", weights, (means - center[:, None]) ** 2, out=between)
            np.add(within, between, out=total)

        total, within, between = self._map_weighted(kernel, 3)
        return total, within, between

    @primitive("Q->()")
    def center(self) -> Any:
        """Return the mean of the mixture of the members, ``(...)``."""

        def kernel(block: Array, weights: Array, center: Array) -> None:
            np.einsum("bm,bm->b", weights, self._moments(block)[0], out=center)

        return self._map_weighted(kernel, 1)[0]

    def _map_weighted(self, kernel: Any, n_outputs: int) -> list[Any]:
        members = self._members
        rows = rows_in_cache(2 * members.shape[-2] * members.shape[-1])
        return map_instances(
            kernel, (members, self._shares()), [()] * n_outputs, (2, 1), rows=rows,
            dtype=members.dtype.newbyteorder("="), block_dtype=np.float64,
        )  # fmt: skip

    def _shares(self) -> Array:
        """Return the weights of the members, of sum 1."""
        M = self.n_members
        if self._weights is None:
            return np.broadcast_to(np.float64(1 / M), (*self.batch_shape, M))
        return shares(self._weights)

    @primitive("Q->(f)")
    def quantiles(self, levels: Any) -> Any:
        """Return quantiles of the mixture of the members.

        Parameters
        ----------
        levels : float or array-like of shape (L,)
            Levels between 0 and 1.

        Returns
        -------
        array of shape (...) or (..., L)
            The smallest value up to which the probability is at least the level.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.RealHull.from_samples([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
        >>> Q.quantiles([0.25, 0.5, 0.9])
        array([1., 2., 5.])
        """
        wanted = as_levels(levels)

        def kernel(block: Array, weights: Array, found: Array) -> None:
            self._solve_quantiles(block, weights, np.atleast_1d(wanted), found)

        (found,) = map_instances(
            kernel, (self._members, self._shares()), [(wanted.size,)], (2, 1),
            dtype=self.dtype, block_dtype=np.float64,
        )  # fmt: skip
        return found if wanted.ndim else found[..., 0][()]

    @abstractmethod
    def _solve_quantiles(self, block: Array, weights: Array, levels: Array, found: Array) -> None:
        """Write quantiles ``(b, L)`` of the mixtures of ``(b, M, S)``."""

    @primitive("Q->Q")
    def member_quantiles(self, levels: Any) -> Any:
        """Return quantiles of each member, ``(..., M)`` or ``(..., M, L)``; see `quantiles`."""
        wanted = as_levels(levels)
        found = np.asarray(self._member_quantiles(np.atleast_1d(wanted)), self.dtype)
        return found if wanted.ndim else found[..., 0]

    @abstractmethod
    def _member_quantiles(self, levels: Array) -> Array:
        """Return quantiles of the members, ``(..., M, L)``."""

    def quantile_bounds(self, levels: Any) -> tuple[Any, Any]:
        """Return the smallest and the largest quantile over the set; see `quantiles`.

        A mixture's quantile is between those of its members. For every distribution of the set, the
        interval from the smallest quantile at ``alpha / 2`` to the largest one at ``1 - alpha / 2``
        has at least the probability ``1 - alpha``.

        Returns
        -------
        lower, upper : arrays of shape (...) or (..., L)

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.RealHull.from_normal([0.0, 1.0], [1.0, 1.0])
        >>> [x.round(2).tolist() for x in Q.quantile_bounds([0.05, 0.95])]
        [[-1.64, 1.64], [-0.64, 2.64]]
        """
        return self._quantile_bounds(levels)

    @primitive("Q->(f),(f)")
    def _quantile_bounds(self, levels: Any) -> tuple[Any, Any]:
        wanted = as_levels(levels)
        found = np.asarray(self._member_quantiles(np.atleast_1d(wanted)), self.dtype)
        low, high = found.min(axis=-2), found.max(axis=-2)
        return (low, high) if wanted.ndim else (low[..., 0], high[..., 0])
