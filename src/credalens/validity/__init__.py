"""Whether credal sets can be trusted: coverage, calibration and repair."""

from credalens.validity.calibrate import Calibration, calibrate
from credalens.validity.coverage import Coverage, GroupedCoverage, coverage
from credalens.validity.reliability import Reliability, ReliabilityDiagram, reliability
from credalens.validity.repair import Repair, repair

__all__ = [
    "Calibration",
    "Coverage",
    "GroupedCoverage",
    "Reliability",
    "ReliabilityDiagram",
    "Repair",
    "calibrate",
    "coverage",
    "reliability",
    "repair",
]
