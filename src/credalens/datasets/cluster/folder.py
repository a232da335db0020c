"""A folder of scores: one file per partition, and a manifest that says what belongs to it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet

from credalens._files import LOCK, replacing
from credalens.datasets.cluster.plan import Partition
from credalens.datasets.files.opening import MANIFEST, SKIPPED
from credalens.datasets.files.output import check_parent, refuse_other, remove_earlier
from credalens.datasets.files.source import reading, refuse_file

FORMAT = "credalens scores"
#: Key of what a file of scores says about itself in its footer.
FOOTER = "credalens"
#: Seconds between two writings of the manifest, which grows with the number of partitions.
PAUSE = 2.0
ANEW = "give the same ones, or name another folder"


class ScoreFolder:
    """The output of a job, as far as it is there.

    Files of scores know themselves by the fingerprint in their footer, so that a file counts as
    finished from the moment it is in its place, whatever the manifest says.
    """

    def __init__(
        self, path: Path, settings: Mapping[str, Any], partitions: Sequence[Partition]
    ) -> None:
        self.path, self._partitions = path, partitions
        # As it will be read back: tuples become lists, keys text.
        self._settings = json.loads(json.dumps(settings))
        self._entries: list[dict[str, Any]] = [
            {**partition.described, "status": "waiting"} for partition in partitions
        ]
        self._saved = 0.0

    def make(self) -> None:
        """Make the folder, if it is not there; what is in it is looked at under its lock."""
        if self.path.exists() and not self.path.is_dir():
            refuse_file(str(self.path), "is a file", "name a folder")
        check_parent(self.path)
        self.path.mkdir(exist_ok=True)

    def open(self, skip: bool) -> int:
        """Begin in the folder, or go on; return the number of rows that are finished.

        Raises
        ------
        PredictionFileError
            If it holds something else, or scores of other inputs or other settings.
        """
        if (self.path / MANIFEST).exists():
            self._same_job(read_manifest(self.path))
        elif any(path.name != LOCK for path in self.path.iterdir()):
            refuse_file(str(self.path), "is not empty", "name another folder")
        self._clean()
        self._only_ours()
        for partition, entry in zip(self._partitions, self._entries, strict=True):
            self._look(partition, entry, skip)
        self.save(now=True)
        return sum(e["stop"] - e["start"] for e in self._entries if e["status"] == "finished")

    def _same_job(self, manifest: Mapping[str, Any]) -> None:
        refuse_other(str(self.path), manifest["settings"], self._settings, ANEW)
        keys = ("file", "start", "stop", "inputs")
        before, now = (
            [[entry[key] for key in keys] for entry in entries]
            for entries in (manifest["partitions"], json.loads(json.dumps(self._entries)))
        )
        if before != now:
            refuse_file(str(self.path), "was begun with other files", ANEW)

    def _only_ours(self) -> None:
        """Refuse files that would be read as more scores."""
        ours = {partition.name for partition in self._partitions}
        for path in sorted(self.path.glob("*.parquet")):
            if path.name not in ours:
                refuse_file(str(path), "is not of this job", "move it away, or name another folder")

    def _look(self, partition: Partition, entry: dict[str, Any], skip: bool) -> None:
        """See whether a partition is finished."""
        path = self.path / partition.name
        if not path.exists():
            return
        found = _footer(path)
        if found is None:
            return  # damaged, not by us: it is made anew
        fingerprint, rows, dropped = found
        if fingerprint != partition.fingerprint:
            names = ", ".join(dict.fromkeys(name for name, _, _ in partition.spans))
            refuse_file(
                str(path),
                f"was made from what {names} held before",
                "remove it to make it anew, or name another folder",
            )
        if skip or not dropped:
            self._finished(entry, rows, dropped)

    def _finished(self, entry: dict[str, Any], rows: int, dropped: int) -> None:
        entry.update(status="finished", rows=rows, left_out=dropped,
                     bytes=(self.path / entry["file"]).stat().st_size)  # fmt: skip

    def waiting(self) -> Iterator[Partition]:
        """Yield the partitions that are not finished."""
        for partition, entry in zip(self._partitions, self._entries, strict=True):
            if entry["status"] != "finished":
                yield partition

    def add(self, index: int, rows: int, dropped: int) -> None:
        """Note that a partition is finished."""
        self._finished(self._entries[index], rows, dropped)
        self.save()

    def save(self, now: bool = False) -> None:
        """Write the manifest, unless that was done a moment ago."""
        if not now and time.monotonic() - self._saved < PAUSE:
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
        with replacing(self.path / MANIFEST) as path:
            path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        self._saved = time.monotonic()

    def finish(self, skipped: Path) -> tuple[int, int]:
        """Write down that all is there; return the number of rows and of those left out."""
        self._clean()
        self.save(now=True)
        for entry in self._entries:
            if not entry["left_out"]:  # it had bad rows before they were mended
                skipped_rows(self.path / entry["file"]).unlink(missing_ok=True)
        left_out = sum(entry["left_out"] for entry in self._entries)
        if left_out:
            self._join_skipped(skipped)
        else:
            remove_earlier(skipped, SKIPPED)
        return sum(entry["rows"] for entry in self._entries), left_out

    def _join_skipped(self, skipped: Path) -> None:
        """Put what the partitions left out into one file."""
        header = True
        with replacing(skipped) as path, path.open("wb") as stream:
            for entry in self._entries:
                if entry["left_out"]:
                    text = skipped_rows(self.path / entry["file"]).read_bytes()
                    stream.write(text if header else text.split(b"\n", 1)[1])
                    header = False

    def _clean(self) -> None:
        """Remove what killed workers left half written."""
        for pattern in (".part-*", "._manifest-*", "._skipped-*"):
            for path in self.path.glob(pattern):
                path.unlink(missing_ok=True)


def skipped_rows(out: Path) -> Path:
    """Return where the rows that a partition left out are written down."""
    return out.with_name(f"_skipped-{out.stem.removeprefix('part-')}.csv")


def _footer(path: Path) -> tuple[str, int, int] | None:
    """Return fingerprint, rows and rows left out of a file of scores, if it can be read."""
    try:
        metadata = pyarrow.parquet.read_metadata(path).metadata or {}
        fingerprint, rows, dropped = metadata[FOOTER.encode()].decode().split()
        return fingerprint, int(rows), int(dropped)
    except (OSError, ValueError, KeyError):  # pyarrow's errors are among these
        return None


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a folder of scores."""
    path = folder / MANIFEST
    with reading(str(path)):
        manifest = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        refuse_file(str(path), "is not a manifest of scores", "name another folder")
    return manifest
