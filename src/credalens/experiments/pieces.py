"""Work cut into pieces that are kept: a run that was stopped goes on where it was."""

from __future__ import annotations

import functools
import importlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from credalens._files import check_folder, replacing
from credalens.datasets import Dataset
from credalens.experiments.protocol import Config, components, run_piece

#: So many of the largest datasets come last.
N_LARGEST = 5

Piece = dict[str, Any]


class OtherRunError(ValueError):
    """The folder holds pieces that were computed with other settings."""


def check_settings(path: Path, wanted: dict[str, Any], what: str, option: str) -> None:
    """Refuse a folder whose settings, if there are any at `path`, are not these.

    `what` the folder holds, and the `option` that names another one, are for the refusal.
    """
    check_folder(path.parent)
    if not path.exists():
        return
    found = json.loads(path.read_text())
    different = sorted(key for key in wanted if found.get(key) != wanted[key])
    if different:
        raise OtherRunError(
            f"{path.parent} holds {what} with another {', '.join(different)}; choose another "
            f"folder for {option}, or remove this one"
        )


def keep_settings(path: Path, wanted: dict[str, Any], what: str, option: str) -> None:
    """Make the folder of `path` and keep the settings there; see `check_settings`.

    Called when a result is at hand or certain to come: a run that cannot begin leaves no folder.
    Meanwhile another run may have begun there.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(wanted, indent=1) + "\n")
    check_settings(path, wanted, what, option)


@dataclass
class Store:
    """The folder of finished pieces."""

    folder: Path
    config: Config

    @property
    def settings(self) -> Path:
        """Where the configuration is kept."""
        return self.folder / "config.json"

    def check(self) -> None:
        """Refuse a folder with pieces of another configuration, or that cannot be written to."""
        check_settings(*self._settings())

    def _settings(self) -> tuple[Path, dict[str, Any], str, str]:
        return self.settings, self.config.describe(), "a run", "--out"

    def path(self, name: str, split: int) -> Path:
        """Return where a piece is kept."""
        return self.folder / "pieces" / f"{name}-{split:02d}.json"

    def read(self, name: str, split: int, families: Sequence[str]) -> Piece | None:
        """Return a finished piece if it has every measure that is asked for."""
        path = self.path(name, split)
        if not path.exists():
            return None
        try:
            piece: Piece = json.loads(path.read_text())
        except ValueError:  # not ours, or a disk that lost it: computed again
            return None
        wanted = {
            f"{component} {family}" for family in families for component in components(family)
        }
        return piece if wanted <= set(piece["measures"]) else None

    def write(self, piece: Piece) -> None:
        """Keep a piece; it is there whole or not at all. The first one makes the folder."""
        keep_settings(*self._settings())
        self.folder.joinpath("pieces").mkdir(exist_ok=True)
        with replacing(self.path(piece["dataset"], piece["split"])) as temporary:
            temporary.write_text(json.dumps(piece) + "\n")


@dataclass
class Outcome:
    """What a run found."""

    pieces: list[Piece]
    #: Datasets that failed, with the reason.
    failures: dict[str, str] = field(default_factory=dict)
    #: Pieces that the time limit left out.
    n_left: int = 0
    #: Pieces that were there already.
    n_kept: int = 0


def in_order(sizes: dict[str, int], n_splits: int) -> list[tuple[str, int]]:
    """Return (dataset, split) in the order of work.

    Split by split, so that a run that is stopped has the same number of splits, or one more, of
    nearly all datasets. After their first split, the five largest wait for all others.

    Examples
    --------
    >>> from credalens.experiments.pieces import in_order
    >>> sizes = {"huge": 90, "small": 1, "b": 50, "c": 60, "d": 70, "e": 80}
    >>> [name for name, _ in in_order(sizes, 2)[:7]]
    ['small', 'b', 'c', 'd', 'e', 'huge', 'small']
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
    store: Store,
    order: Sequence[tuple[str, int]],
    families: Sequence[str],
    load: Callable[[str], Dataset],
    *,
    files: Mapping[str, Path] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    minutes: float | None = None,
    advance: Callable[[str, int], None] = lambda name, split: None,
) -> Outcome:
    """Compute what is not there yet, keep each piece as it comes, and return all of them.

    `advance` is told of every piece that is done. After `minutes` no further piece is begun. The
    reasons of failures name the file of the dataset, if it has one in `files`.
    """
    from joblib import Parallel, delayed

    store.check()
    done = {key: store.read(*key, families) for key in order}
    outcome = Outcome([], n_kept=sum(piece is not None for piece in done.values()))
    for key, kept in done.items():
        if kept is not None:
            advance(*key)
    deadline = None if minutes is None else time.time() + 60 * minutes
    cached = functools.lru_cache(maxsize=N_LARGEST + 1)(load)

    def tasks() -> Iterator[Any]:
        for name, split in order:
            if done[name, split] is not None or name in outcome.failures:
                continue
            if deadline is not None and time.time() > deadline:
                outcome.n_left += 1
                advance(name, split)
                continue
            try:
                data = cached(name)
            except (OSError, ValueError) as error:
                outcome.failures[name] = _reason(error)
                continue
            yield delayed(attempt)(name, data.X, data.y, split, store.config, families, deadline)

    with _backend(scheduler):
        workers = jobs if scheduler is None else -1
        results = Parallel(workers, return_as="generator_unordered", batch_size=1)(tasks())
        for name, split, piece, failure in results:
            if piece is not None:
                store.write(piece)
                done[name, split] = piece
            elif failure is not None:
                where = f"{files[name]}: " if files and name in files else ""
                outcome.failures.setdefault(name, where + failure)
            else:
                outcome.n_left += 1
            advance(name, split)
    outcome.pieces = [
        piece
        for (name, _), piece in done.items()
        if piece is not None and name not in outcome.failures
    ]
    return outcome


def attempt(
    name: str,
    X: Any,
    y: Any,
    split: int,
    config: Config,
    families: Sequence[str],
    deadline: float | None,
) -> tuple[str, int, Piece | None, str | None]:
    """Compute a piece; return it, or why there is none (None if it is too late for it)."""
    if deadline is not None and time.time() > deadline:
        return name, split, None, None
    try:
        return name, split, run_piece(name, X, y, split, config, families), None
    except Exception as error:
        return name, split, None, _reason(error)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


@contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    """Let joblib use its own processes, or the Dask cluster at an address."""
    if scheduler is None:
        yield
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise ModuleNotFoundError(
            "--scheduler needs Dask: pip install 'credalens[dask]'"
        ) from error
    from joblib import parallel_config

    try:
        client = distributed.Client(scheduler, timeout="10s")
    except OSError as error:
        raise ValueError(f"scheduler: nothing answers at {scheduler}") from error
    with client, parallel_config(backend="dask", client=client):
        yield
