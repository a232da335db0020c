"""A folder that holds the sketches of a reference and of the parts that were counted."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from credalens._files import atomic_write, locked
from credalens.io.parquet import dataset_files
from credalens.io.source import raise_file_error, read_errors
from credalens.monitor.sketch import ScoreSketch
from credalens.policy import Policy

FORMAT, VERSION = "credalens monitor", 1
#: File that lists what was counted: a part is counted if it is listed there.
STATE = "state.json"


@dataclass(frozen=True)
class Part:
    """A file that was counted."""

    name: str
    #: SHA-256 digest of its content.
    sha256: str
    rows: int
    #: Whether its scores were counted; otherwise only outcomes, of labels that arrived later.
    scores: bool
    #: Number of the run, from 1; 0 is the reference.
    run: int
    #: Trials and errors of each guarantee.
    outcomes: list[list[int]]


class MonitorState:
    """The state of monitoring in a folder.

    `update` adds files. What is listed in ``state.json`` has been counted: this file is replaced
    atomically, and is on the disk before `update` returns, after the sketches that it names. If the
    process is killed before, the next run counts the same files again, from the same state.

    Parameters
    ----------
    folder : str or path
        Created if it does not exist.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.settings: dict[str, Any] | None = None
        #: The reference first, then the parts in the order of arrival.
        self.parts: list[Part] = []
        self._sketches: dict[str, ScoreSketch] = {}
        self._empty: ScoreSketch | None = None
        self._load()

    # ------------------------------------------------------------ content

    @property
    def exists(self) -> bool:
        """Whether the state has a reference."""
        return bool(self.parts)

    @property
    def run(self) -> int:
        """Number of the last run that added a file; 0 if there is only a reference."""
        return max((part.run for part in self.parts), default=0)

    @property
    def empty(self) -> ScoreSketch:
        """A sketch without rows, with the settings of the state."""
        if self._empty is None:
            raise_file_error(str(self.folder), "has no reference", "pass its file first")
        return self._empty

    @property
    def reference(self) -> ScoreSketch:
        """The sketch of the reference."""
        return self.sketch(self.parts[0])

    @property
    def scored(self) -> list[Part]:
        """The parts whose scores were counted, without the reference."""
        return [part for part in self.parts[1:] if part.scores]

    @property
    def outcomes(self) -> list[list[list[int]]]:
        """Trials and errors of each guarantee, part by part in the order of arrival."""
        return [part.outcomes for part in self.parts[1:]]

    def window(self, parts: int | None = None) -> list[Part]:
        """Return the last `parts` parts with scores, by default those of their last run."""
        found = self.scored
        if parts is not None:
            return found[-parts:]
        last = max((part.run for part in found), default=0)
        return [part for part in found if part.run == last]

    def sketch(self, part: Part) -> ScoreSketch:
        """Return the sketch of a part."""
        key = _key(part)
        if key not in self._sketches:
            path = self.folder / key
            with read_errors(str(path)), np.load(path, allow_pickle=False) as arrays:
                self._sketches[key] = self.empty.from_arrays(arrays)
        return self._sketches[key]

    def merged(self, parts: Sequence[Part]) -> ScoreSketch:
        """Return the sketch of several parts together."""
        return sum(map(self.sketch, parts), self.empty.empty())

    # ------------------------------------------------------------ changes

    def create(self, empty: ScoreSketch, options: dict[str, Any]) -> None:
        """Set the settings, of sketches and of the tests, of a state without a reference."""
        self._empty = empty
        self.settings = {**empty.settings, **options}

    def update(
        self,
        files: Sequence[str],
        read: Callable[[str, bool], ScoreSketch],
        late: Sequence[str] = (),
    ) -> list[str]:
        """Count files, the first of which is the reference if there is none.

        Parameters
        ----------
        files : sequence of str
            Files of scores.
        read : callable
            Returns the sketch of a file, given its name and whether its scores are counted.
        late : sequence of str
            Files of scores with labels, of rows whose scores were counted before.

        Returns
        -------
        list of str
            The files that were not counted because a file of the same content was.
        """
        self.folder.mkdir(exist_ok=True)
        with locked(self.folder):
            settings, empty = self.settings, self._empty
            self._load()  # another run may have added parts
            if self.settings is None:
                self.settings, self._empty = settings, empty
            parts, known = list(self.parts), {part.sha256 for part in self.parts}
            skipped, run = [], self.run + 1
            for name, scores in [*((f, True) for f in files), *((f, False) for f in late)]:
                digest = file_digest(name)
                if digest in known:
                    skipped.append(name)
                    continue
                known.add(digest)
                sketch = read(name, scores)
                part = Part(
                    name, digest, sketch.rows, scores, run if parts else 0,
                    sketch.outcomes.tolist(),
                )  # fmt: skip
                parts.append(part)
                if scores:
                    self._write_sketch(part, sketch)
            if len(parts) > len(self.parts):
                self.parts = parts
                self._save()
        return skipped

    def _write_sketch(self, part: Part, sketch: ScoreSketch) -> None:
        self._sketches[_key(part)] = sketch
        content = io.BytesIO()
        np.savez_compressed(content, **sketch.as_arrays())
        with atomic_write(self.folder / _key(part)) as path:
            path.write_bytes(content.getvalue())

    def _save(self) -> None:
        document = {
            "format": FORMAT, "version": VERSION, "settings": self.settings,
            "parts": [asdict(part) for part in self.parts],
        }  # fmt: skip
        with atomic_write(self.folder / STATE) as path:
            path.write_text(json.dumps(document, indent=1, allow_nan=False), encoding="utf-8")

    def _load(self) -> None:
        path = self.folder / STATE
        if not path.exists():
            if self.folder.exists() and (not self.folder.is_dir() or self._is_foreign()):
                raise_file_error(
                    str(self.folder), "is not a state of monitor", "name a new or an empty folder"
                )
            return
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT or document["version"] != VERSION:
                self._raise_damaged()
            self.settings = document["settings"]
            self.parts = [Part(**entry) for entry in document["parts"]]
            self._empty = sketch_of_settings(document["settings"])
        except (ValueError, KeyError, TypeError):
            self._raise_damaged()

    def _is_foreign(self) -> bool:
        """Return whether the folder has files that this class did not write."""
        own = (".npz", ".lock")
        return any(
            not p.name.startswith(".") and p.suffix not in own for p in self.folder.iterdir()
        )

    def _raise_damaged(self) -> NoReturn:
        raise_file_error(
            str(self.folder / STATE), f"is not a state of version {VERSION}",
            "restore it, or start with another folder",
        )  # fmt: skip


def sketch_of_settings(settings: dict[str, Any]) -> ScoreSketch:
    """Return a sketch without rows from its settings as JSON values."""
    policy = settings["policy"]
    return ScoreSketch(
        settings["columns"],
        by=settings["by"],
        policy=None if policy is None else Policy.from_dict(policy),
        target_accuracy=settings["target_accuracy"],
    )


def file_digest(name: str) -> str:
    """Return the SHA-256 digest of a file, or of the Parquet files in a folder."""
    with read_errors(name):
        if Path(name).is_dir():
            files = [(Path(f).relative_to(name).as_posix(), f) for f in dataset_files(Path(name))]
            text = "\n".join(f"{relative} {file_digest(path)}" for relative, path in files)
            return hashlib.sha256(text.encode()).hexdigest()
        with open(name, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def _key(part: Part) -> str:
    return f"{part.sha256[:32]}.npz"
