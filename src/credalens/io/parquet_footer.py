"""Parquet files that are concatenated: their footers are merged, their row groups are not read.

A footer is a struct in the compact protocol of Apache Thrift. It is parsed without a schema, so
that fields that this module does not know are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

MAGIC = b"PAR1"
#: Types of the compact protocol.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
#: Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData in the Parquet format.
SCHEMA, NUM_ROWS, ROW_GROUPS = 2, 3, 4
COLUMNS, GROUP_OFFSET, ORDINAL = 1, 5, 7
COLUMN_METADATA = 3
COLUMN_OFFSETS = (2, 4, 6)
METADATA_OFFSETS = (9, 10, 11, 14)
SIZE_STATISTICS, LEVEL_HISTOGRAMS = 16, (2, 3)

#: The fields of a struct by number, each with its type.
Struct = dict[int, tuple[int, Any]]


class Items(NamedTuple):
    """The entries of a list, and their type."""

    kind: int
    values: list[Any]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _bytes(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while header := self._byte():
            kind, step = header & 15, header >> 4
            number = number + step if step else _signed(self._varint())
            fields[number] = kind, self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return None  # the type is the value
        if kind in (I16, I32, I64):
            return _signed(self._varint())
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            header = self._byte()
            count = header >> 4 if header < 0xF0 else self._varint()
            item = header & 15
            if item in (TRUE, FALSE):
                item = BYTE  # one byte each, unlike fields
            return Items(header & 15, [self._value(item) for _ in range(count)])
        if kind in (BYTE, DOUBLE):
            return self._bytes(1 if kind == BYTE else 8)
        raise ValueError(f"type {kind} in a Parquet footer")  # maps are not in the format


def _signed(value: int) -> int:
    """Return an integer from its zigzag encoding."""
    return (value >> 1) ^ -(value & 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ~(value << 1))


def _struct_bytes(fields: Struct) -> bytes:
    out = []
    before = 0
    for number, (kind, value) in fields.items():
        step = number - before
        short = 0 < step < 16
        out.append(bytes([step << 4 | kind]) if short else bytes([kind]) + _zigzag(number))
        out.append(_value_bytes(kind, value))
        before = number
    return b"".join(out) + b"\0"


def _value_bytes(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind in (I16, I32, I64):
        return _zigzag(value)
    if kind == BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return _struct_bytes(value)
    if kind in (LIST, SET):
        item, values = value
        count = len(values)
        header = bytes([count << 4 | item]) if count < 15 else bytes([0xF0 | item]) + _varint(count)
        encoded = BYTE if item in (TRUE, FALSE) else item
        return header + b"".join(_value_bytes(encoded, one) for one in values)
    return bytes(value)


def parse_footer(data: bytes) -> Struct:
    """Return the metadata of a file from its last bytes."""
    return _Reader(data[-8 - footer_size(data) : -8]).struct()


def footer_size(tail: bytes) -> int:
    """Return the size of the metadata from the last eight bytes of a file."""
    if tail[-4:] != MAGIC:
        raise ValueError("is not a Parquet file")
    return int.from_bytes(tail[-8:-4], "little")


def level_histograms(footer: Struct) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield, for each column of each row group, its index and the sizes of its histograms.

    They are those of its repetition and of its definition levels, 0 for none.
    """
    _, groups = footer.get(ROW_GROUPS, (LIST, Items(STRUCT, [])))
    for group in groups.values:
        for j, column in enumerate(group[COLUMNS][1].values):
            _, metadata = column.get(COLUMN_METADATA, (STRUCT, {}))
            _, statistics = metadata.get(SIZE_STATISTICS, (STRUCT, {}))
            sizes = (
                len(statistics[n][1].values) if n in statistics else 0 for n in LEVEL_HISTOGRAMS
            )
            yield j, (next(sizes), next(sizes))


def merged_footer(footers: Sequence[Struct], offsets: Sequence[int]) -> bytes:
    """Return the last bytes of the concatenation of files that begin at `offsets`."""
    merged = dict(footers[0])
    if any(footer[SCHEMA] != merged[SCHEMA] for footer in footers):
        raise ValueError("files with different columns cannot be merged")
    groups: list[Struct] = []
    for footer, offset in zip(footers, offsets, strict=True):
        for group in footer[ROW_GROUPS][1].values:
            groups.append(_shifted(group, offset, len(groups)))
    merged[ROW_GROUPS] = LIST, Items(STRUCT, groups)
    merged[NUM_ROWS] = I64, sum(footer[NUM_ROWS][1] for footer in footers)
    metadata = _struct_bytes(merged)
    return metadata + len(metadata).to_bytes(4, "little") + MAGIC


def _shifted(group: Struct, offset: int, ordinal: int) -> Struct:
    """Return a row group whose offsets count from `offset` bytes before the file."""
    group = _moved(group, (GROUP_OFFSET,), offset)
    if ORDINAL in group:
        # A file may have more row groups than the type counts; the field is optional.
        group[ORDINAL] = group[ORDINAL][0], ordinal
        if ordinal >= 1 << 15:
            del group[ORDINAL]
    columns = []
    for column in group[COLUMNS][1].values:
        column = _moved(column, COLUMN_OFFSETS, offset)
        kind, metadata = column[COLUMN_METADATA]
        column[COLUMN_METADATA] = kind, _moved(metadata, METADATA_OFFSETS, offset)
        columns.append(column)
    group[COLUMNS] = LIST, Items(STRUCT, columns)
    return group


def _moved(fields: Struct, numbers: Sequence[int], offset: int) -> Struct:
    moved = dict(fields)
    for number in numbers:
        kind, value = fields.get(number, (I64, 0))
        if value:  # 0 is written for an offset that is not used
            moved[number] = kind, value + offset
    return moved
