"""Monitoring: whether new scores are distributed as before, and guarantees still hold."""

from credalens.monitor.check import Change, MonitorResult, TargetCheck, check
from credalens.monitor.sequential import evidence_over_time, log_evidence
from credalens.monitor.significance import (
    category_pvalue,
    distribution_pvalue,
    holm,
    hypergeometric_pvalue,
)
from credalens.monitor.sketch import ScoreSketch

__all__ = [
    "Change",
    "MonitorResult",
    "ScoreSketch",
    "TargetCheck",
    "category_pvalue",
    "check",
    "distribution_pvalue",
    "evidence_over_time",
    "holm",
    "hypergeometric_pvalue",
    "log_evidence",
]
