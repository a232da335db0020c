"""Measures of uncertainty: formulas that put questions to credal sets."""

from credalens.measures.distance import (
    aleatoric_uncertainty,
    epistemic_uncertainty,
    total_uncertainty,
)
from credalens.measures.entropy import lower_entropy, upper_entropy
from credalens.measures.hartley import generalized_hartley
from credalens.measures.imprecision import imprecision_bound, maximum_mean_imprecision
from credalens.measures.interval import Interval, summarize
from credalens.measures.quantify import quantify
from credalens.measures.uncertainty import Uncertainty

__all__ = [
    "Interval",
    "Uncertainty",
    "aleatoric_uncertainty",
    "epistemic_uncertainty",
    "generalized_hartley",
    "imprecision_bound",
    "lower_entropy",
    "maximum_mean_imprecision",
    "quantify",
    "summarize",
    "total_uncertainty",
    "upper_entropy",
]
