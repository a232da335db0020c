"""Whether an ensemble can be trusted: all checks of one labelled dataset, with answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.diagnosis import MemberDiagnosis, diagnose_members
from credalens.validity.ensemble_repair import Repair, repair
from credalens.validity.folds import labelled_members
from credalens.validity.label_coverage import Coverage, coverage
from credalens.validity.mixture_calibration import CalibrationTest, calibration_test
from credalens.validity.recalibration import Calibration, calibrate
from credalens.validity.reliability_diagram import Reliability, reliability
from credalens.validity.repair_report import member_names
from credalens.validity.top_label_sums import TopLabelSums, confidence_verdicts

#: Instances that the test compares with each other, times classes, and at least.
BLOCK_NUMBERS, SMALLEST_BLOCK = 50_000, 500


def block_size(n_classes: int) -> int:
    """Return the number of instances that the test compares with each other."""
    return max(SMALLEST_BLOCK, BLOCK_NUMBERS // n_classes)


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(TableResult):
    """Checks of an ensemble on labelled data; see `assess`. The table has one row per member.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.ones(3), 2000)
    >>> y = (true.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> members = np.stack([true**0.5, true**2], axis=1)
    >>> members /= members.sum(axis=2, keepdims=True)
    >>> found = cl.validity.assess(members, y)
    >>> found.verdicts.tolist(), found.set_calibrated
    (['underconfident', 'overconfident'], True)
    """

    names: tuple[str, ...]
    class_names: tuple[str, ...]
    #: Number of labelled instances.
    n: int
    #: Share of correct top labels, and their mean probability, of each member.
    accuracy: Array
    mean_confidence: Array
    #: Number of bins of the top label, of each member, whose interval excludes its probability.
    bins_outside: NDArray[np.intp]
    #: Recalibration by temperature, with log-losses and calibration errors of each member.
    calibration: Calibration
    #: Reliability of the sets.
    reliability: Reliability
    #: The test of whether a mixture of the members is calibrated.
    test: CalibrationTest
    #: Coverage of known label distributions; None without them.
    coverage: Coverage | None
    diagnosis: MemberDiagnosis | None
    repair: Repair
    #: Significance level of the test.
    level: float

    _repr_rows: ClassVar[int] = 20

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """``"calibrated"``, ``"overconfident"`` or ``"underconfident"``, of each member."""
        return confidence_verdicts(self.mean_confidence, self.accuracy, self.bins_outside)

    @property
    def set_calibrated(self) -> bool:
        """Whether no band excludes the observed frequencies and the test does not reject."""
        return self.reliability.calibrated and self.test.pvalue >= self.level

    @property
    def classes_outside(self) -> list[int]:
        """Classes with a bin whose interval lies outside of its band."""
        return [k for k, one in enumerate(self.reliability.classes) if not one.calibrated]

    def _columns(self) -> dict[str, Any]:
        c = self.calibration
        return {
            "accuracy": self.accuracy,
            "confidence": self.mean_confidence,
            "log_loss": c.log_loss_before,
            "ece": c.ece_before,
            "temperature": c.temperature,
            "ece_after": c.ece_after,
            "verdict": self.verdicts,
        }

    def _index(self) -> tuple[str, list[str]]:
        return "member", list(self.names)

    def _summary(self) -> str:
        return f"Assessment(n={self.n}, set_calibrated={self.set_calibrated})"


def assess(
    members: Any,
    y: Any,
    *,
    distributions: Any = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    method: str = "temperature",
    level: float = 0.05,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> Assessment:
    """Run all checks of an ensemble on labelled data that it was not trained on.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
        Predictions of M members.
    y : array-like of int, shape (n,)
        Labels as class indices.
    distributions : array-like of shape (n, K), optional
        Known distributions of the labels, such as frequencies of annotators.
    names, class_names : sequence of str, optional
        Names of the members and of the classes.
    method : {"temperature", "vector", "isotonic"}
        Recalibration of the proposed repair.
    level : float in (0, 1), default=0.05
        Significance level of the test and of the reliability diagrams.
    n_resamples : int, default=1000
        Number of resamples of the test.
    random_state : int or Generator, default=0
        Seed of the test.

    Returns
    -------
    Assessment

    Notes
    -----
    A member is calibrated if the exact interval of the accuracy contains the mean probability in
    every bin of its top label, with the Bonferroni correction for the bins. The sets are checked
    with `reliability` and `calibration_test`, `coverage` is that of known distributions,
    `diagnose_members` finds members that distort the uncertainty, and `repair` measures what
    recalibration and leaving members out would gain.

    See Also
    --------
    credalens.validity.reliability, credalens.validity.calibration_test,
    credalens.validity.coverage, credalens.validity.repair

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.ones(3), 1000)
    >>> y = (true.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    >>> sharp = true**4 / (true**4).sum(axis=1, keepdims=True)
    >>> found = cl.validity.assess(np.stack([sharp, true**3 / (true**3).sum(1)[:, None]], 1), y)
    >>> found.set_calibrated, found.test.pvalue < 0.05
    (False, True)
    """
    level = _validation.fraction(level, "level")
    hull, points, labels = labelled_members(members, y, 2, ("members", "y"))
    sums = TopLabelSums(hull.n_members)
    sums.add(points, labels)
    diagrams = sums.of_members(1 - level)
    fixed = repair(points, labels, method=method, names=names)
    tempered = fixed.calibration if method == "temperature" else None
    return Assessment(
        names=member_names(names, hull.n_members),
        class_names=tuple(class_names or map(str, range(hull.n_classes))),
        n=len(labels),
        accuracy=np.array([one.frequency for one in diagrams]),
        mean_confidence=np.array([one.mean_center for one in diagrams]),
        bins_outside=np.array([one.n_outside for one in diagrams]),
        calibration=tempered or calibrate(points, labels),
        reliability=reliability(hull, labels, confidence=1 - level),
        test=calibration_test(
            points,
            labels,
            "predictions",
            n_resamples=n_resamples,
            block_size=block_size(hull.n_classes),
            level=level,
            random_state=random_state,
        ),
        coverage=None if distributions is None else coverage(hull, distributions),
        diagnosis=diagnose_members(points, labels) if hull.n_members > 1 else None,
        repair=fixed,
        level=level,
    )
