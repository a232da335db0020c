"""Which hyper-parameters of the forests reproduce Table 2: all spaces on the smaller datasets."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from credalens._validation import counted, raise_invalid
from credalens.datasets import KEEL
from credalens.experiments.forest_spaces import SPACES, Space
from credalens.experiments.output import page, provenance, write_csv, write_text
from credalens.experiments.protocol import PAPER_FAMILIES, Config, measure_names, run_split
from credalens.experiments.space_tables import (
    Scored,
    cell_key,
    cell_table,
    conventions,
    overview,
    residual_table,
    sentences,
)
from credalens.experiments.split_runs import Outcome, ResultStore, SplitResult, compute, work_order
from credalens.experiments.table2 import DEFAULT, Sources
from credalens.experiments.table2_summary import (
    GROUPS,
    PublishedCell,
    by_dataset,
    cells,
    group_of,
    mean_over_splits,
    summarize,
)

#: Datasets with fewer rows are used, and all of the group K > 10, which has only five.
MAX_ROWS = 6000
SPLITS = 3
#: Splits of the complete run that are read if they exist.
COMPLETE_SPLITS = 10
MEASURES = measure_names(PAPER_FAMILIES)
#: Weights of the Hartley measure in variants of the residual S* - w GH; 1 / ln 2 is S* in nats.
WEIGHTS = {"1": 1.0, "1 / ln 2": 1 / math.log(2), "2": 2.0, "3": 3.0, "4": 4.0}
#: The variant with S* divided by its largest value, log2 K.
NORMALISED = "S* / log2 K - GH"
COLUMNS = ("space", "group", "component", "family", "quantity", "ours", "paper",
           "standard_error", "distance")  # fmt: skip


def residuals(scores: Mapping[tuple[str, str], Any], n_classes: int) -> dict[str, Any]:
    """Return variants of the Hartley residual, to see which could have been printed."""
    upper, hartley = scores["TU", "entropy"], scores["EU", "hartley"]
    found = {f"S* - {name} GH": upper - weight * hartley for name, weight in WEIGHTS.items()}
    return found | {NORMALISED: upper / math.log2(n_classes) - hartley}


VARIANTS = (*(f"S* - {name} GH" for name in WEIGHTS), NORMALISED)
#: Mean over all datasets minus mean over those of the study, by (group, component, family,
#: quantity).
Offsets = Mapping[tuple[str, str, str, str], float]


def select(sources: Sources, max_rows: int = MAX_ROWS) -> Sources:
    """Return the datasets of the study."""
    sizes = {
        name: rows
        for name, rows in sources.sizes.items()
        if rows < max_rows or (name in KEEL and group_of(KEEL[name].classes) == GROUPS[1])
    }
    return replace(sources, sizes=sizes)


def read_complete(folder: Path) -> tuple[Config, list[SplitResult]]:
    """Return the configuration and the results of a run of Table 2 on all datasets."""
    path = folder / "config.json"
    if not path.is_file():
        raise_invalid("complete", f"{folder} has no run of Table 2", "pass its --store or --out")
    stored = json.loads(path.read_text())
    names = ("seed", "members", "bins", "test_share", "space")
    config = Config(**{name: stored[name] for name in names if name in stored})
    order = work_order({name: shape.n for name, shape in KEEL.items()}, COMPLETE_SPLITS)
    found = ResultStore(folder, config).read_all(order, MEASURES).values()
    results = [one for one in found if one is not None]
    missing = sorted(set(KEEL) - {one["dataset"] for one in results})
    if missing:
        raise_invalid(
            "complete", f"{folder} lacks {', '.join(missing)}", "finish that run, then run again"
        )
    return config, results


def offsets(results: Sequence[SplitResult], datasets: Sequence[str]) -> dict[Any, float]:
    """Return what the datasets that are not in the study add to each mean."""
    studied = [one for one in results if one["dataset"] in set(datasets)]
    whole, part = (
        {(c.group, c.component, c.family, c.quantity): c.ours for c in cells(rows)}
        for rows in (summarize(some, PAPER_FAMILIES) for some in (results, studied))
    )
    return {key: whole[key] - part[key] for key in part}


def adjusted(found: Sequence[PublishedCell], by: Offsets) -> list[PublishedCell]:
    """Return the cells with offsets added."""
    return [
        replace(cell, ours=cell.ours + by.get(cell_key(cell), 0.0)) for cell in found
    ]  # fmt: skip


def run(
    sources: Sources,
    out: Path,
    *,
    store: Path | None = None,
    complete: Path | None = None,
    splits: int = SPLITS,
    max_rows: int = MAX_ROWS,
    spaces: Mapping[str, Space] = SPACES,
    config: Config = DEFAULT,
    command: str = "",
    jobs: int = 1,
    minutes: float | None = None,
    advance: Callable[[str, str, int], None] = lambda space, name, split: None,
) -> str:
    """Run every space on the smaller datasets and write the page; return it as text.

    `complete` is the folder of a run of Table 2 on all datasets. With it, means are corrected for
    the datasets that are left out. Finished splits are stored in a folder per space in `store`.
    """
    studied = select(sources, max_rows)
    reference = None if complete is None else read_complete(complete)
    by: Offsets = {} if reference is None else offsets(reference[1], list(studied.sizes))
    scored, problems = [], []
    for name, space in spaces.items():
        outcome = compute(
            ResultStore((store or out) / name, replace(config, space=name)),
            work_order(studied.sizes, splits),
            studied.load,
            partial(run_split, families=PAPER_FAMILIES, variants=residuals),
            {*MEASURES, *VARIANTS},
            files=studied.files,
            jobs=jobs,
            minutes=minutes,
            advance=partial(advance, name),
        )
        problems += _problems(name, outcome)
        if outcome.results:
            found = adjusted(cells(summarize(outcome.results, PAPER_FAMILIES)), by)
            others = variant_means(outcome.results, by)
            seconds = _seconds(outcome.results)
            scored.append(Scored(name, space.description, found, seconds, others))
    if not scored:
        return "\n".join(problems) + "\n"
    if reference is not None:
        whole, results = reference
        label = f"{whole.space}, all datasets"
        found = cells(summarize(results, PAPER_FAMILIES))
        scored.append(Scored(label, "", found, _seconds(results)))
    return write(scored, out, studied, splits, reference is not None, problems, command)


def variant_means(results: Sequence[SplitResult], by: Offsets) -> dict[str, tuple[float, float]]:
    """Return area and MR of the variants of the residual for K <= 10, corrected like itself."""
    group = GROUPS[0]
    datasets = [
        some for some in by_dataset(results).values() if group_of(some[0]["n_classes"]) == group
    ]  # fmt: skip
    if not datasets:
        return {}

    def mean(name: str, quantity: str) -> float:
        values = [100 * mean_over_splits(some, name, quantity) for some in datasets]
        return float(np.mean(values)) + by.get((group, "AU", "hartley", quantity), 0.0)

    return {name: (mean(name, "area"), mean(name, "mr")) for name in VARIANTS}


def _seconds(results: Sequence[SplitResult]) -> float:
    """Return the mean over datasets of the training time of a split, times the datasets."""
    return sum(
        float(np.mean([one["training_seconds"] for one in some]))
        for some in by_dataset(results).values()
    )


def _problems(space: str, outcome: Outcome) -> list[str]:
    lines = [f"Failed: {space}: {name}: {why}" for name, why in outcome.failures.items()]
    if outcome.n_skipped:
        lines.append(
            f"{space}: {counted(outcome.n_skipped, 'split')} not computed because of the time "
            "limit; run again to continue."
        )
    return lines


def write(
    scored: Sequence[Scored],
    out: Path,
    studied: Sources,
    splits: int,
    is_adjusted: bool,
    problems: Sequence[str],
    command: str,
) -> str:
    """Write ``spaces.md`` and ``spaces.csv``; return the text for the terminal."""
    groups = [group for group in GROUPS if scored[0].of(group)]
    tables = [overview(scored, groups), *(cell_table(scored, group) for group in groups)]
    tables += residual_table(scored)
    summary = sentences(scored)
    notes = [*conventions(list(studied.sizes), splits, is_adjusted), *problems]
    out.mkdir(parents=True, exist_ok=True)
    text = page("spaces", tables, notes, summary=summary, figure=False, command=command)
    write_text(out / "spaces.md", text)
    rows = (
        [one.label, *cell_key(cell), cell.ours, cell.printed, cell.standard_error, cell.distance]
        for one in scored
        for cell in one.cells
    )
    write_csv(out / "spaces.csv", COLUMNS, rows)
    ending = [*summary, *notes, *provenance(command)]
    return "\n\n".join([*(table.text() for table in tables), "\n".join(ending)]) + "\n"
