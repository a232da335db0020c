"""Whether credal sets can be trusted: coverage, calibration, repair, sets with a guarantee."""

from credalens.validity.assessment import Assessment, assess
from credalens.validity.conformal_sets import SCORES, ConformalSets, conformal
from credalens.validity.ensemble_comparison import EnsembleComparison, compare_ensembles
from credalens.validity.ensemble_repair import Repair, repair
from credalens.validity.label_coverage import Coverage, GroupedCoverage, coverage
from credalens.validity.mixture_calibration import CalibrationTest, calibration_test
from credalens.validity.recalibration import Calibration, calibrate
from credalens.validity.reliability_diagram import Reliability, ReliabilityDiagram, reliability
from credalens.validity.top_label_sums import TopLabelSums

__all__ = [
    "SCORES",
    "Assessment",
    "Calibration",
    "CalibrationTest",
    "ConformalSets",
    "Coverage",
    "EnsembleComparison",
    "GroupedCoverage",
    "Reliability",
    "ReliabilityDiagram",
    "Repair",
    "TopLabelSums",
    "assess",
    "calibrate",
    "calibration_test",
    "compare_ensembles",
    "conformal",
    "coverage",
    "reliability",
    "repair",
]
