"""The convex hull of a finite number of predictions; its queries run in the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import (
    BLOCK_BYTES,
    DEFAULT_THREADS,
    NUMPY,
    Array,
    Backend,
    first_invalid_row,
    half_kind,
    is_lazy,
    map_instances,
    plane_runs,
    primitive,
    to_numpy,
)
from credalens._edges import Edges, expected_costs
from credalens._row_kinds import EXACT
from credalens.sets import _hull_native, _hull_vjp
from credalens.sets.adapters import as_members
from credalens.sets.base import CredalSet
from credalens.sets.hull_costs import HullCosts
from credalens.sets.missing_members import fill_missing

if TYPE_CHECKING:
    from credalens._protocols import DistanceLike


#: Largest games that `tv_planes` solves; see kernels/games/small_games.hpp.
MAX_GAME_MEMBERS, MAX_GAME_CLASSES, MAX_GAME_SIZE = 16, 24, 256
#: Tolerance of kernels that validate rows while they read them: slightly stricter than that of
#: `_validation`, which makes the decision for the rows in between.
FUSED_CHECK_TOLERANCE = 0.999 * EXACT


def tv_of_array(members: Array, shapes: Sequence[tuple[()] | None]) -> list[Any] | None:
    """Return the outputs of the TV kernel for a valid contiguous float64 array, otherwise None.

    `shapes` has ``()`` for each output to compute and None for the others.
    """
    single = members.ndim == 2
    found = _kernels.call_whole_array(
        _kernels.tv_uncertainty,
        members[None] if single else members,
        shapes,
        BLOCK_BYTES,
        (DEFAULT_THREADS, FUSED_CHECK_TOLERANCE),
    )
    if found is None or found[0] >= 0:
        return None
    values: list[Any] = found[1]
    return [x if x is None else x[0] for x in values] if single else values


class ConvexHull(HullCosts):
    """The convex hull of the predictions of M members, for a batch of instances.

    Parameters
    ----------
    members : array-like of shape (..., M, K)
        M probability vectors over K classes for each instance. A sequence of pandas or polars
        frames, and a dict of frames or arrays ``(..., K)``, hold one member each (`from_frames`).
    axis : int, optional
        Axis of the members, if not the one before the classes: ``axis=0`` for a stack
        ``(M, N, K)``, which is not copied, and for a sequence of arrays ``(N, K)``, one per member.
        A sequence of arrays needs it.
    class_axis : int, optional
        Axis of the classes, if not the last one: ``axis=0, class_axis=2`` for ``(M, N, K, H, W)``.
        Both axes are those of the array that is passed, of a sequence of arrays those of its stack.
        The array is not copied: measures read it in blocks.
    normalize : bool, default=False
        Divide each row by its sum first. Otherwise rows must sum to 1 up to rounding: 1e-3, or
        1e-2 in bfloat16. Rows that miss 1 by more than 1e-6 are divided by their sums, in a copy;
        a warning reports the largest deviation if it exceeds 3.5e-4.
    weights : array-like of shape (M,) or (..., M), optional
        Weights of the members, not negative; they are divided by their sum over the members that
        are present. They do not change the set, nor the measures of it: they are used by measures
        of the members as a sample, by the center and by votes.
    mask : array-like of bool, shape (M,) or (..., M), optional
        True for the members that are present, at least one for each instance. The values of the
        others are not read.
    missing : {"raise", "allow"}, default="raise"
        With ``"allow"``, members of which all entries are NaN, or masked in a masked array, are
        missing.
    validate : bool or "later", default=True
        ``False`` skips validation, which saves one pass over the data. ``"later"`` validates all
        values when they are first read, fused into the same pass for total variation and entropy
        measures. Measures use it for arrays.

    Notes
    -----
    Arrays in half precision (float16, bfloat16) are converted to single precision, in which all
    results are. Tensors in host memory share it with the kernels. Tensors of PyTorch and JAX on
    another device stay there: closed forms run on the device, solvers on a copy in host memory.
    Dask arrays are read and validated chunk by chunk when results are computed; if the members or
    classes are split into chunks, these are merged with a warning.

    The set of an instance with missing members is the hull of those that are present, and results
    are the same, bit for bit, as for these alone; `n_present` is their number.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.ConvexHull([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    >>> Q
    ConvexHull(batch_shape=(), n_members=2, n_classes=3, dtype=float64)
    >>> Q.lower()
    array([0.2, 0.3, 0.1])
    >>> float(Q.upper_probability([0, 2]))
    0.7
    """

    def __init__(
        self,
        members: Any,
        *,
        axis: int | None = None,
        class_axis: int | None = None,
        normalize: bool = False,
        weights: Any = None,
        mask: Any = None,
        missing: Literal["raise", "allow"] = "raise",
        validate: bool | Literal["later"] = True,
    ) -> None:
        if validate != "later" and isinstance(validate, str):
            _validation.one_of(validate, "validate", ["later"])
        if type(members) is not np.ndarray or axis is not None or class_axis is not None:
            given, members = members, as_members(members, axis, class_axis=class_axis)
            self._keep_index(given)
            if is_lazy(members) and not is_lazy(given):  # one Dask array per member
                members = members.rechunk({-2: -1, -1: -1})
        if weights is not None or mask is not None or missing != "raise":
            self._init_ensemble(
                members, weights, mask, missing, normalize=normalize, validate=validate
            )
            return
        if (
            validate == "later"
            and not normalize
            and type(members) is np.ndarray
            and members.dtype.kind == "f"
            and members.dtype.itemsize >= 4
        ):
            if members.ndim < 2 or 0 in members.shape[-2:]:
                _validation.check_axes(members, "members")
            self.__dict__["_arrays"] = (members,)
            return
        self._init_arrays(members, normalize=normalize, validate=validate)

    def _validate(self, members: Any, *, normalize: bool, validate: Any) -> tuple[Array, ...]:
        array = to_numpy(members, "members")
        later = validate == "later" and not normalize and array.dtype.kind == "f"
        # Half precision is converted, and has other tolerances.
        if later and not half_kind(members):
            _validation.check_axes(array, "members")
            return (array,)
        array = _validation.probabilities(
            array,
            "members",
            normalize=normalize,
            validate=bool(validate),
            rounding=_validation.rounding_of(members),
            report=None if validate == "later" else _validation.rounding_report(members),
        )
        self.__dict__["_members"] = array
        return (array,)

    def _init_native(
        self, arrays: tuple[Any, ...], backend: Backend, options: dict[str, Any]
    ) -> None:
        tensor = _validation.native_probabilities(
            arrays[0],
            "members",
            normalize=options["normalize"],
            validate=bool(options["validate"]),
        )
        self.__dict__["_members"] = tensor
        self._store((tensor,), backend)

    def __getitem__(self, index: Any) -> Self:
        if not self.backend.ragged:
            self._members  # noqa: B018  # validated as a whole
        return super().__getitem__(index)

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.backend.ragged:
            self._members  # noqa: B018  # only validated members are pickled
        return super().__reduce__()

    def __repr__(self) -> str:
        return (
            f"ConvexHull(batch_shape={self.batch_shape}, n_members={self.n_members}, "
            f"{self._repr_present()}n_classes={self.n_classes}, dtype={self.dtype})"
        )

    def to_hull(self) -> ConvexHull:
        return self

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._arrays[0].shape[-1])

    @cached_property
    def _members(self) -> Array:
        """The members, validated when they are first read.

        Rows that do not sum to 1 up to single precision are divided by their sums in a copy, which
        replaces the caller's array.
        """
        given: Array = self._arrays[0]
        if self.backend.ragged:
            return np.asarray(fill_missing(given, self._arrays[2]))
        if first_invalid_row(given, FUSED_CHECK_TOLERANCE) < 0:
            return given
        array = _validation.probabilities(given, "members")
        if array is not given:
            array.setflags(write=False)
            self.__dict__["_arrays"] = (array, *self._arrays[1:])
        return array

    @primitive("Q->(f)", native=_hull_native.lower)
    def lower(self, f: Any = None) -> Any:
        return self._extreme(f, np.minimum)

    @primitive("Q->(f)", native=_hull_native.upper)
    def upper(self, f: Any = None) -> Any:
        return self._extreme(f, np.maximum)

    def _extreme(self, f: Any, reduce: np.ufunc) -> Any:
        K = self.n_classes
        if f is None:

            def class_bounds(block: Array, output: Array) -> None:
                low, high = (output, None) if reduce is np.minimum else (None, output)
                _kernels.class_bounds(block, low, high, DEFAULT_THREADS)

            return map_instances(class_bounds, self._members, [(K,)], large=True)[0]
        functions = _validation.as_test_functions(f, K)
        many = np.atleast_2d(functions)

        def expectations(block: Array, output: Array) -> None:
            reduce.reduce(expected_costs(block, many.T), axis=1, out=output)

        (result,) = map_instances(expectations, self._members, [(len(many),)])
        return result if functions.ndim == 2 else result[..., 0][()]

    @primitive("Q->()", native=CredalSet.lower_sum)
    def lower_sum(self) -> Any:
        shapes = [None, None, None, ()]
        total = self._run_validating_kernel(_kernels.closed_forms, shapes, np.float64)[3]
        return total if self.n_classes > 1 else np.ones_like(total)

    @primitive("Q->(),()", vjp=_hull_vjp.maximin)
    def maximin(self, cost: Array | Edges | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its duality gap.

        A matrix game between the mixture of the members and the decision y, solved by an exact
        simplex method for each instance; for classes on a line a minimum over one variable. The
        value is attained by a mixture; it and the dual bound are computed from the data.
        """
        if cost is None:
            _, _, upper, _, gap = self.tv_uncertainty(epistemic=False)
            return upper, gap
        _, _, upper, gap = self.cost_uncertainty(cost)
        return upper, gap

    def _run_validating_kernel(
        self,
        kernel: Callable[..., int],
        shapes: Sequence[tuple[int, ...] | None],
        dtype: Any = None,
        rows: int | None = None,
    ) -> list[Any]:
        """Run a kernel that validates rows while it reads them; see `map_instances`.

        After its outputs it takes the number of threads and a tolerance, negative for members that
        are already validated. It returns the first invalid instance, or -1.
        """
        array, state = self._arrays[0], self.__dict__
        tolerance = -1.0 if "_members" in state else FUSED_CHECK_TOLERANCE
        invalid = False
        found = None
        if rows is None or len(array) <= rows:
            found = _kernels.call_whole_array(
                kernel, array, shapes, BLOCK_BYTES, (DEFAULT_THREADS, tolerance)
            )
        if found is not None:  # one contiguous float64 block
            invalid, results = found[0] >= 0, found[1]
        else:

            def run(*arrays: Array) -> bool:
                nonlocal invalid
                invalid = kernel(*arrays, DEFAULT_THREADS, tolerance) >= 0
                return invalid

            results = map_instances(run, array, shapes, rows=rows, dtype=dtype, large=True)
        if invalid:
            self._members  # noqa: B018  # raises, unless the row is within rounding
            return self._run_validating_kernel(kernel, shapes, dtype, rows)
        state["_members"] = array
        return results

    @primitive("Q->(),(),()", native=_hull_native.tv_closed_forms)
    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        shapes = [(), (), None, () if epistemic else None, None]
        total, lower, _, half, _ = self._run_validating_kernel(_kernels.tv_uncertainty, shapes)
        return total, lower, half

    @primitive(
        "Q->(),(),(),(),()", native=_hull_native.tv_uncertainty, vjp=_hull_vjp.tv_uncertainty
    )
    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the certified error.

        One pass over the data: everything is computed while an instance is in the cache.
        """
        planes = self._tv_of_planes(epistemic)
        if planes is not None:
            return planes
        shapes = [(), (), (), () if epistemic else None, ()]
        total, lower, upper, half, gap = self._run_validating_kernel(
            _kernels.tv_uncertainty, shapes
        )
        return total, lower, upper, half, gap

    def _tv_of_planes(self, epistemic: bool) -> tuple[Any, ...] | None:
        """Return total variation of small games in images with channels first, read in place."""
        array = self._arrays[0]
        M, K = array.shape[-2:]
        small = M <= MAX_GAME_MEMBERS and K <= MAX_GAME_CLASSES and M * K <= MAX_GAME_SIZE
        runs = plane_runs(array) if small and not array.flags.c_contiguous else None
        if runs is None:
            return None
        tolerance = -1.0 if "_members" in self.__dict__ else FUSED_CHECK_TOLERANCE
        n = runs[-1][1]
        found: list[Any] = [
            np.empty(n, array.dtype) if i != 3 or epistemic else None for i in range(5)
        ]
        for start, stop, planes in runs:
            parts: list[Any] = [None if x is None else x[start:stop] for x in found]
            total, lower, upper, half, gap = parts
            invalid = _kernels.tv_planes(
                planes, total, lower, upper, half, gap, DEFAULT_THREADS, tolerance
            )
            if invalid >= 0:
                self._members  # noqa: B018  # raises, unless the row is within rounding
                return None
        self.__dict__["_members"] = array
        return tuple(None if x is None else x.reshape(array.shape[:-2]) for x in found)

    @primitive("Q->()", native=_hull_native.tv_diameter)
    def tv_diameter(self) -> Any:
        shapes = [None, None, (), None]
        wide = self._run_validating_kernel(_kernels.closed_forms, shapes)[2]
        # A single class has diameter 0, whatever its rows sum to.
        return wide / 2 if self.n_classes > 1 else np.zeros_like(wide)

    @primitive("Q->()", native=_hull_native.vertex_diameter, vjp=_hull_vjp.vertex_diameter)
    def vertex_diameter(self, distance: DistanceLike) -> Any:
        return distance.diameter(self._members)

    def vertex_diameter_bounds(self, distance: DistanceLike) -> tuple[Any, Any]:
        if self.backend is NUMPY:
            return distance.diameter_bounds(self._members)
        return super().vertex_diameter_bounds(distance)

    @primitive("Q->()", native=_hull_native.minimax_dirac_distance)
    def minimax_dirac_distance(self, distance: DistanceLike) -> Any:
        return distance.minimax_dirac_distance(self._members)


CredalSet._hull_class = ConvexHull
