"""A table of short texts, for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version


@dataclass(frozen=True)
class Cell:
    """A text, perhaps bold, perhaps with a spread behind it."""

    text: str
    bold: bool = False
    spread: str = ""

    def plain(self) -> str:
        """Return it for the terminal, where a star stands for bold."""
        return f"{self.text}{'*' if self.bold else ''}{self._behind('±')}"

    def markdown(self) -> str:
        """Return it for Markdown."""
        return (f"**{self.text}**" if self.bold else self.text) + self._behind("±")

    def latex(self) -> str:
        """Return it for LaTeX."""
        text = rf"\textbf{{{self.text}}}" if self.bold else self.text
        return text + self._behind(r"$\pm$")

    def _behind(self, sign: str) -> str:
        """Return the spread, which a single value does not have."""
        return "" if self.spread in ("", "nan") else f" {sign} {self.spread}"


@dataclass
class Table:
    """Rows of cells under a title; the first two columns are words, the others numbers.

    Examples
    --------
    >>> from credalens.experiments.tables import Cell, Table
    >>> table = Table("Times", ("measure", "of", "s"))
    >>> table.rows.append([Cell("TU"), Cell("TV"), Cell("0.1", bold=True, spread="0.2")])
    >>> print(table.text())
    Times
    measure  of            s
    TU       TV  0.1* ± 0.2
    >>> print(table.markdown())
    **Times**
    <BLANKLINE>
    | measure | of | s |
    |---|---|--:|
    | TU | TV | **0.1** ± 0.2 |
    """

    title: str
    header: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)

    def text(self) -> str:
        """Return the table for the terminal."""
        lines = [list(self.header), *([cell.plain() for cell in row] for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        body = [
            "  ".join(
                value.ljust(width) if i < 2 else value.rjust(width)
                for i, (value, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *body])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rule = "|".join("---" if i < 2 else "--:" for i in range(len(self.header)))
        lines = [f"**{self.title}**", "", f"| {' | '.join(self.header)} |", f"|{rule}|"]
        lines += [f"| {' | '.join(cell.markdown() for cell in row)} |" for row in self.rows]
        return "\n".join(lines)

    def latex(self) -> str:
        """Return the table as a LaTeX ``tabular`` that needs the package booktabs."""
        escape = str.maketrans({"%": r"\%", "<": "$<$", ">": "$>$", "_": r"\_"})
        lines = [
            f"% {self.title}",
            rf"\begin{{tabular}}{{ll{'r' * (len(self.header) - 2)}}}",
            r"\toprule",
            rf"{' & '.join(self.header).translate(escape)} \\",
        ]
        for row in self.rows:
            if row[0].text:
                lines.append(r"\midrule")
            lines.append(rf"{' & '.join(cell.latex() for cell in row)} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


#: What the pages of tables and figures are called.
TITLES = {
    "table1": "growth of the time",
    "table2": "forests on the KEEL datasets",
    "figure2": "accuracy against rejection",
    "figure3": "networks of growing relative likelihood",
    "figure4": "the member that spoils it",
}


def heading(name: str, *, picture: bool = True) -> str:
    """Return the heading of the page of a table or figure and, below it, its picture."""
    title = f"{name[:-1].capitalize()} {name[-1]}: {TITLES[name]}"
    return f"# {title}" + f"\n\n![{title}]({name}.png)" * picture


def versions() -> str:
    """Return the versions that the numbers depend on, as a sentence."""
    names = ("credalens", "numpy", "scikit-learn", "scipy")
    found = ", ".join(f"{name} {version(name)}" for name in names)
    return f"Python {platform.python_version()}, {found}."
