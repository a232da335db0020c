"""Partitions of the rows of an ensemble, and the folder with one file of scores for each."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from credalens._extras import require
from credalens._files import LOCK, atomic_write
from credalens.io import Ensemble
from credalens.io.formats import DROPPED_COLUMNS, MANIFEST
from credalens.io.output import check_parent, check_same_settings, remove_own_table
from credalens.io.parquet import open_parquet
from credalens.io.source import file_signature, is_transient, raise_file_error, read_errors

arrow_parquet = require("pyarrow.parquet", "cli")

#: Bytes of predictions per partition, if the files allow a choice: large enough that the overhead
#: per task is small, small enough that little is lost with a worker.
PARTITION_BYTES = 1 << 27
FORMAT = "credalens scores"
#: Key of the metadata in the footer of a file of scores: fingerprint, rows, dropped rows.
FOOTER = "credalens"
#: Least seconds between two writes of the manifest, whose size is that of all partitions.
SAVE_INTERVAL = 2.0
#: Settings that readers of a manifest use, and their types in JSON.
SETTINGS: dict[str, Any] = {"columns": list, "classes": int | list}
FIX = "pass the same ones, or name another folder"


@dataclass(frozen=True)
class Partition:
    """The rows ``start:stop`` of all models, scored into one file."""

    index: int
    start: int
    stop: int
    #: The files that contain these rows, each with its range of rows.
    row_ranges: tuple[tuple[str, int, int], ...]
    #: Digest of the settings, the rows, and sizes and times of the files.
    fingerprint: str

    @property
    def name(self) -> str:
        """Name of the file of scores."""
        return part_name(self.index)

    @property
    def files(self) -> str:
        """Names of the files that contain the rows."""
        return ", ".join(dict.fromkeys(name for name, _, _ in self.row_ranges))

    @property
    def entry(self) -> dict[str, Any]:
        """The description in the manifest."""
        inputs = [list(span) for span in self.row_ranges]
        return {"file": self.name, "start": self.start, "stop": self.stop, "inputs": inputs}


def partitions(ensemble: Ensemble, settings: Mapping[str, Any]) -> list[Partition]:
    """Divide an ensemble into partitions, at the chunks or row groups of its first source.

    `settings` are all else that the scores depend on, as JSON values.
    """
    rows = max(1, PARTITION_BYTES // (4 * len(ensemble.names) * ensemble.n_classes))
    bounds = [source.partition_bounds(rows) for source in ensemble.sources]
    if None in bounds:
        raise_file_error(
            ensemble.sources[bounds.index(None)].path,
            "cannot be read by partition",
            "write it as .parquet (file or folder), .zarr or .npy, or leave out --engine dask",
        )
    signatures: dict[str, list[Any]] = {}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    found = []
    for index, (start, stop) in enumerate(pairwise(bounds[0] or [])):
        ranges = tuple(r for source in ensemble.sources for r in source.row_ranges(start, stop))
        for path, _, _ in ranges:
            if path not in signatures:
                signatures[path] = file_signature(path)
        key = [digest, start, stop, ranges, [signatures[path] for path, _, _ in ranges]]
        fingerprint = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
        found.append(Partition(index, start, stop, ranges, fingerprint))
    return found


class ScoreFolder:
    """The finished and unfinished partitions of a job.

    A file of scores has the fingerprint of its partition in its footer. So it is finished as soon
    as it exists, even if the manifest was not updated.
    """

    def __init__(
        self, path: Path, settings: Mapping[str, Any], partitions: Sequence[Partition]
    ) -> None:
        self.path, self._partitions = path, partitions
        # As read back from JSON: tuples become lists, and keys strings.
        self._settings = json.loads(json.dumps(settings))
        self._entries: list[dict[str, Any]] = [
            {**partition.entry, "status": "waiting"} for partition in partitions
        ]
        self._saved = 0.0
        #: Names of damaged files of scores, which are computed again.
        self.damaged: list[str] = []

    def create(self) -> None:
        """Create the folder if it does not exist."""
        if self.path.exists() and not self.path.is_dir():
            raise_file_error(str(self.path), "is a file", "name a folder")
        check_parent(self.path)
        self.path.mkdir(exist_ok=True)

    def open(self, skip: bool) -> int:
        """Find the finished partitions and return their rows; the folder must be locked.

        Other files, and scores of other inputs or settings, raise `PredictionFileError`.
        """
        digests: dict[str, str | None] = {}
        if (self.path / MANIFEST).exists():
            manifest = read_manifest(self.path)
            self._check_same_job(manifest)
            digests = {entry["file"]: entry.get("sha256") for entry in manifest["partitions"]}
        elif any(path.name != LOCK for path in self.path.iterdir()):
            raise_file_error(str(self.path), "is not empty", "name another folder")
        self._remove_temporary()
        names = {partition.name for partition in self._partitions}
        for path in sorted(self.path.glob("*.parquet")):
            if path.name not in names:  # readers of the folder would read it as scores
                fix = "move it, or name another folder"
                raise_file_error(str(path), "is not an output of this job", fix)
        for partition, entry in zip(self._partitions, self._entries, strict=True):
            self._find_finished(partition, entry, skip, digests)
        self.save(now=True)
        return sum(e["stop"] - e["start"] for e in self._entries if e["status"] == "finished")

    def _check_same_job(self, manifest: Mapping[str, Any]) -> None:
        check_same_settings(str(self.path), manifest["settings"], self._settings, FIX)
        keys = ("file", "start", "stop", "inputs")
        before, now = (
            [[entry[key] for key in keys] for entry in entries]
            for entries in (manifest["partitions"], json.loads(json.dumps(self._entries)))
        )
        if before != now:
            raise_file_error(str(self.path), "was created from other files", FIX)

    def _find_finished(
        self,
        partition: Partition,
        entry: dict[str, Any],
        skip: bool,
        digests: Mapping[str, str | None],
    ) -> None:
        path = self.path / partition.name
        if not path.exists():
            return
        footer = _read_footer(path)
        if footer is None or not _is_undamaged(path, digests.get(partition.name)):
            self.damaged.append(partition.name)  # it is written again
            return
        fingerprint, rows, dropped = footer
        if fingerprint != partition.fingerprint:
            raise_file_error(
                str(path),
                f"was computed from an earlier version of {partition.files}",
                "remove it to compute it again, or name another folder",
            )
        if skip or not dropped:
            self._set_finished(entry, rows, dropped)

    def _set_finished(self, entry: dict[str, Any], rows: int, dropped: int) -> None:
        path = self.path / entry["file"]
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        entry.update(status="finished", rows=rows, left_out=dropped, bytes=size, sha256=digest)

    def waiting(self) -> Iterator[Partition]:
        """Yield the unfinished partitions."""
        for partition, entry in zip(self._partitions, self._entries, strict=True):
            if entry["status"] != "finished":
                yield partition

    def add(self, index: int, rows: int, dropped: int) -> None:
        """Record a finished partition."""
        self._set_finished(self._entries[index], rows, dropped)
        self.save()

    def save(self, now: bool = False) -> None:
        """Write the manifest, unless it was written less than `SAVE_INTERVAL` seconds ago."""
        if not now and time.monotonic() - self._saved < SAVE_INTERVAL:
            return
        done = [entry for entry in self._entries if entry["status"] == "finished"]
        manifest = {
            "format": FORMAT,
            "complete": len(done) == len(self._entries),
            "rows": sum(entry["rows"] for entry in done),
            "left_out": sum(entry["left_out"] for entry in done),
            "settings": self._settings,
            "partitions": self._entries,
        }
        with atomic_write(self.path / MANIFEST) as path:
            path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        self._saved = time.monotonic()

    def finish(self, skipped: Path) -> tuple[int, int]:
        """Write the final manifest, and dropped rows to `skipped`; return both numbers of rows."""
        self._remove_temporary()
        self.save(now=True)
        sides = []
        for entry in self._entries:
            side = skipped_path(self.path / entry["file"])
            if entry["left_out"]:
                sides.append(side)
            else:  # an earlier run, before its rows were fixed
                side.unlink(missing_ok=True)
        if sides:
            with atomic_write(skipped) as path, path.open("wb") as stream:
                for i, side in enumerate(sides):
                    text = side.read_bytes()
                    stream.write(text if i == 0 else text.split(b"\n", 1)[1])  # one header
        else:
            remove_own_table(skipped, DROPPED_COLUMNS)
        rows, dropped = (sum(e[key] for e in self._entries) for key in ("rows", "left_out"))
        return rows, dropped

    def _remove_temporary(self) -> None:
        """Remove temporary files of killed workers."""
        for pattern in (".part-*", "._manifest-*", "._skipped-*"):
            for path in self.path.glob(pattern):
                path.unlink(missing_ok=True)


def skipped_path(out: Path) -> Path:
    """Return the path of the dropped rows of a partition."""
    return out.with_name(f"_skipped-{out.stem.removeprefix('part-')}.csv")


def _read_footer(path: Path) -> tuple[str, int, int] | None:
    """Return fingerprint, rows and dropped rows of a file of scores, None if it is damaged."""
    try:
        metadata = arrow_parquet.read_metadata(path).metadata or {}
        fingerprint, rows, dropped = metadata[FOOTER.encode()].decode().split()
        return fingerprint, int(rows), int(dropped)
    except (OSError, ValueError, KeyError):  # base classes of the errors of pyarrow
        return None


def _is_undamaged(path: Path, digest: str | None) -> bool:
    """Return whether a file has the SHA-256 `digest`, or without one the checksums of its pages."""
    try:
        if digest is not None:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == digest
        with open_parquet(str(path)) as parquet:
            for _ in parquet.iter_batches():
                pass
        return True
    except (OSError, ValueError) as error:
        if is_transient(error):
            raise
        return False


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a folder of scores."""
    path = folder / MANIFEST
    with read_errors(str(path)):
        manifest = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise_file_error(str(path), "is not a manifest of scores", "name another folder")
    problem = _manifest_problem(manifest)
    if problem:
        raise_file_error(str(path), problem, "score the predictions again, into another folder")
    return manifest


