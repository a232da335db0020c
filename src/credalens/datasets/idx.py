"""The IDX format of MNIST and its relatives: an array of any rank, perhaps compressed."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import NoReturn

import numpy as np

from credalens._arrays import Array
from credalens.datasets.dat import MalformedFileError

#: The third byte of a file, and what it says of the values; all numbers are big-endian.
DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

#: NumPy's largest number of axes.
MAX_RANK = 64


def read_idx(path: str | Path) -> Array:
    """Read an IDX file.

    Parameters
    ----------
    path : str or Path
        Plain or compressed with gzip; the content tells, not the name.

    Returns
    -------
    array
        Of the shape and dtype that the file's header gives, in the machine's byte order.

    Raises
    ------
    MalformedFileError
        If the file is damaged, truncated, too long, or not an IDX file.

    Notes
    -----
    Two zero bytes, one byte for the dtype, one for the rank, the size of each axis as four bytes,
    then the values in C order.

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

    def fail(problem: str, fix: str = "fetch it again") -> NoReturn:
        raise MalformedFileError(f"{path}: {problem}; {fix}")

    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as error:
            fail(f"is a damaged or truncated gzip file ({error})")
    kind, rank = (raw[2], raw[3]) if len(raw) >= 4 else (0, 0)
    if raw[:2] != b"\0\0" or kind not in DTYPES or rank > MAX_RANK:
        fail(
            f"begins with the bytes {raw[:4].hex(' ') or '(none)'}",
            "an IDX file begins with 00 00, a dtype (08, 09, 0b, 0c, 0d or 0e) and a rank",
        )
    start = 4 + 4 * rank
    if len(raw) < start:
        fail(f"has {len(raw)} bytes, its header of rank {rank} alone has {start}")
    shape = struct.unpack(f">{rank}I", raw[4:start])
    dtype = np.dtype(DTYPES[kind])
    expected = start + math.prod(shape) * dtype.itemsize
    if len(raw) != expected:
        word = "too few" if len(raw) < expected else "too many"
        fail(f"has {len(raw)} bytes, {word} for shape {shape} of {dtype.name}: expected {expected}")
    return np.frombuffer(raw, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))
