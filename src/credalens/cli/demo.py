"""``credalens demo``: what an ensemble does not know, in a minute."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import conduct, note

if TYPE_CHECKING:
    from credalens.experiments.demo import Demo
    from credalens.experiments.demo_ordinal import OrdinalDemo


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        epilog="Example: credalens demo -o /tmp/demo --seed 1",
        short_help="Show it at work on handwritten digits, in a minute.",
    )(demo)


def demo(
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            "--out",
            help="Folder for the report, scores, predictions and pictures.",
            file_okay=False,
        ),
    ] = Path("credalens-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and the forests.")] = 0,
    distance: Annotated[
        str, typer.Option(help="tv, or ordinal for a dataset with ordered classes.")
    ] = "tv",
) -> None:
    """Train ten forests on handwritten digits and show what they do not know.

    Splits scikit-learn's digits 70/30, measures the test part, prints how well each measure finds
    the errors, and writes scores.csv, rejection_curves.png, simplex.png, a folder of predictions on
    which to try the other commands and, to look at first, report.html. With --distance ordinal the
    classes are five grades of diabetes, and ordinal.png shows where the order matters.
    """
    if distance == "ordinal":
        from credalens.experiments import demo_ordinal

        with conduct(), _Progress() as track:
            _print_ordinal(demo_ordinal.run(out, seed, track))
        return
    if distance != "tv":
        raise typer.BadParameter(f"{distance!r} is not one of tv, ordinal", param_hint="--distance")
    from credalens.experiments.demo import run

    with conduct(), _Progress() as track:
        result = run(out, seed, track)
    _print_demo(result)


def _print_ordinal(result: OrdinalDemo) -> None:
    from rich.console import Console
    from rich.table import Table

    from credalens.experiments.demo_ordinal import REJECTED

    table = Table(title=f"Mean error in grades, {result.n_test} patients, most uncertain rejected")
    table.add_column("uncertainty")
    table.add_column("distance")
    for share in REJECTED:
        table.add_column(f"{share:.0%} rejected", justify="right")
    for (component, distance), errors in sorted(result.errors.items()):
        table.add_row(component, distance, *(f"{error:.3f}" for error in errors))
    console = Console(markup=False, emoji=False)
    console.print(table)
    console.print(f"Rank correlation of the two epistemic uncertainties: {result.correlation:.3f}")
    for path in result.files:
        note(f"wrote {path}")


def _print_demo(result: Demo) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Rejecting the most uncertain of {result.n_test} digits first")
    for name in ("uncertainty", "measure", "AUC", "MR", "time"):
        table.add_column(name, justify="left" if name in ("uncertainty", "measure") else "right")
    words = {"TU": "total", "AU": "aleatoric", "EU": "epistemic"}
    for i, row in enumerate(result.rows):
        first = i == 0 or result.rows[i - 1].component != row.component
        if first and i:
            table.add_section()
        table.add_row(
            words[row.component] if first else "",
            row.family + (" (interval)" if (row.component, row.family) == ("AU", "tv") else ""),
            f"{row.curve.auc:.4f}",
            f"{row.curve.monotonicity_ratio:.2f}",
            f"{1e3 * row.seconds:.2f} ms",
        )
    table.add_section()
    auc = np.mean([curve.auc for curve in result.random])
    ratio = np.mean([curve.monotonicity_ratio for curve in result.random])
    table.add_row(
        "", f"random order, mean of {len(result.random)}", f"{auc:.4f}", f"{ratio:.2f}", ""
    )
    table.add_row("", "oracle order, errors first", f"{result.oracle.auc:.4f}",
                  f"{result.oracle.monotonicity_ratio:.2f}", "")  # fmt: skip
    console = Console(markup=False, emoji=False)
    console.print(f"Accuracy of the vote: {result.accuracy:.4f}")
    console.print(table)
    console.print("AUC: area under accuracy against share rejected, 1 is perfect.")
    console.print("MR: share of the curve's steps that do not lose accuracy.")
    healthy, spoilt = result.diagnosis, result.spoilt
    console.print(f"Diagnosis: mean TU {healthy.mean_total:.2f}; {'; '.join(healthy.notes)}.")
    console.print(
        f"With a constant member added: mean TU {spoilt.mean_total:.2f}; {spoilt.notes[0]}."
    )
    for path in result.files:
        note(f"wrote {path}")
    if all(path.name != "report.html" for path in result.files):
        from credalens.report.library import NEEDED

        note(f"no report.html: {NEEDED}")


class _Progress:
    """A progress bar on a terminal, nothing in a pipe."""

    def __enter__(self) -> Callable[[Iterable[Any], str], Iterable[Any]]:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self._bar = Progress(console=console, transient=True, disable=not sys.stderr.isatty())
        self._bar.start()
        return self._track

    def _track(self, items: Iterable[Any], what: str) -> Iterator[Any]:
        yield from self._bar.track(list(items), description=what)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
