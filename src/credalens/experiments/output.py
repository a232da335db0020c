"""Tables, figures and pages of results, written atomically."""

from __future__ import annotations

import csv
import math
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import credalens
from credalens._extras import require
from credalens._files import atomic_write

#: Titles of the pages of results.
TITLES = {
    "table1": "growth of the time",
    "table2": "forests on the KEEL datasets",
    "figure2": "accuracy against rejection",
    "figure3": "networks of increasing relative likelihood",
    "figure4": "adding a constant member",
    "spaces": "hyper-parameters of the forests",
    "axioms": "which measure satisfies which axiom",
    "findings": "what we learnt from the paper",
    "scores": "all families as rankings of errors",
    "human-labels": "the aleatoric interval and annotators",
    "repair": "checks of the sets before and after",
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


def page(
    name: str,
    tables: Iterable[Table],
    notes: Iterable[str],
    *,
    summary: Iterable[str] = (),
    figure: bool = True,
    command: str = "",
) -> str:
    """Return a page of results as Markdown: figure, summary, tables, notes, how it was made.

    The overview of the results consists of the summaries.
    """
    head = heading(name, figure=figure)
    ending = bullets([*notes, *provenance(command)])
    parts = [head, bullets(summary), *(table.markdown() for table in tables), ending]
    return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True)
class Section:
    """A part of a page: figure, notes and tables."""

    title: str
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    #: Name of the figure, without its suffix; empty for none.
    image: str = ""

    def markdown(self) -> str:
        """Return the section as Markdown."""
        image = f"![{self.title}]({self.image}.png)" if self.image else ""
        tables = (table.markdown() for table in self.tables)
        parts = [f"## {self.title}", image, bullets(self.notes), *tables]
        return "\n\n".join(part for part in parts if part)

    def text(self) -> str:
        """Return the section for a terminal."""
        return "\n\n".join([*(table.text() for table in self.tables), "\n".join(self.notes)])


def sectioned_page(
    name: str,
    sections: Iterable[Section],
    notes: Iterable[str],
    *,
    summary: Iterable[str] = (),
    command: str = "",
) -> str:
    """Return a page of results as Markdown: summary, sections, notes, how it was made."""
    closing = f"## Notes\n\n{bullets([*notes, *provenance(command)])}"
    parts = [heading(name, figure=False), bullets(summary)]
    parts += [*(section.markdown() for section in sections), closing]
    return "\n\n".join(part for part in parts if part) + "\n"


def bullets(lines: Iterable[str]) -> str:
    """Return sentences as a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def heading(name: str, *, figure: bool = True) -> str:
    """Return the heading of a page of results, followed by its figure."""
    number = name[-1] if name[-1].isdigit() else ""
    words = name.removesuffix(number).replace("-", " ").capitalize()
    title = f"{words} {number}".strip() + f": {TITLES[name]}"
    return f"# {title}" + f"\n\n![{title}]({name}.png)" * figure


def versions() -> str:
    """Return the versions that the numbers depend on, and the commit, as sentences."""
    public = version("credalens").partition("+")[0]
    others = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "scipy"))
    found = commit()
    return f"Python {platform.python_version()}, credalens {public}, {others}." + (
        f" Commit {found}." if found else ""
    )


def commit() -> str:
    """Return the commit of the sources, or of the version; empty if it is not known.

    The version of an editable installation is that of the last build, so git is asked first.
    """
    root = Path(credalens.__file__).parents[2]
    if (root / ".git").exists():
        ask = ["git", "-C", str(root)]
        run = {"capture_output": True, "text": True, "check": False}
        try:
            head = subprocess.run([*ask, "rev-parse", "--short=9", "HEAD"], **run)  # type: ignore[call-overload]  # noqa: S603
            changed = subprocess.run(  # type: ignore[call-overload]  # noqa: S603
                [*ask, "status", "--porcelain", "--", "src", "kernels"], **run
            )
        except OSError:  # git is not installed
            head = None
        if head is not None and head.returncode == 0:
            return str(head.stdout.strip()) + " with local changes" * bool(changed.stdout.strip())
    return version("credalens").partition("+g")[2].partition(".")[0]


def provenance(command: str) -> list[str]:
    """Return the command, if there is one, and the versions, as sentences."""
    return [*([f"Command: `{command}`"] if command else []), versions()]


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
