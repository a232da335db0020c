"""Constructors of convex hulls from frames, forests and logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credalens import _validation
from credalens._backend import Array, backend_of, native
from credalens._backend.lazy import LazyBatch
from credalens.sets.adapters import (
    as_members,
    forest_members,
    frame_members,
    is_frame,
    is_sequence_of_arrays,
)
from credalens.sets.base import CredalSet


class HullConstructors(CredalSet):
    """The alternative constructors of `ConvexHull`."""

    if TYPE_CHECKING:

        def __init__(self, members: Any, *, normalize: bool = ..., validate: Any = ...) -> None: ...

    @classmethod
    def from_frames(
        cls, frames: Any, columns: Any = None, *, normalize: bool = False, validate: bool = True
    ) -> Self:
        """Return the hull of the predictions in pandas or polars frames, one per member.

        Parameters
        ----------
        frames : sequence, or dict, of frames
            One row per instance, one column per class, in any order: columns are matched by name.
            Rows of pandas frames are matched by index, which must hold the same unique labels;
            rows of polars frames are matched by position.
        columns : sequence of names, optional
            The class columns, in the order of the classes; other columns are ignored. By default
            those of the first frame, and no frame may have others.
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
        hull = cls(frame_members(frames, columns), normalize=normalize, validate=validate)
        hull._keep_index(frames)
        return hull

    def _keep_index(self, frames: Any) -> None:
        """Keep the labels of the instances if the members are in pandas frames."""
        tables = list(frames.values()) if isinstance(frames, Mapping) else frames
        if isinstance(tables, Sequence) and len(tables) and is_frame(tables[0]):
            self.__dict__["index"] = getattr(tables[0], "index", None)

    @classmethod
    def from_forest(cls, forest: Any, X: Any, smoothing: float = 0) -> Self:
        """Return the hull of the predictions of the trees of a fitted forest.

        Parameters
        ----------
        forest : fitted classifier
            A random forest, extremely randomised trees, or bagged decision trees of scikit-learn,
            with one output. Classes are in the order of ``forest.classes_``.
        X : array-like or frame of shape (n, n_features)
            As for ``forest.predict_proba``.
        smoothing : float, default=0
            Added to the count of each class in a leaf, 1 for Laplace smoothing:
            ``(count + smoothing) / (n + K smoothing)``. Counts are weighted and include the
            repetitions of the bootstrap sample. With 0 the frequencies are those of the tree's
            ``predict_proba``, bit for bit.

        Returns
        -------
        ConvexHull
            One member per tree, ``(n, trees, K)``. Fully grown trees have leaves of one class, so
            that two trees that disagree have the largest possible distance; smoothing or larger
            leaves (``min_samples_leaf``) avoid that.

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
            A sequence, or dict, of arrays ``(..., K)`` holds one array per member.
        temperature : float, default=1.0
            Divides the logits; positive.
        axis : int, optional
            Axis of the members, if not the last but one.

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
        backend = backend_of(logits)
        if backend.placement == "lazy":
            build = partial(cls.from_logits, temperature=temperature)
            return cls._from_lazy(LazyBatch.of([logits], [2], ["logits"], build))
        if backend.placement == "device":
            tensor = _validation.native_finite(logits, "logits")
            return cls._from_validated((native.softmax(tensor, float(temperature)),), backend)
        array = _validation.finite(logits, "logits")
        _validation.check_axes(array, "logits")
        return cls._from_validated((_softmax(array, float(temperature)),), backend)


def _softmax(array: Array, temperature: float) -> Array:
    work = np.result_type(array.dtype, np.float32)
    with np.errstate(over="ignore"):  # a difference of -inf has probability 0
        if not 1e-30 < temperature < 1e30:
            work = np.result_type(work, np.float64)
        scaled = array.astype(work)
        scaled -= scaled.max(axis=-1, keepdims=True)
        scaled /= work.type(temperature)
    np.exp(scaled, out=scaled)
    scaled /= scaled.sum(axis=-1, keepdims=True, dtype=np.float64)
    return scaled.astype(array.dtype.newbyteorder("="), copy=False)