def _manifest_problem(manifest: Mapping[str, Any]) -> str:
    """Return what is wrong with a manifest, which must name files of scores in its folder only."""
    settings, entries = manifest.get("settings"), manifest.get("partitions")
    if not isinstance(settings, dict) or not isinstance(entries, list) or not entries:
        return "lacks settings or partitions"
    if not all(isinstance(settings.get(key), kind) for key, kind in SETTINGS.items()):
        return f"lacks {' or '.join(SETTINGS)}"
    if not all(type(manifest.get(key)) is int for key in ("rows", "left_out")):
        return "lacks the numbers of rows"
    if type(manifest.get("complete")) is not bool:
        return "does not tell whether it is complete"
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict) or entry.get("file") != part_name(i):
            name = entry.get("file") if isinstance(entry, dict) else entry
            return f"names the file {name!r} instead of {part_name(i)!r}"
        kinds = {"start": int, "stop": int, "inputs": list, "status": str}
        if entry.get("status") == "finished":
            kinds |= {"rows": int, "left_out": int}
        for key, kind in kinds.items():
            if type(entry.get(key)) is not kind:
                return f"lacks the entry {key!r} of {part_name(i)}"
    return ""


def part_name(index: int) -> str:
    """Return the name of the file of scores of a partition."""
    return f"part-{index:05d}.parquet"
