"""Which score ranks errors best: every family on ensembles, tabular datasets and two tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from credalens._backend import Array
from credalens._files import check_folder
from credalens.datasets import Dataset, load_bundled
from credalens.experiments.protocol import Config
from credalens.experiments.scores_compare import (
    FORESTS,
    SCORES,
    Comparison,
    compare_predictions,
    compare_split,
    dataset_of,
)
from credalens.experiments.scores_output import write
from credalens.experiments.scores_summary import Report
from credalens.experiments.scores_tasks import REPEATS, TASKS, run_task
from credalens.experiments.split_runs import Outcome, ResultStore, compute, work_order
from credalens.experiments.table2 import Sources
from credalens.io import Predictions

#: Folder of the stored splits, in the output folder.
STORE = "scores-splits"
#: The space of the forests: they differ in depth, so that the epistemic scores have to cope with
#: members of different quality.
SPACE = "mixed-depth"
NO_SOURCES = Sources({}, load_bundled)


@dataclass(frozen=True)
class Result:
    """The result of `run`, and the files it wrote."""

    text: str
    comparisons: list[Comparison]
    outcome: Outcome
    files: list[Path] = field(default_factory=list)


def pieces(sources: Sources, splits: int, equal: bool, tasks: bool) -> list[tuple[str, int]]:
    """Return the splits of datasets and the repetitions of tasks, in the order of computation."""
    repetitions = [(task, i) for task in TASKS for i in range(REPEATS)] if tasks else []
    order = work_order(sources.sizes, splits) if sources.sizes else []
    kinds = FORESTS if equal else [""]
    return repetitions + [(kind + name, split) for name, split in order for kind in kinds]


def run(
    predictions: Mapping[str, Predictions],
    out: Path,
    *,
    store: Path | None = None,
    sources: Sources = NO_SOURCES,
    splits: int = 3,
    equal: bool = False,
    tasks: bool = False,
    config: Config | None = None,
    command: str = "",
    notes: Sequence[str] = (),
    jobs: int = 1,
    minutes: float | None = None,
    advance: Callable[[str, int], None] = lambda name, split: None,
) -> Result:
    """Compare all scores and write ``scores.md`` and ``scores.csv`` to the folder `out`.

    Parameters
    ----------
    predictions : mapping of str to Predictions
        Labelled predictions of ensembles by name.
    out : Path
        Output folder.
    store : Path, optional
        Folder in which finished splits are stored and not computed again; by default `out`.
    sources : Sources
        Datasets for the forests of Table 2.
    splits : int
        Splits per dataset.
    equal : bool
        Whether to train forests with equal hyperparameters too.
    tasks : bool
        Whether to include out-of-distribution detection and active learning.
    config : Config, optional
        Seed and number of forests.
    command, notes : str and sequence of str
        The command, and sentences about the ensembles, for the page.
    jobs, minutes, advance
        As in `compute`.

    Returns
    -------
    Result
    """
    check_folder(out)
    config = config or Config(space=SPACE)
    comparisons = [compare_predictions(name, one, config.seed) for name, one in predictions.items()]
    order = pieces(sources, splits, equal, tasks)
    outcome = Outcome([])
    if order:
        outcome = compute(
            ResultStore((store or out) / STORE, config), order, _loader(sources), run_piece, SCORES,
            files=sources.files, jobs=jobs, minutes=minutes, advance=advance,
        )  # fmt: skip
    report = Report(comparisons, outcome, config, command, list(notes))
    text, files = write(report, out)
    return Result(text, comparisons, outcome, files)


def run_piece(name: str, X: Array, y: Array, split: int, config: Config) -> dict[str, Any]:
    """Compute a split of a dataset, or a repetition of a task."""
    return (run_task if name in TASKS else compare_split)(name, X, y, split, config)


def _loader(sources: Sources) -> Callable[[str], Dataset]:
    return lambda name: load_bundled("digits") if name in TASKS else sources.load(dataset_of(name))
