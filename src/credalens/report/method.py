"""How the page was computed: measures, errors, versions and the time it took."""

from __future__ import annotations

import platform
from datetime import datetime
from importlib.metadata import version
from typing import Any

from credalens import _kernels
from credalens._arrays import num_threads
from credalens.report.charts import family_words
from credalens.report.data import Findings
from credalens.report.markup import Markup, join, tag
from credalens.report.sections import section, table
from credalens.report.story import counted

#: Family to its components with one line each; what stands for the total, aleatoric, epistemic.
MEANINGS = {
    "tv": (
        ("TU", "risk of the best decision under the worst plausible model"),
        ("AU", "the interval of the risks that the plausible models see for themselves"),
        ("EU", "half the largest distance between two models"),
    ),
    "entropy": (
        ("TU", "largest entropy in the credal set, in bits"),
        ("AU", "smallest entropy in the credal set"),
        ("EU", "their difference"),
    ),
    "hartley": (
        ("TU", "largest entropy in the credal set, in bits"),
        ("AU", "what is left of it after EU; may be negative for many classes"),
        ("EU", "generalized Hartley measure: how many classes the models leave possible"),
    ),
}


def method_section(found: Findings, seconds: float) -> Markup:
    """Return the last section; `seconds` is the time from the first row to here."""
    rows: list[list[Any]] = []
    for family in found.families:
        meaning = tag("ul", *(tag("li", tag("b", short), f": {words}")
                              for short, words in MEANINGS[family]), _class="meanings")  # fmt: skip
        rows.append([family_words(found, family), meaning, _error(found, family)])
    notes = [
        "A credal set is the convex hull of what the models predict for one input; the prediction "
        "is their majority vote, ties by mean probability.",
        f"Counts, medians, accuracies and curves are of {counted(found.n, 'prediction')}. Marks on "
        "the map and rows of the table are samples where it says so.",
    ]
    if "hartley" not in found.families:
        notes.append(
            "The Hartley family was left out, as it grows fast with the number of classes; ask "
            "for it by --measures tv,entropy,hartley, in Python by measures=[...]."
        )
    return section(
        "method", "How it was computed",
        table(["measure", "meaning", "largest error"], rows, "measures"),
        join(tag("p", note) for note in notes),
        tag("p", _versions(found, seconds), _class="note"),
    )  # fmt: skip


def _error(found: Findings, family: str) -> str:
    error = found.families[family].error
    if family == "hartley" and error > 1e-6:
        return f"{error:.1e} bits, a standard error: sampled"
    unit = "" if family == "tv" else " bits"
    return f"{error:.1e}{unit}, certified" if error else "0, certified"


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _versions(found: Findings, seconds: float) -> str:
    named = ", ".join(f"{name} {version(name)}" for name in ("credalens", "numpy"))
    from credalens.report.library import describe

    return (
        f"Written on {datetime.now().astimezone():%Y-%m-%d %H:%M %Z} in {_seconds(seconds)} by "
        f"{named}, Python {platform.python_version()}, {_kernels.instruction_set()}, "
        f"{num_threads()} threads. Charts: {describe()}."
    )
