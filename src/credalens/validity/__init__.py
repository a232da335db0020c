"""Whether credal sets can be trusted: coverage, calibration and repair."""

from credalens.validity.ensemble_repair import Repair, repair
from credalens.validity.label_coverage import Coverage, GroupedCoverage, coverage
from credalens.validity.mixture_calibration import CalibrationTest, calibration_test
from credalens.validity.recalibration import Calibration, calibrate
from credalens.validity.reliability_diagram import Reliability, ReliabilityDiagram, reliability

__all__ = [
    "Calibration",
    "CalibrationTest",
    "Coverage",
    "GroupedCoverage",
    "Reliability",
    "ReliabilityDiagram",
    "Repair",
    "calibrate",
    "calibration_test",
    "coverage",
    "reliability",
    "repair",
]
