"""The command group, which imports the module of a command when the command is used.

The module of a command defines a function ``command``, whose docstring and parameters are its help
and its options, and ``EXAMPLES``, printed below the options. A group of commands defines ``app``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from credalens.cli.command_context import command_context

#: Settings of all commands.
SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}


class LazyGroup(TyperGroup):
    """Commands in the modules of `package`, imported on first use."""

    package: ClassVar[str]
    #: Names of the commands and one line of help each; None takes the line from the module.
    summaries: ClassVar[dict[str, str | None]]

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.summaries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command."""
        if cmd_name in self.summaries and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(
                f"{self.package}.{cmd_name.replace('-', '_')}", cmd_name
            )
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, without importing those whose summary is known."""
        with formatter.section("Commands"):
            formatter.write_dl([
                (name, summary or self.get_command(ctx, name).get_short_help_str(100))
                for name, summary in self.summaries.items()
            ])  # fmt: skip


def _load(module_name: str, name: str) -> Any:
    from credalens.cli.options import expand_groups

    module = import_module(module_name)
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, **SETTINGS)
        app.command(name, epilog=module.EXAMPLES)(expand_groups(module.command))
    return typer.main.get_command(app)


class _Commands(LazyGroup):
    package = "credalens.cli"
    summaries: ClassVar[dict[str, str | None]] = {
        "demo": "Show the library at work on handwritten digits, in a minute.",
        "score": "Compute the uncertainty of every row of prediction files.",
        "report": "Write an HTML report on the uncertainty of the models.",
        "evaluate": "Evaluate how well each score finds the errors.",
        "validate": "Check whether the models and their credal set can be trusted.",
        "diagnose": "Find models that distort the uncertainty.",
        "decide": "Decide for every row: an action, and the labels that remain possible.",
        "map": "Write maps of the uncertainty of segmentation models.",
        "pick": "List the rows to hand to a person, with reasons.",
        "compare": "Compare two ensembles on the same rows, or one without some models.",
        "serve": "Apply a policy to the predictions of HTTP requests.",
        "monitor": "Compare new scores with a reference; exit with code 3 on an alarm.",
        "explore": "Write a page on which predictions are moved and measured.",
        "axioms": "Search for credal sets on which a measure violates an axiom.",
        "doctor": "Print versions, instruction set, threads and installed extras.",
        "reproduce": "Reproduce the tables and figures of the paper.",
        "predict": "Write the predictions of pre-trained networks.",
    }

    def invoke(self, ctx: Any) -> Any:
        """Run a command; errors before its own context starts are reported in one line too."""
        with command_context(debug="--debug" in sys.argv):
            return super().invoke(ctx)


app = typer.Typer(
    name="credalens",
    cls=_Commands,
    help="Total, aleatoric and epistemic uncertainty of the predictions of several models.",
    epilog="Examples: credalens demo; credalens score model_1.npy model_2.csv -o scores.csv; "
    "credalens report model_*.npy --labels truth.csv",
    no_args_is_help=True,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS,
)


def main() -> None:
    """Run the command line; errors while help is printed are reported in one line too."""
    try:
        with command_context(debug="--debug" in sys.argv):
            app()
    except typer.Exit as stop:
        raise SystemExit(stop.exit_code) from None


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"credalens {version('credalens')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass
