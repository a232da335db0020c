"""All commands as one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from credalens.cli import axioms, demo, doctor, evaluate, pick, report, score
from credalens.cli.conduct import conduct
from credalens.experiments.commands import predict, reproduce


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run a command; what happens before its own conduct begins is told in one line too."""
        with conduct(debug="--debug" in sys.argv):
            return super().invoke(ctx)


app = typer.Typer(
    name="credalens",
    cls=_Commands,
    help="Total, aleatoric and epistemic uncertainty of what several models predict.",
    epilog="Examples: credalens demo; credalens score model_1.npy model_2.csv -o scores.csv; "
    "credalens report model_*.npy --labels truth.csv",
    no_args_is_help=True,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; help and versions are printed with the conduct of the commands."""
    try:
        with conduct(debug="--debug" in sys.argv):
            app()
    except typer.Exit as stop:
        raise SystemExit(stop.exit_code) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"credalens {version('credalens')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Say the version and stop."
        ),
    ] = False,
) -> None:
    pass


for _command in (demo, score, report, evaluate, pick, axioms, doctor):
    _command.register(app)
app.add_typer(reproduce, name="reproduce")
app.add_typer(predict, name="predict")
