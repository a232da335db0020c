"""Writing explorer pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._files import atomic_write
from credalens._html import as_names, check_length, check_path
from credalens._validation import raise_invalid
from credalens.explore.page import Row, render
from credalens.sets import ConvexHull, CredalSet

#: Maximum number of probabilities in a page, about 2 MB.
MAX_NUMBERS = 200_000
#: Maximum number of classes; with more, the page would not follow the pointer.
MAX_CLASSES = 2000


def write(
    path: Any,
    members: Any = None,
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> Path:
    """Write the explorer: one HTML page on which predictions are moved and measured.

    Parameters
    ----------
    path : str or Path
        Output file, written atomically.
    members : array-like of shape (M, K) or (n, M, K), or ConvexHull, optional
        The predictions of M models over K classes for one or n instances, which can be selected
        on the page. By default the page has examples only.
    class_names : sequence of K str, optional
        Names of the classes; their indices by default.
    ids : sequence of length n, optional
        Identifiers of the instances; their positions by default.
    names : sequence of M str, optional
        Names of the models.
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
        The output file.

    Notes
    -----
    The page computes all numbers itself and loads nothing from the network. A set over three
    classes is shown in the probability simplex, where its members can be dragged; any number of
    classes is shown as interval bars with sliders. The generalized Hartley measure is computed for
    at most 14 classes. A page has at most 200 000 probabilities, of at most 2000 classes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import credalens as cl
    >>> members = [[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = cl.explore.write(f"{folder}/explorer.html", members, ["cat", "dog", "fox"])
    ...     path.name
    'explorer.html'
    """
    path = check_path(path, "explorer.html")
    rows: list[Row] = []
    if members is None:
        for argument, value in (("class_names", class_names), ("ids", ids), ("names", names)):
            if value is not None:
                raise_invalid(argument, "is passed without members", "pass members too")
    else:
        points = _as_rows(members)
        n, M, K = points.shape
        class_names = as_names(class_names, K, "class_names", "class")
        names = as_names(names, M, "names", "model")
        if ids is not None:
            check_length(ids, n, "ids", "instance")
        texts = [f"row {i}" for i in range(n)] if ids is None else [str(i) for i in ids]
        rows = [Row(text, row) for text, row in zip(texts, points, strict=True)]
    return write_rows(path, rows, class_names, names, title or "")


def write_rows(
    path: Path,
    rows: Sequence[Row],
    class_names: Sequence[str] | None,
    names: Sequence[str] | None,
    title: str,
) -> Path:
    """Write the explorer with these rows."""
    text = render(rows, class_names, names, title)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def rows_that_fit(n_members: int, n_classes: int, limit: int | None = None) -> int:
    """Return how many rows of this size a page may have, with at most `limit` probabilities."""
    if n_classes > MAX_CLASSES:
        return 0
    return (MAX_NUMBERS if limit is None else limit) // (n_members * n_classes)


def check_classes(n_classes: int) -> None:
    """Raise an error if there are too many classes for the page."""
    if n_classes > MAX_CLASSES:
        raise_invalid(
            "classes", f"are {n_classes}", f"the explorer shows rows of at most {MAX_CLASSES}"
        )


def _as_rows(members: Any) -> Array:
    if isinstance(members, CredalSet) and not isinstance(members, ConvexHull):
        raise_invalid(
            "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
        )
    hull = members if isinstance(members, ConvexHull) else ConvexHull(members)
    points: Array = np.asarray(hull.to_numpy_backed().members)
    if points.ndim not in (2, 3):
        raise_invalid("members", f"has shape {points.shape}", "pass (M, K) or (n, M, K)")
    points = points.reshape(-1, *points.shape[-2:])
    if not np.isfinite(points).all():
        raise_invalid("members", "has missing members", "pass the members that are present")
    n, M, K = points.shape
    check_classes(K)
    if n > rows_that_fit(M, K):
        raise_invalid(
            "members", f"has {n} rows of {M} x {K} probabilities",
            f"pass at most {rows_that_fit(M, K)}, for instance the most uncertain ones",
        )  # fmt: skip
    return points
