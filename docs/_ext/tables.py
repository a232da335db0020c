"""Parts of the reference that are generated from the package.

``.. command:: score`` documents a command: its help, arguments, options and examples. Its option
``:only:`` selects a group of options that several commands share, ``:without:`` excludes such
groups. ``.. measures::`` lists the table of measures, ``.. primitives::`` what each array backend
supports per primitive.
"""

from __future__ import annotations

import dataclasses
import re

import typer
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from primitive_table import HEADER, tables
from sphinx.util.docutils import SphinxDirective

from credalens.axioms import MEASURES
from credalens.cli import app
from credalens.cli.options import CommonOptions, EnsembleInputs, Inputs, MeasureOptions

SHARED = {
    "inputs": Inputs,
    "ensemble": EnsembleInputs,
    "measures": MeasureOptions,
    "common": CommonOptions,
}


class _GeneratedDirective(SphinxDirective):
    """A directive that generates reStructuredText."""

    def parsed(self, lines):
        """Return the nodes of the text."""
        parent = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.name), self.content_offset, parent)
        return parent.children


class Command(_GeneratedDirective):
    """The help of a command, with links to its options."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"only": directives.unchanged, "without": directives.unchanged}  # noqa: RUF012

    def run(self):
        """Return help, options and examples."""
        words = self.arguments[0].split()
        command = typer.main.get_command(app)
        for word in words:
            command = command.get_command(None, word)
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
            name, text = param.get_help_record(context) or ("", "")
            if name:
                lines += [f".. option:: {_plain(name)}", "", f"   {_escaped(text)}", ""]
        if not chosen:
            lines += _examples(command.epilog)
        return self.parsed(lines)


class Measures(_GeneratedDirective):
    """The table of measures, with the axioms that each satisfies and violates."""

    def run(self):
        """Return the table."""
        rows = [("measure", "satisfies", "violates")]
        rows += [(f"``{m.name}``", ", ".join(sorted(m.claims)), ", ".join(m.fails))
                 for m in MEASURES.values()]  # fmt: skip
        return self.parsed(_list_table(rows))


class Primitives(_GeneratedDirective):
    """The primitives of each representation, with what the array backends support."""

    def run(self):
        """Return one table per class."""
        lines = []
        header = [re.sub("`", "``", cell) for cell in HEADER]
        for name, bases, rows in tables():
            inherited = f" (inherits from {', '.join(bases)})" if bases else ""
            cells = [(f"``{one[0]}``", f"``{one[1]}``", *one[2:]) for one in rows]
            lines += [f".. rubric:: {name}{inherited}", "", *_list_table([header, *cells]), ""]
        return self.parsed(lines)


def _list_table(rows):
    """Return the lines of a table whose first row is the header."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(row)]
    return lines


def _names(groups):
    names = (groups or "").split()
    found = {field.name for name in names for field in dataclasses.fields(SHARED[name])}
    if names == ["ensemble"]:  # what it adds to the inputs
        found -= {field.name for field in dataclasses.fields(Inputs)}
    return found


def _plain(name):
    """Return the names of an option, and the type of its value in capitals."""
    return re.sub(r"<([a-z]+)[^>]*>+", lambda kind: kind[1].upper(), re.sub(" <list.*", "", name))


def _escaped(text):
    """Return help text as reStructuredText, options in code font."""
    text = re.sub(r"([\\*`|_])", r"\\\1", text.replace("  [", " ["))
    return re.sub(r"(?<![\w-])(--?[a-z][\w\\-]*)", lambda name: f"``{name[1]}``", text)


def _paragraphs(text):
    parts = re.split(r"\n\s*\n", text or "")
    return [line for part in parts for line in (_escaped(" ".join(part.split())), "")]


def _literal(*commands):
    return [".. code-block:: sh", "", *(f"   {line}" for line in commands), ""]


def _examples(epilog):
    """Return the examples at the end of the help of a command, and the remaining text."""
    texts, commands = [], []
    for part in re.split(r"\n\s*\n", epilog or ""):
        part = re.sub(r"^Examples?:\s*", "", " ".join(part.split()))
        if re.match(r"(credalens|\w+ [^ ]+ \|) ?", part):
            commands += [one.strip() for one in part.split("; ")]
        elif part:
            texts.append(_escaped(part))
    return [*(_literal(*commands) if commands else []), *texts]


def setup(app):
    """Add the directives."""
    app.add_directive("command", Command)
    app.add_directive("measures", Measures)
    app.add_directive("primitives", Primitives)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
