"""Which rows are scored together, and by what a finished partition is known again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from credalens.datasets.files import Ensemble
from credalens.datasets.files.source import refuse_file, stamp

#: Bytes of predictions in a partition, where the files leave a choice: large enough that handing
#: it out costs little, small enough that little is lost with a worker.
PARTITION_BYTES = 1 << 27
#: Formats that can be read from any row on.
BY_PARTITION = ".parquet (files and folders), .zarr and .npy"


@dataclass(frozen=True)
class Partition:
    """The rows ``start:stop`` of all models, to become one file."""

    index: int
    start: int
    stop: int
    #: For every file that holds some of them: its name, the first row, one past the last row.
    spans: tuple[tuple[str, int, int], ...]
    #: Changes with the settings, the rows and the files.
    fingerprint: str

    @property
    def name(self) -> str:
        """Name of the file of scores."""
        return f"part-{self.index:05d}.parquet"

    @property
    def described(self) -> dict[str, Any]:
        """What the manifest says about it."""
        inputs = [list(span) for span in self.spans]
        return {"file": self.name, "start": self.start, "stop": self.stop, "inputs": inputs}


def partitions(ensemble: Ensemble, settings: Mapping[str, Any]) -> list[Partition]:
    """Cut an ensemble into partitions, between the stored pieces of its first source.

    Parameters
    ----------
    ensemble : Ensemble
        Its sources must be of formats that can be read from any row on.
    settings : mapping
        Whatever else the scores depend on, in JSON's terms.

    Returns
    -------
    list of Partition
        They hold names and numbers only: a hundred bytes or two each, whatever their rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from credalens.datasets.files import open_ensemble
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.npy")
    ...     np.save(path, np.full((5, 2, 2), 0.5))
    ...     found = partitions(open_ensemble([str(path)]), {})
    >>> [(part.name, part.start, part.stop) for part in found]
    [('part-00000.parquet', 0, 5)]
    """
    rows = max(1, PARTITION_BYTES // (4 * len(ensemble.names) * ensemble.n_classes))
    cuts = [source.edges(rows) for source in ensemble.sources]
    for source, edges in zip(ensemble.sources, cuts, strict=True):
        if edges is None:
            refuse_file(
                source.path,
                "cannot be read by partition",
                f"write it as one of {BY_PARTITION}, or leave out --engine dask",
            )
    stats: dict[str, list[Any]] = {}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    found = []
    for index, (start, stop) in enumerate(pairwise(cuts[0] or [])):
        spans = tuple(
            span for source in ensemble.sources for span in source.spans(start, stop)
        )  # fmt: skip
        for path, _, _ in spans:
            if path not in stats:
                stats[path] = stamp(path)
        known = [digest, start, stop, spans, [stats[path] for path, _, _ in spans]]
        fingerprint = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
        found.append(Partition(index, start, stop, spans, fingerprint))
    return found
