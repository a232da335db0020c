"""Measures of uncertainty: formulas that combine queries of credal sets."""

from credalens.measures.dirichlet import quantify_dirichlet
from credalens.measures.distance import (
    aleatoric_uncertainty,
    epistemic_uncertainty,
    total_uncertainty,
)
from credalens.measures.entropy import lower_entropy, upper_entropy
from credalens.measures.hartley import generalized_hartley
from credalens.measures.imprecision import imprecision_bound, maximum_mean_imprecision
from credalens.measures.information import (
    expected_entropy,
    mutual_information,
    predictive_entropy,
)
from credalens.measures.multilabel import quantify_multilabel
from credalens.measures.quantify import quantify
from credalens.measures.results import ComponentErrors, Interval, Uncertainty, summarize
from credalens.measures.volume import volume

__all__ = [
    "ComponentErrors",
    "Interval",
    "Uncertainty",
    "aleatoric_uncertainty",
    "epistemic_uncertainty",
    "expected_entropy",
    "generalized_hartley",
    "imprecision_bound",
    "lower_entropy",
    "maximum_mean_imprecision",
    "mutual_information",
    "predictive_entropy",
    "quantify",
    "quantify_dirichlet",
    "quantify_multilabel",
    "summarize",
    "total_uncertainty",
    "upper_entropy",
    "volume",
]
