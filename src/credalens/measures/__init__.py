"""Measures of uncertainty: formulas that put questions to credal sets."""

from credalens.measures.distance import (
    aleatoric_uncertainty,
    epistemic_uncertainty,
    total_uncertainty,
)
from credalens.measures.interval import Interval
from credalens.measures.quantify import Uncertainty, quantify

__all__ = [
    "Interval",
    "Uncertainty",
    "aleatoric_uncertainty",
    "epistemic_uncertainty",
    "quantify",
    "total_uncertainty",
]
