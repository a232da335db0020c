"""Checks of output files, and the table of dropped rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from credalens._extras import require
from credalens._files import atomic_write, follow_link, resolved
from credalens.io.chunk import DroppedRow
from credalens.io.formats import DROPPED_COLUMNS, column_names
from credalens.io.source import PredictionFileError, raise_file_error
from credalens.io.tables import WRITERS, write_csv

pa = require("pyarrow", "cli")


def check_output(out: Path) -> None:
    """Raise an error for an output file that cannot be written, before any work is done."""
    if out.suffix.lower() not in WRITERS:
        problem = f"has the unknown file extension {out.suffix!r}"
        raise_file_error(str(out), problem, f"supported are {' '.join(WRITERS)}")
    check_parent(out)
    if follow_link(out).is_dir():
        raise_file_error(str(out), "is a folder", "name a file")


def check_parent(out: Path) -> None:
    """Raise an error for an output in a folder that does not exist."""
    if not out.parent.is_dir():
        problem = "is not a folder" if out.parent.exists() else "does not exist"
        raise_file_error(str(out), f"the folder {out.parent} {problem}", "create it")


def check_not_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise an error for outputs that would overwrite an input, or are inside a dataset."""
    read = {resolved(path) for path in inputs}
    for out in outputs:
        path = resolved(out)
        if path in read:
            raise_file_error(str(out), "is also an input", "name another output")
        for folder in read.intersection(path.parents):
            raise_file_error(str(out), f"is in {folder}, an input", "name another output")


def check_same_settings(
    path: str, old: Mapping[str, Any], new: Mapping[str, Any], fix: str
) -> None:
    """Raise an error if an unfinished output has other settings; both as read from JSON."""
    other = [key for key in new if new[key] != old.get(key)]
    if other:
        raise_file_error(path, f"was created with other {', '.join(other)}", fix)


def write_dropped_csv(dropped: Iterable[DroppedRow], stream: IO[bytes]) -> None:
    """Write dropped rows and the reasons."""
    rows = [
        (drop.row, "" if drop.id is None else str(drop.id), drop.file, drop.reason)
        for drop in dropped
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    write_csv([pa.record_batch(columns, names=list(DROPPED_COLUMNS))], stream)


def save_dropped(dropped: Sequence[DroppedRow], path: Path) -> None:
    """Write dropped rows to `path`; if there are none, remove the file of an earlier run."""
    if dropped:
        with atomic_write(path) as temporary, temporary.open("wb") as stream:
            write_dropped_csv(dropped, stream)
    else:
        remove_own_table(path, DROPPED_COLUMNS)


def save_checksum(out: Path, wanted: bool) -> None:
    """Write the SHA-256 of an output to ``OUT.sha256``; if it exists, also without `wanted`."""
    path = out.with_name(f"{out.name}.sha256")
    if not wanted:
        known = path.read_text(errors="replace") if path.is_file() else ""
        if re.fullmatch(rf"[0-9a-f]{{64}}  {re.escape(out.name)}\n", known) is None:
            return
    with out.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with atomic_write(path) as temporary:
        temporary.write_text(f"{digest}  {out.name}\n", encoding="utf-8")


def check_own_table(path: Path, columns: Sequence[str]) -> None:
    """Raise an error for a file that a table would replace, unless it is such a table."""
    if path.is_file() and not _is_table(path, columns):
        fix = "move it, or name another output"
        raise_file_error(str(path), "exists, and is not a table of skipped rows", fix)


def _is_table(path: Path, columns: Sequence[str]) -> bool:
    try:
        return column_names(path) == list(columns)
    except PredictionFileError:  # a file that cannot be read is not ours
        return False


def remove_own_table(path: Path, columns: Sequence[str]) -> None:
    """Remove the table that an earlier run wrote to `path`, recognised by its columns."""
    if path.is_file() and _is_table(path, columns):
        path.unlink()
