"""Parts of the reference that are read off the package when the pages are made.

``.. command:: score`` describes a command of the command line: its words, arguments, options and
examples. Its option ``:only:`` names a group of options that several commands share and shows
these alone, ``:without:`` leaves such groups out. ``.. measures::`` lists the table of measures.
"""

from __future__ import annotations

import dataclasses
import re

import typer
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from credalens.axioms import MEASURES
from credalens.cli import app
from credalens.cli.inputs import Inputs, Manners, Measuring

SHARED = {"inputs": Inputs, "measuring": Measuring, "manners": Manners}


class _Written(SphinxDirective):
    """A directive that writes reStructuredText."""

    def parsed(self, lines):
        """Return the nodes of the text."""
        found = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.name), self.content_offset, found)
        return found.children


class Command(_Written):
    """What ``--help`` says of a command, with links to its options."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"only": directives.unchanged, "without": directives.unchanged}  # noqa: RUF012

    def run(self):
        """Return words, options and examples."""
        words = self.arguments[0].split()
        command = typer.main.get_command(app)
        for word in words:
            command = command.commands[word]
        context = typer.Context(command, info_name=" ".join(["credalens", *words]))
        chosen, left_out = (_names(self.options.get(key)) for key in ("only", "without"))
        shown = [
            param for param in command.params
            if (param.name in chosen if chosen else param.name not in left_out)
        ]  # fmt: skip
        lines = [".. program:: " + ("credalens" if chosen else context.info_name), ""]
        if not chosen:
            lines += _literal(command.get_usage(context).removeprefix("Usage: "))
            lines += _paragraphs(command.help)
        for param in shown:
            name, said = param.get_help_record(context) or ("", "")
            if name:
                lines += [f".. option:: {_plain(name)}", "", f"   {_escaped(said)}", ""]
        if not chosen:
            lines += _examples(command.epilog)
        return self.parsed(lines)


class Measures(_Written):
    """The table of measures, with what is claimed of each."""

    def run(self):
        """Return the table."""
        lines = [".. list-table::", "   :header-rows: 1", ""]
        rows = [("measure", "keeps", "breaks")]
        rows += [(f"``{m.name}``", ", ".join(sorted(m.claims)), ", ".join(m.fails))
                 for m in MEASURES.values()]  # fmt: skip
        for row in rows:
            lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
        return self.parsed(lines)


def _names(groups):
    kinds = (SHARED[group] for group in (groups or "").split())
    return {field.name for kind in kinds for field in dataclasses.fields(kind)}


def _plain(name):
    """Return the names of an option, and the kind of its value in capitals, as in a manual."""
    return re.sub(r"<([a-z]+)[^>]*>+", lambda kind: kind[1].upper(), re.sub(" <list.*", "", name))


def _escaped(text):
    """Return text of the command line as reStructuredText: options in code font."""
    text = re.sub(r"([\\*`|_])", r"\\\1", text.replace("  [", " ["))
    return re.sub(r"(?<![\w-])(--?[a-z][\w\\-]*)", lambda name: f"``{name[1]}``", text)


def _paragraphs(text):
    parts = re.split(r"\n\s*\n", text or "")
    return [line for part in parts for line in (_escaped(" ".join(part.split())), "")]


def _literal(*commands):
    return [".. code-block:: sh", "", *(f"   {line}" for line in commands), ""]


def _examples(epilog):
    """Return the examples of a command, which its help ends with, and what else is told there."""
    said, commands = [], []
    for part in re.split(r"\n\s*\n", epilog or ""):
        part = re.sub(r"^Examples?:\s*", "", " ".join(part.split()))
        if re.match(r"(credalens|\w+ [^ ]+ \|) ?", part):
            commands += [one.strip() for one in part.split("; ")]
        elif part:
            said.append(_escaped(part))
    return [*(_literal(*commands) if commands else []), *said]


def setup(app):
    """Add the directives."""
    app.add_directive("command", Command)
    app.add_directive("measures", Measures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
