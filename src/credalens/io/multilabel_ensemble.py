"""Prediction files of several models for several binary labels per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from credalens._backend import Array
from credalens._row_kinds import EXACT
from credalens.io.chunk import Chunk
from credalens.io.consistency import check_options, check_shapes, common_classes
from credalens.io.ensemble import Ensemble
from credalens.io.formats import STDIN, column_names, expand, open_source
from credalens.io.label_files import LabelOptions, read_labels
from credalens.io.number_columns import check_rows, has_arrays, number_columns
from credalens.io.opening import model_names
from credalens.io.row_labels import RowLabels
from credalens.io.source import Block, ReadOptions, Source, raise_file_error
from credalens.io.text_layout import is_number
from credalens.io.values import FIX_ROW, MISSING_FIX, ValueOptions

#: Formats whose columns are known before the file is read.
ARRAYS = "npy"


@dataclass(frozen=True)
class LabelPredictions:
    """The probability of each label by each model, ``(r, M, L)``, and which models have the row."""

    members: Array
    mask: Array | None = None

    @property
    def n_present(self) -> Array:
        """Number of models that have the row, ``(r,)``."""
        n = np.full(len(self.members), self.members.shape[1])
        return n if self.mask is None else np.asarray(self.mask.sum(axis=1))


@dataclass(frozen=True, eq=False)
class MultilabelChunk(Chunk):
    """Consecutive rows of all models; `labels` are ``(r, L)``: 1, 0, or -1 if missing."""

    def hull(self) -> LabelPredictions:  # type: ignore[override]
        """Return the predictions of the rows."""
        return LabelPredictions(self.members, self.mask)

    @property
    def labelled(self) -> Array:
        """Which rows have all labels."""
        if self.labels is None:
            return np.zeros(len(self.rows), bool)
        return np.asarray((self.labels >= 0).all(axis=1))


@dataclass(frozen=True, eq=False)
class MultilabelEnsemble(Ensemble):
    """Probabilities of several binary labels by several models, on disk.

    `n_classes` is the number of labels, `class_names` are their names.
    """

    def _chunk(self, *args: Any, **kwargs: Any) -> MultilabelChunk:
        chunk = super()._chunk(*args, **kwargs)
        return MultilabelChunk(**{one.name: getattr(chunk, one.name) for one in fields(chunk)})

    def _labels(
        self,
        blocks: Sequence[Any],
        ids: Array | None,
        start: int,
        skip: bool,
        errors: dict[int, tuple[str, str]],
    ) -> RowLabels | None:
        """Return labels ``(r, L)``; values other than 0 and 1 raise, or are added to `errors`."""
        n = len(blocks[0])
        raw, path, _ = self._stored_labels(blocks, ids, start, errors)
        if raw is None:
            return None
        if raw.shape != (n, self.n_classes) and not (raw.size == n and self.n_classes == 1):
            each = "one value per row" if raw.ndim == 1 else f"{raw.shape[1]} values per row"
            fix = f"save 0 or 1 for each of the {self.n_classes} labels, in their order"
            raise_file_error(path, f"has {each}", fix)
        values = raw.reshape(n, -1).astype(np.float64)
        found = np.where(np.isnan(values), -1, values)
        bad = ~np.isin(found, (-1, 0, 1)) | (values < 0)
        for i in np.flatnonzero(bad.any(axis=1)).tolist():
            value = values[i][bad[i]][0]
            problem = f"has the label {value:g}, which is neither 0 nor 1"
            if not skip:
                raise_file_error(path, problem, "save 0 or 1 for each label", row=start + i)
            errors.setdefault(i, (path, problem))
        missing = (found < 0).any(axis=1) & ~bad.any(axis=1)
        return RowLabels(np.where(bad, -1, found).astype(np.int8), None, int(missing.sum()), 0)


@dataclass(frozen=True)
class LabelValues(ValueOptions):
    """How stored values become probabilities of labels."""

    def uniform(self, source: Source) -> float:
        """Return a value for models that lack the row, which is not used."""
        return 0.0

    def check(self, source: Source, values: Array) -> None:
        """Raise if an option contradicts the first rows of a file."""
        finite = values[np.isfinite(values)]
        if self.logits and len(finite) and (finite >= 0).all() and (finite <= 1).all():
            fix = "leave out --logits, or pass --force-logits to take the logistic function"
            raise_file_error(source.path, "--logits was passed, but all values are in [0, 1]", fix)

    def convert(self, source: Source, values: Array) -> tuple[Array, float]:
        """Return the probabilities ``(r, M, L)``, and 0."""
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
        if self.is_logits(source):
            if np.isnan(values).any():
                raise ValueError("some rows are invalid")
            half = np.tanh(values / values.dtype.type(2 * self.temperature))
            return (1 + half) / 2, 0.0
        values = self._rescaled(source, values)
        if not ((values >= -EXACT) & (values <= 1 + EXACT)).all():
            raise ValueError("some rows are invalid")
        return np.clip(values, 0, 1), 0.0

    def row_errors(
        self,
        source: Source,
        block: Block,
        class_names: tuple[str, ...] | None,
        *,
        first: bool = False,
    ) -> dict[int, str]:
        """Return what is wrong with each invalid row of a block, or with the first one."""
        names = class_names or tuple(str(k) for k in range(block.values.shape[2]))
        values = block.values.astype(np.float64)
        if not self.is_logits(source):
            values = self._rescaled(source, values)
        bad = np.isnan(values)
        if not self.is_logits(source):
            bad |= (values < -EXACT) | (values > 1 + EXACT)
        found: dict[int, str] = {}
        for i in np.flatnonzero(bad.any(axis=(1, 2)))[: 1 if first else None].tolist():
            found[i] = block.errors.get(i) or self._describe(values[i], bad[i], names)
        return found

    def _describe(self, rows: Array, bad: Array, names: tuple[str, ...]) -> str:
        m, k = (int(i) for i in np.argwhere(bad)[0])
        at = f"label {names[k]}" + (f" of member {m}" if len(rows) > 1 else "")
        if np.isnan(rows[m, k]):
            whole = self.suggest_missing and np.isnan(rows[m]).all()
            return f"{at} is missing or NaN; {FIX_ROW}{f', {MISSING_FIX}' if whole else ''}"
        fix = "pass --logits for logits"
        if rows[m, k] > 2 and not self.percent:
            fix += ", or --percent for percentages"
        return f"{at} is {rows[m, k]:.6g}, not a probability; {fix}, or {FIX_ROW}"


def open_multilabel_ensemble(
    names: Sequence[str],
    *,
    options: ReadOptions | None = None,
    labels: str | None = None,
    label_names: Sequence[str] | None = None,
    logits: bool = False,
    force_logits: bool = False,
    temperature: float = 1.0,
    percent: bool = False,
    stdin: IO[bytes] | None = None,
    exclude: Sequence[Path] = (),
    missing: bool | None = None,
) -> MultilabelEnsemble:
    r"""Open the prediction files of an ensemble for several binary labels per row.

    Parameters
    ----------
    names, options, stdin, exclude, missing
        As in `open_ensemble`. Tables have one column per label, arrays the labels along the last
        axis; rows do not sum to 1.
    labels : str, optional
        A file of true labels: 0 or 1 for each label.
    label_names : sequence of str, optional
        Names of the labels, in their order.
    logits, force_logits : bool, default=False
        Whether the files contain logits, of which the logistic function is taken.
    temperature : float, default=1.0
        Divides the logits.
    percent : bool, default=False
        Whether the files contain percentages.

    Returns
    -------
    MultilabelEnsemble

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         _ = pathlib.Path(folder, f"{name}.csv").write_text("cat,dog\n0.9,0.8\n0.1,0\n")
    ...     ensemble = open_multilabel_ensemble([folder])
    ...     ensemble.class_names, [chunk.members.shape for chunk in ensemble.chunks()]
    (('cat', 'dog'), [(2, 2, 2)])
    """
    values = LabelValues(
        logits, force_logits, float(temperature), percent=percent, suggest_missing=missing is False
    )
    options = replace(options or ReadOptions(), logits=values.logits or values.force_logits)
    of_labels = options
    if labels is not None:  # the column is then in the file of labels
        options = replace(options, label=None, label_key=None)
    files = expand(names, [*exclude, *([] if labels is None else [Path(labels)])])
    sources = tuple(_open(name, options, stdin) for name in files)
    check_options(sources, options, values)
    check_shapes(sources, missing)
    n_labels = sources[0].n_classes
    known, orders, notes = common_classes(sources, label_names, n_labels)
    truth = None
    if labels is not None:
        about = LabelOptions(
            of_labels.label, of_labels.label_key, known or (), n_labels,
            next((s.id_name for s in sources if s.id_name is not None), None),
            of_labels.id != "none",
        )  # fmt: skip
        truth = read_labels(labels, about)
    check_rows(sources, truth, bool(missing))
    notes = [f"{source.path}: {note}" for source in sources for note in source.notes] + notes
    return MultilabelEnsemble(
        sources, model_names(sources), n_labels, known, truth, values, orders,
        notes=list(dict.fromkeys(notes)), missing=missing,
    )  # fmt: skip


def _open(name: str, options: ReadOptions, stdin: IO[bytes] | None) -> Source:
    """Open one file, whose columns are labels unless their names are those of something else."""
    if options.columns is not None or has_arrays(name):
        return open_source(name, options, stdin)
    if name == STDIN:
        if options.format != ARRAYS:
            raise_file_error("stdin", "its columns are not known", "pass --columns with the labels")
        return open_source(name, options, stdin)
    columns = column_names(Path(name)) if Path(name).exists() else []
    if not columns:
        return open_source(name, options, stdin)
    if options.header is None and all(map(is_number, columns)):
        options = replace(options, header=False)
    if options.header is False:
        columns = [str(i) for i in range(len(columns))]
    chosen = number_columns(columns)
    return open_source(name, replace(options, columns=chosen or None), stdin)
