"""Table 2 of the paper: rejection with random forests on tabular data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

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
from credalens.experiments.output import Cell, Table, page, provenance, write_csv, write_text
from credalens.experiments.protocol import PAPER_FAMILIES, Config, measure_names, run_split
from credalens.experiments.split_runs import Outcome, ResultStore, SplitResult, compute, work_order
from credalens.experiments.table2_notes import LABELS, remarks, summary
from credalens.experiments.table2_summary import (
    COLUMNS,
    GROUPS,
    Row,
    by_dataset,
    group_of,
    mean_over_splits,
    summarize,
    ties,
)
from credalens.experiments.table2_timing import FOLDER as TIMING
from credalens.experiments.table2_timing import time_split, with_times

#: ``--datasets small`` selects the datasets with at most this number of rows.
SMALL = 2000
QUICK_SPLITS = 3
DEFAULT = Config()

_HEADER = ("", "measure", "AUC %", "area %", "paper", "diff", "MR %", "paper", "diff",
           "time s", "paper")  # fmt: skip


@dataclass(frozen=True)
class Sources:
    """Datasets: their sizes, and how to load them."""

    sizes: dict[str, int]
    load: Callable[[str], Dataset]
    #: The files of datasets that are read from files.
    files: dict[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """The result of `run`, and the files it wrote."""

    rows: list[Row]
    text: str
    outcome: Outcome
    files: list[Path] = field(default_factory=list)


def bundled() -> Sources:
    """Return the datasets of scikit-learn."""
    sizes = {name: len(load_bundled(name).y) for name in BUNDLED}
    return Sources(sizes, load_bundled)


def keel(names: str = "all", folder: Path | None = None) -> Sources:
    """Return KEEL datasets, or other ``.dat`` files of `folder`, which is searched first.

    `names` is ``"all"``, ``"small"`` or names separated by commas. If a name is unknown, or the
    folder or a file does not exist, MissingDatasetError is raised before anything is computed.
    """
    if folder is not None and not folder.is_dir():
        raise MissingDatasetError(f"data: {folder} is not a folder; check the name")
    if names == "all":
        selected = list(KEEL)
    elif names == "small":
        selected = [name for name, shape in KEEL.items() if shape.n <= SMALL]
    else:
        selected = [name.strip() for name in names.split(",") if name.strip()]
    if not selected:
        raise MissingDatasetError("no datasets; pass names, 'all' or 'small'")
    paths, problems = {}, []
    for name in selected:
        own = folder / f"{name}.dat" if folder else None
        try:
            if own is not None and own.is_file():
                paths[name] = own
            else:
                paths[keel_name(name)] = find_keel(name, folder)
        except MissingDatasetError as error:
            problems.append(str(error))
    if problems:
        raise MissingDatasetError(_first(problems))
    sizes = {
        name: KEEL[name].n if name in KEEL else path.stat().st_size // 50
        for name, path in paths.items()
    }
    return Sources(sizes, lambda name: read_dat(paths[name]), paths)


def _first(problems: Sequence[str]) -> str:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return problems[0] + more


def run(
    sources: Sources,
    out: Path,
    *,
    store: Path | None = None,
    splits: int = 10,
    config: Config = DEFAULT,
    families: Sequence[str] = PAPER_FAMILIES,
    timing: bool = False,
    command: str = "",
    jobs: int = 1,
    scheduler: str | None = None,
    minutes: float | None = None,
    advance: Callable[[str, int], None] = lambda name, split: None,
) -> Result:
    """Compute the splits that are not in the folder `store` yet, and write the table to `out`.

    With `timing`, only the times of the measures are computed, of the first split of each dataset
    and one after the other. They replace the times of the splits when every dataset has them. By
    default `store` is `out`. The text lists datasets that failed, with the reason. If all of them
    fail, it is an error. Without results no table is written.
    """
    folder = store or out
    results, times = ResultStore(folder, config), ResultStore(folder / TIMING, config)
    order = work_order(sources.sizes, splits)
    measures = measure_names(families)
    computed = compute(
        times if timing else results,
        work_order(sources.sizes, 1) if timing else order,
        sources.load,
        partial(time_split if timing else run_split, families=families),
        measures,
        files=sources.files,
        jobs=1 if timing else jobs,
        scheduler=None if timing else scheduler,
        minutes=minutes,
        advance=advance,
    )
    outcome = computed
    if timing:
        stored = results.read_all(order, measures).values()
        outcome = Outcome([one for one in stored if one is not None], computed.failures)
    outcome = with_times(outcome, times.read_all(work_order(sources.sizes, 1), measures))
    if outcome.failures and not computed.results and not outcome.n_skipped:
        problems = [f"{name}: {reason}" for name, reason in outcome.failures.items()]
        raise ValueError(f"{_first(problems)}; no dataset is left for the table")
    return write(outcome, out, config, splits, families, command)


def write(
    outcome: Outcome,
    out: Path,
    config: Config,
    splits: int,
    families: Sequence[str],
    command: str = "",
) -> Result:
    """Write the tables of the results to the folder `out`, if there are any."""
    rows = summarize(outcome.results, families)
    groups = {group: [row for row in rows if row.group == group] for group in GROUPS}
    tables = [as_table(group, members) for group, members in groups.items() if members]
    found = summary(rows)
    ending = [*found, *remarks(outcome, config, splits, best="*"), *provenance(command)]
    text = "\n\n".join([*(table.text() for table in tables), "\n".join(ending)]) + "\n"
    if not rows:
        return Result(rows, text, outcome)
    notes = remarks(outcome, config, splits)
    comments = [*found, *notes, *provenance(command)]
    latex = [*(table.latex() for table in tables), *(f"% {note}" for note in comments)]
    files = {
        "table2.txt": text,
        "table2.md": page("table2", tables, notes, summary=found, figure=False, command=command),
        "table2.tex": "\n\n".join(latex) + "\n",
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_text(out / name, content)
    write_csv(out / "table2.csv", COLUMNS, ([_blank(getattr(r, c)) for c in COLUMNS] for r in rows))
    write_datasets(out / "datasets.csv", outcome.results, families)
    paths = [out / name for name in (*files, "table2.csv", "datasets.csv")]
    return Result(rows, text, outcome, paths)


def check_families(names: str) -> list[str]:
    """Return families of measures from names separated by commas."""
    known = (*PAPER_FAMILIES, *(name for name in NAMES if name not in PAPER_FAMILIES))
    selected = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in selected if name not in known]
    if unknown or not selected:
        raise ValueError(
            f"measures: {', '.join(unknown) or 'none'}; choose from {', '.join(known)}"
        )
    return [name for name in known if name in selected]


def as_table(group: str, rows: Sequence[Row]) -> Table:
    """Return the table of one group of datasets."""
    table = Table(f"{group}, {counted(rows[0].n_datasets, 'dataset')}", _HEADER)
    for component in dict.fromkeys(row.component for row in rows):
        block = [row for row in rows if row.component == component]
        bold = {
            quantity: ties(block, quantity, min if quantity == "time" else max)
            for quantity in ("auc", "area", "mr", "time")
        }
        for i, row in enumerate(block):
            table.add(
                component if i == 0 else "",
                LABELS.get(row.family, row.family),
                Cell.estimate(row.auc_mean, row.auc_sd, 1, bold["auc"][i]),
                Cell.estimate(row.area_mean, row.area_sd, 1, bold["area"][i]),
                *_published(row.area_mean, row.paper_area),
                Cell.estimate(row.mr_mean, row.mr_sd, 1, bold["mr"][i]),
                *_published(row.mr_mean, row.paper_mr),
                Cell.estimate(row.time_mean, row.time_sd, 4, bold["time"][i]),
                "" if row.paper_time is None else f"{row.paper_time:.3f}",
            )
    return table


def _published(mean: float, paper: float | None) -> tuple[str, str]:
    return ("", "") if paper is None else (f"{paper:.1f}", f"{mean - paper:+.1f}")


def _blank(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def write_datasets(path: Path, results: Sequence[SplitResult], families: Sequence[str]) -> None:
    """Write one line per dataset: sizes, accuracy, times, and area and MR of every measure."""
    quantities = ("area", "mr", "seconds")
    keys = [key for key in results[0]["measures"] if key.split()[1] in families]
    columns = ["dataset", "group", "n", "features", "classes", "splits", "accuracy",
               "training_seconds"]  # fmt: skip
    columns += [f"{key} {quantity}".replace(" ", "_") for key in keys for quantity in quantities]
    lines: list[list[Any]] = []
    for name, splits in by_dataset(results).items():
        first = splits[0]
        lines.append([
            name, group_of(first["n_classes"]), first["n_train"] + first["n_test"],
            first["n_features"], first["n_classes"], len(splits),
            float(np.mean([one["accuracy"] for one in splits])),
            float(np.mean([one["training_seconds"] for one in splits])),
            *(mean_over_splits(splits, key, q) for key in keys for q in quantities),
        ])  # fmt: skip
    write_csv(path, columns, lines)
