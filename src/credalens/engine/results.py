"""Read a folder of scores for evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._validation import seed
from credalens.engine.partitions import read_manifest
from credalens.evaluation.selection import ScoredBlock
from credalens.io.formats import MANIFEST, column_names
from credalens.io.labels import LabelFile
from credalens.io.parquet import open_parquet
from credalens.io.row_labels import UNKNOWN, label_fix, row_labels
from credalens.io.source import raise_file_error, read_errors

#: Rows that are read at once.
BLOCK_ROWS = 1 << 18


class ScoreDataset:
    """A finished folder of scores with labels, or with labels from a ``.npy`` file."""

    def __init__(self, path: Path, labels: str | None = None, ignore: Collection[str] = ()) -> None:
        self.path, self._ignore = path, ignore
        manifest = read_manifest(path)
        parts = manifest["partitions"]
        if not manifest["complete"]:
            done = sum(part["status"] == "finished" for part in parts)
            problem = f"has {done} of {len(parts)} partitions"
            raise_file_error(str(path), problem, "run the score command again to finish it")
        #: Number of rows with scores and a label.
        self.rows: int = manifest["rows"]
        #: Names of the columns of scores.
        self.names: tuple[str, ...] = tuple(manifest["settings"]["columns"])
        self._parts = [(path / part["file"], part["start"]) for part in parts if part["rows"]]
        self._classes = manifest["settings"]["classes"]
        self._labels = None if labels is None else LabelFile(labels)
        if not self.rows:
            raise_file_error(str(path), "has no rows", "fix the files and score them again")
        if self._labels is not None:
            self._check_labels(self._labels, parts[-1]["stop"], manifest["left_out"])
        elif "correct" not in column_names(self._parts[0][0]):
            fix = "pass --labels FILE, or score with labels"
            raise_file_error(str(path), "has no labels", fix)
        #: Number of rows without a label, or whose label is ignored.
        self.unlabelled = 0
        self.unlabelled = self.rows - sum(len(right) for right, _ in self.blocks([])())
        self.rows -= self.unlabelled
        if not self.rows:
            raise_file_error(str(path), "has no row with a label", "pass other labels")

    def _check_labels(self, labels: LabelFile, rows: int, dropped: int) -> None:
        if len(labels) != rows:
            raise_file_error(labels.path, f"has {len(labels)} labels", f"pass {rows}")
        if dropped:
            problem = f"lacks {dropped} dropped rows, so labels cannot be matched"
            raise_file_error(str(self.path), problem, "score with the labels")

    def columns(self, score: str) -> list[str]:
        """Return the columns of a score: both ends of ``*_aleatoric (interval)``."""
        stem = score.removesuffix(" (interval)")
        return [score] if stem == score else [f"{stem}_lower", f"{stem}_upper"]

    @property
    def ranked(self) -> list[str]:
        """Names of the scores by which rows can be ranked: columns, and pairs of them."""
        found = []
        for name in self.names:
            found.append(name)
            stem = name.removesuffix("_upper")
            if stem != name and f"{stem}_lower" in self.names:
                found.append(f"{stem} (interval)")
        return found

    def majority_class(self) -> float:
        """Return the share of the most frequent label."""
        counts: Counter[Any] = Counter()
        if self._labels is not None:
            for start in range(0, len(self._labels), BLOCK_ROWS):
                labels = self._indices(self._labels, start, BLOCK_ROWS)
                counts.update(labels[labels >= 0].tolist())
            return max(counts.values()) / counts.total()
        for path, _ in self._parts:
            with read_errors(str(path)), open_parquet(str(path)) as file:
                for batch in file.iter_batches(BLOCK_ROWS, columns=["label"]):
                    for entry in batch.column("label").drop_null().value_counts():
                        counts[entry["values"].as_py()] += entry["counts"].as_py()
        return max(counts.values()) / counts.total()

    def blocks(self, names: Sequence[str]) -> Callable[[], Iterator[ScoredBlock]]:
        """Return a function that iterates over all rows, with these columns of scores."""

        def read() -> Iterator[ScoredBlock]:
            for path, start in self._parts:
                yield from self._read(str(path), start, names)

        return read

    def _read(self, path: str, row: int, names: Sequence[str]) -> Iterator[ScoredBlock]:
        truth = "correct" if self._labels is None else "prediction"
        with read_errors(path), open_parquet(path) as file:
            for batch in file.iter_batches(BLOCK_ROWS, columns=[truth, *names]):
                column = batch.column(truth)
                right = column.to_numpy(zero_copy_only=False)
                valid = np.asarray(column.is_valid())
                if self._labels is not None:
                    right, valid = self._compare(right, self._labels, row)
                row += len(right)
                scores = [batch.column(name).to_numpy() for name in names]
                if not valid.all():
                    right, scores = right[valid].astype(bool), [score[valid] for score in scores]
                yield right, scores

    def _compare(self, predicted: Array, file: LabelFile, row: int) -> tuple[Array, Array]:
        """Return which predictions from `row` on equal the labels in a file, and which have one."""
        labels = self._indices(file, row, len(predicted))
        if not isinstance(self._classes, int):
            names = tuple(self._classes)
            predicted = np.array([names.index(name) for name in predicted.tolist()])
        return np.asarray(labels == predicted), np.asarray(labels >= 0)

    def _indices(self, file: LabelFile, row: int, count: int) -> Array:
        """Return the class indices of labels in a file, negative for missing ones."""
        names = None if isinstance(self._classes, int) else tuple(self._classes)
        n_classes = self._classes if names is None else len(names)
        raw = file[row : row + count]
        labels = row_labels(raw, names, n_classes, self._ignore).indices
        if (labels == UNKNOWN).any():
            first = int(np.argmax(labels == UNKNOWN))
            fix = label_fix(raw, raw[first], names, n_classes)
            raise_file_error(file.path, f"has the label {raw[first]!s}", fix, row=row + first)
        return np.asarray(labels)

    def load(
        self, names: Sequence[str], most: int, random_state: Any = 0
    ) -> tuple[Array, dict[str, Array]]:
        """Return whether predictions are correct, and columns of scores, of about `most` rows.

        If there are more rows, each is drawn independently with the same probability.
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
    """Return whether the only input is a folder of scores."""
    return len(names) == 1 and (Path(names[0]) / MANIFEST).is_file()
