"""The image datasets of the paper's Figures 3 and 4, from wherever they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.datasets.dat import MalformedFileError
from credalens.datasets.idx import read_idx
from credalens.datasets.keel import MissingDatasetError
from credalens.datasets.svhn import read_svhn

FASHION = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "ankle boot")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Images:
    """Images with their classes, in a training and a test part.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.datasets import Images
    >>> pixels, labels = np.zeros((6, 1, 4, 4), np.uint8), np.arange(6) % 2
    >>> Images("blank", pixels[:4], labels[:4], pixels[4:], labels[4:], ("a", "b"))
    Images(name='blank', train=4, test=2, shape=(1, 4, 4), classes=2)
    """

    #: Name of the dataset.
    name: str
    #: Training images: bytes, ``(n, colours, height, width)``.
    train: Array
    #: Their classes, positions in `class_names`, ``(n,)``.
    train_labels: Array
    #: Test images, as `train`.
    test: Array
    #: Their classes, as `train_labels`.
    test_labels: Array
    #: Names of the K classes.
    class_names: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Images(name={self.name!r}, train={len(self.train)}, test={len(self.test)}, "
            f"shape={self.train.shape[1:]}, classes={len(self.class_names)})"
        )


@dataclass(frozen=True)
class _Source:
    #: What is read for the training part, then for the test part.
    files: tuple[tuple[str, ...], tuple[str, ...]]
    #: Endings that a file may have besides its name.
    endings: tuple[str, ...]
    read: Callable[..., tuple[Array, Array]]
    class_names: tuple[str, ...]
    #: Where an installed package puts the files.
    place: Path | None
    advice: str


def _read_idx_pair(images: Path, labels: Path) -> tuple[Array, Array]:
    X, y = read_idx(images), read_idx(labels)
    if X.ndim != 3 or X.dtype != np.uint8:
        raise MalformedFileError(
            f"{images}: has shape {X.shape} of {X.dtype}; expected (n, height, width) of uint8"
        )
    if y.shape != (len(X),) or y.dtype != np.uint8:
        raise MalformedFileError(
            f"{labels}: has shape {y.shape} of {y.dtype}; expected ({len(X)},) of uint8"
        )
    if len(y) and y.max() >= len(FASHION):
        first = int(np.argmax(y >= len(FASHION)))
        raise MalformedFileError(
            f"{labels}: entry {first} (zero-based) is {y[first]}; classes are 0 to 9"
        )
    return X[:, None], y.astype(np.int64)


_SOURCES = {
    "fashion-mnist": _Source(
        (
            ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
            ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
        ),
        ("", ".gz"),
        _read_idx_pair,
        FASHION,
        Path("/usr/share/datasets/fashion-mnist"),
        "apt-get install dataset-fashion-mnist",
    ),
    "svhn": _Source(
        (("train_32x32.mat",), ("test_32x32.mat",)),
        ("",),
        read_svhn,
        tuple("0123456789"),
        None,
        "fetch it from http://ufldl.stanford.edu/housenumbers",
    ),
}

#: Names that `load_images` knows.
IMAGES = tuple(_SOURCES)


def load_images(name: str, source: str | Path | None = None) -> Images:
    """Return Fashion-MNIST or SVHN.

    Looks in the folder `source` or, without one, in ``CREDALENS_DATA``, and in its folder `name`;
    without either, where Debian's package ``dataset-fashion-mnist`` puts its files.

    Parameters
    ----------
    name : {"fashion-mnist", "svhn"}
        One of `credalens.datasets.IMAGES`.
    source : str or Path, optional
        A folder with the four IDX files of Fashion-MNIST, compressed or not, or with
        ``train_32x32.mat`` and ``test_32x32.mat`` of SVHN.

    Returns
    -------
    Images

    Raises
    ------
    MissingDatasetError
        If a file is in none of the places.
    MalformedFileError
        If a file is not what its name says.

    Examples
    --------
    The images do not come with the package; where the files are in one of the places above:

    >>> from credalens.datasets import load_images
    >>> load_images("fashion-mnist")  # doctest: +SKIP
    Images(name='fashion-mnist', train=60000, test=10000, shape=(1, 28, 28), classes=10)
    """
    known = _SOURCES[_validation.one_of(name, "dataset", _SOURCES)]
    given = source or os.environ.get("CREDALENS_DATA")
    places = [Path(given), Path(given, name)] if given else []
    if source is None and known.place is not None:
        places.append(known.place)
    parts = []
    for files in known.files:
        paths = [_find(name, file, places, known) for file in files]
        X, y = known.read(*paths)
        if not len(X):
            raise MalformedFileError(f"{paths[0]}: holds no images; fetch it again")
        parts.append((X, y))
    (train, train_labels), (test, test_labels) = parts
    if train.shape[1:] != test.shape[1:]:
        raise MalformedFileError(
            f"{name}: training images have shape {train.shape[1:]}, test images {test.shape[1:]}; "
            "put files of one dataset into the folder"
        )
    return Images(name, train, train_labels, test, test_labels, known.class_names)


def _find(name: str, file: str, places: list[Path], known: _Source) -> Path:
    for place in places:
        for ending in known.endings:
            path = place / f"{file}{ending}"
            if path.is_file():
                return path
    where = " nor ".join(map(str, places)) or "any known place"
    needed = ", ".join(file for part in known.files for file in part)
    raise MissingDatasetError(
        f"{name}: {file} is not in {where}; {known.advice}, or put {needed} into a folder and pass "
        "it as --data or set CREDALENS_DATA"
    )
