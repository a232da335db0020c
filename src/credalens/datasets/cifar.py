"""The CIFAR test images, in the binary format of their authors."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.datasets.download import fetch

SITE = "https://www.cs.toronto.edu/~kriz/"
PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Archive:
    """The archive of a dataset, and the scaling that pre-trained networks expect."""

    name: str
    sha256: str
    member: str
    #: Bytes before the pixels; the last is the class.
    label_bytes: int
    n_classes: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


CIFAR = {
    "cifar10": Archive(
        "cifar-10-binary.tar.gz",
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        "cifar-10-batches-bin/test_batch.bin",
        1,
        10,
        (0.4914, 0.4822, 0.4465),
        (0.2023, 0.1994, 0.2010),
    ),
    "cifar100": Archive(
        "cifar-100-binary.tar.gz",
        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        "cifar-100-binary/test.bin",
        2,
        100,
        (0.5070, 0.4865, 0.4409),
        (0.2673, 0.2564, 0.2761),
    ),
}


def decode_cifar(raw: bytes, archive: Archive) -> tuple[Array, Array]:
    """Return scaled images ``(n, 3, 32, 32)`` in float32, and their classes ``(n,)``.

    Examples
    --------
    >>> from credalens.datasets.cifar import CIFAR, decode_cifar
    >>> images, labels = decode_cifar(bytes([7]) + bytes(3072), CIFAR["cifar10"])
    >>> images.shape, labels.tolist()
    ((1, 3, 32, 32), [7])
    """
    width = archive.label_bytes + PIXELS
    if len(raw) == 0 or len(raw) % width:
        _validation.raise_invalid(
            archive.member, f"has {len(raw)} bytes", f"a record has {width}; download it again"
        )
    records = np.frombuffer(raw, np.uint8).reshape(-1, width)
    labels = records[:, archive.label_bytes - 1].astype(np.int64)
    pixels = records[:, archive.label_bytes :].reshape(-1, 3, 32, 32).astype(np.float32) / 255
    mean, std = (np.array(v, np.float32)[:, None, None] for v in (archive.mean, archive.std))
    return (pixels - mean) / std, labels


def load_cifar(name: str, cache: Path) -> tuple[Array, Array]:
    """Return the 10 000 test images and their classes; the archive is downloaded once."""
    archive = CIFAR[_validation.one_of(name, "name", CIFAR)]
    path = fetch(SITE + archive.name, cache / archive.name, archive.sha256)
    with tarfile.open(path) as tar:
        member = tar.extractfile(archive.member)
        if member is None:
            _validation.raise_invalid(
                str(path), f"has no {archive.member}", "remove it, run it again"
            )
        return decode_cifar(member.read(), archive)
