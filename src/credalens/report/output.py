"""Writing reports."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import BLOCK_BYTES, Array
from credalens._files import atomic_write
from credalens._html import as_names, check_length, check_path
from credalens._validation import raise_invalid
from credalens.decisions import as_cost
from credalens.evaluation.labels import UNKNOWN, label_indices
from credalens.report import vega_bundle
from credalens.report.data import Collector, ReportConfig, choose_measures
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
    review_threshold: float | None = None,
    review_share: float | None = None,
    target_accuracy: float | None = None,
    cost: Any = None,
    action_names: Sequence[str] | None = None,
    title: str | None = None,
    normalize: bool = False,
) -> Path:
    """Write a report on the predictions of an ensemble: one self-contained HTML file.

    Parameters
    ----------
    path : str or Path
        Output file, written atomically.
    members : array-like of shape (n, M, K), or ConvexHull
        The predictions of M models over K classes for n inputs.
    y : array-like of shape (n,) or (n, K), optional
        True classes, as indices or as names in `class_names`. With them, the report has
        accuracies, calibration and rejection curves. Rows of K numbers are distributions of the
        labels, such as frequencies of annotators: their most probable classes are the labels, and
        the report also has the share that lies in the credal sets.
    class_names : sequence of K str, optional
        Names of the classes; their indices by default.
    ids : sequence of length n, optional
        Identifiers of the inputs; their positions by default.
    names : sequence of M str, optional
        Names of the models.
    distance : str or distance, default="tv"
        The distance that defines the uncertainties of the map.
    measures : sequence of {"tv", "entropy", "hartley"}, optional
        Families to compare; "tv" is the family of `distance` and is always included. By default
        all, but Hartley only if it should take less than half a minute.
    review_threshold : float, optional
        Total uncertainty above which a prediction is reviewed.
    review_share : float in (0, 1), optional
        Share of the predictions to review, instead of a threshold.
    target_accuracy : float in (0, 1), optional
        Accuracy of the predictions that are kept, instead of a threshold. By default, with labels,
        the largest of 0.99, 0.95 and 0.9 that keeps at least half of them; without labels a tenth
        is reviewed.
    cost : array-like of shape (K, D), optional
        Costs of D actions, as in `credalens.decide`; adds the cost of each decision rule.
    action_names : sequence of D str, optional
        Names of the actions; by default those of the classes, if there are K actions.
    title : str, optional
        Heading of the page.
    normalize : bool, default=False
        Divide every row by its sum first.

    Returns
    -------
    Path
        The output file.

    Notes
    -----
    Counts are exact. Above 2000 predictions, 1500 of those that should be reviewed are drawn
    above the density of all; above about 20 000, the table lists the most uncertain ones and a
    random sample. The size of a page is 1 to 5 MB for any number of rows. Needs the extra
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
    vega_bundle.require()
    path = check_path(path)
    points = _as_members(members, normalize)
    n, M, K = points.shape
    config = ReportConfig(
        n_members=M,
        n_classes=K,
        names=as_names(names, M, "names", "model") or tuple(f"model {m}" for m in range(M)),
        class_names=as_names(class_names, K, "class_names", "class"),
        distance=distance,
        measures=choose_measures(measures, (n, M, K)),
        review_threshold=review_threshold,
        review_share=review_share,
        target_accuracy=target_accuracy,
        **_as_costs(cost, action_names, K),
        title="" if title is None else str(title),
    )
    labels, soft = (None, None) if y is None else _as_labels(y, n, K, config.class_names)
    if target_accuracy is not None and labels is None:
        raise_invalid("target_accuracy", "needs labels", "pass y, or review_share")
    identifiers = None if ids is None else _as_ids(ids, n)
    collector = Collector(config)
    rows = max(1, BLOCK_BYTES // (8 * M * K))  # bounds the memory of votes and conversions
    for start_row in range(0, n, rows):
        part = slice(start_row, start_row + rows)
        collector.add(
            points[part],
            None if labels is None else labels[part],
            None if identifiers is None else identifiers[part],
            distributions=None if soft is None else soft[part],
        )
    return write_page(path, collector, start)


def _as_costs(cost: Any, names: Sequence[str] | None, n_classes: int) -> dict[str, Any]:
    matrix = as_cost(cost, n_classes)
    if matrix is None:
        return {}
    actions = as_names(names, matrix.shape[1], "action_names", "action")
    if actions is None and matrix.shape[1] != n_classes:
        actions = tuple(f"action {d}" for d in range(matrix.shape[1]))
    return {"cost": matrix, "actions": actions}


def write_page(path: Path, collector: Collector, start: float) -> Path:
    """Write the report of the collected predictions; `start` is a time of `perf_counter`."""
    from credalens.report.page import render

    data = collector.finish()
    text = render(data, time.perf_counter() - start)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def _as_members(members: Any, normalize: bool) -> Array:
    if isinstance(members, CredalSet) and not isinstance(members, ConvexHull):
        raise_invalid(
            "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
        )
    hull = members if isinstance(members, ConvexHull) else ConvexHull(members, normalize=normalize)
    points: Array = np.asarray(hull.to_numpy_backed().members)
    if points.ndim != 3:
        raise_invalid("members", f"has shape {points.shape}", "pass (n, members, classes)")
    if len(points) == 0:
        raise_invalid("members", "has no rows", "a report needs at least one prediction")
    return points


def _as_ids(ids: Any, n: int) -> Array:
    check_length(ids, n, "ids", "prediction")
    result = np.empty(n, dtype=object)
    result[:] = [None if i is None else str(i) for i in ids]
    return result


def _as_labels(
    y: Any, n: int, n_classes: int, class_names: tuple[str, ...] | None
) -> tuple[Array, Array | None]:
    """Return class indices, and the distributions of the labels, if rows have one.

    Class names take precedence over indices if they are numbers.
    """
    if np.ndim(y) == 2:
        soft = _validation.distributions(y, "y")
        check_length(soft, n, "y", "prediction")
        if soft.shape[1] != n_classes:
            raise_invalid("y", f"has {soft.shape[1]} columns", f"pass one per class, {n_classes}")
        return soft.argmax(axis=1), soft
    labels = _validation.vector(y, "y")
    check_length(labels, n, "y", "prediction")
    indices = label_indices(labels, class_names, n_classes)
    known = indices != UNKNOWN
    if not known.all():
        i = int(np.argmin(known))
        raise_invalid("y", f"is {labels[i]!s} at index {i} (zero-based)",
                      f"labels are class names or 0 to {n_classes - 1}; remove rows without a "
                      "label, or omit y")  # fmt: skip
    return indices, None
