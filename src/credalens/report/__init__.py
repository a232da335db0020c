"""One HTML file that shows what an ensemble knows and what it does not."""

from credalens.report.writing import write

__all__ = ["write"]
