"""Scores that a cluster has written, read back to be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

from credalens._arrays import Array
from credalens._validation import seed
from credalens.datasets.cluster.folder import read_manifest
from credalens.datasets.files.labels import LabelFile
from credalens.datasets.files.opening import MANIFEST
from credalens.datasets.files.parquet import opened
from credalens.datasets.files.source import reading, refuse_file
from credalens.evaluation.labels import UNKNOWN, label_indices
from credalens.evaluation.selection import ScoredBlock

#: Rows read at once.
BLOCK_ROWS = 1 << 18


class ScoreDataset:
    """A finished folder of scores with labels.

    Parameters
    ----------
    path : Path
        The folder.
    labels : str, optional
        A ``.npy`` file of true classes, if the scores were computed without.
    """

    def __init__(self, path: Path, labels: str | None = None) -> None:
        self.path = path
        manifest = read_manifest(path)
        parts = manifest["partitions"]
        if not manifest["complete"]:
            done = sum(part["status"] == "finished" for part in parts)
            refuse_file(
                str(path),
                f"has {done} of {len(parts)} partitions",
                "run the score command again, which goes on",
            )
        #: Number of rows that have scores.
        self.rows: int = manifest["rows"]
        #: Names of the columns of scores.
        self.names: tuple[str, ...] = tuple(manifest["settings"]["columns"])
        self._parts = [part for part in parts if part["rows"]]
        self._classes = manifest["settings"]["classes"]
        self._labels = None if labels is None else LabelFile(labels)
        self._check_labels(manifest)

    def _check_labels(self, manifest: dict[str, Any]) -> None:
        if not self.rows:
            refuse_file(str(self.path), "has no rows", "mend the files and score them again")
        if self._labels is None:
            with reading(self._file(0)):
                held = pyarrow.parquet.read_schema(self._file(0)).names
            if "correct" not in held:
                refuse_file(
                    str(self.path), "has no labels", "pass --labels FILE, or score with labels"
                )
            return
        n = manifest["partitions"][-1]["stop"]
        if len(self._labels) != n:
            refuse_file(self._labels.path, f"has {len(self._labels)} labels", f"pass {n}")
        if manifest["left_out"]:
            refuse_file(
                str(self.path),
                f"has left out {manifest['left_out']} rows, so that labels cannot be matched",
                "score with the labels",
            )

    def _file(self, i: int) -> str:
        return str(self.path / self._parts[i]["file"])

    def columns(self, score: str) -> list[str]:
        """Return the columns of a score: of ``*_aleatoric (interval)`` both ends."""
        stem = score.removesuffix(" (interval)")
        return [score] if stem == score else [f"{stem}_lower", f"{stem}_upper"]

    @property
    def ranked(self) -> list[str]:
        """Names of the scores that rows can be ordered by: the columns, and their interval."""
        stems = [name.removesuffix("_lower") for name in self.names if name.endswith("_lower")]
        pairs = [f"{stem} (interval)" for stem in stems if f"{stem}_upper" in self.names]
        return [*self.names, *pairs]

    def blocks(self, names: Sequence[str]) -> Callable[[], Iterator[ScoredBlock]]:
        """Return what gives the rows, block by block, with these columns of scores."""

        def read() -> Iterator[ScoredBlock]:
            for i in range(len(self._parts)):
                yield from self._read(i, names)

        return read

    def _read(self, i: int, names: Sequence[str]) -> Iterator[ScoredBlock]:
        truth = "correct" if self._labels is None else "prediction"
        with reading(self._file(i)), opened(self._file(i)) as file:
            row = self._parts[i]["start"]
            for batch in file.iter_batches(BLOCK_ROWS, columns=[truth, *names]):
                told = batch.column(truth).to_numpy(zero_copy_only=False)
                right = told if self._labels is None else self._compare(told, self._labels, row)
                yield right, [batch.column(name).to_numpy() for name in names]
                row += len(right)

    def _compare(self, predicted: Array, file: LabelFile, row: int) -> Array:
        """Return which predictions are right, by labels from a file of their own."""
        names = None if isinstance(self._classes, int) else tuple(self._classes)
        n_classes = self._classes if names is None else len(names)
        labels = label_indices(file[row : row + len(predicted)], names, n_classes)
        if (labels == UNKNOWN).any():
            first = row + int(np.argmax(labels == UNKNOWN))
            refuse_file(file.path, "is no class", f"labels are 0 to {n_classes - 1}", row=first)
        if names is not None:
            predicted = np.array([names.index(name) for name in predicted.tolist()])
        return np.asarray(labels == predicted)

    def load(
        self, names: Sequence[str], most: int, random_state: Any = 0
    ) -> tuple[Array, dict[str, Array]]:
        """Return what was right, and columns of scores, of all rows or of about `most`.

        If there are more, each row is drawn by itself with the same chance; rows keep their order.
        """
        rng = np.random.default_rng(seed(random_state))
        found = []
        for right, columns in self.blocks(names)():
            kept: Any = slice(None)
            if self.rows > most:
                kept = rng.random(len(right)) < most / self.rows
            found.append([column[kept] for column in (right, *columns)])
        right, *scores = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return right, dict(zip(names, scores, strict=True))


def is_score_folder(names: Sequence[str]) -> bool:
    """Tell whether a folder of scores is meant, and not predictions."""
    return len(names) == 1 and (Path(names[0]) / MANIFEST).is_file()
