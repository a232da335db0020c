"""The finished parts of an output that is not complete."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
import zlib
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from credalens._extras import require
from credalens._files import atomic_write, follow_link, sync
from credalens.io.chunk import DroppedRow
from credalens.io.output import check_output, check_same_settings, save_dropped
from credalens.io.parquet_footer import footer_size, merged_footer, parse_footer
from credalens.io.source import UnreadableFileError, raise_file_error
from credalens.io.tables import write_csv, write_jsonl, write_npz, write_parquet

pa = require("pyarrow", "cli")

#: Least seconds between two waits for the disk while parts are appended. Parts that are lost in a
#: power cut are computed again, because their checksums differ.
SYNC_INTERVAL = 5.0


@dataclass(frozen=True)
class Part:
    """Consecutive rows in the format of the output."""

    #: The range of rows.
    start: int
    stop: int
    #: Position and size in the file of parts.
    offset: int
    size: int
    crc32: int
    #: Row, identifier, file and reason of each invalid row that was dropped.
    dropped: list[list[Any]]
    #: What else the command needs to know about the rows, as a JSON value.
    summary: Any = None


class PartStore:
    """Finished parts of an output, in a hidden folder beside it.

    The parts are appended to one file, in the format of the output, so that the file is the output
    as soon as the last one is finished. A line of ``parts.jsonl`` describes each part, with the
    checksums of the part and of the line. If the process is killed, what was appended without a
    line is removed, and `resume` continues from the other parts. A part is computed again if one of
    its checksums differs.
    """

    def __init__(self, out: Path, task: Mapping[str, Any], resume: bool) -> None:
        check_output(out)
        self.out = follow_link(out)
        self.folder = self.out.with_name(f".{self.out.name}.parts")
        self._format = FORMATS[out.suffix.lower()]
        self._data, self._lines = self.folder / f"whole{out.suffix}", self.folder / "parts.jsonl"
        self._parts: list[Part] = []
        #: Ranges of rows of damaged parts.
        self.damaged: list[tuple[int, int]] = []
        self._synced = time.monotonic()
        saved = self.folder / "task.json"
        settings = json.dumps(task, sort_keys=True)
        if resume and saved.exists():
            fix = "pass the same ones, or leave out --resume to start again"
            check_same_settings(str(out), _read_task(saved), json.loads(settings), fix)
            self._find_finished()
        else:
            self.discard()
            self.folder.mkdir()
            with atomic_write(saved) as path:
                path.write_text(settings, encoding="utf-8")

    def _find_finished(self) -> None:
        """Find the undamaged parts; remove what follows the last line and the last part."""
        self._data.touch()
        self._lines.touch()
        with self._lines.open("rb+") as lines, self._data.open("rb+") as data:
            text = lines.read()
            end = text.rfind(b"\n") + 1  # the process was killed while it wrote the last line
            lines.truncate(end)
            described = [_decode_line(line) for line in text[:end].splitlines()]
            found = [part for part in described if part is not None]
            data.truncate(max((part.offset + part.size for part in found), default=0))
            damaged = []
            for part in found:
                if zlib.crc32(_read(data, part)) == part.crc32:
                    insort(self._parts, part, key=lambda part: part.start)
                else:
                    damaged.append((part.start, part.stop))
        gaps = self.gaps()
        # Other parts may have been computed again since then.
        self.damaged = [part for part in damaged if any(_overlap(part, gap) for gap in gaps)]
        if len(found) < len(described):  # it is not known which rows were on a damaged line
            known = [(start, stop) for start, stop in gaps if stop is not None]
            others = [gap for gap in known if not any(_overlap(gap, d) for d in self.damaged)]
            self.damaged = sorted([*self.damaged, *others])

    @property
    def finished(self) -> int:
        """Number of rows in finished parts from row 0 on, without a gap."""
        return self.gaps()[0][0]

    def gaps(self) -> list[tuple[int, int | None]]:
        """Return the ranges of rows that are not finished, the last one without an end."""
        found: list[tuple[int, int | None]] = []
        end = 0
        for part in self._parts:
            if part.start > end:
                found.append((end, part.start))
            end = max(end, part.stop)
        return [*found, (end, None)]

    @property
    def summaries(self) -> list[Any]:
        """The summaries of the finished parts."""
        return [part.summary for part in self._parts]

    def add(
        self, start: int, stop: int, batch: Any, dropped: Iterable[DroppedRow], summary: Any = None
    ) -> None:
        """Append a part."""
        sink = pa.BufferOutputStream()
        self._format.encode(batch, sink, start == 0)
        encoded = sink.getvalue()
        rows = [[drop.row, drop.id, drop.file, drop.reason] for drop in dropped]
        with self._data.open("ab") as data:
            offset = data.tell()
            data.write(encoded)
        crc32 = zlib.crc32(encoded)
        part = Part(start, stop, offset, encoded.size, crc32, rows, summary)
        with self._lines.open("ab") as lines:
            lines.write(_encode_line(part))
        insort(self._parts, part, key=lambda part: part.start)
        if time.monotonic() - self._synced > SYNC_INTERVAL:
            self.sync()

    def sync(self) -> None:
        """Wait until the parts are on the disk."""
        for path in (self._data, self._lines, self.folder):
            if path.exists():
                sync(path)
        self._synced = time.monotonic()

    def finish(self, skipped: Path, rows: int) -> list[DroppedRow]:
        """Write the output, and the dropped rows to `skipped`; return the dropped rows.

        `rows` is the number of rows that were read.
        """
        gaps = self.gaps()
        if gaps != [(rows, None)]:
            raise UnreadableFileError(
                f"{self.out}: {self.folder} has {gaps[0][0]} of {rows} rows; run it again, and do "
                "not change the folder"
            )
        self._put_in_order()
        complete = self._format.complete(self._data, self._parts)
        dropped = [DroppedRow(*values) for part in self._parts for values in part.dropped]
        if self.out.exists():
            complete.chmod(stat.S_IMODE(self.out.stat().st_mode))
        sync(complete)
        complete.replace(self.out)
        sync(self.out.parent)
        save_dropped(dropped, skipped)
        self.discard()
        return dropped

    def _put_in_order(self) -> None:
        """Copy the parts if they are not one after the other, because one was computed again."""
        end, ordered = 0, []
        for part in self._parts:
            ordered.append(replace(part, offset=end))
            end += part.size
        if ordered == self._parts and self._data.stat().st_size == end:
            return
        copy = self.folder / f"ordered{self.out.suffix}"
        with self._data.open("rb") as data, copy.open("wb") as target:
            for part in self._parts:
                target.write(_read(data, part))
        self._data, self._parts = copy, ordered

    def discard(self) -> None:
        """Remove the finished parts."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _overlap(a: tuple[int, int], b: tuple[int, int | None]) -> bool:
    return b[0] < a[1] and (b[1] is None or a[0] < b[1])


