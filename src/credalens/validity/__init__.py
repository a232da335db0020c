"""Whether credal sets can be trusted: coverage, calibration, repair, sets with a guarantee."""

from credalens.validity.answers import Answer, answers
from credalens.validity.assessment import Assessment, assess
from credalens.validity.calibrate import Calibration, calibrate
from credalens.validity.calibration_test import CalibrationTest, calibration_test
from credalens.validity.conformal import SCORES, ConformalSets, conformal
from credalens.validity.coverage import Coverage, GroupedCoverage, coverage
from credalens.validity.reliability import Reliability, ReliabilityDiagram, reliability
from credalens.validity.repair import Repair, repair

__all__ = [
    "SCORES",
    "Answer",
    "Assessment",
    "Calibration",
    "CalibrationTest",
    "ConformalSets",
    "Coverage",
    "GroupedCoverage",
    "Reliability",
    "ReliabilityDiagram",
    "Repair",
    "answers",
    "assess",
    "calibrate",
    "calibration_test",
    "conformal",
    "coverage",
    "reliability",
    "repair",
]
