"""Predictions of several models, read into memory as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.datasets.files import open_ensemble


@dataclass(frozen=True, eq=False)
class Predictions:
    """What several models say of the same instances.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.datasets import Predictions
    >>> Predictions(("a", "b"), np.full((5, 2, 4), 0.25), labels=None)
    Predictions(n=5, members=2, classes=4)
    """

    #: One name per model.
    names: tuple[str, ...]
    #: Probabilities, ``(n, M, K)``.
    members: Array
    #: True classes ``(n,)``, if a file or `labels` gave them.
    labels: Array | None

    def __repr__(self) -> str:
        n, M, K = self.members.shape
        return f"Predictions(n={n}, members={M}, classes={K})"


def read_predictions(folder: str | Path, labels: str | Path | None = None) -> Predictions:
    """Read the predictions of several models.

    Parameters
    ----------
    folder : str or Path
        Holds one file per model, in any format that ``credalens score`` reads: ``.npz`` with
        ``probs`` or ``logits`` and perhaps ``labels``; ``.npy``, ``(n, K)`` probabilities; tables
        (``.csv``, ``.tsv``, ``.parquet``), of which a column ``label`` holds the classes.
    labels : str or Path, optional
        A file of classes, one per instance. It may lie in `folder`: it is not taken for a model.

    Returns
    -------
    Predictions

    Raises
    ------
    ValueError
        If a file cannot be used, or does not fit the others; it names the file and the row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from credalens.datasets import read_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         np.save(pathlib.Path(folder, f"{name}.npy"), np.full((5, 2), 0.5))
    ...     read_predictions(folder)
    Predictions(n=5, members=2, classes=2)
    """
    if not Path(folder).is_dir():
        _validation.refuse("predictions", f"{folder} is not a folder", "pass one with model files")
    return _read(folder, labels)


def read_members(path: str | Path) -> Array:
    r"""Read one file of predictions of one model.

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
        If the file cannot be used, with the row and the reason, or holds several models.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credalens.datasets import read_members
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "members.csv")
    ...     _ = path.write_text("0.5, 0.5\n0.2, 0.8\n")
    ...     read_members(path)
    array([[0.5, 0.5],
           [0.2, 0.8]])
    """
    members = _read(path).members
    if members.shape[1] != 1:
        _validation.refuse("predictions", f"{path} has shape {members.shape}", "pass (n, K)")
    return np.asarray(members[:, 0])


def _read(path: str | Path, labels: str | Path | None = None) -> Predictions:
    ensemble = open_ensemble([str(path)], labels=None if labels is None else str(labels))
    chunks = list(ensemble.chunks())
    truth = [chunk.labels for chunk in chunks if chunk.labels is not None]
    return Predictions(
        ensemble.names,
        np.concatenate([chunk.members for chunk in chunks]),
        np.concatenate(truth) if truth else None,
    )
