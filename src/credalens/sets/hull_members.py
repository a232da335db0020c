"""The members of a hull as an ensemble: their weights, and those that are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from credalens import _validation
from credalens._backend import (
    LAZY,
    NUMPY,
    RAGGED,
    Array,
    Backend,
    backend_of,
    is_lazy,
    namespace,
    native,
)
from credalens._backend.lazy import LazyBatch
from credalens._backend.ragged import map_groups
from credalens.sets.array_set import ArraySet
from credalens.sets.base import CredalSet
from credalens.sets.member_weights import member_weights
from credalens.sets.missing_members import (
    fill_missing,
    present_members,
    replace_missing,
    validate_present,
)


class MemberArrays(ArraySet):
    """An array of members, with weights and missing members.

    A subclass defines `_prepare_host` and `_prepare_device`.
    """

    #: Members, then their weights and which of them are present, where these are given.
    core_ndims: ClassVar[tuple[int, ...]] = (2, 1, 1)
    array_names: ClassVar[tuple[str, ...]] = ("members", "weights", "mask")

    def _init_ensemble(
        self, members: Any, weights: Any, mask: Any, missing: str, **options: Any
    ) -> None:
        """Initialise from members that may have weights, and of which some may be missing.

        `options` are further arguments of the constructor.
        """
        if any(map(is_lazy, (members, weights, mask))):
            build: Callable[..., Any] = type(self)
            build = partial(build, missing=missing, **options)
            self._init_lazy(lazy_ensemble(build, members, weights, mask, self.array_names[0]))
            return
        if missing == "allow" and isinstance(members, np.ma.MaskedArray):
            members = np.ma.filled(members, np.nan)
        backend = backend_of(members)
        prepare = self._prepare_device if backend.placement == "device" else self._prepare_host
        array, present = prepare(members, mask, missing, **options)
        shape, M = tuple(array.shape[:-2]), int(array.shape[-2])
        if weights is not None:
            weights = member_weights(weights, shape, M, present)
        self._adopt((array, weights, present), backend)

    def _prepare_host(
        self, members: Any, mask: Any, missing: str, **options: Any
    ) -> tuple[Array, Array | None]:
        """Return validated members, and which of them are present."""
        raise NotImplementedError

    def _prepare_device(
        self, members: Any, mask: Any, missing: str, **options: Any
    ) -> tuple[Any, Array | None]:
        """Return validated tensors, and which members are present."""
        raise NotImplementedError

    def _adopt(self, arrays: tuple[Any, ...], backend: Backend) -> None:
        """Store validated arrays."""
        members, weights, mask = (*arrays, None, None)[:3]
        ragged = mask is not None and not bool(mask.all())
        if backend.library == "numpy":
            backend = RAGGED if ragged else NUMPY
        elif ragged != backend.ragged:
            backend = replace(backend, ragged=ragged)
        if weights is None and mask is None:
            arrays = (members,)
        self._store(arrays, backend)
        if not ragged:
            self.__dict__["_members"] = self._arrays[0]

    @classmethod
    def _from_validated(cls, arrays: tuple[Any, ...], backend: Backend) -> Self:
        new = cls.__new__(cls)
        new._adopt(arrays, backend)
        return new

    @property
    def _weights(self) -> Array | None:
        return self._arrays[1] if len(self._arrays) > 1 else None

    @property
    def _mask(self) -> Array | None:
        return self._arrays[2] if len(self._arrays) > 2 else None

    @property
    def may_lack_members(self) -> bool:  # type: ignore[override]
        """Whether a mask, or missing members, were passed to the constructor."""
        return self._mask is not None

    if TYPE_CHECKING:

        @property
        def _members(self) -> Array:
            """The validated members."""

    @property
    def n_members(self) -> int:
        """Number of members M, those included that are missing for some instances."""
        return int(self._arrays[0].shape[-2])

    @property
    def members(self) -> Any:
        """The predictions, ``(..., M, K)``, in the caller's backend; read-only.

        Members that are missing are NaN.
        """
        if not self.may_lack_members:
            if self.backend.placement == "host":
                self._members  # noqa: B018  # validated
            return self._array(0)
        if self.backend is LAZY:
            return self._lazy.map(_members_of)
        if self.backend.placement == "device":
            return fill_missing(self._arrays[0], self._arrays[2])
        return self._wrap(self._members)

    @property
    def weights(self) -> Any:
        """The weights of the members, ``(..., M)``, as they were passed; None if they are equal."""
        if self._weights is None:
            return None
        return self._lazy.map(_weights_of) if self.backend is LAZY else self._wrap(self._weights)

    @property
    def mask(self) -> Any:
        """Which members are present, an array of bool ``(..., M)``."""
        if self.backend is LAZY:
            return self._lazy.map(_mask_of)
        return self._wrap(_mask_of(self))

    @property
    def n_present(self) -> Any:
        """Number of members that are present, an array of int ``(...)``."""
        if self.backend is LAZY:
            return self._lazy.map(_counts_of)
        return self._wrap(_counts_of(self))

    def with_weights(self, weights: Any) -> Self:
        """Return the same sets with other weights of the members.

        Parameters
        ----------
        weights : array-like of shape (M,) or (..., M), or None
            Weights as in `ConvexHull`; None for equal weights.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.ConvexHull([[0.5, 0.5], [0.9, 0.1]])
        >>> Q.with_weights([1, 3]).center()
        array([0.8, 0.2])
        """
        if self.backend is LAZY:
            given = () if weights is None else (weights,)
            lazy = self._lazy
            whole = LazyBatch.of(
                [*lazy.arrays, *given],
                [*lazy.core_ndims, *(1 for _ in given)],
                [*(f"array {i}" for i in range(len(lazy.arrays))), *("weights" for _ in given)],
                partial(_with_weights, lazy.build, len(lazy.arrays)),
            )
            return self._from_lazy(replace(whole, single=lazy.single))
        if not self.backend.ragged:
            self._members  # noqa: B018  # validated
        if weights is not None:
            weights = member_weights(weights, self.batch_shape, self.n_members, self._mask)
        new = self._derived((self._arrays[0], weights, self._mask), self.backend)
        if self.index is not None:
            new.__dict__["index"] = self.index
        return new

    def map_groups(self, function: Callable[..., Any], arguments: Sequence[Array] = ()) -> Any:
        """Return ``function(Q, *arguments)`` of the members that are present.

        Called once for each number of members, with dense sets of it. `arguments` are arrays
        ``(..., K)``.
        """
        members, weights, mask = self._arrays
        dense = NUMPY if self.backend.library == "numpy" else replace(self.backend, ragged=False)

        def build(some: Any, weight: Array | None) -> MemberArrays:
            return self._derived((some, weight, None), dense)

        return map_groups(function, build, mask, members, weights, arguments)

    def _repr_present(self) -> str:
        """Return the numbers of members that are present, and whether they have weights."""
        text = ""
        if self.backend.ragged:
            counts = _counts_of(self)
            ends = dict.fromkeys((int(counts.min()), int(counts.max())))
            text = f"n_present={' to '.join(map(str, ends))}, "
        return text if self._weights is None else f"{text}weighted, "

    def _wrap(self, array: Array) -> Any:
        if self.backend.library != "numpy":
            return self.backend.wrap(array)
        view = array.view()
        view.setflags(write=False)
        return view[()]


class HullMembers(MemberArrays, CredalSet):
    """What `ConvexHull` knows of its members besides their predictions."""

    def _prepare_host(  # type: ignore[override]
        self, members: Any, mask: Any, missing: str, *, normalize: bool, validate: Any
    ) -> tuple[Array, Array | None]:
        """Return validated members, and which of them are present."""
        array = _validation.numeric(members, "members")
        _validation.check_axes(array, "members")
        present = present_members(array, mask, missing)
        rounding, report = _validation.rounding_of(members), _validation.rounding_report(members)
        if present is not None and not present.all():
            if validate or normalize:
                array = validate_present(
                    array, present, normalize=normalize, rounding=rounding,
                    report=report,
                )  # fmt: skip
            return array, present
        array = _validation.probabilities(
            array, "members", normalize=normalize, validate=validate, rounding=rounding,
            report=report,
        )  # fmt: skip
        return array, present

    def _prepare_device(  # type: ignore[override]
        self, members: Any, mask: Any, missing: str, *, normalize: bool, validate: Any
    ) -> tuple[Any, Array | None]:
        """Return validated tensors, in which missing members are uniform."""
        tensor = _validation.native_array(members, "members")
        _validation.check_axes(tensor, "members")
        present = present_members(tensor, mask, missing)
        if present is not None and not present.all():
            # NaN would spread to gradients, also where it has no influence.
            uniform = namespace(tensor).full_like(tensor, 1 / tensor.shape[-1])
            keep = native.mask_like(present, tensor)[..., None]
            tensor = namespace(tensor).where(keep, tensor, uniform)
        tensor = _validation.native_probabilities(
            tensor, "members", normalize=normalize, validate=validate
        )
        return tensor, present

    @property
    def generators(self) -> Any:
        """Points ``(..., M, K)`` whose hull is the set: the members.

        A member that is missing is replaced by the first one that is present. NumPy arrays only.
        """
        if not self.backend.ragged:
            return self.members
        return replace_missing(self._arrays[0], self._arrays[2])


def _members_of(Q: MemberArrays) -> Array:
    return Q._members


def _weights_of(Q: MemberArrays) -> Any:
    return Q._weights


def _mask_of(Q: MemberArrays) -> Array:
    shape = (*Q.batch_shape, Q.n_members)
    return np.broadcast_to(True, shape) if Q._mask is None else Q._mask


def _counts_of(Q: MemberArrays) -> Array:
    return np.asarray(np.count_nonzero(_mask_of(Q), axis=-1))


def _with_weights(build: Callable[..., Any], n_arrays: int, *arrays: Any) -> Any:
    """Build the hull of a chunk with the weights in the last array, equal ones without it."""
    weights = arrays[n_arrays] if len(arrays) > n_arrays else None
    return build(*arrays[:n_arrays]).with_weights(weights)


def lazy_ensemble(
    build: Callable[..., Any], members: Any, weights: Any, mask: Any, name: str = "members"
) -> LazyBatch:
    """Return Dask arrays of which ``build(members, weights=..., mask=...)`` makes hulls."""
    named = {"weights": weights, "mask": mask}
    given = {name: x for name, x in named.items() if x is not None}
    chunk = partial(_build_chunk, build, tuple(given))
    cores = [2, *(1 for _ in given)]
    return LazyBatch.of([members, *given.values()], cores, [name, *given], chunk)


def _build_chunk(build: Callable[..., Any], names: tuple[str, ...], *arrays: Any) -> Any:
    return build(arrays[0], **dict(zip(names, arrays[1:], strict=True)))
