"""The convex hull of truncated predictions: the largest probabilities of each member."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, Backend, native, primitive
from credalens.sets.base import CredalSet
from credalens.sets.member_weights import member_weights
from credalens.sets.topk_lists import validate_lists

#: Instances per call of a solver, so that a long computation can be interrupted.
SOLVER_ROWS = 1 << 15
#: Numbers of a block of lumped distributions.
BLOCK_NUMBERS = 1 << 22


class TopKHull(CredalSet):
    """The hull of M predictions of which only the largest probabilities are known.

    Parameters
    ----------
    ids : array-like of int, shape (..., M, k)
        The classes that each member lists, in any order; -1 is padding, so that members may list
        different numbers of classes.
    probs : array-like of shape (..., M, k)
        Their probabilities; ignored for padding. The other classes of a member share the rest, 1
        minus the sum, and none has more than the smallest listed probability.
    n_classes : int
        Number of classes K.
    log : bool, default=False
        Whether `probs` are logarithms.
    validate : bool, default=True
        ``False`` skips validation.

    See Also
    --------
    ConvexHull.from_topk : the same as a constructor of hulls.

    Notes
    -----
    Values are those of *lumped* distributions, over the classes that a member of the instance lists
    and the rest as one more class. Every value has a certified error: whatever the tails are, that
    of all K classes differs by at most the error, up to the rounding of the probabilities. The
    error is 0, or a duality gap, if all classes are listed. An instance costs
    ``O(M k + M^2 U)`` where ``U <= M k`` classes are listed, whatever K is.

    The queries of total variation, entropies, the mutual information, the zero-one loss, the
    Hartley measure, votes and decisions with 0-1 costs are supported; others need the probabilities
    of all classes and raise ValueError. Probabilities that were divided by their sum after they
    were truncated have no rest: the errors are then too small.

    Examples
    --------
    Two members list the two largest of 1000 probabilities:

    >>> import credalens as cl
    >>> Q = cl.TopKHull([[3, 7], [3, 9]], [[0.8, 0.15], [0.6, 0.35]], n_classes=1000)
    >>> Q
    TopKHull(batch_shape=(), n_members=2, k=2, n_classes=1000, dtype=float64)
    >>> Q.rest.round(3)
    array([0.05, 0.05])
    >>> u = cl.quantify(Q)
    >>> print(f"{u.epistemic:.3f} +- {u.errors.epistemic:.3f}")
    0.175 +- 0.025
    """

    core_ndims: ClassVar[tuple[int, ...]] = (2, 2)
    array_names: ClassVar[tuple[str, ...]] = ("ids", "probs")
    parameters: ClassVar[tuple[str, ...]] = ("_n_classes",)
    truncated: ClassVar[bool] = True
    _n_classes: int

    def __init__(
        self, ids: Any, probs: Any, n_classes: int, *, log: bool = False, validate: bool = True
    ) -> None:
        K = _validation.whole_number(n_classes, "n_classes", least=1)
        if K >= 2**31:
            _validation.raise_invalid("n_classes", f"is {K}", "pass at most 2147483647")
        self.__dict__["_n_classes"] = K
        self._init_arrays(ids, probs, n_classes=K, log=log, validate=validate)

    def _validate(
        self, ids: Any, probs: Any, *, n_classes: int, log: bool, validate: bool
    ) -> tuple[Array, ...]:
        return validate_lists(ids, probs, n_classes, log=log, validate=validate)

    def _init_native(
        self, arrays: tuple[Any, ...], backend: Backend, options: dict[str, Any]
    ) -> None:
        # Kernels read copies in host memory; results are on the device of the caller's tensors.
        self._store(self._validate(*arrays, **options), backend)
        self.__dict__.update(vars(self.with_backend(backend)))

    def __repr__(self) -> str:
        return (
            f"TopKHull(batch_shape={self.batch_shape}, n_members={self.n_members}, "
            f"k={self._arrays[0].shape[-1]}, n_classes={self.n_classes}, dtype={self.dtype})"
        )

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self._n_classes

    @property
    def n_members(self) -> int:
        """Number of members M."""
        return int(self._arrays[0].shape[-2])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the probabilities, as a NumPy dtype."""
        dtype: np.dtype[Any] = self._arrays[1].dtype
        return dtype

    @property
    def ids(self) -> Any:
        """The listed classes, ``(..., M, k)``, -1 for padding."""
        return self._array(0)

    @property
    def probs(self) -> Any:
        """The listed probabilities, ``(..., M, k)``."""
        return self._array(1)

    @property
    def rest(self) -> Any:
        """Mass of the classes that each member does not list, ``(..., M)``."""
        return self._rest_mass()

    @primitive("Q->(m)")
    def _rest_mass(self) -> Any:
        return self._widths[1].reshape(*self.batch_shape, self.n_members).astype(self.dtype)

    @primitive("Q->(v,)")
    def listed_classes(self) -> Any:
        """Return the classes that a member lists, ``(..., U)`` in ascending order.

        U is the largest number over the batch; an instance with fewer ends with -1.
        """
        blocks = [classes for _, classes, _, _ in self.union_blocks(bounds=False)]
        found = np.concatenate(blocks) if blocks else np.empty((0, 1), np.int64)
        used = int((found >= 0).sum(axis=1).max(initial=0))
        return found[:, :used].reshape(*self.batch_shape, used)

    # ---------------------------------------------------------------- calls of the kernels

    @property
    def _flat(self) -> tuple[Array, Array]:
        """The arrays with one axis of instances."""
        ids, probs = self._arrays
        n = math.prod(self.batch_shape)
        return ids.reshape(n, *ids.shape[-2:]), probs.reshape(n, *probs.shape[-2:])

    def _run(self, kernel: Any, results: int, *options: Any, weights: Any = ()) -> list[Array]:
        """Return the float64 results ``(...)`` of a kernel, computed in blocks of instances."""
        ids, probs = self._flat
        found = np.empty((results, len(ids)))
        for start in range(0, len(ids), SOLVER_ROWS):
            rows = slice(start, start + SOLVER_ROWS)
            shares = [None if w is None else np.ascontiguousarray(w[rows]) for w in weights]
            kernel(ids[rows], probs[rows], self._n_classes, *shares, *found[:, rows], *options,
                   DEFAULT_THREADS)  # fmt: skip
        return [row.reshape(self.batch_shape) for row in found]

    @cached_property
    def _widths(self) -> tuple[Array, Array]:
        """The number of classes of each lumped distribution ``(n,)``, and the rest ``(n, M)``."""
        ids, probs = self._flat
        width, rest = np.empty(len(ids), np.int64), np.empty((len(ids), self.n_members))
        _kernels.topk_widths(ids, probs, self._n_classes, width, rest, DEFAULT_THREADS)
        return width, rest

    def union_blocks(self, *, bounds: bool = True) -> Iterator[tuple[slice, Array, Array, Any]]:
        """Yield blocks of instances over the union of their classes, in ascending order.

        Each is the rows of the flattened batch, the classes ``(b, L)``, -1 for padding, the listed
        probabilities ``(b, M, L)`` and, with `bounds`, the largest possible ones. The column after
        the union has the rest, and the largest possible probabilities of a class that is not
        listed. L is the same for all blocks; the last column is padding.
        """
        ids, probs = self._flat
        M, length = self.n_members, int(self._widths[0].max(initial=1)) + 1
        step = max(1, BLOCK_NUMBERS // (M * length))
        for start in range(0, len(ids), step):
            rows = slice(start, min(start + step, len(ids)))
            classes, lower, upper = self._union(ids[rows], probs[rows], length, bounds=bounds)
            yield rows, classes, lower, upper

    def _union(self, ids: Array, probs: Array, length: int, *, bounds: bool) -> tuple[Any, ...]:
        n, M = ids.shape[:2]
        classes, lower = np.empty((n, length), np.int64), np.empty((n, M, length))
        upper = np.empty_like(lower) if bounds else None
        _kernels.topk_union(ids, probs, self._n_classes, classes, lower, upper, DEFAULT_THREADS)
        return classes, lower, upper

    # ---------------------------------------------------------------- queries

    @cached_property
    def _tv(self) -> list[Array]:
        return self._run(_kernels.topk_tv, 7)

    @primitive("Q->(),(),(),(),()")
    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the largest error.

        See `tv_errors` for the error of each. Without `epistemic` it is that of the ends.
        """
        total, lower, upper, half, _, error, _ = self._tv
        if not epistemic:
            return total, lower, upper, None, error
        return total, lower, upper, half, np.max(self._tv[4:], axis=0)

    @primitive("Q->(),(),(),()")
    def tv_errors(self) -> tuple[Any, Any, Any, Any]:
        """Return the errors of total, both aleatoric ends and epistemic uncertainty (TV).

        The lower aleatoric end is exact: the largest probability of a member is listed.
        """
        total, upper, half = self._tv[4:]
        return total, np.zeros_like(upper), upper, half

    @primitive("Q->(),(),()")
    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        total, lower, _, half = self._tv[:4]
        return total, lower, half if epistemic else None

    @primitive("Q->()")
    def tv_diameter(self) -> Any:
        """Return the largest total variation distance of two lumped members."""
        return 2 * self._tv[3]

    @primitive("Q->(),()")
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy of the lumped distributions in nats, and its error."""
        self._refuse_distribution(distribution)
        return tuple(self._run(_kernels.topk_max_entropy, 2))

    @primitive("Q->(),()")
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy of the lumped distributions in nats, and its error."""
        self._refuse_distribution(distribution)
        return tuple(self._run(_kernels.topk_min_entropy, 2))

    def _refuse_distribution(self, distribution: bool) -> None:
        if distribution:
            _validation.raise_invalid(
                "return_distribution",
                "is True for truncated predictions, whose distributions are not known",
                "pass return_distribution=False",
            )

    @primitive("Q->(),(),()")
    def second_order(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
        """Return ``G(mean)``, the mean of G, and their difference, for log and zero-one loss."""
        total, aleatoric, epistemic = self._second_order(loss, weights)[:3]
        return total, aleatoric, epistemic

    @primitive("Q->(),(),()")
    def second_order_errors(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
        """Return the errors of the results of `second_order`."""
        total, aleatoric, epistemic = self._second_order(loss, weights)[3:]
        return total, aleatoric, epistemic

    def _second_order(self, loss: str, weights: Any) -> list[Array]:
        if loss not in ("log", "zero_one"):
            self._raise_unsupported()
        state: dict[Any, list[Array]] = self.__dict__.setdefault("_second_order_results", {})
        if weights is not None:
            shares = member_weights(weights, self.batch_shape, self.n_members)
            return self._run(
                _kernels.topk_second_order, 6, loss == "zero_one",
                weights=(shares.reshape(-1, self.n_members),),
            )  # fmt: skip
        if loss not in state:
            state[loss] = self._run(
                _kernels.topk_second_order, 6, loss == "zero_one", weights=(None,)
            )
        return state[loss]

    def center_max(self) -> Any:
        """Return the largest probability of the mean of the listed probabilities."""
        return native.complement(self.second_order("zero_one")[0])

    def hartley_parts(self) -> Iterator[tuple[Array, CredalSet, Array]]:
        """Yield the lumped distributions as hulls, one part for each number of classes.

        The estimate of an instance then does not depend on other instances. With the rests of the
        members in descending order, lumping changes the measure by at most
        ``sum_m (r_m - r_{m+1}) log2(m + 1)`` bits.
        """
        ids, probs = self._flat
        widths, rest = self._widths
        M = self.n_members
        descending = -np.sort(-rest, axis=-1)
        steps = descending - np.pad(descending, ((0, 0), (0, 1)))[:, 1:]
        bound = steps @ np.log2(np.arange(2, M + 2)) if M > 1 else np.zeros(len(ids))
        for width in np.unique(widths).tolist():
            same = np.flatnonzero(widths == width)
            step = max(1, BLOCK_NUMBERS // (M * width))
            for start in range(0, len(same), step):
                rows = same[start : start + step]
                _, members, _ = self._union(ids[rows], probs[rows], width, bounds=False)
                yield rows, self._hull_class(members, validate=False), bound[rows]

    @primitive("Q->()")
    def majority_vote(self) -> Any:
        """Return the most probable class of most members; ties as in `credalens.majority_vote`."""
        ids, probs = self._flat
        winner = np.empty(len(ids), np.int64)
        _kernels.topk_vote(ids, probs, self._n_classes, winner, DEFAULT_THREADS)
        return winner.reshape(self.batch_shape)

    def extreme_points(self) -> Any:
        """Raise ValueError: the probabilities of most classes are not known."""
        self._raise_unsupported()

    def to_hull(self) -> Any:
        """Raise ValueError: the probabilities of most classes are not known."""
        self._raise_unsupported()

    def _raise_unsupported(self) -> NoReturn:
        _validation.raise_invalid(
            "Q",
            "has truncated predictions, and this needs the probabilities of all classes",
            "use the measures 'tv', 'entropy', 'information', 'zero_one', 'confidence' or "
            "'hartley', or decisions with 0-1 costs, or pass all probabilities to ConvexHull",
        )