def _encode_line(part: Part) -> bytes:
    """Return the line of a part: the checksum of its description, and the description."""
    text = json.dumps(asdict(part), default=str).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decode_line(line: bytes) -> Part | None:
    """Return the part that a line describes, None if the line is damaged."""
    checksum, _, text = line.partition(b" ")
    try:
        return Part(**json.loads(text)) if int(checksum, 16) == zlib.crc32(text) else None
    except (ValueError, TypeError):
        return None


def _read_task(path: Path) -> dict[str, Any]:
    try:
        task = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        task = None
    if not isinstance(task, dict):
        raise_file_error(str(path), "is damaged", "leave out --resume to start again")
    return task


def _read(data: IO[bytes], part: Part) -> bytes:
    data.seek(part.offset)
    return data.read(part.size)


@dataclass(frozen=True)
class PartFormat:
    """How parts are encoded, and how their concatenation becomes the output."""

    #: Takes a batch, a stream, and whether the part is the first one.
    encode: Callable[[Any, Any, bool], None]
    complete: Callable[[Path, list[Part]], Path] = lambda data, parts: data


def _encode_arrow(batch: Any, sink: Any, first: bool) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _complete_parquet(path: Path, parts: list[Part]) -> Path:
    """Append a footer with the row groups of all parts, each of which is a Parquet file."""
    if len(parts) > 1:
        footers = []
        with path.open("rb+") as data:
            for part in parts:
                end = part.offset + part.size
                data.seek(end - 8)
                tail = footer_size(data.read(8)) + 8
                data.seek(end - tail)
                footers.append(parse_footer(data.read(tail)))
            data.seek(0, os.SEEK_END)
            data.write(merged_footer(footers, [part.offset for part in parts]))
    return path


def _complete_npz(path: Path, parts: list[Part]) -> Path:
    """Write the columns one after the other, from parts in Arrow's format."""

    def batches() -> Iterator[Any]:
        with path.open("rb") as data:
            for part in parts:
                with pa.ipc.open_stream(_read(data, part)) as reader:
                    yield reader.read_next_batch()

    complete = path.with_name("complete.npz")
    write_npz(batches, complete)
    return complete


#: The formats of parts by the file extension of the output.
FORMATS = {
    ".csv": PartFormat(lambda batch, sink, first: write_csv([batch], sink, first)),
    ".jsonl": PartFormat(lambda batch, sink, first: write_jsonl([batch], sink)),
    ".parquet": PartFormat(
        lambda batch, sink, first: write_parquet(lambda: iter([batch]), sink), _complete_parquet
    ),
    ".npz": PartFormat(_encode_arrow, _complete_npz),
}
