"""The paper's Table 2: rejection with forests on tabular data."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from credalens._files import replacing
from credalens._validation import counted
from credalens.datasets import (
    BUNDLED,
    KEEL,
    Dataset,
    MissingDatasetError,
    find_keel,
    keel_name,
    load_bundled,
    read_dat,
)
from credalens.distances import NAMES
from credalens.experiments.pieces import Outcome, Store, compute, in_order
from credalens.experiments.protocol import FAMILIES, Config
from credalens.experiments.summary import (
    COLUMNS,
    GROUPS,
    Row,
    by_dataset,
    group_of,
    mean_over_splits,
    summarize,
    ties,
)
from credalens.experiments.tables import Cell, Table, heading, versions

#: ``--datasets small`` means those of the paper with at most so many rows.
SMALL = 2000
QUICK_SPLITS = 3
DEFAULT = Config()

_HEADER = ("", "measure", "AUC %", "area %", "paper", "diff", "MR %", "paper", "diff",
           "time s", "paper")  # fmt: skip


@dataclass(frozen=True)
class Sources:
    """Datasets by name: their sizes, and how to load them."""

    sizes: dict[str, int]
    load: Callable[[str], Dataset]
    #: Of those that are read from a file.
    files: dict[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What `run` found, and the files it wrote."""

    rows: list[Row]
    text: str
    outcome: Outcome
    files: list[Path] = field(default_factory=list)


def bundled() -> Sources:
    """Return scikit-learn's own datasets."""
    sizes = {name: len(load_bundled(name).y) for name in BUNDLED}
    return Sources(sizes, load_bundled)


def keel(names: str = "all", folder: Path | None = None) -> Sources:
    """Return KEEL datasets, or other ``.dat`` files of `folder`.

    Every name and file is checked now, before any work.

    Parameters
    ----------
    names : str
        ``"all"``, ``"small"`` or names separated by commas.
    folder : Path, optional
        Where to look first; see `credalens.datasets.find_keel`.

    Raises
    ------
    MissingDatasetError
        For an unknown name, a folder that is not there, or a file that no source has.
    """
    if folder is not None and not folder.is_dir():
        raise MissingDatasetError(f"data: {folder} is not a folder; check the name")
    if names == "all":
        wanted = list(KEEL)
    elif names == "small":
        wanted = [name for name, shape in KEEL.items() if shape.n <= SMALL]
    else:
        wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise MissingDatasetError("no datasets; pass names, 'all' or 'small'")
    paths, problems = {}, []
    for name in wanted:
        own = folder / f"{name}.dat" if folder else None
        try:
            if own is not None and own.is_file():
                paths[name] = own
            else:
                paths[keel_name(name)] = find_keel(name, folder)
        except MissingDatasetError as error:
            problems.append(str(error))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise MissingDatasetError(problems[0] + more)
    sizes = {
        name: KEEL[name].n if name in KEEL else path.stat().st_size // 50
        for name, path in paths.items()
    }
    return Sources(sizes, lambda name: read_dat(paths[name]), paths)


