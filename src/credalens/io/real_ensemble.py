"""Prediction files of several models for real-valued targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from credalens._backend import Array
from credalens.evaluation.labels import is_missing
from credalens.io.chunk import Chunk
from credalens.io.consistency import check_options
from credalens.io.ensemble import Ensemble
from credalens.io.formats import column_names, expand, open_source
from credalens.io.label_files import LabelOptions, read_labels
from credalens.io.number_columns import check_rows, has_arrays, number_columns
from credalens.io.opening import model_names
from credalens.io.real_columns import (
    RealLayout,
    are_levels,
    check_size,
    find_layout,
    parse_distribution,
    select_columns,
)
from credalens.io.real_values import RealValues
from credalens.io.row_labels import MISSING_TEXTS, RowLabels
from credalens.io.source import ReadOptions, Source, raise_file_error
from credalens.io.text_layout import is_number
from credalens.io.weight_file import read_weights
from credalens.sets import RealHull


@dataclass(frozen=True, eq=False)
class RealChunk(Chunk):
    """Consecutive rows of all models; `labels` are targets, NaN for rows without one."""

    layout: RealLayout = field(default_factory=lambda: RealLayout("samples"))

    def hull(self) -> RealHull:  # type: ignore[override]
        """Return the hulls of the rows."""
        own: dict[str, Any] = {"weights": self.weights, "mask": self.mask, "validate": False}
        if self.layout.kind == "normal":
            return RealHull.from_normal(self.members[..., 0], self.members[..., 1], **own)
        if self.layout.kind == "quantiles":
            return RealHull.from_quantiles(self.layout.levels, self.members, **own)
        return RealHull.from_samples(self.members, **own)

    @property
    def labelled(self) -> Array:
        """Which rows have a target."""
        if self.labels is None:
            return np.zeros(len(self.rows), bool)
        return ~np.isnan(self.labels)


@dataclass(frozen=True, eq=False)
class RealEnsemble(Ensemble):
    """Predictive distributions of several models for the same rows, on disk.

    `n_classes` is the number of values per row and model: parameters, levels or samples.
    """

    @property
    def layout(self) -> RealLayout:
        """What the values are."""
        return self.values.layout  # type: ignore[attr-defined, no-any-return]

    def _chunk(self, *args: Any, **kwargs: Any) -> RealChunk:
        chunk = super()._chunk(*args, **kwargs)
        own = {one.name: getattr(chunk, one.name) for one in fields(chunk)}
        return RealChunk(**own, layout=self.layout)

    def _convert(self, i: int, values: Array) -> tuple[Array, float]:
        found, deviation = super()._convert(i, values)
        if self.layout.kind == "quantiles" and (np.diff(values, axis=-1) < 0).any():
            note = f"{self.sources[i].path}: quantiles of some rows cross; they are sorted"
            if note not in self.notes:
                self.notes.append(note)
        return found, deviation

    def _labels(
        self,
        blocks: Sequence[Any],
        ids: Array | None,
        start: int,
        skip: bool,
        errors: dict[int, tuple[str, str]],
    ) -> RowLabels | None:
        """Return targets as floats; those that are no numbers raise, or are added to `errors`."""
        n = len(blocks[0])
        raw, path, _ = self._stored_labels(blocks, ids, start, errors)
        if raw is None:
            return None
        if raw.ndim > 1 and raw.size != n:
            raise_file_error(path, f"has targets of shape {raw.shape}", "save one per row")
        targets, bad = as_targets(raw.reshape(n), self.ignore)
        for i in np.flatnonzero(bad).tolist():
            problem = f"has the target {str(raw.reshape(n)[i])[:40]!r}, not a finite number"
            if not skip:
                raise_file_error(path, problem, "pass --label-column NAME of the targets",
                                 row=start + i)  # fmt: skip
            errors.setdefault(i, (path, problem))
        return RowLabels(targets, None, int(np.isnan(targets).sum() - bad.sum()), 0)


def as_targets(raw: Array, ignore: Sequence[str] = ()) -> tuple[Array, Array]:
    """Return targets as float64, NaN for missing ones, and which are no finite numbers."""
    if raw.dtype.kind in "biuf":
        targets = raw.astype(np.float64)
        return targets, np.isinf(targets)
    targets, bad = np.full(len(raw), np.nan), np.zeros(len(raw), bool)
    for i, value in enumerate(raw.tolist()):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if is_missing(text) or str(text).strip().lower() in (*MISSING_TEXTS, *ignore):
            continue
        try:
            targets[i] = float(text)
            bad[i] = not np.isfinite(targets[i])
        except ValueError:
            bad[i] = True
    return targets, bad


def open_real_ensemble(
    names: Sequence[str],
    *,
    options: ReadOptions | None = None,
    distribution: str | None = None,
    targets: str | None = None,
    ignore: Sequence[str] = (),
    stdin: IO[bytes] | None = None,
    exclude: Sequence[Path] = (),
    weights: str | None = None,
    missing: bool | None = None,
) -> RealEnsemble:
    r"""Open the prediction files of an ensemble for real-valued targets.

    Parameters
    ----------
    names, options, stdin, exclude, weights, missing
        As in `open_ensemble`. Tables have columns ``mean`` and ``std``, or quantiles such as
        ``q0.05``; arrays have samples along the last axis.
    distribution : str, optional
        What the values are: ``"normal"``, ``"samples"``, or levels ``"0.05,0.5,0.95"``. By default
        found from the names of columns, and samples in arrays.
    targets : str, optional
        A file of true values, one per row, or with identifiers.
    ignore : sequence of str
        Targets that are treated as missing, as text.

    Returns
    -------
    RealEnsemble

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         _ = pathlib.Path(folder, f"{name}.csv").write_text("mean,std\n1,0.5\n2,0.5\n")
    ...     ensemble = open_real_ensemble([folder])
    ...     [chunk.hull() for chunk in ensemble.chunks()]
    [RealHull(normal, batch_shape=(2,), n_members=2, dtype=float64)]
    """
    options = options or ReadOptions()
    given = None if distribution is None else parse_distribution(distribution)
    others = [Path(name) for name in (targets, weights) if name is not None]
    of_targets = options
    if targets is not None:  # the column is then in the file of targets
        options = replace(options, label=None, label_key=None)
    files = expand(names, [*exclude, *others])
    opened = [_open(name, options, given, stdin) for name in files]
    sources = tuple(source for source, _ in opened)
    layout = _common_layout(opened)
    values = RealValues(suggest_missing=missing is False, layout=layout)
    check_options(sources, options, values)
    known = next((s.id_name for s in sources if s.id_name is not None), None)
    truth = None
    if targets is not None:
        about = LabelOptions(
            of_targets.label, of_targets.label_key, id_name=known, join=of_targets.id != "none"
        )
        truth = read_labels(targets, about)
    check_rows(sources, truth, bool(missing))
    models = model_names(sources)
    notes = [f"{source.path}: {note}" for source in sources for note in source.notes]
    return RealEnsemble(
        sources, models, sources[0].n_classes, layout.columns or None, truth, values, (),
        tuple(ignore), notes=list(dict.fromkeys(notes)), missing=missing,
        weights=None if weights is None else read_weights(weights, models),
    )  # fmt: skip


def _open(
    name: str, options: ReadOptions, given: RealLayout | None, stdin: IO[bytes] | None
) -> tuple[Source, RealLayout]:
    """Open one file, and return what its values are."""
    path, layout = Path(name), given
    columns = [] if name == "-" or not path.exists() or has_arrays(name) else column_names(path)
    if options.columns is not None:
        layout = select_columns(name, options.columns, given)
    elif columns:
        if options.header is None and all(map(is_number, columns)):
            options = replace(options, header=are_levels(columns))
        if options.header is False:
            columns = [] if given is None else [str(i) for i in range(len(columns))]
        layout = find_layout(name, columns) if given is None else _all_columns(columns, given)
    if layout is not None and layout.columns:
        options = replace(options, columns=layout.columns)
    source = open_source(name, options, stdin)
    if layout is None:
        table = "--columns" in source.options
        layout = find_layout(name, source.class_names or ()) if table else RealLayout("samples")
    check_size(name, layout, source.n_classes)
    return source, layout


def _all_columns(names: Sequence[str], given: RealLayout) -> RealLayout:
    """Return the layout of a table whose kind is given, columns of other kinds left out."""
    return replace(given, columns=number_columns(names))


def _common_layout(opened: Sequence[tuple[Source, RealLayout]]) -> RealLayout:
    """Return the layout of all files, which must be the same."""
    (first, layout), *rest = opened
    for source, own in rest:
        same = (own.kind, own.levels) == (layout.kind, layout.levels)
        if not same or source.n_classes != first.n_classes:
            has, others = (
                one.described if one.kind != "samples" else f"{s.n_classes} samples"
                for s, one in ((source, own), (first, layout))
            )
            raise_file_error(source.path, f"has {has}, {first.path} {others}",
                             "pass models with distributions of one kind")  # fmt: skip
    return layout
