"""Checks of the axioms of uncertainty measures, for built-in and user-defined measures."""

from credalens.axioms.checking import check, table
from credalens.axioms.report import Counterexample, Report, Verdict, render
from credalens.measures.measure import Measure
from credalens.measures.table import MEASURES, imprecision

__all__ = [
    "MEASURES",
    "Counterexample",
    "Measure",
    "Report",
    "Verdict",
    "check",
    "imprecision",
    "render",
    "table",
]
