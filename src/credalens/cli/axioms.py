"""``credalens axioms``: the axioms that each measure satisfies."""

from __future__ import annotations

from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note

EXAMPLES = "Example: credalens axioms --measures total,upper_entropy --classes 3"


def command(
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "--measure",
            help="Names in the measure table, separated by commas; may be repeated.",
            show_default="all",
        ),
    ] = None,
    classes: Annotated[int, typer.Option(min=2, help="Number of classes of the sets.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also check dominance, translation, mmi and permutation."),
    ] = False,
) -> None:
    """Search for credal sets on which a measure violates the axioms of the paper.

    The search is adversarial and seeded; "yes" means that it found no violation. For a single
    measure, the counterexamples are printed in a form that can be pasted into Python.
    """
    from credalens import axioms as checks

    names = [name.strip() for part in measures or () for name in part.split(",")]
    with command_context():
        reports = checks.table(
            names or None,
            n_classes=classes,
            random_state=seed,
            axioms="all" if every else "A1-A5",
        )
        typer.echo(str(reports[0]) if len(reports) == 1 else checks.render(reports))
        failing = next((report.measure for report in reports if report.failed), None)
        if len(reports) > 1 and failing is not None:
            note(f"credalens axioms --measures {failing} prints the counterexamples.")
