"""PyTorch networks that predict credal sets (needs PyTorch)."""

from credalens._extras import require

require("torch", "torch")

from credalens.predictors.torch.bayesian import CredalBayesianEnsemble, make_bayesian  # noqa: E402
from credalens.predictors.torch.dropout import MCDropout  # noqa: E402
from credalens.predictors.torch.ensemble import DeepEnsemble  # noqa: E402
from credalens.predictors.torch.interval_head import (  # noqa: E402
    CredalDeepEnsemble,
    IntervalHead,
    interval_bounds,
    interval_loss,
)
from credalens.predictors.torch.relative_likelihood import RelativeLikelihoodEnsemble  # noqa: E402

__all__ = [
    "CredalBayesianEnsemble",
    "CredalDeepEnsemble",
    "DeepEnsemble",
    "IntervalHead",
    "MCDropout",
    "RelativeLikelihoodEnsemble",
    "interval_bounds",
    "interval_loss",
    "make_bayesian",
]
