"""A self-contained HTML page on which the predictions for one instance are moved."""

from credalens.explore.output import write

__all__ = ["write"]
