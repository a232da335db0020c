"""Tables, figures and pages of results, written atomically."""

from __future__ import annotations

import csv
import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from credalens._extras import require
from credalens._files import atomic_write

#: Titles of the pages of results.
TITLES = {
    "table1": "growth of the time",
    "table2": "forests on the KEEL datasets",
    "figure2": "accuracy against rejection",
    "figure3": "networks of increasing relative likelihood",
    "figure4": "adding a constant member",
    "scores": "all families as rankings of errors",
    "human-labels": "the aleatoric interval and annotators",
}


def new_figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure."""
    figure = require("matplotlib.figure", "plots")
    return figure.Figure(figsize=(width, height), layout="constrained")


def save_figure(
    figure: Any, folder: Path, name: str, kinds: Sequence[str] = ("png", "pdf"), dpi: int = 150
) -> list[Path]:
    """Write a figure, by default as PNG and PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in kinds]
    for path in paths:
        with atomic_write(path) as temporary:
            # Without the creation date, equal figures are equal files.
            metadata = {"CreationDate": None} if path.suffix == ".pdf" else None
            figure.savefig(temporary, dpi=dpi, format=path.suffix[1:], metadata=metadata)
    return paths


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file."""
    with atomic_write(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(name: str, tables: Iterable[Table], notes: Iterable[str], *, figure: bool = True) -> str:
    """Return a page of results as Markdown: figure, tables and notes."""
    bullets = "\n".join(f"- {note}" for note in notes)
    parts = [heading(name, figure=figure), *(table.markdown() for table in tables), bullets]
    return "\n\n".join(parts) + "\n"


def heading(name: str, *, figure: bool = True) -> str:
    """Return the heading of a page of results, followed by its figure."""
    number = name[-1] if name[-1].isdigit() else ""
    words = name.removesuffix(number).replace("-", " ").capitalize()
    title = f"{words} {number}".strip() + f": {TITLES[name]}"
    return f"# {title}" + f"\n\n![{title}]({name}.png)" * figure


def versions() -> str:
    """Return the versions that the numbers depend on, as a sentence."""
    names = ("credalens", "numpy", "scikit-learn", "scipy")
    listed = ", ".join(f"{name} {version(name)}" for name in names)
    return f"Python {platform.python_version()}, {listed}."


@dataclass(frozen=True)
class Cell:
    """A text, optionally bold and with a standard deviation."""

    text: str
    bold: bool = False
    spread: str = ""

    @classmethod
    def estimate(cls, mean: float, sd: float, digits: int, bold: bool = False) -> Cell:
        """Return a mean with its standard deviation, which is NaN for a single value."""
        return cls(f"{mean:.{digits}f}", bold, "" if math.isnan(sd) else f"{sd:.{digits}f}")

    def format(self, bold: str, sign: str) -> str:
        """Return the text, bold as in the template `bold`, and `sign` before the deviation."""
        text = bold.format(self.text) if self.bold else self.text
        return f"{text} {sign} {self.spread}" if self.spread else text


@dataclass
class Table:
    """A table; the first columns are text, the others numbers."""

    title: str
    header: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)
    #: Number of columns of text.
    n_text: int = 2

    def add(self, *cells: Cell | str) -> None:
        """Add a row."""
        self.rows.append([Cell(cell) if isinstance(cell, str) else cell for cell in cells])

    def text(self) -> str:
        """Return the table for a terminal; a star replaces bold."""
        lines = [list(self.header)]
        lines += [[cell.format("{}*", "±") for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = [
            "  ".join(
                value.ljust(width) if i < self.n_text else value.rjust(width)
                for i, (value, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *body])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rule = "|".join("---" if i < self.n_text else "--:" for i in range(len(self.header)))
        lines = [f"**{self.title}**", "", f"| {' | '.join(self.header)} |", f"|{rule}|"]
        for row in self.rows:
            lines.append(f"| {' | '.join(cell.format('**{}**', '±') for cell in row)} |")
        return "\n".join(lines)

    def latex(self) -> str:
        """Return the table as a LaTeX ``tabular`` that needs the package booktabs."""
        escape = str.maketrans({"%": r"\%", "<": "$<$", ">": "$>$", "_": r"\_"})
        lines = [
            f"% {self.title}",
            rf"\begin{{tabular}}{{{'l' * self.n_text}{'r' * (len(self.header) - self.n_text)}}}",
            r"\toprule",
            rf"{' & '.join(self.header).translate(escape)} \\",
        ]
        for row in self.rows:
            if row[0].text:
                lines.append(r"\midrule")
            cells = (cell.format(r"\textbf{{{}}}", r"$\pm$") for cell in row)
            lines.append(rf"{' & '.join(cells)} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
