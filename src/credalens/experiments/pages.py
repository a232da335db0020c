"""The overview of the results, assembled from their pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from credalens.experiments.output import bullets, provenance, write_text

#: The pages of the overview, in order.
ORDER = ("table1", "table2", "spaces", "figure1", "figure2", "figure3", "figure4", "axioms",
         "scores", "human-labels", "repair", "findings")  # fmt: skip
#: Pages that have no paragraph in the overview, with a sentence instead.
SENTENCES = {
    "figure1": "The geometry of the three uncertainties, drawn from computed values: each arrow "
    "connects two distributions whose total variation distance is the number next to it.",
    "findings": "What the reproduction showed that is not in the paper, each with the code or the "
    "command that shows it.",
}


def summary_of(path: Path) -> list[str]:
    """Return the sentences of the summary of a page: the first list, if it is before any table."""
    if not path.is_file():
        return []
    found: list[str] = []
    for line in path.read_text(encoding="utf-8").split("\n")[1:]:
        if line.startswith("- "):
            found.append(line[2:])
        elif found or line.startswith(("|", "#", "**")):
            break
    return found


def title_of(path: Path) -> str:
    """Return the title of a page."""
    return path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")


def images_of(path: Path) -> list[str]:
    """Return the images of a page, as Markdown."""
    return re.findall(r"^!\[[^\]]*\]\([^)]*\)$", path.read_text(encoding="utf-8"), re.M)


def command_of(path: Path) -> str:
    """Return the command of a page."""
    found = re.findall(r"^- Command: (`.*`)$", path.read_text(encoding="utf-8"), re.M)
    return found[-1] if found else ""


def version_of(path: Path) -> str:
    """Return the version of credalens that wrote a page, empty if it has none."""
    found = re.findall(
        r"^- Python \S+, credalens ([^\s,]+),", path.read_text(encoding="utf-8"), re.M
    )
    return found[-1] if found else ""


def write_overview(out: Path, *, skipped: Sequence[str] = (), command: str = "") -> Path:
    """Write ``README.md``: the summaries of all pages in the folder `out`."""
    parts = [
        "# Reproduction of the paper",
        "The tables and figures of González-García et al. (2026), computed by `credalens "
        "reproduce`, and comparisons that are not in the paper. Every number below is computed; "
        "*paper* or *printed* refers to the values in its tables. Each page states its command, "
        "version and commit.",
        _contents(out),
    ]
    parts += [_section(out, name) for name in ORDER if _exists(out, name)]
    if skipped:
        parts.append(f"## Not computed\n\n{bullets(skipped)}")
    parts.append(f"## Notes\n\n{bullets(provenance(command))}")
    path = out / "README.md"
    write_text(path, "\n\n".join(parts) + "\n")
    return path


def _exists(out: Path, name: str) -> bool:
    return (out / f"{name}.md").is_file() or (out / f"{name}.png").is_file()


def _contents(out: Path) -> str:
    lines = ["| result | command |", "|---|---|"]
    for name in ORDER:
        page = out / f"{name}.md"
        if page.is_file():
            lines.append(f"| [{title_of(page)}]({name}.md) | {command_of(page)} |")
        elif _exists(out, name):
            lines.append(f"| [{_name(name)}]({name}.png) | `credalens reproduce {name}` |")
    return "\n".join(lines)


def _name(name: str) -> str:
    return re.sub(r"(\d)$", r" \1", name).capitalize()


def _section(out: Path, name: str) -> str:
    page = out / f"{name}.md"
    if not page.is_file():
        return "\n\n".join([f"## {_name(name)}", f"![{_name(name)}]({name}.png)", SENTENCES[name]])
    lines = SENTENCES.get(name) or bullets(summary_of(page))
    link = f"[All numbers]({name}.md)"
    parts = [f"## {title_of(page)}", *images_of(page), lines, link]
    return "\n\n".join(part for part in parts if part)
