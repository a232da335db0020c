"""Update the measured numbers of the README: ``python -m benchmarks.readme``, after the grid."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.report import number, required

ROOT = Path(__file__).parents[1]
START, END = "<!-- numbers -->\n", "<!-- end -->"

#: Requirement, prefix of the peer's name, and the text for both.
SHOWN = (
    ("AU_upper over linprog", "paper", "the upper aleatoric end, a matrix game,",
     "SciPy's linprog"),
    ("S* over probly", "probly 0.9", "the upper entropy, a convex programme,", "probly 0.9.1"),
    ("GH at K = 10 over the paper's pseudocode", "paper",
     "generalized Hartley, a sum over 2^K events,", "the paper's pseudocode"),
)  # fmt: skip


def lines(record):
    """Return the lines: microseconds per instance, and the ratio to the peer in the same run."""
    rows = required(record)
    for what, peer, ours, theirs in SHOWN:
        row = next(r for r in rows if r["what"] == what and r["peer"].startswith(peer))
        case = next(c for c in record["cells"] if _is(c, what, row))
        n, members, classes = row["at"]
        yield (
            f"- **{number(row['ratio'])} times** faster than {theirs}: {ours} in "
            f"{number(case['ours']['us'], 2)} µs per instance "
            f"({n:,} instances, {members} models, {classes} classes)"
        )


def _is(cell, what, row):
    case = {"AU": "AU_upper, hull", "S*": "S*, hull", "GH": "GH, hull"}[what[:2]]
    return cell["case"] == case and cell["size"] == row["at"]


def main() -> None:
    record = json.loads((ROOT / "benchmarks" / "results" / "grid.json").read_text())
    page = ROOT / "README.md"
    text = page.read_text()
    before, rest = text.split(START)
    after = rest.split(END, 1)[1]
    facts = record["facts"]
    source = (
        f"\nMeasured by `make bench` on {facts['threads']} cores, in the same run as its peer; see "
        "[all results](docs/comparison.md), including those where peers are faster.\n"
    )
    page.write_text(before + START + "\n".join(lines(record)) + "\n" + source + END + after)


if __name__ == "__main__":
    main()
