"""Whether credal sets can be trusted: coverage, calibration and repair."""

from credalens.validity.coverage import Coverage, GroupedCoverage, coverage
from credalens.validity.reliability import Reliability, ReliabilityDiagram, reliability

__all__ = [
    "Coverage",
    "GroupedCoverage",
    "Reliability",
    "ReliabilityDiagram",
    "coverage",
    "reliability",
]
