"""Small IDX and MATLAB files of images."""

import struct

import numpy as np
from scipy.io import savemat

#: IDX type codes.
CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def as_idx(array):
    """Write the format from its description, with nothing of the reader."""
    head = struct.pack(">BBBB", 0, 0, CODES[array.dtype.str[1:]], array.ndim)
    sizes = b"".join(struct.pack(">I", size) for size in array.shape)
    return head + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


def svhn_file(path, n=4, **changes):
    rng = np.random.default_rng(n)
    content = {
        "X": rng.integers(0, 256, (32, 32, 3, n)).astype(np.uint8),
        "y": (np.arange(n)[:, None] % 10 + 1).astype(np.uint8),
    } | changes
    compressed = content.pop("compressed", True)
    savemat(path, {k: v for k, v in content.items() if v is not None}, do_compression=compressed)
    return content
