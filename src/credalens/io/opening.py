"""Open the prediction files of several models, to be read in chunks or into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.io.consistency import check_options, check_shapes, common_classes
from credalens.io.ensemble import Ensemble, raise_label_count_error
from credalens.io.formats import expand, open_source
from credalens.io.label_files import LabelOptions, raise_no_columns, read_labels
from credalens.io.labels import LabelFile, LabelTable
from credalens.io.limits import check_row
from credalens.io.source import ReadOptions, Source
from credalens.io.streams import file_stem
from credalens.io.values import SIGMOID_NOTE, ValueOptions
from credalens.io.weight_file import read_weights


def model_names(sources: Sequence[Source]) -> tuple[str, ...]:
    """Return a name for every member: the stem of its file, with an index if there are several.

    Files with equal stems are named with their folder, or with their path if these are equal too.
    """
    paths = [Path(source.path).absolute() for source in sources]
    stems = [file_stem(path.name) for path in paths]
    for longer in (lambda path: f"{path.parent.name}/{file_stem(path.name)}", str):
        count = Counter(stems)
        stems = [
            longer(path) if count[stem] > 1 else stem
            for path, stem in zip(paths, stems, strict=True)
        ]
    names: list[str] = []
    for source, stem in zip(sources, stems, strict=True):
        several = [f"{stem}[{m}]" for m in range(source.n_members)]
        names.extend([stem] if source.n_members == 1 else several)
    return tuple(names)


def open_ensemble(
    names: Sequence[str],
    *,
    options: ReadOptions | None = None,
    labels: str | None = None,
    class_names: Sequence[str] | None = None,
    logits: bool = False,
    force_logits: bool = False,
    temperature: float = 1.0,
    normalize: bool = False,
    percent: bool = False,
    ignore_labels: Sequence[str] = (),
    stdin: IO[bytes] | None = None,
    exclude: Sequence[Path] = (),
    labels_on_disk: bool = False,
    weights: str | None = None,
    missing: bool | None = None,
) -> Ensemble:
    """Open the prediction files of an ensemble.

    Parameters
    ----------
    names : sequence of str
        Files, folders or patterns; ``"-"`` is standard input. One file with ``(n, M, K)`` or
        several with ``(n, K)``, one per model.
    options : ReadOptions, optional
        How to read tables, arrays and standard input.
    labels : str, optional
        A file of true classes, one per row, or with identifiers.
    class_names : sequence of str, optional
        Names of the classes, in their order.
    logits : bool, default=False
        Whether the files contain logits. Files of distributions raise.
    force_logits : bool, default=False
        Like `logits`, also for files of distributions.
    temperature : float, default=1.0
        Divides the logits.
    normalize : bool, default=False
        Whether to divide rows of probabilities by their sum.
    percent : bool, default=False
        Whether the files contain percentages.
    ignore_labels : sequence of str
        Labels that are treated as missing.
    stdin : binary stream, optional
        Replaces standard input.
    exclude : sequence of Path, optional
        Files in a folder or pattern of `names` that are not models, in addition to `labels`.
    labels_on_disk : bool, default=False
        Read `labels`, which must be a ``.npy`` file, in chunks instead of into memory, and do not
        match rows by their identifiers.
    weights : str, optional
        Weights of the models, as numbers separated by commas or as a file (`read_weights`).
    missing : bool, optional
        Whether models may lack rows, which are then matched by identifiers, or have rows of NaN.
        Without them, errors suggest the option ``--missing`` if it is False, not if it is None.

    Returns
    -------
    Ensemble
        Validated as far as is possible without reading all rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         np.save(pathlib.Path(folder, f"{name}.npy"), np.full((5, 2), 0.5))
    ...     ensemble = open_ensemble([folder])
    ...     [chunk.members.shape for chunk in ensemble.chunks(rows=3)]
    [(3, 2, 2), (2, 2, 2)]
    """
    values = ValueOptions(
        logits, force_logits, float(temperature), normalize, percent, missing is False
    )
    options = replace(
        options or ReadOptions(),
        logits=logits or force_logits,
        rescaled=normalize or percent,
    )
    of_labels = options
    if labels is not None:  # the column is then in the file of labels
        options = replace(options, label=None, label_key=None)
    others = [Path(name) for name in (labels, weights) if name is not None]
    files = expand(names, [*exclude, *others])
    sources = tuple(open_source(name, options, stdin) for name in files)
    check_options(sources, options, values)
    check_shapes(sources, missing, join=not labels_on_disk)
    n_classes = max(sources[0].n_classes, 2)
    check_row(sources[0].path, sum(source.n_members for source in sources), n_classes)
    known, orders, notes = common_classes(sources, class_names, n_classes)
    truth: LabelTable | LabelFile | None = None
    if labels is not None:
        about = LabelOptions(
            of_labels.label,
            of_labels.label_key,
            known or (),
            n_classes,
            next((s.id_name for s in sources if s.id_name is not None), None),
            of_labels.id != "none",
        )
        truth = _open_labels(labels, about, labels_on_disk)
    n = next((source.n_rows for source in sources if source.n_rows is not None), None)
    if truth is not None and n is not None and len(truth) != n and not (truth.has_ids or missing):
        raise_label_count_error(labels or "", len(truth), n, sources)
    models = model_names(sources)
    return Ensemble(
        sources,
        models,
        n_classes,
        known,
        truth,
        values,
        orders,
        tuple(ignore_labels),
        join=not labels_on_disk,
        notes=[*_notes(sources), *notes],
        missing=missing,
        weights=None if weights is None else read_weights(weights, models),
    )


def _notes(sources: Sequence[Source]) -> list[str]:
    """Return what was inferred about the files, each note once."""
    paths: dict[str, list[str]] = {}
    for source in sources:
        own = (*source.notes, *((SIGMOID_NOTE,) if source.n_classes == 1 else ()))
        for note in own:
            paths.setdefault(note, []).append(source.path)
    return [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {note}"
        for note, names in paths.items()
    ]


def _open_labels(path: str, options: LabelOptions, on_disk: bool) -> LabelTable | LabelFile:
    if not on_disk:
        return read_labels(path, options)
    if options.column is not None:
        raise_no_columns(path)
    return LabelFile(path)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of several models for the same instances.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.io import Predictions
    >>> Predictions(("a", "b"), np.full((5, 2, 4), 0.25), labels=None)
    Predictions(n=5, members=2, classes=4)
    """

    #: One name per model.
    names: tuple[str, ...]
    #: Probabilities, ``(n, M, K)``.
    members: Array
    #: True classes, ``(n,)``, negative if missing, if a file contains them.
    labels: Array | None

    def __repr__(self) -> str:
        n, M, K = self.members.shape
        return f"Predictions(n={n}, members={M}, classes={K})"


