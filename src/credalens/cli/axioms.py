"""``credalens axioms``: which axioms a measure keeps."""

from __future__ import annotations

from typing import Annotated

import typer

from credalens.cli.conduct import conduct, note


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        epilog="Example: credalens axioms --measures total,upper_entropy --classes 3",
        short_help="Look for sets on which a measure breaks an axiom.",
    )(axioms)


def axioms(
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "--measure",
            help="Rows of the measure table: a,b,c, or one at a time.",
            show_default="all",
        ),
    ] = None,
    classes: Annotated[int, typer.Option(min=2, help="Number of classes of the sets.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also dominance, translation, mmi, permutation."),
    ] = False,
) -> None:
    """Look for credal sets on which a measure breaks the paper's axioms.

    A seeded adversarial search, so "yes" means that no violation was found. With one measure the
    counterexamples are printed, ready to be pasted into Python.
    """
    from credalens import axioms as checks

    names = [name.strip() for part in measures or () for name in part.split(",")]
    with conduct():
        reports = checks.table(
            names or None,
            n_classes=classes,
            random_state=seed,
            axioms="all" if every else "A1-A5",
        )
        typer.echo(str(reports[0]) if len(reports) == 1 else checks.render(reports))
        fails = next((report.measure for report in reports if report.failed), None)
        if len(reports) > 1 and fails is not None:
            note(f"credalens axioms --measures {fails} prints the sets on which it fails.")
