"""Where credal sets come from: classifiers for scikit-learn that predict them."""

from credalens.predictors.ensemble import CredalEnsembleClassifier
from credalens.predictors.ensembling import CredalEnsemblingClassifier
from credalens.predictors.forests import random_forests
from credalens.predictors.relative_likelihood import RelativeLikelihoodClassifier
from credalens.predictors.wrapper import CredalWrapperClassifier

__all__ = [
    "CredalEnsembleClassifier",
    "CredalEnsemblingClassifier",
    "CredalWrapperClassifier",
    "RelativeLikelihoodClassifier",
    "random_forests",
]