def read_predictions(folder: str | Path, labels: str | Path | None = None) -> Predictions:
    """Read the predictions of several models.

    Parameters
    ----------
    folder : str or Path
        A folder with one file per model, in any format that ``credalens score`` reads: ``.npz``
        with ``probs`` or ``logits`` and optionally ``labels``; ``.npy`` with ``(n, K)``
        probabilities; ``.csv``, ``.jsonl`` or ``.parquet``, optionally with a column ``label``.
    labels : str or Path, optional
        A file of true classes, one per instance. If it is in `folder`, it is not read as a model.

    Returns
    -------
    Predictions

    Raises
    ------
    ValueError
        If a file is invalid or disagrees with the others; the message names file and row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from credalens.io import read_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         np.save(pathlib.Path(folder, f"{name}.npy"), np.full((5, 2), 0.5))
    ...     read_predictions(folder)
    Predictions(n=5, members=2, classes=2)
    """
    if not Path(folder).is_dir():
        _validation.raise_invalid(
            "predictions", f"{folder} is not a folder", "pass a folder of model files"
        )
    return _read(folder, labels)


def read_members(path: str | Path) -> Array:
    r"""Read the predictions of one model.

    Parameters
    ----------
    path : str or Path
        A file in any of the formats of `read_predictions`.

    Returns
    -------
    array of shape (n, K)
        Probabilities.

    Raises
    ------
    ValueError
        If the file is invalid or contains several models; the message names file and row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credalens.io import read_members
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "members.csv")
    ...     _ = path.write_text("0.5, 0.5\n0.2, 0.8\n")
    ...     read_members(path)
    array([[0.5, 0.5],
           [0.2, 0.8]])
    """
    members = _read(path).members
    if members.shape[1] != 1:
        _validation.raise_invalid("predictions", f"{path} has shape {members.shape}", "pass (n, K)")
    return np.asarray(members[:, 0])


def _read(path: str | Path, labels: str | Path | None = None) -> Predictions:
    ensemble = open_ensemble([str(path)], labels=None if labels is None else str(labels))
    return load(ensemble)


def load(ensemble: Ensemble, skip: bool = False) -> Predictions:
    """Read all rows of an ensemble into memory; invalid rows raise, or are dropped with `skip`."""
    chunks = list(ensemble.chunks(skip=skip))
    truth = [chunk.labels for chunk in chunks if chunk.labels is not None]
    return Predictions(
        ensemble.names,
        np.concatenate([chunk.members for chunk in chunks]),
        np.concatenate(truth) if truth else None,
    )
