"""The axioms A1-A5 of the paper: which measure of the package satisfies which, with examples."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from credalens import axioms
from credalens.axioms import MEASURES, Report
from credalens.experiments.output import (
    Cell,
    Section,
    Table,
    bullets,
    heading,
    provenance,
    write_csv,
    write_text,
)

#: The columns; A5 is A5a and A5b.
AXIOMS = ("A1", "A2", "A3", "A4", "A5a", "A5b")
#: What the paper proves of its own measures and states of the baselines, by measure. The measures
#: of the paper satisfy those for any distance; here they are listed for total variation.
PAPER: dict[str, tuple[str, ...]] = {
    "total": ("A1", "A2", "A3", "A4", "A5a", "A5b"),
    "epistemic": ("A1", "A2", "A3", "A4", "A5a", "A5b"),
    "aleatoric_lower": ("A1", "A2", "A4", "A5a", "A5b"),
    "aleatoric_upper": ("A1", "A2", "A3", "A4"),
    "upper_entropy": ("A1", "A2", "A3", "A4"),
}


def run(
    out: Path,
    *,
    measures: Iterable[str] | None = None,
    classes: int = 4,
    seed: int = 0,
    command: str = "",
    advance: Callable[[str], None] = lambda name: None,
) -> str:
    """Check all measures, write ``axioms.md`` and ``axioms.csv``, and return the table as text."""
    reports = []
    for name in MEASURES if measures is None else measures:
        reports.append(axioms.check(name, n_classes=classes, random_state=seed))
        advance(name)
    table, summary, notes = as_table(reports), sentences(reports), conventions(classes, seed)
    sections = [
        Section("Axioms", notes=[f"{name}: {statement}." for name, statement in _stated(reports)]),
        Section("Measures", [table]),
    ]
    parts = [heading("axioms", figure=False), bullets(summary), *(s.markdown() for s in sections)]
    parts += [examples(reports), f"## Notes\n\n{bullets([*notes, *provenance(command)])}"]
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "axioms.md", "\n\n".join(parts) + "\n")
    rows = [[one.measure, *(_held(one, name) for name in AXIOMS)] for one in reports]
    write_csv(out / "axioms.csv", ("measure", *AXIOMS), rows)
    return "\n\n".join([table.text(), "\n".join([*summary, *notes, *provenance(command)])])


def _held(report: Report, axiom: str) -> str:
    return {None: "", True: "yes", False: "no"}[report[axiom].held]


def _stated(reports: Sequence[Report]) -> list[tuple[str, str]]:
    return [(name, reports[0][name].statement) for name in AXIOMS]


def as_table(reports: Sequence[Report]) -> Table:
    """Return the table; bold: a violation that the paper excludes."""
    title = "Axioms without a violation on the sets that were tried"
    table = Table(title, ("measure", *AXIOMS), n_text=1)
    for report in reports:
        paper = PAPER.get(report.measure, ())
        cells = (Cell(_held(report, a), a in paper and not report[a].held) for a in AXIOMS)
        table.add(f"`{report.measure}`", *cells)
    return table


def sentences(reports: Sequence[Report]) -> list[str]:
    """Return which measures satisfy all axioms, and whether the paper's statements hold."""
    all_of_them = [one.measure for one in reports if not one.failed and one["A5b"].held]
    lines = [
        f"Of {len(reports)} measures, {len(all_of_them)} satisfy A1 to A5 on every set that was "
        f"tried: {_listed(all_of_them)}."
    ]
    counts = ", ".join(
        f"{name} {sum(one[name].held is False for one in reports)}" for name in AXIOMS
    )
    lines.append(f"Measures that violate an axiom: {counts}.")
    known = [one for one in reports if one.measure in PAPER]
    broken = [
        f"{one.measure} {name}" for one in known for name in PAPER[one.measure]
        if one[name].held is False
    ]  # fmt: skip
    if known and not broken:
        lines.append(
            "What the paper states of its measures and of the upper entropy is confirmed: "
            f"no violation was found for {_listed([one.measure for one in known])}."
        )
    elif broken:
        lines.append(f"Violated although the paper states them: {_listed(broken)}.")
    return lines


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def conventions(classes: int, seed: int) -> list[str]:
    """Return what the search does."""
    return [
        f"A seeded search (seed {seed}) for counterexamples over {classes} classes; a violation is "
        "confirmed and simplified. `yes` means that none was found, which is evidence and not a "
        "proof. Empty: the axiom does not apply to the measure.",
        "A5 is checked in two parts: A5a, the value does not depend on the generators of the set; "
        "A5b, it is attained at an extreme point.",
        "`hartley_residual` is negative for some sets over more classes, see the "
        "[findings](findings.md).",
        "`credalens axioms --measures NAME` repeats the search for one measure. The tests of the "
        "package run the counterexamples on this page.",
    ]


def examples(reports: Sequence[Report]) -> str:
    """Return the counterexamples as doctests in Markdown."""
    parts = [
        "## Counterexamples",
        "```python\n>>> import numpy as np\n>>> import credalens as cl\n\n```",
    ]
    for report in reports:
        failed = [name for name in report.failed if name in AXIOMS]
        if failed:
            parts.append(f"### {report.measure}")
        for name in failed:
            example = report[name].counterexample
            if example is not None:
                code = as_doctest(example.code)
                parts.append(f"{name}: {example.summary()}.\n\n```python\n{code}\n\n```")
    return "\n\n".join(parts)


def as_doctest(code: str) -> str:
    """Return code that sets ``violated`` as a doctest that shows it."""
    lines = code.split("\n")
    found = []
    for statement in ast.parse(code).body:
        first, *others = lines[statement.lineno - 1 : statement.end_lineno]
        if first.startswith("print("):
            continue  # the values are in the sentence above
        found += [f">>> {first}", *(f"... {line}" for line in others)]
    return "\n".join([*found, ">>> bool(violated)", "True"])
