"""Several prediction files as one ensemble, read in parallel and validated row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from credalens._backend import BLOCK_BYTES, Array
from credalens._validation import counted
from credalens.evaluation.labels import UNKNOWN
from credalens.io.chunk import Chunk, DroppedRow
from credalens.io.ids import first_difference
from credalens.io.joining import join_all_ids, join_by_id
from credalens.io.labels import LabelFile, LabelTable
from credalens.io.row_labels import RowLabels, label_fix, row_labels
from credalens.io.source import Block, Source, raise_file_error
from credalens.io.values import FIX_ROW, MISSING_FIX, ValueOptions


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Predictions of several models for the same rows, on disk; `chunks` reads them."""

    sources: tuple[Source, ...]
    #: One name per member.
    names: tuple[str, ...]
    n_classes: int
    #: ``None`` if the classes are named by their indices.
    class_names: tuple[str, ...] | None
    #: Labels from a separate file.
    labels: LabelTable | LabelFile | None = None
    values: ValueOptions = field(default_factory=ValueOptions)
    #: For each source, the position of each class in its columns; ``None`` if they are in order.
    class_orders: tuple[Array | None, ...] = ()
    #: Labels that are treated as missing, as text.
    ignore: tuple[str, ...] = ()
    #: Whether rows in another order are matched by their identifiers.
    join: bool = True
    #: What was inferred from the files, for the user; reading may add to it.
    notes: list[str] = field(default_factory=list)
    #: Whether models may lack rows, which are then matched by their identifiers; None if there is
    #: no option for it.
    missing: bool | None = None
    #: Weights of the models, ``(M,)``.
    weights: Array | None = None

    @property
    def n_rows(self) -> int | None:
        """Number of rows; ``None`` if it is known only after reading the files."""
        return next((s.n_rows for s in self.sources if s.n_rows is not None), None)

    @property
    def expected_rows(self) -> int | None:
        """Number of rows, possibly estimated from the file sizes."""
        return next((s.expected_rows for s in self.sources if s.expected_rows), None)

    @property
    def has_labels(self) -> bool:
        """Whether a file contains labels."""
        return self.labels is not None or any(source.has_labels for source in self.sources)

    @property
    def id_type(self) -> Any:
        """Arrow type of the identifiers if their NumPy dtype does not determine it."""
        return next((source.id_type for source in self.sources if source.id_name is not None), None)

    @property
    def chunk_rows(self) -> int:
        """Default number of rows per chunk, which fills one block of the kernels."""
        return max(1, BLOCK_BYTES // (8 * len(self.names) * self.n_classes))

    def restrict(self, start: int, stop: int) -> Ensemble:
        """Return an ensemble that can read the rows ``start:stop``, to be sent to a worker."""
        return replace(self, sources=tuple(s.restrict(start, stop) for s in self.sources))

    def chunks(
        self,
        rows: int | None = None,
        start: int = 0,
        skip: bool = False,
        stop: int | None = None,
    ) -> Iterator[Chunk]:
        """Yield the rows ``start:stop`` in chunks of `rows`.

        An invalid row raises `PredictionFileError`, or is dropped if `skip` is true. If the rows of
        several files with identifiers are in different orders, they are matched: up to the first
        difference nothing but the files is read.
        """
        rows = self.chunk_rows if rows is None else rows
        streams = [source.blocks(rows, start, stop) for source in self.sources]
        first = start
        checked = set[str]()
        for blocks in zip_longest(*streams):
            if self._are_in_another_order(blocks):
                if self.missing:
                    sources, notes = join_all_ids(self.sources)
                else:
                    sources, notes = join_by_id(self.sources, self.values.suggest_missing)
                self.notes.extend(note for note in notes if note not in self.notes)
                yield from replace(self, sources=tuple(sources)).chunks(rows, first, skip, stop)
                return
            self._check_lengths(blocks, first)
            for source, block in zip(self.sources, blocks, strict=True):
                if source.path not in checked:
                    checked.add(source.path)
                    self.values.check(source, block.values)
            chunk = self._chunk(blocks, first, skip)
            yield chunk
            first = chunk.stop
        labels = self.labels
        if stop is None and isinstance(labels, LabelTable):
            labels.check_matches()
        if stop is None and labels is not None and len(labels) != first and not _by_id(labels):
            raise_label_count_error(labels.path, len(labels), first, self.sources)

    def _are_in_another_order(self, blocks: Sequence[Block | None]) -> bool:
        """Return whether identifiers differ between files that can be read again."""
        if not self.join or any(source.path == "stdin" for source in self.sources):
            return False
        if self.missing and len({0 if block is None else len(block) for block in blocks}) > 1:
            return True
        ids = [block.ids for block in blocks if block is not None and block.ids is not None]
        return any(
            len(own) != len(ids[0]) or first_difference(own, ids[0]) is not None for own in ids[1:]
        )

    def _check_lengths(self, blocks: Sequence[Block | None], start: int) -> None:
        sizes = [0 if block is None else len(block) for block in blocks]
        if len(set(sizes)) > 1:
            short, long = int(np.argmin(sizes)), int(np.argmax(sizes))
            ends = f"ends after {start + sizes[short]} rows"
            problem = f"{ends}, {self.sources[long].path} has more"
            fix = "pass models of the same rows"
            by_id = self.join and all(source.id_name is not None for source in self.sources)
            if by_id and self.missing is False:
                fix += f", {MISSING_FIX}"
            raise_file_error(self.sources[short].path, problem, fix)

    def _chunk(self, blocks: Sequence[Block], start: int, skip: bool) -> Chunk:
        ids = self._common(blocks, start, "ids")
        errors: dict[int, tuple[str, str]] = {}
        parts: list[Array] = []
        deviation = 0.0
        mask = None
        if self.missing:
            blocks, mask = self._fill_missing(blocks)
            for row in np.flatnonzero(~mask.any(axis=1)).tolist():
                problem = "no model has a prediction"
                if not skip:
                    raise_row_error(self.sources[0], start + row, problem, FIX_ROW)
                errors[row] = _at_row(self.sources[0], start + row, problem)
        for i, (source, block) in enumerate(zip(self.sources, blocks, strict=True)):
            try:
                part, own = self._convert(i, block.values)
                parts.append(part)
                deviation = max(deviation, own)
            except ValueError:
                invalid = self.values.row_errors(source, block, source.class_names, first=not skip)
                if not invalid:
                    raise
                row = min(invalid)
                if not skip:
                    problem, _, fix = invalid[row].partition("; ")
                    raise_row_error(source, start + row, problem, fix or FIX_ROW)
                for j, why in invalid.items():
                    errors.setdefault(j, _at_row(source, start + j, why))
        labels = self._labels(blocks, ids, start, skip, errors)
        n = len(blocks[0])
        valid = np.ones(n, dtype=bool)
        valid[list(errors)] = False
        if errors:
            found = [self._convert(i, block.values[valid]) for i, block in enumerate(blocks)]
            parts, deviation = [part for part, _ in found], max(own for _, own in found)
        dropped = tuple(
            DroppedRow(start + i, None if ids is None else ids[i], path, why)
            for i, (path, why) in sorted(errors.items())
        )
        distributions = None if labels is None else labels.distributions
        members = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if mask is not None:
            mask = mask[valid]
            members = np.where(mask[:, :, None], members, members.dtype.type(np.nan))
        return Chunk(
            start,
            start + n,
            start + np.flatnonzero(valid),
            members,
            None if labels is None else labels.indices[valid],
            None if ids is None else ids[valid],
            dropped,
            None if distributions is None else distributions[valid],
            deviation,
            0 if labels is None else labels.missing,
            0 if labels is None else labels.ignored,
            mask,
            self.weights,
        )

    def _fill_missing(self, blocks: Sequence[Block]) -> tuple[list[Block], Array]:
        """Return blocks with uniform rows in place of missing ones, and which are present."""
        filled, present = [], []
        for source, block in zip(self.sources, blocks, strict=True):
            lost = np.zeros(block.values.shape[:2], bool)
            if block.values.dtype.kind == "f":
                lost |= np.isnan(block.values).all(axis=2)
            lost[list(block.errors)] = False  # these could not be parsed
            present.append(~lost)
            if lost.any():
                values = np.array(block.values)
                values[lost] = self.values.uniform(source)
                block = replace(block, values=values)
            filled.append(block)
        return filled, np.concatenate(present, axis=1)

    def _convert(self, i: int, values: Array) -> tuple[Array, float]:
        """Return the probabilities of source `i`, classes in the common order."""
        found, deviation = self.values.convert(self.sources[i], values)
        order = self.class_orders[i] if self.class_orders else None
        return (found if order is None else found[..., order]), deviation

    def _common(self, blocks: Sequence[Block], start: int, name: str) -> Array | None:
        """Return the labels or ids of the files that have them, which must be equal."""
        first: Array | None = None
        first_path, missing = "", None
        for source, block in zip(self.sources, blocks, strict=True):
            own: Array | None = getattr(block, name)
            if own is None:
                continue
            if first is None:
                first, first_path, missing = own, source.path, block.absent
                continue
            if name == "labels" and (missing is not None or block.absent is not None):
                first, own, missing = _merged(first, missing, own, block.absent)
            i = _first_difference(own, first)
            if i is not None:
                problem = f"{name}: {_shown(own[i])} here, {_shown(first[i])} in {first_path}"
                fix = "put the rows of all models in the same order"
                if name == "labels":
                    fix += ", or pass --label-column none if these are not the true classes"
                raise_row_error(source, start + i, problem, fix)
        if name == "labels" and first is not None and missing is not None and missing.any():
            first = first.astype(object if first.ndim == 1 else np.float64)
            first[missing] = None if first.ndim == 1 else np.nan
        return first

    def _stored_labels(
        self,
        blocks: Sequence[Block],
        ids: Array | None,
        start: int,
        errors: dict[int, tuple[str, str]],
    ) -> tuple[Array | None, str, Source | None]:
        """Return labels as they are stored, their file, and the source if they are in one."""
        n = len(blocks[0])
        if self.labels is not None:
            raw: Array | None = self.labels.at(start, n, ids, errors)
            if raw is not None and len(raw) < n:
                raise_label_count_error(self.labels.path, len(self.labels), None, self.sources)
            return raw, self.labels.path, None
        source = next((one for one in self.sources if one.has_labels), None)
        return self._common(blocks, start, "labels"), "" if source is None else source.path, source

    def _labels(
        self,
        blocks: Sequence[Block],
        ids: Array | None,
        start: int,
        skip: bool,
        errors: dict[int, tuple[str, str]],
    ) -> RowLabels | None:
        """Return class indices; invalid labels are raised, or added to `errors`."""
        raw, path, source = self._stored_labels(blocks, ids, start, errors)
        if raw is None:
            return None
        try:
            found = row_labels(raw, self.class_names, self.n_classes, self.ignore)
        except ValueError as error:
            problem, _, fix = str(error).partition("; ")
            raise_file_error(path, problem, fix)
        for i in np.flatnonzero(found.indices == UNKNOWN).tolist():
            label = _shown(raw[i])
            problem = f"has the label {label!r}"
            if not skip:
                known = self.labels.values if isinstance(self.labels, LabelTable) else raw
                fix = label_fix(known, raw[i], self.class_names, self.n_classes)
                if source is None:
                    raise_file_error(path, problem, fix, row=start + i)
                raise_row_error(source, start + i, problem, fix)
            at = (path, problem) if source is None else _at_row(source, start + i, problem)
            errors.setdefault(i, at)
        return found


def _by_id(labels: LabelTable | LabelFile) -> bool:
    return isinstance(labels, LabelTable) and labels.by_id


def _merged(
    first: Array, missing: Array | None, own: Array, absent: Array | None
) -> tuple[Array, Array, Array]:
    """Return labels of two files that both lack rows: merged twice, and where both lack them."""
    missing = np.zeros(len(first), bool) if missing is None else missing
    absent = np.zeros(len(own), bool) if absent is None else absent
    if first.shape != own.shape:
        return first, own, missing & absent
    either = (slice(None), *(None for _ in first.shape[1:]))
    return (
        np.where(missing[either], own, first),
        np.where(absent[either], first, own),
        missing & absent,
    )


def _first_difference(a: Array, b: Array) -> int | None:
    """Return the first index at which labels or identifiers differ, of any number of axes."""
    if a.ndim == b.ndim == 1:
        return first_difference(a, b)
    if a.shape == b.shape:
        different = ~np.all((a == b) | ((a != a) & (b != b)), axis=1)
        return int(np.argmax(different)) if different.any() else None
    return None if a.size == b.size == len(a) and (a.ravel() == b.ravel()).all() else 0


def _shown(label: Any) -> str:
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    return " ".join(str(label).split())


def raise_label_count_error(
    path: str, count: int, rows: int | None = None, sources: Sequence[Source] = ()
) -> NoReturn:
    """Raise the error for a file with more or fewer labels than there are rows."""
    expected = "fewer than rows" if rows is None else f"the models have {counted(rows, 'row')}"
    problem = f"has {counted(count, 'label')}, {expected}"
    fixes = (source.other_rows_fix(count) for source in sources)
    raise_file_error(path, problem, next(filter(None, fixes), "pass one for each row"))


def raise_row_error(source: Source, row: int, problem: str, fix: str) -> NoReturn:
    """Raise the error for a row, with the file that contains it and its number there."""
    path, inside = source.locate(row)
    raise_file_error(path, problem, fix, row=inside, overall=row)


def _at_row(source: Source, row: int, why: str) -> tuple[str, str]:
    """Return the file that contains a row, and `why` with the number of the row in that file."""
    path, inside = source.locate(row)
    return path, why if inside == row else f"row {inside} of the file: {why}"
