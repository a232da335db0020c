"""Computes and stores the results of splits; an interrupted run can be continued.

A result is a dictionary, stored as one JSON file in the folder ``pieces`` of the output folder.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from credalens._extras import require
from credalens._files import check_folder
from credalens.datasets import Dataset
from credalens.experiments.output import write_text
from credalens.experiments.protocol import Config

#: Number of largest datasets whose further splits are computed last.
N_LARGEST = 5

#: What is stored of a split: among others "dataset", "split" and "measures", a dict by name.
SplitResult = dict[str, Any]
#: Computes a split from the name, X, y, its number and the configuration.
RunSplit = Callable[[str, Any, Any, int, Config], SplitResult]


class SettingsMismatchError(ValueError):
    """The folder contains results that were computed with other settings."""


def check_settings(path: Path, settings: dict[str, Any], content: str, option: str) -> None:
    """Raise an error if `path` exists and contains other settings.

    `content` describes what the folder contains, and `option` selects another folder; both are
    used in the message.
    """
    check_folder(path.parent)
    if not path.exists():
        return
    stored = json.loads(path.read_text())
    different = sorted(key for key in settings if stored.get(key) != settings[key])
    if different:
        raise SettingsMismatchError(
            f"{path.parent} contains {content} with another {', '.join(different)}; choose "
            f"another folder for {option}, or remove this one"
        )


def save_settings(path: Path, settings: dict[str, Any], content: str, option: str) -> None:
    """Store the settings, or check those that another run has stored; see `check_settings`.

    Call it when the first result is available, so that a run that fails creates no folder.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(settings, indent=1) + "\n")
    check_settings(path, settings, content, option)


@dataclass
class ResultStore:
    """The folder of the results."""

    folder: Path
    config: Config

    def check(self) -> None:
        """Raise an error if the folder has results of another configuration or is read-only."""
        check_settings(*self._settings())

    def _settings(self) -> tuple[Path, dict[str, Any], str, str]:
        return self.folder / "config.json", self.config.describe(), "a run", "--out or --store"

    def path(self, name: str, split: int) -> Path:
        """Return the file of a result."""
        return self.folder / "pieces" / f"{name}-{split:02d}.json"

    def read(self, name: str, split: int, measures: Collection[str]) -> SplitResult | None:
        """Return a stored result if it contains all of the measures."""
        path = self.path(name, split)
        if not path.exists():
            return None
        try:
            result: SplitResult = json.loads(path.read_text())
        except ValueError:  # a damaged file: compute it again
            return None
        return result if set(measures) <= set(result["measures"]) else None

    def write(self, result: SplitResult) -> None:
        """Store a result; the first one creates the folder."""
        save_settings(*self._settings())
        self.folder.joinpath("pieces").mkdir(exist_ok=True)
        stored = result | {"credalens": version("credalens")}
        write_text(self.path(result["dataset"], result["split"]), json.dumps(stored) + "\n")

    def read_all(
        self, order: Iterable[tuple[str, int]], measures: Collection[str]
    ) -> dict[tuple[str, int], SplitResult | None]:
        """Return the stored result of every (dataset, split), None for those not computed yet."""
        self.check()
        return {key: self.read(*key, measures) for key in order}


@dataclass
class Outcome:
    """The results of a run."""

    results: list[SplitResult]
    #: Datasets that failed, with the reason.
    failures: dict[str, str] = field(default_factory=dict)
    #: Number of splits that were not computed because of the time limit.
    n_skipped: int = 0
    #: Number of splits whose result was stored before.
    n_reused: int = 0
    #: Times of the measures from a pass of their own, and whether `results` has them.
    times: list[SplitResult] = field(default_factory=list)
    is_timed: bool = False


def work_order(sizes: dict[str, int], n_splits: int) -> list[tuple[str, int]]:
    """Return all (dataset, split) in the order of computation.

    Splits are computed in turn, so that an interrupted run has about the same number of splits of
    nearly all datasets. Only the further splits of the largest datasets come last.
    """
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    later = [(part, range(1, n_splits)) for part in (names[:-N_LARGEST], names[-N_LARGEST:])]
    return [
        (name, split)
        for part, splits in [(names, range(min(n_splits, 1))), *later]
        for split in splits
        for name in part
    ]


def compute(
    store: ResultStore,
    order: Sequence[tuple[str, int]],
    load: Callable[[str], Dataset],
    run: RunSplit,
    measures: Collection[str],
    *,
    files: Mapping[str, Path] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    minutes: float | None = None,
    advance: Callable[[str, int], None] = lambda name, split: None,
) -> Outcome:
    """Compute the splits that are not stored yet, store each, and return the results of all.

    `run` computes a split; stored results without all of the `measures` are computed again.
    `advance` is called after every split. After `minutes`, no further split is started. Reasons of
    failures include the file of the dataset, if it is in `files`.
    """
    from joblib import Parallel, delayed

    done = store.read_all(order, measures)
    stored = [key for key, result in done.items() if result is not None]
    outcome = Outcome([], n_reused=len(stored))
    for key in stored:
        advance(*key)
    deadline = None if minutes is None else time.time() + 60 * minutes
    cached = functools.lru_cache(maxsize=N_LARGEST + 1)(load)

    def tasks() -> Iterator[Any]:
        for name, split in order:
            if done[name, split] is not None or name in outcome.failures:
                continue
            if deadline is not None and time.time() > deadline:
                outcome.n_skipped += 1
                advance(name, split)
                continue
            try:
                data = cached(name)
            except (OSError, ValueError) as error:
                outcome.failures[name] = _reason(error)
                continue
            yield delayed(try_split)(run, name, data.X, data.y, split, store.config, deadline)

    with _backend(scheduler):
        workers = jobs if scheduler is None else -1
        results = Parallel(workers, return_as="generator_unordered", batch_size=1)(tasks())
        for name, split, result, failure in results:
            if result is not None:
                store.write(result)
                done[name, split] = store.read(name, split, measures)
            elif failure is not None:
                where = f"{files[name]}: " if files and name in files else ""
                outcome.failures.setdefault(name, where + failure)
            else:
                outcome.n_skipped += 1
            advance(name, split)
    outcome.results = [
        result
        for (name, _), result in done.items()
        if result is not None and name not in outcome.failures
    ]
    return outcome


def try_split(
    run: RunSplit,
    name: str,
    X: Any,
    y: Any,
    split: int,
    config: Config,
    deadline: float | None,
) -> tuple[str, int, SplitResult | None, str | None]:
    """Compute a split; return name, split, result and reason of a failure.

    Result and reason are ``None`` if the deadline has passed.
    """
    if deadline is not None and time.time() > deadline:
        return name, split, None, None
    try:
        return name, split, run(name, X, y, split, config), None
    except Exception as error:
        return name, split, None, _reason(error)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


@contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    """Make joblib use its own processes, or the Dask cluster at an address."""
    if scheduler is None:
        yield
        return
    distributed = require("distributed", "dask")
    from joblib import parallel_config

    try:
        client = distributed.Client(scheduler, timeout="10s")
    except OSError as error:
        raise ValueError(f"scheduler: cannot connect to {scheduler}; check the address") from error
    with client, parallel_config(backend="dask", client=client):
        yield