def run(
    sources: Sources,
    out: Path,
    *,
    splits: int = 10,
    config: Config = DEFAULT,
    families: Sequence[str] = FAMILIES,
    jobs: int = 1,
    scheduler: str | None = None,
    minutes: float | None = None,
    advance: Callable[[str, int], None] = lambda name, split: None,
) -> Result:
    """Compute what is not in the folder `out` yet, and write the table in four formats.

    A dataset that fails is left out, with the reason in the text. Without any result no table is
    written, and if that is not for want of time, it is an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from credalens.datasets import load_bundled
    >>> from credalens.experiments.protocol import Config
    >>> from credalens.experiments.table2 import Sources, run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run(Sources({"iris": 150}, load_bundled), pathlib.Path(folder), splits=1,
    ...                  config=Config(members=2), families=["tv"])
    >>> [row.component for row in result.rows]
    ['AU', 'EU', 'TU']
    """
    order = in_order(sources.sizes, splits)
    outcome = compute(
        Store(out, config),
        order,
        families,
        sources.load,
        files=sources.files,
        jobs=jobs,
        scheduler=scheduler,
        minutes=minutes,
        advance=advance,
    )
    if outcome.failures and not outcome.pieces and not outcome.n_left:
        name, reason = next(iter(outcome.failures.items()))
        more = f" (and {len(outcome.failures) - 1} more)" if len(outcome.failures) > 1 else ""
        raise ValueError(f"{name}: {reason}{more}; no dataset is left for the table")
    rows = summarize(outcome.pieces, families)
    tables = [as_table(group, [row for row in rows if row.group == group]) for group in GROUPS]
    notes = remarks(outcome, config, splits)
    shown = [table for table in tables if table.rows]
    words = remarks(outcome, config, splits, best="*")
    text = "\n\n".join([*(table.text() for table in shown), "\n".join(words)]) + "\n"
    if not rows:
        return Result(rows, text, outcome)
    files = {
        "table2.txt": text,
        "table2.md": "\n\n".join(
            [
                heading("table2", picture=False),
                *(table.markdown() for table in shown),
                "\n".join(f"- {note}" for note in notes),
            ]
        )
        + "\n",
        "table2.tex": "\n\n".join(
            [*(table.latex() for table in shown), *(f"% {note}" for note in notes)]
        )
        + "\n",
    }
    for name, content in files.items():
        with replacing(out / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    write_csv(out / "table2.csv", COLUMNS, ([_blank(getattr(r, c)) for c in COLUMNS] for r in rows))
    write_datasets(out / "datasets.csv", outcome.pieces, families)
    paths = [out / name for name in (*files, "table2.csv", "datasets.csv")]
    return Result(rows, text, outcome, paths)


def check_families(names: str) -> list[str]:
    """Return families of measures from names separated by commas.

    Examples
    --------
    >>> from credalens.experiments.table2 import check_families
    >>> check_families("tv, hartley")
    ['hartley', 'tv']
    """
    known = (*FAMILIES, *(name for name in NAMES if name not in FAMILIES))
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise ValueError(
            f"measures: {', '.join(unknown) or 'none'}; choose from {', '.join(known)}"
        )
    return [name for name in known if name in wanted]


def as_table(group: str, rows: Sequence[Row]) -> Table:
    """Return the cells of one group of datasets."""
    words = {"tv": "TV", "hartley": "Hartley", "entropy": "Entropy"}
    n = rows[0].n_datasets if rows else 0
    table = Table(f"{group}, {counted(n, 'dataset')}", _HEADER)
    for component in dict.fromkeys(row.component for row in rows):
        block = [row for row in rows if row.component == component]
        bold = {
            quantity: ties(block, quantity, min if quantity == "time" else max)
            for quantity in ("auc", "area", "mr", "time")
        }
        for i, row in enumerate(block):
            table.rows.append(
                [
                    Cell(component if i == 0 else ""),
                    Cell(words.get(row.family, row.family)),
                    _spread(row.auc_mean, row.auc_sd, bold["auc"][i]),
                    _spread(row.area_mean, row.area_sd, bold["area"][i]),
                    *_beside(row.area_mean, row.paper_area),
                    _spread(row.mr_mean, row.mr_sd, bold["mr"][i]),
                    *_beside(row.mr_mean, row.paper_mr),
                    _spread(row.time_mean, row.time_sd, bold["time"][i], digits=4),
                    Cell("" if row.paper_time is None else f"{row.paper_time:.3f}"),
                ]
            )
    return table


def _spread(mean: float, sd: float, bold: bool, digits: int = 1) -> Cell:
    spread = "" if math.isnan(sd) else f"{sd:.{digits}f}"
    return Cell(f"{mean:.{digits}f}", bold, spread)


def _beside(mean: float, paper: float | None) -> tuple[Cell, Cell]:
    if paper is None:
        return Cell(""), Cell("")
    return Cell(f"{paper:.1f}"), Cell(f"{mean - paper:+.1f}")


def remarks(outcome: Outcome, config: Config, splits: int, best: str = "bold") -> list[str]:
    """Return what a reader must know beside the numbers; `best` says how the best are marked."""
    pieces = outcome.pieces
    settings = config.describe()
    low, high = settings["n_estimators"]
    notes = [
        "AUC: area under accuracy against share rejected over its length, 1 is perfect; area: not "
        f"divided, as the paper prints it, at most {100 * (config.bins - 1) / config.bins:.1f} %; "
        "MR: share of steps that do not lose accuracy.",
        "Mean ± standard deviation (ddof = 1) over datasets of the means over splits; "
        f"{best}: within one standard error of the best. diff: ours minus the paper's.",
        f"{config.members} random forests, n_estimators {low}-{high}, max_depth from "
        f"{', '.join(map(str, settings['max_depth']))}, else scikit-learn's defaults; "
        f"{counted(splits, 'stratified split')} {100 - 100 * config.test_share:.0f}/"
        f"{100 * config.test_share:.0f}, seed {config.seed}.",
        "Time: seconds of one core for the whole test part of a split; a difference takes the time "
        "of both its terms.",
        versions(),
    ]
    unfinished = _unfinished(pieces, splits)
    if unfinished:
        notes.append(f"Fewer than {splits} splits: {unfinished}.")
    notes += [f"Failed: {name}: {reason}" for name, reason in outcome.failures.items()]
    if outcome.n_left:
        left = counted(outcome.n_left, "piece")
        notes.append(f"{left} left out by the time limit; run again to go on.")
    return notes + _costs(pieces)


def _unfinished(pieces: Sequence[dict[str, Any]], splits: int) -> str:
    """Say which datasets have how many splits, if fewer than `splits`."""
    names: dict[int, list[str]] = {}
    for name, found in by_dataset(pieces).items():
        if len(found) < splits:
            names.setdefault(len(found), []).append(name)
    return "; ".join(
        f"{count} of {', '.join(some) if len(some) <= 8 else counted(len(some), 'dataset')}"
        for count, some in sorted(names.items())
    )


def _costs(pieces: Sequence[dict[str, Any]]) -> list[str]:
    """Return how the time of measuring compares with that of training."""
    training = sum(piece["training_seconds"] for piece in pieces)
    if not training:
        return []
    # The entropy difference repeats both its terms and would be counted twice.
    closed = _seconds(pieces, lambda key: "hartley" not in key and key != "EU entropy")
    notes = [
        f"Training took {training:.0f} s; measuring without Hartley {closed:.2f} s, "
        f"{100 * closed / training:.3f} % of it."
    ]
    hartley = _seconds(pieces, lambda key: key == "EU hartley")
    if hartley:
        notes.append(
            f"The generalized Hartley measure took {hartley:.1f} s, "
            f"{100 * hartley / training:.3f} % of the training."
        )
    sampled = {piece["dataset"] for piece in pieces if piece["hartley_error"] > 0}
    if sampled:
        worst = max(piece["hartley_error"] for piece in pieces)
        notes.append(
            f"Hartley is exact up to 20 classes and sampled for {', '.join(sorted(sampled))}: "
            f"largest standard error {worst:.2g} bits."
        )
    return notes


def _seconds(pieces: Sequence[dict[str, Any]], wanted: Callable[[str], bool]) -> float:
    return float(
        sum(
            measure["seconds"]
            for piece in pieces
            for key, measure in piece["measures"].items()
            if wanted(key)
        )
    )


def _blank(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file, whole or not at all."""
    with replacing(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def write_datasets(path: Path, pieces: Sequence[dict[str, Any]], families: Sequence[str]) -> None:
    """Write one line per dataset: sizes, accuracy, times, and area and MR of every measure."""
    quantities = ("area", "mr", "seconds")
    keys = [key for key in pieces[0]["measures"] if key.split()[1] in families] if pieces else []
    columns = ["dataset", "group", "n", "features", "classes", "splits", "accuracy",
               "training_seconds"]  # fmt: skip
    columns += [f"{key} {quantity}".replace(" ", "_") for key in keys for quantity in quantities]
    lines = []
    for name, found in by_dataset(pieces).items():
        first = found[0]
        lines.append(
            [
                name,
                group_of(first["n_classes"]),
                first["n_train"] + first["n_test"],
                first["n_features"],
                first["n_classes"],
                len(found),
                float(np.mean([piece["accuracy"] for piece in found])),
                float(np.mean([piece["training_seconds"] for piece in found])),
                *(mean_over_splits(found, key, q) for key in keys for q in quantities),
            ]
        )
    write_csv(path, columns, lines)
