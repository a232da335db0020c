"""Folders of predictions, one file a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.sets import ConvexHull

#: Endings of prediction files.
ENDINGS = (".npz", ".npy", ".csv")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What several models say of the same instances."""

    #: Names of the files, without their endings.
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
        Holds one file a model: ``.npz`` with ``probs`` or ``logits`` and perhaps ``labels``;
        ``.npy``, ``(n, K)`` probabilities; ``.csv``, a line an instance, with or without a header,
        of which a column ``label`` holds the classes.
    labels : str or Path, optional
        A ``.npy`` or text file of classes, one an instance. It must not lie in `folder` under one
        of the endings above, or it is left out of the models.

    Returns
    -------
    Predictions

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
    folder = Path(folder)
    if not folder.is_dir():
        _validation.refuse("predictions", f"{folder} is not a folder", "pass one with model files")
    other = Path(labels).resolve() if labels is not None else None
    paths = sorted(
        path for path in folder.iterdir() if path.suffix in ENDINGS and path.resolve() != other
    )
    if not paths:
        _validation.refuse(
            "predictions", f"{folder} has no prediction files", f"pass {', '.join(ENDINGS)} files"
        )
    members: list[Array] = []
    found: dict[str, Array] = {}
    for path in paths:
        probabilities, own = _READERS[path.suffix](path)
        probabilities = _validation.probabilities(
            probabilities, path.name, axes=("instances", "classes")
        )
        if probabilities.ndim != 2 or (members and probabilities.shape != members[0].shape):
            expected = members[0].shape if members else "(instances, classes)"
            _validation.refuse(
                path.name,
                f"has shape {probabilities.shape}",
                f"all models must agree on {expected}",
            )
        members.append(probabilities)
        if own is not None:
            found[path.name] = own
    if labels is not None:
        found = {Path(labels).name: _read_labels(Path(labels))}
    return Predictions(
        tuple(path.stem for path in paths),
        np.stack(members, axis=1),
        _agreed(found, *members[0].shape),
    )


def read_members(path: str | Path) -> Array:
    r"""Read one file of predictions, ``(n, K)``; see `read_predictions` for the kinds.

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
    path = Path(path)
    if path.suffix not in ENDINGS:
        _validation.refuse("predictions", f"{path} ends otherwise", f"pass {', '.join(ENDINGS)}")
    return np.asarray(_READERS[path.suffix](path)[0])


def _agreed(found: dict[str, Array], n: int, n_classes: int) -> Array | None:
    """Return the one array of labels that all files have."""
    first: Array | None = None
    for name, given in found.items():
        labels = _validation.vector(given, name)
        if len(labels) != n:
            _validation.refuse(name, f"has {len(labels)} labels", f"pass {n}, one an instance")
        if labels.dtype.kind == "f" and (labels == np.floor(labels)).all():
            labels = labels.astype(np.intp)
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= n_classes:
            _validation.refuse(name, "has labels that are no classes", f"use 0 to {n_classes - 1}")
        if first is not None and not np.array_equal(first, labels):
            _validation.refuse(
                name, "has other labels than the file before", "put instances in one order"
            )
        first = labels
    return first


def _read_npz(path: Path) -> tuple[Any, Any]:
    with np.load(path, allow_pickle=False) as file:
        labels = file.get("labels")
        if "probs" in file:
            return file["probs"], labels
        if "logits" not in file:
            names = ", ".join(file.files) or "nothing"
            _validation.refuse(path.name, f"holds {names}", "store probs or logits")
        hull = ConvexHull.from_logits(file["logits"][..., None, :])
        return np.asarray(hull.members)[..., 0, :], labels


def _read_npy(path: Path) -> tuple[Any, None]:
    return np.load(path, allow_pickle=False), None


def _read_csv(path: Path) -> tuple[Any, Any]:
    with path.open() as file:
        header = [name.strip().strip('"').lower() for name in file.readline().split(",")]
    numeric = all(_is_number(name) for name in header)
    table = np.loadtxt(path, delimiter=",", skiprows=0 if numeric else 1, ndmin=2)
    columns = [i for i, name in enumerate(header) if name in ("label", "labels", "y")]
    if numeric or not columns:
        return table, None
    return np.delete(table, columns, axis=1), table[:, columns[0]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_labels(path: Path) -> Array:
    if not path.is_file():
        _validation.refuse("labels", f"{path} is not there", "pass a .npy or text file")
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    lines = path.read_text().split()
    return np.array([float(line) for line in lines if _is_number(line)])


_READERS = {".npz": _read_npz, ".npy": _read_npy, ".csv": _read_csv}
