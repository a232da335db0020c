"""The last section: measures, errors, versions and computation time."""

from __future__ import annotations

import platform
from datetime import datetime
from importlib.metadata import version
from typing import Any

from credalens import _kernels
from credalens._backend import get_num_threads
from credalens.measures.hartley import is_sampled
from credalens.report import vega_bundle
from credalens.report.data import ReportData
from credalens.report.markup import Markup, join, tag
from credalens.report.ranking import family_label
from credalens.report.sections import section, table
from credalens.report.summary_text import counted

#: Description of total, aleatoric and epistemic uncertainty of each family.
MEANINGS = {
    "tv": (
        "risk of the best decision under the worst plausible model",
        "the interval of the risks that the plausible models assign to their own decisions",
        "half the largest distance between two models",
    ),
    "entropy": (
        "largest entropy in the credal set, in bits",
        "smallest entropy in the credal set",
        "their difference",
    ),
    "hartley": (
        "largest entropy in the credal set, in bits",
        "TU minus EU; may be negative for many classes",
        "generalized Hartley measure: imprecision of the lower probabilities of all events",
    ),
}


def method_section(data: ReportData, seconds: float) -> Markup:
    """Return the last section; `seconds` is the time since the first row was read."""
    rows: list[list[Any]] = []
    for family in data.families:
        meanings = zip(("TU", "AU", "EU"), MEANINGS[family], strict=True)
        items = [tag("li", tag("b", symbol), f": {text}") for symbol, text in meanings]
        meaning = tag("ul", *items, _class="meanings")
        rows.append([family_label(data, family), meaning, _error(data, family)])
    notes = [
        "A credal set is the convex hull of the predictions of the models for one input. The "
        "prediction is their majority vote; ties are resolved by the mean probability.",
        f"Counts, medians, accuracies and curves include {counted(data.n, 'prediction')}. Marks on "
        "the map and rows of the table are samples where stated.",
    ]
    if "hartley" not in data.families:
        notes.append(
            "The Hartley family was not computed, since its cost grows quickly with the number of "
            "classes; pass --measures tv,entropy,hartley, or measures=[...] in Python."
        )
    took = f"{1e3 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
    versions = (
        f"Written on {datetime.now().astimezone():%Y-%m-%d %H:%M %Z} in {took} by credalens "
        f"{version('credalens')}, numpy {version('numpy')}, Python {platform.python_version()}, "
        f"{_kernels.instruction_set()}, {get_num_threads()} threads. "
        f"Charts: {vega_bundle.describe()}."
    )
    return section(
        "method", "Method",
        table(["measure", "meaning", "largest error"], rows, "measures"),
        join(tag("p", note) for note in notes),
        tag("p", versions, _class="note"),
    )  # fmt: skip


def _error(data: ReportData, family: str) -> str:
    error = data.families[family].error
    if family == "hartley" and is_sampled(data.config.n_classes):
        return f"{error:.1e} bits, a standard error: sampled"
    unit = "" if family == "tv" else " bits"
    return f"{error:.1e}{unit}, certified" if error else "0, certified"
