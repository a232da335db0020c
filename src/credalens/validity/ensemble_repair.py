"""Repair of an ensemble: recalibration, and the alpha-cut of its members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.likelihood import label_probabilities, member_array, relative_likelihood
from credalens.evaluation.rejection import rejection_curve
from credalens.evaluation.vote import majority_vote
from credalens.sets import ConvexHull
from credalens.validity.alpha_cut import AlphaChoice, choose_alpha, rejection_area
from credalens.validity.folds import (
    apply_in_blocks,
    labelled_members,
    log_losses,
    stratified_folds,
)
from credalens.validity.mixture_weights import constant_weights
from credalens.validity.recalibration import (
    ECE_BINS,
    VALIDATION,
    Calibration,
    MembersT,
    calibrate,
    check_shape,
    wrap_like,
)
from credalens.validity.reliability_diagram import reliability
from credalens.validity.repair_report import member_names, repair_report
from credalens.validity.scaling import (
    SCALINGS,
    Scaling,
    TemperatureScaling,
    best_temperature,
    log_probabilities,
)

#: What is reported before and after a repair.
REPAIR_METRICS = ("accuracy", "auc_total", "auc_confidence", "log_loss", "ece", "credal_ece",
                  "band_bins", "mean_bins", "band_width")  # fmt: skip


@dataclass(frozen=True, eq=False)
class RepairScaling:
    """The map of a repair: recalibrated members, the kept ones, with a common temperature."""

    #: The recalibration, and the members to which it applies.
    scaling: Scaling | None
    recalibrated: NDArray[np.bool_]
    #: Indices of the kept members.
    kept: NDArray[np.intp]
    common_temperature: float = 1.0

    def __call__(self, points: Array) -> Array:
        """Return repaired predictions, ``(n, M, K)`` to ``(n, kept, K)``."""
        result = np.array(points[:, self.kept], np.float64)
        mapped = self.recalibrated[self.kept]
        if self.scaling is not None and mapped.any():
            result[:, mapped] = self.scaling(points)[:, self.kept[mapped]]
        if self.common_temperature == 1.0:
            return result
        common = TemperatureScaling(np.full(len(self.kept), self.common_temperature))
        return common(result)


@dataclass(frozen=True, eq=False, repr=False)
class Repair(TableResult):
    """Repair of an ensemble, callable on members; see `repair`.

    ``str(repair)`` is a table of metrics before and after, with the `report`.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.full(4, 0.3), 1000)
    >>> y = (true.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    >>> noise = rng.dirichlet(np.ones(4), (1000, 4))
    >>> members = 0.9 * true[:, None] + 0.1 * noise
    >>> members[:, 3] = noise[:, 3]
    >>> repaired = cl.validity.repair(members, y)
    >>> repaired.kept.tolist(), repaired(members).shape
    ([0, 1, 2], (1000, 3, 4))
    """

    #: The map of predictions, with the kept members and the common temperature.
    scaling: RepairScaling
    #: The recalibration of each member, with its errors; None without one.
    calibration: Calibration | None
    #: Number of members and of classes before the repair.
    n_members: int
    n_classes: int
    #: Relative likelihood of each recalibrated member, per instance.
    relative_likelihood: Array
    #: The levels of the alpha-cut that were compared, and the chosen one.
    choice: AlphaChoice
    #: Maximum-likelihood weights of the kept members in a mixture; None unless requested.
    weights: Array | None
    #: Metrics before and after the repair by name; those after it are cross-fitted.
    before: dict[str, float]
    after: dict[str, float]
    #: Names of the members.
    names: tuple[str, ...]

    _repr_rows: ClassVar[int] = len(REPAIR_METRICS)

    @property
    def kept(self) -> NDArray[np.intp]:
        """Indices of the kept members."""
        return self.scaling.kept

    @property
    def alpha(self) -> float:
        """The level of the alpha-cut."""
        return self.choice.alpha

    @property
    def common_temperature(self) -> float:
        """The temperature that is applied to all recalibrated members, 1 for none."""
        return self.scaling.common_temperature

    def __call__(self, members: MembersT) -> MembersT:
        """Return the repaired members.

        Parameters
        ----------
        members : array-like of shape (..., M, K), or ConvexHull
            Predictions of the same members, in the same order.

        Returns
        -------
        array or ConvexHull
            Of the type of `members`, with the kept members only.
        """
        hull, points = member_array(members)
        check_shape(hull, self.n_members, self.n_classes)
        mapped = apply_in_blocks(self.scaling, points, len(self.kept))
        return wrap_like(members, hull, mapped, self.kept)

    @property
    def report(self) -> list[str]:
        """What was done and why, one sentence per step."""
        return repair_report(self)

    def _columns(self) -> dict[str, Any]:
        sides = {"before": self.before, "after": self.after}
        return {side: [values[name] for name in REPAIR_METRICS] for side, values in sides.items()}

    def _index(self) -> tuple[str, list[str]]:
        return "metric", list(REPAIR_METRICS)

    def _summary(self) -> str:
        return (
            f"Repair(kept={self.kept.tolist()} of {self.n_members}, alpha={self.alpha:.3g}, "
            f"common_temperature={self.common_temperature:.3g})"
        )

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.report])


def repair(
    members_val: Any,
    y_val: Any,
    *,
    method: str | None = "temperature",
    common_temperature: bool = True,
    min_members: int = 2,
    fit_weights: bool = False,
    n_folds: int = 5,
    names: Sequence[str] | None = None,
) -> Repair:
    """Fit a repair of an ensemble to labelled data: recalibrate its members, drop the worst.

    Parameters
    ----------
    members_val : array-like of shape (n, M, K), or ConvexHull
        Predictions of M members for labelled instances that they were not trained on.
    y_val : array-like of int, shape (n,)
        Labels as class indices.
    method : {"temperature", "vector", "isotonic"} or None, default="temperature"
        The recalibration of each member, as in `calibrate`; None for none.
    common_temperature : bool, default=True
        Whether to apply one more temperature, the same to all kept members, that is best for the
        log-loss of their mean.
    min_members : int, default=2
        Smallest number of members to keep. A single member has no epistemic uncertainty.
    fit_weights : bool, default=False
        Whether to compute the maximum-likelihood weights of the kept members. They do not change
        the members or their hull; measures such as `mutual_information` accept them.
    n_folds : int, default=5
        Number of folds of the cross-validation.
    names : sequence of str, optional
        Names of the members in the report.

    Returns
    -------
    Repair
        Callable: ``repair(members)`` returns the repaired members.

    Notes
    -----
    1. Each member is recalibrated by `method`, if that reduces its cross-fitted log-loss.
    2. The alpha-cut keeps the members whose likelihood per instance, relative to the best, is at
       least alpha (`trim`). Levels between the relative likelihoods of the members are compared by
       the area under the accuracy-rejection curve of total uncertainty, of folds that neither the
       recalibration nor the likelihoods have used. The chosen level is the smallest one, which
       keeps the most members, whose area is within one standard error (of the difference, over the
       folds) of the largest.
    3. The mean of calibrated members is underconfident where they disagree. The common temperature
       corrects this, if it reduces the cross-fitted log-loss of the mean. The members are then
       calibrated relative to each other, not individually.

    Folds are stratified by class and deterministic. The metrics after the repair are those of the
    kept members, with recalibrations and common temperatures that are fitted to other folds.

    See Also
    --------
    calibrate : the recalibration alone.
    credalens.trim : the alpha-cut alone.
    credalens.diagnose_members : which members spoil the uncertainty.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.full(4, 0.3), 1000)
    >>> y = (true.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    >>> noise = rng.dirichlet(np.ones(4), (1000, 4))
    >>> members = 0.9 * true[:, None] + 0.1 * noise
    >>> members[:, 3] = noise[:, 3]
    >>> repaired = cl.validity.repair(members, y)
    >>> repaired.after["auc_total"] > repaired.before["auc_total"]
    True
    >>> print(repaired.report[0])
    member 3 is left out: its relative likelihood 0.515 is below alpha = 0.716
    """
    n_folds = _validation.whole_number(n_folds, "n_folds", least=2)
    min_members = _validation.whole_number(min_members, "min_members", least=1)
    hull, points, labels = labelled_members(members_val, y_val, n_folds, VALIDATION)
    names = member_names(names, hull.n_members)
    everyone, used = np.arange(hull.n_members), np.zeros(hull.n_members, bool)
    calibration, fit = None, None
    if method is not None:
        calibration = calibrate(members_val, y_val, method, n_folds=n_folds)
        fit, used = SCALINGS[method], calibration.log_loss_after < calibration.log_loss_before
    whole = RepairScaling(calibration.scaling if calibration else None, used, everyone)
    folds = stratified_folds(labels, n_folds)
    outside = [(points[folds != f], labels[folds != f]) for f in range(n_folds)]
    parts = [replace(whole, scaling=fit(*data) if fit else None) for data in outside]
    held_out = _cross_fitted(parts, points, folds)
    logs = np.array([-log_losses(part(p), y) for part, (p, y) in zip(parts, outside, strict=True)])
    ratios = relative_likelihood(-log_losses(whole(points), labels), 1)
    choice = choose_alpha(held_out, labels, folds, logs, ratios, min_members)
    whole = replace(whole, kept=np.flatnonzero(ratios >= choice.alpha))
    after = ensemble_metrics(held_out[:, whole.kept], labels)
    if common_temperature and len(whole.kept) > 1:
        parts = [
            _with_common_temperature(replace(part, kept=whole.kept), *data)
            for part, data in zip(parts, outside, strict=True)
        ]
        changed = ensemble_metrics(_cross_fitted(parts, points, folds), labels)
        if changed["log_loss"] < after["log_loss"]:
            after, whole = changed, _with_common_temperature(whole, points, labels)
    weights = constant_weights(label_probabilities(whole(points), labels)) if fit_weights else None
    return Repair(
        whole, calibration, hull.n_members, hull.n_classes, ratios, choice, weights,
        ensemble_metrics(points, labels), after, names,
    )  # fmt: skip


def ensemble_metrics(points: Array, labels: NDArray[np.intp]) -> dict[str, float]:
    """Return the `REPAIR_METRICS` of an ensemble ``(n, M, K)``.

    ``"band_bins"`` and ``"mean_bins"`` are the shares of the bins, of the top label and of all
    classes, in which the observed frequency is compatible with the band and with the mean
    probability; ``"band_width"`` is the mean width of the band of the top label.
    """
    hull = ConvexHull(points, validate=False)
    vote, mean = np.asarray(majority_vote(hull)), points.mean(axis=1, dtype=np.float64)
    bins = reliability(hull, labels, n_bins=ECE_BINS)
    diagrams = (bins.top, *bins.classes)
    n_bins = sum(len(one.n) for one in diagrams)
    return {
        "accuracy": float((vote == labels).mean()),
        "auc_total": rejection_area(points, labels),
        "auc_confidence": rejection_curve(labels, vote, 1 - mean.max(axis=1)).auc,
        "log_loss": float(log_losses(mean[:, None], labels)[0]),
        "ece": bins.ece,
        "credal_ece": bins.credal_ece,
        "band_bins": 1 - sum(one.n_outside for one in diagrams) / n_bins,
        "mean_bins": 1 - sum(one.n_center_outside for one in diagrams) / n_bins,
        "band_width": bins.top.band_width,
    }


def _cross_fitted(parts: list[RepairScaling], points: Array, folds: NDArray[np.intp]) -> Array:
    result = np.empty((len(points), len(parts[0].kept), points.shape[2]))
    for fold, part in enumerate(parts):
        result[folds == fold] = part(points[folds == fold])
    return result


def _with_common_temperature(
    part: RepairScaling, points: Array, labels: NDArray[np.intp]
) -> RepairScaling:
    temperature = best_temperature(log_probabilities(part(points)), labels)
    return replace(part, common_temperature=temperature)
