"""Whether credal sets can be trusted: coverage, calibration and repair."""

from credalens.validity.calibrate import Calibration, calibrate
from credalens.validity.coverage import Coverage, GroupedCoverage, coverage
from credalens.validity.reliability import Reliability, ReliabilityDiagram, reliability

__all__ = [
    "Calibration",
    "Coverage",
    "GroupedCoverage",
    "Reliability",
    "ReliabilityDiagram",
    "calibrate",
    "coverage",
    "reliability",
]
