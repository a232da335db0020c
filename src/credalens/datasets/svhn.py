"""Street View House Numbers: the cropped digits, in the MATLAB files that are published."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from credalens._arrays import Array
from credalens.datasets.dat import MalformedFileError

#: Height, width and colours of an image.
SHAPE = (32, 32, 3)


def read_svhn(path: str | Path) -> tuple[Array, Array]:
    """Read ``train_32x32.mat`` or ``test_32x32.mat``.

    Parameters
    ----------
    path : str or Path
        A MATLAB file with ``X``, ``(32, 32, 3, n)`` bytes, and ``y``, ``(n, 1)`` digits of which 10
        stands for the digit 0.

    Returns
    -------
    images : array of uint8, shape (n, 3, 32, 32)
    labels : array of int64, shape (n,)
        The digits 0 to 9.

    Raises
    ------
    MalformedFileError
        If the file is damaged, truncated, or holds something else.

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

    def fail(problem: str, fix: str = "fetch it again") -> NoReturn:
        raise MalformedFileError(f"{path}: {problem}; {fix}")

    if not path.is_file():
        raise FileNotFoundError(f"{path}: is not there; pass a file like test_32x32.mat")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            content = loadmat(path, variable_names=("X", "y"), appendmat=False)
    except Exception as error:  # SciPy raises whatever the damage leads to
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        fail(f"is damaged, truncated or no MATLAB file ({reason})")
    missing = [name for name in ("X", "y") if name not in content]
    if missing:
        fail(f"holds no {' and no '.join(missing)}", "X must hold images and y their digits")
    X, y = content["X"], content["y"]
    if getattr(X, "dtype", None) != np.uint8 or X.ndim != 4 or X.shape[:3] != SHAPE:
        fail(_is("X", X), "expected (32, 32, 3, n) of uint8")
    n = X.shape[3]
    if getattr(y, "shape", None) not in ((n, 1), (1, n)) or y.dtype.kind not in "iuf":
        fail(_is("y", y), f"expected ({n}, 1) numbers, one per image")
    digits = y.ravel()
    wrong = ~np.isin(digits, np.arange(1, 11))
    if wrong.any():
        first = int(np.argmax(wrong))
        fail(
            f"y at index {first} (zero-based) is {digits[first]}",
            "expected 1 to 9, and 10 for the digit 0",
        )
    return np.ascontiguousarray(X.transpose(3, 2, 0, 1)), digits.astype(np.int64) % 10


def _is(name: str, value: Any) -> str:
    return f"{name} has shape {np.shape(value)} and dtype {getattr(value, 'dtype', None)}"
