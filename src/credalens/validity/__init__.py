"""Whether credal sets can be trusted: coverage, calibration and repair."""

from credalens.validity.coverage import Coverage, GroupedCoverage, coverage

__all__ = [
    "Coverage",
    "GroupedCoverage",
    "coverage",
]
