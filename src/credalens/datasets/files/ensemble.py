"""Several prediction files as one ensemble, read side by side and checked row by row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._arrays import BLOCK_BYTES, Array
from credalens._validation import counted
from credalens.datasets.files.labels import (
    LabelFile,
    first_difference,
    missing,
)
from credalens.datasets.files.source import Block, Source, refuse_file
from credalens.evaluation.labels import UNKNOWN, label_indices, numbered
from credalens.sets import ConvexHull


@dataclass(frozen=True)
class Dropped:
    """A row that was left out."""

    row: int
    id: Any
    file: str
    reason: str


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of all models, without the bad ones."""

    #: First and one past the last row of the files that were read for it.
    start: int
    stop: int
    #: Row numbers of what is left.
    rows: Array
    #: ``(r, M, K)`` probabilities.
    members: Array
    #: Class indices.
    labels: Array | None
    ids: Array | None
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Predictions of several models for the same rows, on disk.

    `chunks` reads them; nothing else of their size is kept.
    """

    sources: tuple[Source, ...]
    #: One name per member.
    names: tuple[str, ...]
    n_classes: int
    #: ``None`` if classes have no names but their indices.
    class_names: tuple[str, ...] | None
    #: Labels from a file of their own.
    labels: Array | LabelFile | None
    labels_path: str
    logits: bool
    temperature: float
    normalize: bool
    #: Identifiers from the file of labels.
    label_ids: Array | None = None

    @property
    def n_rows(self) -> int | None:
        """Number of rows, ``None`` if only reading to the end will tell."""
        return next((s.n_rows for s in self.sources if s.n_rows is not None), None)

    @property
    def expected_rows(self) -> int | None:
        """Number of rows, perhaps a guess from the size of the files."""
        return next((s.expected_rows for s in self.sources if s.expected_rows), None)

    @property
    def has_labels(self) -> bool:
        """Whether a file brings true classes."""
        return self.labels is not None or any(source.has_labels for source in self.sources)

    @property
    def has_ids(self) -> bool:
        """Whether a file brings identifiers."""
        return any(source.has_ids for source in self.sources)

    @property
    def id_type(self) -> Any:
        """The type of the identifiers in Arrow's terms, if it cannot be seen from their values."""
        return next((source.id_type for source in self.sources if source.has_ids), None)

    @property
    def chunk_rows(self) -> int:
        """Rows whose predictions fill a kernel's block."""
        return max(1, BLOCK_BYTES // (8 * len(self.names) * self.n_classes))

    def part(self, start: int, stop: int) -> Ensemble:
        """Return what is needed to read the rows ``start:stop``, to be sent to a worker."""
        return replace(self, sources=tuple(s.part(start, stop) for s in self.sources))

    def chunks(
        self,
        rows: int | None = None,
        start: int = 0,
        skip: bool = False,
        stop: int | None = None,
    ) -> Iterator[Chunk]:
        """Yield the rows ``start:stop``, `rows` at a time.

        Bad rows end the reading with a `PredictionFileError`, or are dropped if `skip`.
        """
        rows = self.chunk_rows if rows is None else rows
        streams = [source.blocks(rows, start, stop) for source in self.sources]
        first = start
        for blocks in zip_longest(*streams):
            self._same_length(blocks, first)
            chunk = self._chunk(blocks, first, skip)
            yield chunk
            first = chunk.stop
        if stop is None and self.labels is not None and len(self.labels) != first:
            refuse_labels(self.labels_path, len(self.labels), first)

    def _same_length(self, blocks: Sequence[Block | None], start: int) -> None:
        sizes = [0 if block is None else len(block) for block in blocks]
        if len(set(sizes)) > 1:
            short = int(np.argmin(sizes))
            long = int(np.argmax(sizes))
            refuse_file(
                self.sources[short].path,
                f"ends after {start + sizes[short]} rows, {self.sources[long].path} goes on",
                "pass models of the same rows",
            )

    def _chunk(self, blocks: Sequence[Block], start: int, skip: bool) -> Chunk:
        ids = self._agreed(blocks, start, "ids", lambda block: block.ids)
        faults: dict[int, tuple[str, str]] = {}
        checked: list[Array | None] = []
        for source, block in zip(self.sources, blocks, strict=True):
            values, bad = self._checked(source, block, start, skip)
            checked.append(values)
            for i, why in bad.items():
                faults.setdefault(i, _placed(source, start + i, why))
        if ids is not None and self.label_ids is not None:
            self._same_ids(ids, self.label_ids, start, faults)
        labels = self._labels(blocks, start, skip, faults)
        n = len(blocks[0])
        good = np.ones(n, dtype=bool)
        good[list(faults)] = False
        if faults:
            checked = [
                self._as_probabilities(source, block.values[good])
                for source, block in zip(self.sources, blocks, strict=True)
            ]
        dropped = tuple(
            Dropped(start + i, None if ids is None else ids[i], path, why)
            for i, (path, why) in sorted(faults.items())
        )
        parts = [values for values in checked if values is not None]
        return Chunk(
            start,
            start + n,
            start + np.flatnonzero(good),
            parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1),
            None if labels is None else labels[good],
            None if ids is None else ids[good],
            dropped,
        )

    def _agreed(
        self,
        blocks: Sequence[Block],
        start: int,
        what: str,
        part: Callable[[Block], Array | None],
    ) -> Array | None:
        """Return what the files that have it agree on."""
        found: Array | None = None
        origin = ""
        for source, block in zip(self.sources, blocks, strict=True):
            own = part(block)
            if own is None:
                continue
            if found is None:
                found, origin = own, source.path
                continue
            i = first_difference(own, found)
            if i is not None:
                refuse_row(
                    source,
                    start + i,
                    f"{what}: {own[i]!s} here, {found[i]!s} in {origin}",
                    "put the rows of all models in the same order",
                )
        return found

    def _same_ids(self, ids: Array, label_ids: Array, start: int, faults: Collection[int]) -> None:
        """Refuse labels of other rows; a row that cannot be read may have lost its identifier."""
        if (ids.dtype.kind == "M") != (label_ids.dtype.kind == "M"):
            return  # a date in a text may be written in several ways
        here = np.delete(np.arange(len(ids)), list(faults))
        here = here[start + here < len(label_ids)]
        own = label_ids[start + here]
        i = first_difference(own, ids[here])
        if i is not None:
            origin = next(source.path for source in self.sources if source.has_ids)
            refuse_file(
                self.labels_path,
                f"ids: {own[i]!s} here, {ids[here][i]!s} in {origin}",
                "put the labels in the order of the rows",
                row=start + int(here[i]),
            )

    def _checked(
        self, source: Source, block: Block, start: int, skip: bool
    ) -> tuple[Array | None, dict[int, str]]:
        """Return probabilities, or what is wrong with which rows."""
        try:
            return self._as_probabilities(source, block.values), {}
        except ValueError as error:
            bad = self._faults(source, block)
            if not bad:
                raise error
            if not skip:
                row = min(bad)
                problem, _, fix = bad[row].partition("; ")
                refuse_row(source, start + row, problem, fix or "mend it, or --on-error skip")
            return None, bad

    def _as_probabilities(self, source: Source, values: Array) -> Array:
        if self.logits or source.is_logits:
            hull = ConvexHull.from_logits(values, self.temperature)
            return np.asarray(hull.members)
        return _validation.probabilities(values, source.path, normalize=self.normalize)

    def _faults(self, source: Source, block: Block) -> dict[int, str]:
        """Say what is wrong with each bad row; only called when there is one."""
        values = block.values.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            suspect = ~np.isfinite(values).all(axis=(1, 2))
            if not (self.logits or source.is_logits):
                suspect |= (values < 0).any(axis=(1, 2))
                off = np.abs(values.sum(axis=2) - 1).max(axis=1)
                suspect |= ~(off <= _validation.tolerance_of(block.values.dtype) / 2)
        found: dict[int, str] = {}
        for i in np.flatnonzero(suspect).tolist():
            try:
                self._as_probabilities(source, block.values[i : i + 1])
            except ValueError:
                found[i] = block.faults.get(i) or self._describe(source, values[i])
        return found

    def _describe(self, source: Source, rows: Array) -> str:
        """Say in words what is wrong with the predictions ``(M, K)`` of one row."""
        names = self.class_names or tuple(str(k) for k in range(self.n_classes))
        for word, bad in (("NaN", np.isnan(rows)), ("infinite", np.isinf(rows)),
                          ("negative", rows < 0)):  # fmt: skip
            if word == "negative" and (self.logits or source.is_logits):
                continue
            if bad.any():
                m, k = (int(i) for i in np.argwhere(bad)[0])
                at = f"class {names[k]}" + (f" of member {m}" if len(rows) > 1 else "")
                fix = "pass --logits if these are logits" if word == "negative" else "mend the row"
                return f"{at} is {word}; {fix}, or leave it out by --on-error skip"
        sums = rows.sum(axis=1)
        m = int(np.argmin(sums) if self.normalize else np.argmax(np.abs(sums - 1)))
        which = f"member {m} " if len(rows) > 1 else ""
        if self.normalize:
            fix = "mend the row, or leave it out by --on-error skip"
            return f"{which}sums to {sums[m]:.10g} and cannot be rescaled; {fix}"
        headless = "--header" in source.options and source.class_names is None
        nameless = headless and _all_whole(rows[m])
        names_maybe = " --header if these are names of classes," if nameless else ""
        return (
            f"{which}sums to {sums[m]:.10g}; pass --normalize to rescale, --logits for logits,"
            f"{names_maybe} or --on-error skip"
        )

    def _labels(
        self, blocks: Sequence[Block], start: int, skip: bool, faults: dict[int, tuple[str, str]]
    ) -> Array | None:
        """Return class indices, and add what is wrong with labels to `faults`."""
        path = self.labels_path
        holder: Source | None = None
        if self.labels is not None:
            raw: Array | None = self.labels[start : start + len(blocks[0])]
            if raw is not None and len(raw) < len(blocks[0]):
                refuse_labels(path, len(self.labels))
        else:
            raw = self._agreed(blocks, start, "label", lambda block: block.labels)
            holder = next((s for s in self.sources if s.has_labels), None)
        if raw is None:
            return None
        indices = label_indices(raw, self.class_names, self.n_classes)
        for i in np.flatnonzero(indices == UNKNOWN).tolist():
            known = ", ".join((self.class_names or ())[:20])
            if not numbered(self.class_names):
                known += f"{' or ' if known else ''}0 to {self.n_classes - 1}"
            what = "has no label" if missing(raw[i]) else f"has the label {str(raw[i])!r}"
            if not skip:
                fix = f"labels are {known}"
                if holder is None:
                    refuse_file(path, what, fix, row=start + i)
                refuse_row(holder, start + i, what, fix)
            at = (path, what) if holder is None else _placed(holder, start + i, what)
            faults.setdefault(i, at)
        return indices


def refuse_labels(path: str, count: int, rows: int | None = None) -> NoReturn:
    """Raise the error about a file with more labels, or fewer, than there are rows."""
    more = "fewer than rows" if rows is None else f"the models have {counted(rows, 'row')}"
    refuse_file(path, f"has {counted(count, 'label')}, {more}", "pass one for each row")


def refuse_row(source: Source, row: int, problem: str, fix: str) -> NoReturn:
    """Raise the error about a row, with the file that holds it and its number there."""
    path, inside = source.place(row)
    refuse_file(path, problem, fix, row=inside, overall=row)


def _all_whole(row: Array) -> bool:
    return bool((row == np.rint(row)).all())


def _placed(source: Source, row: int, why: str) -> tuple[str, str]:
    """Return the file that holds a row, and what is wrong, with the row's number in that file."""
    path, inside = source.place(row)
    return path, why if inside == row else f"row {inside} of the file: {why}"
