"""Constructors of convex hulls from frames, forests, logits and truncated predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from credalens import _validation
from credalens._backend import Array, backend_of, is_lazy, namespace, native
from credalens.sets.adapters import (
    as_members,
    forest_members,
    frame_members,
    is_frame,
    is_sequence_of_arrays,
    union_of_rows,
)
from credalens.sets.hull_members import HullMembers, lazy_ensemble
from credalens.sets.member_weights import member_weights
from credalens.sets.missing_members import present_members
from credalens.sets.topk_hull import TopKHull


class HullConstructors(HullMembers):
    """The alternative constructors of `ConvexHull`."""

    if TYPE_CHECKING:

        def __init__(self, members: Any, **options: Any) -> None: ...

    @classmethod
    def from_frames(
        cls,
        frames: Any,
        columns: Any = None,
        *,
        normalize: bool = False,
        weights: Any = None,
        missing: Literal["raise", "allow"] = "raise",
        validate: bool = True,
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
        normalize, weights, validate
            As for the class.
        missing : {"raise", "allow"}, default="raise"
            With ``"allow"``, pandas frames may lack rows, or have rows of NaN: the instances are
            all labels that an index has, in the order of their first occurrence.

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

        The second member is missing for the first row:

        >>> Q = cl.ConvexHull.from_frames([one, two[1:]], missing="allow")
        >>> Q.n_present, Q.lower()
        (array([1, 2]), array([[0.9, 0.1],
               [0.5, 0.5]]))
        """
        if missing == "allow":
            frames = union_of_rows(frames)
        hull = cls(
            frame_members(frames, columns),
            normalize=normalize, weights=weights, missing=missing, validate=validate,
        )  # fmt: skip
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
    def from_logits(
        cls,
        logits: Any,
        temperature: float = 1.0,
        *,
        axis: int | None = None,
        class_axis: int | None = None,
        weights: Any = None,
        mask: Any = None,
        missing: Literal["raise", "allow"] = "raise",
    ) -> Self:
        """Return the hull of the softmax of `logits` ``(..., M, K)``, divided by `temperature`.

        Parameters
        ----------
        logits : array-like of shape (..., M, K)
            A sequence, or dict, of arrays ``(..., K)`` holds one array per member. A logit of -inf
            excludes a class: its probability is exactly 0. A row needs a finite logit.
        temperature : float, default=1.0
            Divides the logits; positive.
        axis, class_axis : int, optional
            Axes of the members and of the classes, if not the last two.
        weights, mask, missing
            As in `ConvexHull`.

        Returns
        -------
        ConvexHull
            In the dtype of the logits; float32 for half precision.

        Examples
        --------
        >>> import credalens as cl
        >>> cl.ConvexHull.from_logits([[0.0, 0.0], [1000.0, 0.0]]).members
        array([[0.5, 0.5],
               [1. , 0. ]])
        >>> cl.ConvexHull.from_logits([[0.0, 0.0, -float("inf")]]).members
        array([[0.5, 0.5, 0. ]])
        """
        if axis is None and is_sequence_of_arrays(logits):
            axis = 0
        logits = as_members(logits, axis, "logits", class_axis=class_axis)
        temperature = _validation.positive(temperature, "temperature")
        if any(map(is_lazy, (logits, weights, mask))):
            build = partial(cls.from_logits, temperature=temperature, missing=missing)
            return cls._from_lazy(lazy_ensemble(build, logits, weights, mask, "logits"))
        backend = backend_of(logits)
        device = backend.placement == "device"
        array = (_validation.native_numeric if device else _validation.numeric)(logits, "logits")
        _validation.check_axes(array, "logits")
        present = present_members(array, mask, missing, "logits")
        if device:
            if present is not None:  # NaN would spread to gradients
                keep, xp = native.mask_like(present, array), namespace(array)
                array = xp.where(keep[..., None], array, xp.zeros_like(array))
            array = native.softmax(_validation.native_logits(array, "logits"), temperature)
        else:
            array = _softmax(_validation.logits(logits, "logits", present), temperature)
        if weights is not None:
            weights = member_weights(weights, array.shape[:-2], array.shape[-2], present)
        return cls._from_validated((array, weights, present), backend)

    @staticmethod
    def from_topk(ids: Any, probs: Any, n_classes: int, log: bool = False) -> TopKHull:
        """Return the hull of truncated predictions: the largest probabilities of each member.

        Parameters
        ----------
        ids : array-like of int, shape (..., M, k)
            The classes that each member lists, in any order; -1 is padding, so that members may
            list different numbers of classes.
        probs : array-like of shape (..., M, k)
            Their probabilities, or their logarithms if `log` is true; ignored for padding.
        n_classes : int
            Number of classes K, such as the size of a vocabulary.
        log : bool, default=False
            Whether `probs` are log-probabilities, such as the ``top_logprobs`` of a language model.

        Returns
        -------
        TopKHull
            Its measures have certified errors, as the probabilities of the other classes are not
            known: ``quantify(Q).errors`` has that of each component.

        Raises
        ------
        ValueError
            If a class is listed twice or does not exist, a probability is not in [0, 1], a list
            sums to more than 1, or the other classes cannot have the rest.

        Notes
        -----
        Memory is O(M k) for each instance and time O(M k + M^2 U), where U <= M k classes are
        listed, whatever K is.

        Examples
        --------
        >>> import numpy as np
        >>> import credalens as cl
        >>> ids = [[17, 4, 902], [17, 902, -1]]
        >>> logprobs = np.log([[0.7, 0.2, 0.08], [0.9, 0.06, 1.0]])
        >>> Q = cl.ConvexHull.from_topk(ids, logprobs, n_classes=128_256, log=True)
        >>> u = cl.quantify(Q)
        >>> print(f"{u.total:.2f} +- {u.errors.total:.2f}")
        0.30 +- 0.00
        >>> print(f"{u.epistemic:.2f} +- {u.errors.epistemic:.2f}")
        0.11 +- 0.01
        """
        return TopKHull(ids, probs, n_classes, log=log)


def _softmax(array: Array, temperature: float) -> Array:
    work = np.result_type(array.dtype, np.float32)
    # A difference of -inf has probability 0; members that are missing may have any values.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if not 1e-30 < temperature < 1e30:
            work = np.result_type(work, np.float64)
        scaled = array.astype(work)
        scaled -= scaled.max(axis=-1, keepdims=True)
        scaled /= work.type(temperature)
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=-1, keepdims=True, dtype=np.float64)
        return scaled.astype(array.dtype.newbyteorder("="), copy=False)
