"""The convex hull of a finite number of predictions."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import (
    AS_WANTED,
    NUMPY,
    Array,
    Origin,
    is_lazy,
    native,
    origin_of,
    per_instance,
    to_numpy,
)
from credalens.sets.adapters import (
    as_members,
    forest_members,
    frame_members,
    is_sequence_of_arrays,
)
from credalens.sets.anywhere import recipe
from credalens.sets.base import lazy_error
from credalens.sets.corners import corners, distance_to_hull
from credalens.sets.members import MemberSet


class ConvexHull(MemberSet):
    """The convex hull of the predictions of M models, for a batch of instances.

    Parameters
    ----------
    members : array-like of shape (..., M, K)
        M probability vectors over K classes for each instance. Frames of pandas or polars in a
        sequence, and frames or arrays ``(..., K)`` in a dict, are one per model (`from_frames`).
    axis : int, optional
        Where the members are, if not on the last axis but one: ``axis=0`` for a stack
        ``(M, N, K)``, which is not copied, and for a sequence of arrays ``(N, K)``, one per
        model.
    normalize : bool, default=False
        Divide each row by its sum first. Without it, a row that does not sum to 1 is refused.
    validate : bool or "later", default=True
        Pass ``False`` for arrays that are known to be good, to save one pass over them; "later" to
        have all of their values checked when some are first read, in the same pass where the
        measure is one of total variation or an entropy. That is what measures do with arrays.

    Notes
    -----
    Tensors on the host share their memory with the kernels. Tensors of PyTorch and JAX on another
    device stay there: closed forms run where they are, what needs a solver goes through the host.
    Dask arrays are read chunk by chunk when results are computed, and checked then; a split of the
    members or classes is undone, with a warning.

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
        normalize: bool = False,
        validate: bool | Literal["later"] = True,
    ) -> None:
        if validate != "later" and isinstance(validate, str):
            _validation.one_of(validate, "validate", ["later"])
        if type(members) is np.ndarray and axis is None:
            self._receive(members, NUMPY, normalize, validate)
            return
        given, members = members, as_members(members, axis)
        if is_lazy(members):
            if not is_lazy(given):  # arrays one per model, each of which was whole
                members = members.rechunk({-2: -1, -1: -1})
            build = partial(type(self), normalize=normalize, validate=validate)
            self._defer(recipe(build, [members], [2], ["members"]))
            return
        origin = origin_of(members)
        if origin.where == "host":
            self._receive(*to_numpy(members, "members"), normalize, validate)
            return
        tensor = _validation.native_probabilities(
            members, "members", normalize=normalize, validate=bool(validate)
        )
        self._set(tensor, origin)

    def _receive(self, array: Array, origin: Origin, normalize: bool, validate: Any) -> None:
        if validate == "later" and not normalize and array.dtype.kind == "f":
            _validation.check_axes(array, "members")
            self._set(array, origin, trusted=False)
            return
        array = _validation.probabilities(
            array, "members", normalize=normalize, validate=bool(validate)
        )
        self._set(array, origin)

    def _set(self, array: Any, origin: Origin, trusted: bool = True) -> None:
        state = self.__dict__
        state["_array"] = array
        if origin is not NUMPY:
            state["origin"] = origin
        if trusted:
            state["_members"] = array

    @classmethod
    def _of(cls, array: Array, origin: Origin, trusted: bool = True) -> Self:
        hull = cls.__new__(cls)
        hull._set(array, origin, trusted)
        return hull

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a new set")

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin.where == "lazy":
            return type(self)._deferred, (self._recipe,)
        return type(self)._of, (self._members, self.origin)

    @classmethod
    def from_frames(
        cls, frames: Any, columns: Any = None, *, normalize: bool = False, validate: bool = True
    ) -> Self:
        """Return the hull of the predictions in frames of pandas or polars, one per model.

        Parameters
        ----------
        frames : sequence, or dict, of frames
            One row per instance, one column per class, in any order: columns are matched by name.
            Rows of pandas frames are matched by index where the indexes hold the same labels, each
            once, and refused where they do not; rows of polars frames by position.
        columns : sequence of names, optional
            The columns of the classes, in the order in which they are wanted; others are left
            out. By default those of the first frame, and then no frame may have others.
        normalize, validate : bool
            As for the class.

        Returns
        -------
        ConvexHull
            One member per frame, ``(n, M, K)``.

        Examples
        --------
        >>> import credalens as cl
        >>> import pandas as pd
        >>> one = pd.DataFrame({"cat": [0.9, 0.5], "dog": [0.1, 0.5]})
        >>> two = pd.DataFrame({"dog": [0.3, 0.5], "cat": [0.7, 0.5]})
        >>> cl.ConvexHull.from_frames([one, two]).lower()
        array([[0.7, 0.1],
               [0.5, 0.5]])
        """
        return cls(frame_members(frames, columns), normalize=normalize, validate=validate)

    @classmethod
    def from_forest(cls, forest: Any, X: Any, smoothing: float = 0) -> Self:
        """Return the hull of what the trees of a fitted forest say of each row of `X`.

        Parameters
        ----------
        forest : fitted classifier
            A random forest, extremely randomised trees, or a bag of decision trees, of
            scikit-learn; with one output. Classes are in the order of ``forest.classes_``.
        X : array-like or frame of shape (n, n_features)
            As for ``forest.predict_proba``.
        smoothing : float, default=0
            What is added to the count of each class in a leaf, 1 for Laplace's rule:
            ``(count + smoothing) / (n + K smoothing)``. Counts are those that the tree was grown
            with: weighted, and with the repetitions of its bootstrap sample. By default the bare
            frequencies, bit for bit those of the tree's ``predict_proba``.

        Returns
        -------
        ConvexHull
            One member per tree, ``(n, trees, K)``. Trees grown to the end have leaves of one class,
            so that two that differ are as far apart as can be; smoothing, or larger leaves
            (``min_samples_leaf``), makes them say how much they saw.

        Examples
        --------
        >>> import credalens as cl
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> forest = RandomForestClassifier(5, max_depth=1, random_state=0).fit([[0], [1]], [0, 1])
        >>> cl.ConvexHull.from_forest(forest, [[0.2]], smoothing=1)
        ConvexHull(batch_shape=(1,), n_members=5, n_classes=2, dtype=float64)
        """
        return cls(forest_members(forest, X, smoothing), validate=False)

    @classmethod
    def from_logits(cls, logits: Any, temperature: float = 1.0, *, axis: int | None = None) -> Self:
        """Return the hull of the softmax of `logits` ``(..., M, K)``, divided by `temperature`.

        Parameters
        ----------
        logits : array-like of shape (..., M, K)
            A sequence, or dict, of arrays ``(..., K)`` is one array per model.
        temperature : float, default=1.0
            Divides the logits; positive.
        axis : int, optional
            Where the members are, if not on the last axis but one.

        Returns
        -------
        ConvexHull

        Examples
        --------
        >>> import credalens as cl
        >>> cl.ConvexHull.from_logits([[0.0, 0.0], [1000.0, 0.0]]).members
        array([[0.5, 0.5],
               [1. , 0. ]])
        """
        if axis is None and is_sequence_of_arrays(logits):
            axis = 0
        logits = as_members(logits, axis, "logits")
        temperature = _validation.positive(temperature, "temperature")
        origin = origin_of(logits)
        if origin.where == "lazy":
            build = partial(cls.from_logits, temperature=temperature)
            return cls._deferred(recipe(build, [logits], [2], ["logits"]))
        if origin.where == "device":
            checked = _validation.native_finite(logits, "logits")
            return cls._of(native.softmax(checked, float(temperature)), origin)
        array, origin = to_numpy(logits, "logits")
        if array.ndim < 2 or 0 in array.shape[-2:]:
            _validation.refuse(
                "logits",
                f"has shape {array.shape}",
                "pass an array (..., members, classes)",
            )
        array = _validation.finite(logits, "logits")
        work = np.result_type(array.dtype, np.float32)
        with np.errstate(over="ignore"):  # a difference of minus infinity is a probability of 0
            if not 1e-30 < float(temperature) < 1e30:
                work = np.result_type(work, np.float64)
            scaled = array.astype(work)
            scaled -= scaled.max(axis=-1, keepdims=True)
            scaled /= work.type(temperature)
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=-1, keepdims=True, dtype=np.float64)
        return cls._of(scaled.astype(array.dtype.newbyteorder("="), copy=False), origin)

    @property
    def members(self) -> Any:
        """The predictions, ``(..., M, K)``, as they came in; not to be written to."""
        members = self._members
        if self.origin.where == "host":
            members = members.view()
            members.flags.writeable = False
        return members if self.origin is NUMPY else self.origin.wrap(members)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        n_classes: int = self._array.shape[-1]
        return n_classes

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, ``()`` for a single set."""
        if self.origin.where == "lazy":
            return self._recipe.batch_shape
        return tuple(self._array.shape[:-2])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the members, as NumPy names it."""
        if self.origin.where == "device":
            return native.numpy_dtype(self._array)
        return self._array.dtype.newbyteorder("=")

    def __getitem__(self, index: Any) -> Self:
        if not self.batch_shape:
            raise IndexError("a single credal set cannot be indexed; its batch_shape is ()")
        if self.origin.where == "lazy":
            return self._deferred(self._recipe[index])
        # Positions in the batch only: an index must not reach into members and classes.
        chosen = np.broadcast_to(np.empty(()), self.batch_shape)[index]
        parts = index if isinstance(index, tuple) else (index,)
        rest = (slice(None),) * 2 if any(part is Ellipsis for part in parts) else (...,)
        picked = self._members[(*parts, *rest)]
        if picked.shape[:-2] != np.shape(chosen):
            raise IndexError(f"index {index!r} does not fit batch_shape {self.batch_shape}")
        return self._of(picked, self.origin)

    def plain(self) -> Self:
        """Return the same sets with NumPy as their origin, sharing memory.

        For tensors that stay where they are, what answers for them there.
        """
        if self.origin is NUMPY:
            return self
        if self.origin.where == "device":
            from credalens.sets.tensors import TensorHull

            return TensorHull(self._members, self.origin)  # type: ignore[return-value]
        return self.on_host()

    def on_host(self) -> Self:
        """Return the same sets with NumPy as their origin, copied from another device if need be.

        Dask arrays are not computed but refused.
        """
        if self.origin.where == "lazy":
            raise lazy_error()
        if self.origin.where == "device":
            return self._of(to_numpy(native.frozen(self._members), "members")[0], NUMPY)
        return self if self.origin is NUMPY else self._numpy

    @cached_property
    def _numpy(self) -> Self:
        return self._of(self._array, NUMPY, self._trusted)

    def settled(self, origin: Origin) -> Self:
        """Return the same sets as if their data had come from `origin`."""
        there = origin.where == "device"
        return self._of(origin.wrap(self._members) if there else self._members, origin)

    def to_hull(self) -> ConvexHull:
        """Return the set itself."""
        return self

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
            ``(...)`` for one test function, ``(..., F)`` for many, ``(..., K)`` by default. An
            expectation is linear, so that the extremes are found among the members: O(M F K).
        """
        return self._extreme(f, np.minimum)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function; see `lower`."""
        return self._extreme(f, np.maximum)

    def _extreme(self, f: Any, ufunc: np.ufunc) -> Any:
        if f is None:

            def ends(block: Array, output: Array) -> None:
                least = ufunc is np.minimum
                _kernels.class_ends(
                    block, output if least else None, None if least else output, AS_WANTED
                )

            (result,) = per_instance(self._members, ends, [(self.n_classes,)], large=True)
            return self.origin.wrap(result)
        functions = _validation.expectands(f, self.n_classes)
        many = np.atleast_2d(functions)

        def kernel(block: Array, output: Array) -> None:
            values = block.reshape(-1, self.n_classes).astype(np.float64, copy=False) @ many.T
            ufunc.reduce(values.reshape(*block.shape[:2], len(many)), axis=1, out=output)

        (result,) = per_instance(self._members, kernel, [(len(many),)])
        return self.origin.wrap(result if functions.ndim == 2 else result[..., 0])

    def center(self) -> Any:
        """Return the mean of the members, ``(..., K)``."""
        mean = self._members.mean(axis=-2, dtype=np.float64)
        return self.origin.wrap(np.asarray(mean, self.dtype))

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Refused if a member would leave the simplex.
        """
        shift = self._shift(t)
        moved = self._members + shift[..., None, :].astype(self.dtype)
        slack = 8 * float(np.finfo(self.dtype).eps)
        outside = moved < -slack
        if outside.any():
            where = tuple(np.argwhere(outside)[0])
            _validation.refuse(
                "t",
                f"moves the entry at index {_validation.place(where)} (zero-based) to "
                f"{moved[where]:.6g}, out of the simplex",
                "pass a smaller shift",
            )
        return self._of(np.maximum(moved, 0), self.origin)

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Distributions, broadcast against the batch.
        tolerance : float, optional
            Largest difference in a coordinate that still counts as in. By default 1e-9, 1e-6
            for members in single precision, 2e-3 in half precision.

        Returns
        -------
        bool or array of bool
            The largest coordinate difference between `p` and the nearest mixture of members is the
            value of a matrix game, which is solved exactly: ``True`` means that a mixture within
            `tolerance` was found, ``False`` that a separating functional was.
        """
        target, limit = self._target(p, tolerance)
        return self.origin.wrap(np.asarray(distance_to_hull(self._members, target) <= limit))

    def extreme_points(self, tolerance: float | None = None) -> Any:
        """Return the members that are not mixtures of others, ``(..., V, K)``.

        V is the largest number over the batch; an instance with fewer repeats its first one. A
        member counts as a mixture if one comes within `tolerance` (1e-12, or 1e-7 in single
        precision) in every coordinate; of equal members the first stays.
        """
        limit = (1e-7 if self.dtype.itemsize < 8 else 1e-12) if tolerance is None else tolerance
        return self.origin.wrap(corners(self._members, limit).astype(self.dtype, copy=False))

    def __repr__(self) -> str:
        return (
            f"ConvexHull(batch_shape={self.batch_shape}, n_members={self.n_members}, "
            f"n_classes={self.n_classes}, dtype={self.dtype})"
        )
