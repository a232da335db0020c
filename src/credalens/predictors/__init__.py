"""Where credal sets come from."""

from credalens.predictors.forests import random_forests

__all__ = ["random_forests"]
