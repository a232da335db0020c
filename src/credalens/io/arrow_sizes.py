"""Sizes of compressed record batches in Arrow files, read before they are decompressed.

The metadata of a message are a FlatBuffer: a table starts with the distance back to its vtable,
which has the position of each field. Each compressed buffer starts with its uncompressed size.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO

from credalens.io.limits import check_stored
from credalens.io.source import raise_file_error

MAGIC, FEATHER_1 = b"ARROW1", b"FEA1"
#: Fields of Message, RecordBatch, DictionaryBatch and Footer in Arrow's format.
HEADER_TYPE, HEADER, BODY_LENGTH = 1, 2, 3
BUFFERS, COMPRESSION = 2, 3
DICTIONARY_DATA = 1
FOOTER_DICTIONARIES, FOOTER_BATCHES = 2, 3
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
#: Largest metadata of a message, in bytes.
MAX_METADATA = 1 << 26


def check_batches(path: str) -> None:
    """Raise `PredictionFileError` if few bytes of a batch become more than the memory limit."""
    with open(path, "rb") as file:
        try:
            start = file.read(len(MAGIC))
            if start.startswith(FEATHER_1):
                return  # it is not compressed
            for at in _blocks(file) if start == MAGIC else _stream(file):
                _check_message(path, file, at)
        except (struct.error, IndexError):
            raise_file_error(path, "is damaged or truncated", "write it again")


def _check_message(path: str, file: IO[bytes], at: int) -> None:
    """Check the message at a position."""
    metadata, body = _metadata(file, at)
    table = _root(metadata)
    kind = metadata[_field(metadata, table, HEADER_TYPE)]
    batch = _table(metadata, _field(metadata, table, HEADER))
    if kind == DICTIONARY_BATCH:
        batch = _table(metadata, _field(metadata, batch, DICTIONARY_DATA))
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH) or not _field(metadata, batch, COMPRESSION):
        return
    size = 0
    stored = struct.unpack_from("<q", metadata, _field(metadata, table, BODY_LENGTH))[0]
    for offset, length in _structs(metadata, _field(metadata, batch, BUFFERS), "<qq"):
        if length > 0:
            file.seek(body + offset)
            (raw,) = struct.unpack("<q", file.read(8))
            size += length if raw < 0 else raw  # -1: not compressed
    check_stored(path, "a batch", size, stored)


def _stream(file: IO[bytes]) -> Iterator[int]:
    """Yield the positions of the messages of a stream."""
    at, end = 0, file.seek(0, os.SEEK_END)
    while at + 8 <= end:
        metadata, body = _metadata(file, at)
        if not metadata:
            return
        yield at
        field = _field(metadata, _root(metadata), BODY_LENGTH)
        length = struct.unpack_from("<q", metadata, field)[0] if field else 0
        if length < 0:
            raise struct.error("size of a body")
        at = body + length


def _blocks(file: IO[bytes]) -> Iterator[int]:
    """Yield the positions of the batches that the footer of a file lists."""
    end = file.seek(-len(MAGIC) - 4, os.SEEK_END)
    (size,) = struct.unpack("<i", file.read(4))
    if not 0 < size <= min(end, MAX_METADATA):
        raise struct.error("size of the footer")
    file.seek(end - size)
    footer = file.read(size)
    for number in (FOOTER_DICTIONARIES, FOOTER_BATCHES):
        position = _field(footer, _root(footer), number)
        for at, *_ in _structs(footer, position, "<qiiq"):
            yield at


def _metadata(file: IO[bytes], at: int) -> tuple[bytes, int]:
    """Return the metadata of a message, nothing at the end of a stream, and where its body is."""
    file.seek(at)
    (size,) = struct.unpack("<i", file.read(4))
    if size == -1:  # files before version 0.15 lack this mark
        (size,) = struct.unpack("<i", file.read(4))
    if not 0 <= size <= MAX_METADATA:
        raise struct.error("size of the metadata")
    return file.read(size), file.tell()


def _root(data: bytes) -> int:
    return int(struct.unpack_from("<I", data)[0])


def _table(data: bytes, field: int) -> int:
    """Return the position of the table that a field refers to."""
    if not field:
        raise struct.error("a missing table")
    return int(field + struct.unpack_from("<I", data, field)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table, 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    place = 4 + 2 * number
    offset = struct.unpack_from("<H", data, vtable + place)[0] if place < size else 0
    return int(table + offset) if offset else 0


def _structs(data: bytes, field: int, kind: str) -> Iterator[tuple[int, ...]]:
    """Yield the structs of a vector."""
    if field:
        start = _table(data, field)
        for i in range(struct.unpack_from("<I", data, start)[0]):
            yield struct.unpack_from(kind, data, start + 4 + i * struct.calcsize(kind))
