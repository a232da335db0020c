"""The section on the calibration of the models and of their credal set."""

from __future__ import annotations

from typing import Any

from credalens._html import truncate
from credalens.report.data import ReportData
from credalens.report.markup import Markup, tag, user_text
from credalens.report.sections import chart, section, table
from credalens.report.summary_text import counted, level, number, percent
from credalens.report.trust import CONFIDENCE, Trust

#: The command that recalibrates the models.
NEXT_STEP = "credalens validate FILES --fix temperature -o calibrated"


def trust_section(data: ReportData) -> Markup | None:
    """Return the verdict on each model, the reliability diagram, coverage and the next step."""
    found = data.trust
    if found is None:
        return None
    caption = (
        "Credal reliability diagram of the top label of the mean: accuracy (points, with "
        "intervals) against probability, in bins of equal width. The boxes are the bands from the "
        "mean lower to the mean upper probability; on the dashed line, "
        "accuracy equals probability. A wide band is compatible with most accuracies."
    )
    return section(
        "trust", "Can it be trusted?",
        tag("p", _models_text(found), " ", _band_text(found), _class="lead"),
        None if found.covered is None else tag("p", _coverage_text(found), _class="lead"),
        _next_step(found),
        tag("div", tag("div", _models(data, found)), chart("trust", caption), _class="panels two"),
    )  # fmt: skip


def _models_text(found: Trust) -> str:
    counts = []
    for verdict in ("calibrated", "overconfident", "underconfident"):
        count = found.verdicts.count(verdict)
        if count:
            counts.append(f"{number(count)} {'is' if count == 1 else 'are'} {verdict}")
    if len(counts) == 1:
        return f"All {counted(len(found.models), 'model')} are {found.verdicts[0]}."
    listed = f"{', '.join(counts[:-1])} and {counts[-1]}"
    return f"Of {counted(len(found.models), 'model')}, {listed}."


def _band_text(found: Trust) -> str:
    top = found.top
    bins, inside = len(top.n), len(top.n) - top.n_outside
    return (
        f"The accuracy of the top label of their mean is compatible with the band of the credal "
        f"set in {inside} of {counted(bins, 'bin')}; the expected calibration error (ECE) of the "
        f"mean is {top.ece:.4f}, the credal ECE, i.e. the mean distance to the band, is "
        f"{top.credal_ece:.4f}."
    )


def _coverage_text(found: Trust) -> str:
    covered, n = found.covered or (0, 1)
    low, high = found.coverage_interval
    return (
        f"Of {counted(n, 'label distribution')}, {number(covered)} ({percent(covered, n)}) lie in "
        f"their credal set ({level(CONFIDENCE)} interval {100 * low:.1f} to {100 * high:.1f} %)."
    )


def _next_step(found: Trust) -> Markup | None:
    if set(found.verdicts) == {"calibrated"}:
        return None
    return tag("p", "Next step: ", tag("code", NEXT_STEP), " tests the models further, "
               "recalibrates them and writes their predictions.", _class="lead")  # fmt: skip


def _models(data: ReportData, found: Trust) -> Markup:
    rows: list[list[Any]] = [
        [user_text(truncate(name)), verdict, f"{100 * one.frequency:.2f} %",
         f"{100 * one.mean_center:.2f} %", f"{one.ece:.4f}"]
        for name, one, verdict in zip(data.config.names, found.models, found.verdicts, strict=True)
    ]  # fmt: skip
    note = (
        "Confidence: mean probability of the top label. A model is calibrated if, in every bin of "
        "its confidence, the exact (Clopper-Pearson) interval of the accuracy contains the mean "
        f"confidence; the intervals of a model hold together with {level(CONFIDENCE)} confidence. "
        "Few rows give wide intervals. Use rows that the models were not trained on."
    )
    head = ["model", "verdict", "accuracy", "confidence", "ECE"]
    return tag("div", table(head, rows, "numbers"), tag("p", note, _class="note"))
