"""Recalibration of the members of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.likelihood import member_array
from credalens.sets import ConvexHull
from credalens.validity.bins import top_label_error
from credalens.validity.folds import (
    apply_in_blocks,
    cross_fitted,
    labelled_members,
    log_losses,
    stratified_folds,
)
from credalens.validity.scaling import SCALINGS, Scaling, TemperatureScaling

#: A hull, or an array of members in any library.
MembersT = TypeVar("MembersT")
#: Number of bins of the reported calibration errors.
ECE_BINS = 15
#: Names of the arguments with the data of a fit.
VALIDATION = ("members_val", "y_val")


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(TableResult):
    """Recalibration of each member, callable on members; see `calibrate`.

    Arrays have one entry per member.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.ones(3), 1000)
    >>> y = (true.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    >>> sharp = true**2 / (true**2).sum(axis=1, keepdims=True)
    >>> calibration = cl.validity.calibrate(sharp[:, None], y)
    >>> calibration.temperature.round(1).tolist(), calibration(sharp[:, None]).shape
    ([1.9], (1000, 1, 3))
    """

    #: Name of the method.
    method: str
    #: The map of predictions ``(n, M, K)``.
    scaling: Scaling
    #: Number of members and of classes.
    n_members: int
    n_classes: int
    #: Mean log-loss of each member before the recalibration.
    log_loss_before: Array
    #: Mean log-loss of each member after it, cross-fitted.
    log_loss_after: Array
    #: Expected calibration error of the top label before the recalibration.
    ece_before: Array
    #: Expected calibration error of the top label after it, cross-fitted.
    ece_after: Array

    _repr_rows: ClassVar[int] = 20

    @property
    def temperature(self) -> Array | None:
        """Temperature of each member, above 1 if it was overconfident; None for other methods."""
        return self.scaling.temperature if isinstance(self.scaling, TemperatureScaling) else None

    def __call__(self, members: MembersT) -> MembersT:
        """Return recalibrated members.

        Parameters
        ----------
        members : array-like of shape (..., M, K), or ConvexHull
            Predictions of the same members, in the same order.

        Returns
        -------
        array or ConvexHull
            Of the type and shape of `members`.
        """
        hull, points = member_array(members)
        check_shape(hull, self.n_members, self.n_classes)
        return wrap_like(members, hull, apply_in_blocks(self.scaling, points))

    def _columns(self) -> dict[str, Any]:
        names = ("temperature", "log_loss_before", "log_loss_after", "ece_before", "ece_after")
        columns = {name: getattr(self, name) for name in names}
        return {name: values for name, values in columns.items() if values is not None}

    def _index(self) -> tuple[str, list[str]]:
        return "member", [f"member {m}" for m in range(self.n_members)]

    def _summary(self) -> str:
        return f"Calibration(method={self.method!r}, n_members={self.n_members})"


def calibrate(
    members_val: Any, y_val: Any, method: str = "temperature", *, n_folds: int = 5
) -> Calibration:
    """Fit the recalibration of each member to labelled data.

    Parameters
    ----------
    members_val : array-like of shape (n, M, K), or ConvexHull
        Predictions of M members for labelled instances that they were not trained on.
    y_val : array-like of int, shape (n,)
        Labels as class indices.
    method : {"temperature", "vector", "isotonic"}, default="temperature"
        ``"temperature"``: ``p ** (1 / T)``, one number per member. ``"vector"``: a scale and a bias
        of the log-probabilities per class. ``"isotonic"``: isotonic regression of each class, which
        requires the extra `sklearn`.
    n_folds : int, default=5
        Number of folds of the reported errors after the recalibration.

    Returns
    -------
    Calibration
        Callable: ``calibration(members)`` returns recalibrated members.

    Notes
    -----
    Temperature and vector scaling minimise the log-loss with a Gaussian prior of unit variance for
    ``log T``, and for each scale around 1 and each bias around 0, so that few labels, or a member
    without errors, do not lead to extreme parameters. Probabilities below the precision of the
    dtype (2.2e-16, or 1.2e-7 in single precision) count as that.

    Isotonic regression treats each class separately and divides by the sum over the classes, as
    `sklearn.calibration.CalibratedClassifierCV` does. It needs many labels per class, and may
    predict probability 0.

    The map is fitted to all instances. The errors after the recalibration are those of maps that
    were fitted without the fold of an instance. Temperature scaling does not change the most
    probable class.

    The mean of recalibrated members is underconfident if they disagree; see `repair`.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.
    B. Zadrozny, C. Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.ones(3), 1000)
    >>> y = (true.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    >>> members = np.stack([true, true**2, true**0.5], axis=1)
    >>> members /= members.sum(axis=2, keepdims=True)
    >>> calibration = cl.validity.calibrate(members, y)
    >>> calibration.temperature.round(1).tolist()
    [1.0, 1.9, 0.5]
    >>> bool((calibration.ece_after < 0.05).all())
    True
    """
    hull, points, labels = labelled_members(members_val, y_val, names=VALIDATION)
    fit = SCALINGS[_validation.one_of(method, "method", SCALINGS)]
    n_folds = _validation.whole_number(n_folds, "n_folds", least=2)
    after = cross_fitted(fit, points, labels, stratified_folds(labels, min(n_folds, len(labels))))
    return Calibration(
        method,
        fit(points, labels),
        hull.n_members,
        hull.n_classes,
        log_losses(points, labels),
        log_losses(after, labels),
        top_label_errors(points, labels),
        top_label_errors(after, labels),
    )


def top_label_errors(points: Array, labels: Any) -> Array:
    """Return the expected calibration error of the top label of each member, ``(M,)``."""
    members = (points[:, m] for m in range(points.shape[1]))
    return np.array([top_label_error(own, labels, ECE_BINS, "width") for own in members])


def check_shape(hull: ConvexHull, n_members: int, n_classes: int) -> None:
    """Raise if a hull does not have the members and classes of a fit."""
    if (hull.n_members, hull.n_classes) != (n_members, n_classes):
        _validation.raise_invalid(
            "members",
            f"has {_validation.counted(hull.n_members, 'member')} and {hull.n_classes} classes",
            f"pass predictions of the same {n_members} members over {n_classes} classes",
        )


def wrap_like(
    given: MembersT, hull: ConvexHull, points: Array, kept: Array | None = None
) -> MembersT:
    """Return members as the type of `given`, whose hull is `hull`; those kept have its weights."""
    wrapped: Any = hull.backend.wrap(points)
    if not isinstance(given, ConvexHull):
        return cast(MembersT, wrapped)
    weights = hull.to_numpy_backed().weights
    if weights is not None and kept is not None:
        weights = weights[..., kept]
    return cast(MembersT, ConvexHull(wrapped, weights=weights, validate=False))
