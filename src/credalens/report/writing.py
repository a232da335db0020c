"""Reports from arrays."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import BLOCK_BYTES, Array
from credalens._files import check_folder, replacing
from credalens.evaluation.kinds import SECOND_LOOK
from credalens.evaluation.labels import UNKNOWN, label_indices
from credalens.report import library
from credalens.report.data import Collector, Subject, choose_measures
from credalens.sets import ConvexHull, CredalSet


def write(
    path: Any,
    members: Any,
    y: Any = None,
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    distance: Any = "tv",
    measures: Sequence[str] | None = None,
    second_look: float = SECOND_LOOK,
    title: str | None = None,
    normalize: bool = False,
) -> Path:
    """Write a report on the predictions of an ensemble: one HTML file that needs nothing else.

    Parameters
    ----------
    path : str or Path
        Where to write; the file appears when it is whole.
    members : array-like of shape (n, M, K), or ConvexHull
        The predictions of M models over K classes for n inputs.
    y : array-like of shape (n,), optional
        True classes, as indices or as names in `class_names`. With them the report has accuracies
        and rejection curves.
    class_names : sequence of K str, optional
        Names of the classes, by default their indices.
    ids : sequence of length n, optional
        What the inputs are called, by default their positions.
    names : sequence of M str, optional
        Names of the models.
    distance : str or distance, default="tv"
        The geometry that the map is drawn with.
    measures : sequence of {"tv", "entropy", "hartley"}, optional
        Families that are compared; "tv" stands for `distance` and is always there. By default all,
        but Hartley only where it is expected to take less than half a minute.
    second_look : float, default=0.4
        Level from which an input is called ambiguous (midpoint of the aleatoric interval) and from
        which two models are said to disagree (their largest distance), as a share of the largest
        distance that is possible.
    title : str, optional
        Heading of the page.
    normalize : bool, default=False
        Divide every row by its sum first.

    Returns
    -------
    Path
        Where it was written.

    Notes
    -----
    What is counted is exact. Of more than 2000 predictions, 1500 of those that deserve a second
    look are drawn over the density of all; of more than about 20 000, the table lists the most
    uncertain and a random sample. A page takes 1 to 5 MB for any number of rows. Needs the extra
    ``credalens[report]``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import credalens as cl
    >>> members = np.random.default_rng(0).dirichlet(np.ones(3), (50, 4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cl.report.write(f"{folder}/report.html", members, class_names=["a", "b", "c"])
    ...     path.name
    'report.html'
    """
    start = time.perf_counter()
    library.require()
    path = check_path(path)
    points = _members(members, normalize)
    n, M, K = points.shape
    subject = Subject(
        n_members=M,
        n_classes=K,
        names=_names(names, M, "names", "model") or tuple(f"model {m}" for m in range(M)),
        class_names=_names(class_names, K, "class_names", "class"),
        distance=distance,
        measures=choose_measures(measures, (n, M, K)),
        second_look=second_look,
        title="" if title is None else str(title),
    )
    labels = None if y is None else _labels(y, n, K, subject.class_names)
    called = None if ids is None else _ids(ids, n)
    collector = Collector(subject)
    # Blocks bound the memory that votes and conversions take.
    rows = max(1, BLOCK_BYTES // (8 * M * K))
    for a in range(0, n, rows):
        part = slice(a, a + rows)
        collector.add(
            points[part],
            None if labels is None else labels[part],
            None if called is None else called[part],
        )
    return write_page(path, collector, start)


def write_page(path: Path, collector: Collector, start: float) -> Path:
    """Write the report of what was collected since `start`, on the clock of `perf_counter`."""
    from credalens.report.page import render

    found = collector.finish()
    text = render(found, time.perf_counter() - start)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def check_path(path: Any) -> Path:
    """Refuse a file that could not be written, before any work is done."""
    file = Path(path)
    if file.is_dir():
        _validation.refuse("path", f"{file} is a folder", "name a file, report.html")
    if file.suffix.lower() not in (".html", ".htm"):
        _validation.refuse("path", f"{file} has another ending", "name it report.html")
    if not file.parent.is_dir():
        _validation.refuse("path", f"{file.parent} is not a folder", "make it first")
    check_folder(file.parent)
    return file


def _members(members: Any, normalize: bool) -> Array:
    if isinstance(members, CredalSet) and not isinstance(members, ConvexHull):
        _validation.refuse(
            "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
        )
    hull = members if isinstance(members, ConvexHull) else (
        ConvexHull(members, normalize=normalize)
    )  # fmt: skip
    points: Array = np.asarray(hull.plain().members)
    if points.ndim != 3:
        _validation.refuse("members", f"has shape {points.shape}", "pass (n, members, classes)")
    if len(points) == 0:
        _validation.refuse("members", "has no rows", "a report needs at least one prediction")
    return points


def _names(names: Any, count: int, argument: str, one: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != count:
        size = "is a string" if isinstance(names, str) else f"has {len(names)} names"
        _validation.refuse(argument, size, f"pass {count}, one for each {one}")
    return tuple(str(name) for name in names)


def _ids(ids: Any, n: int) -> Array:
    if isinstance(ids, str) or len(ids) != n:
        size = "is a string" if isinstance(ids, str) else f"has {len(ids)} entries"
        _validation.refuse("ids", size, f"pass {n}, one for each prediction")
    called = np.empty(n, dtype=object)
    called[:] = [None if i is None else str(i) for i in ids]
    return called


def _labels(y: Any, n: int, n_classes: int, class_names: tuple[str, ...] | None) -> Array:
    """Return class indices; names are looked up, and come first if they are numbers."""
    labels = _validation.vector(y, "y")
    if len(labels) != n:
        _validation.refuse("y", f"has {len(labels)} labels", f"pass {n}, one for each prediction")
    indices = label_indices(labels, class_names, n_classes)
    known = indices != UNKNOWN
    if not known.all():
        i = int(np.argmin(known))
        _validation.refuse("y", f"is {labels[i]!s} at index {i} (zero-based)",
                           f"labels are names of classes or 0 to {n_classes - 1}; leave out rows "
                           "without label, or y")  # fmt: skip
    return indices
