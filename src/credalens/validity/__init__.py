"""Whether credal sets can be trusted: sets with a coverage guarantee."""

from credalens.validity.conformal import SCORES, ConformalSets, conformal

__all__ = ["SCORES", "ConformalSets", "conformal"]
