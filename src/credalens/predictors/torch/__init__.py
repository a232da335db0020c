"""Networks in PyTorch that predict credal sets (``pip install 'credalens[torch]'``)."""

try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise ModuleNotFoundError(
        "credalens.predictors.torch needs PyTorch: pip install 'credalens[torch]'", name="torch"
    ) from None

from credalens.predictors.torch.bayesian import CredalBayesianEnsemble, make_bayesian
from credalens.predictors.torch.deep_ensemble import DeepEnsemble
from credalens.predictors.torch.dropout import MCDropout
from credalens.predictors.torch.interval_head import (
    CredalDeepEnsemble,
    IntervalHead,
    interval_bounds,
    interval_loss,
)
from credalens.predictors.torch.relative_likelihood import RelativeLikelihoodEnsemble

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
