"""A self-contained HTML report on the uncertainty of an ensemble."""

from credalens.report.output import write

__all__ = ["write"]
