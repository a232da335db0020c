"""scikit-learn classifiers and regressors that predict credal sets (needs scikit-learn)."""

from credalens._extras import require

require("sklearn", "sklearn")

from credalens.evaluation import make_selective_scorer  # noqa: E402
from credalens.predictors.conformal import ConformalCredalClassifier  # noqa: E402
from credalens.predictors.decalibration import DecalibrationClassifier  # noqa: E402
from credalens.predictors.ensemble import CredalEnsembleClassifier, CredalWrapperClassifier  # noqa: E402
from credalens.predictors.ensembling import CredalEnsemblingClassifier  # noqa: E402
from credalens.predictors.forests import random_forests  # noqa: E402
from credalens.predictors.multilabel import CredalMultilabelClassifier, multioutput_members  # noqa: E402
from credalens.predictors.regression import CredalEnsembleRegressor  # noqa: E402
from credalens.predictors.relative_likelihood import RelativeLikelihoodClassifier  # noqa: E402
from credalens.predictors.repaired import RepairedEnsemble  # noqa: E402

__all__ = [
    "ConformalCredalClassifier",
    "CredalEnsembleClassifier",
    "CredalEnsembleRegressor",
    "CredalEnsemblingClassifier",
    "CredalMultilabelClassifier",
    "CredalWrapperClassifier",
    "DecalibrationClassifier",
    "RelativeLikelihoodClassifier",
    "RepairedEnsemble",
    "make_selective_scorer",
    "multioutput_members",
    "random_forests",
]
