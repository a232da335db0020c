"""Explanations of uncertain predictions in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array
from credalens.distances import Distance, TotalVariation, as_distance
from credalens.evaluation.kinds import KINDS, REVIEW_THRESHOLD, Rule, make_rule
from credalens.evaluation.likelihood import member_array
from credalens.measures import Interval, quantify


@dataclass(frozen=True)
class Reason:
    """The kind of one prediction, and the evidence for it; see `reasons`.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.reasons([[[0.9, 0.1], [0.2, 0.8]]])[0].kind
    'unknown'
    """

    #: ``"clear"``, ``"ambiguous"``, ``"unknown"`` or ``"both"``; see `kinds`.
    kind: str
    #: One sentence for the reviewer of the prediction.
    text: str
    #: Names of the two members with the largest distance; None if all members are equal.
    members: tuple[str, str] | None
    #: The most probable class of each of these members.
    classes: tuple[str, str] | None


def reasons(
    members: Any,
    distance: Any = "tv",
    *,
    member_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    review_threshold: float = REVIEW_THRESHOLD,
) -> list[Reason]:
    """Explain in words why each prediction is clear, ambiguous, unknown or both.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
        M predictions over K classes for each of n instances.
    distance : str or distance, default="tv"
        The distance between distributions.
    member_names, class_names : sequence of str, optional
        Names of members and classes; by default their indices.
    review_threshold : float in (0, 1), default=0.4
        Level of the rule; see `kinds`.

    Returns
    -------
    list of Reason
        One per instance.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[[0.9, 0.1], [0.2, 0.8]]]
    >>> cl.reasons(members, member_names=["a", "b"], class_names=["cat", "dog"])[0].text
    'the models disagree: a says cat (0.90), b says dog (0.80)'
    """
    K = member_array(members, missing=True)[0].n_classes
    metric = as_distance(distance, K)
    rule = make_rule(review_threshold, metric, K)
    return reasons_by_rule(members, metric, rule, member_names, class_names)


def reasons_by_rule(
    members: Any,
    metric: Distance,
    rule: Rule,
    member_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> list[Reason]:
    """Return the reasons for the kinds by a rule; see `reasons`."""
    Q, points = member_array(members, missing=True)
    u = quantify(Q, metric)
    present = np.broadcast_to(np.asarray(Q.to_numpy_backed().n_present), len(points))
    measures = RowMeasures(u.total, u.aleatoric, rule.codes(u.aleatoric, u.epistemic), present)
    return explain(points, measures, metric, member_names, class_names)


@dataclass(frozen=True)
class RowMeasures:
    """What `explain` needs to know about rows, each of shape ``(n,)``."""

    total: Array
    aleatoric: Any
    #: Indices into `KINDS`.
    codes: Array
    #: Number of members that are not missing; None if none is missing.
    present: Array | None = None

    def take(self, rows: Array) -> RowMeasures:
        """Return the measures of some rows."""
        lower, upper = self.aleatoric
        present = None if self.present is None else self.present[rows]
        return RowMeasures(
            self.total[rows], Interval(lower[rows], upper[rows]), self.codes[rows], present
        )


def explain(
    points: Array,
    measures: RowMeasures,
    metric: Distance,
    member_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> list[Reason]:
    """Return the reasons for predictions ``(n, M, K)`` whose measures are known."""
    _, M, K = points.shape
    names = [f"model {m}" for m in range(M)] if member_names is None else member_names
    labels = [str(k) for k in range(K)] if class_names is None else class_names
    in_text = [f"class {k}" for k in range(K)] if class_names is None else class_names
    # Lists are faster than arrays in a loop over rows.
    pairs, top = widest_pairs(points, metric), points.argmax(axis=2).tolist()
    codes, totals = measures.codes.tolist(), measures.total.tolist()
    ends = [end.tolist() for end in measures.aleatoric]
    explained = []
    for i, pair in enumerate(pairs):
        kind, evidence = KINDS[codes[i]], []
        if kind.ambiguous:
            risks = (f"{end[i]:.2f}" for end in ends)
            evidence.append(f"risk {' to '.join(dict.fromkeys(risks))}")
        if kind.unknown and pair is not None:
            evidence.append("".join(apart(points[i, pair], [names[m] for m in pair], in_text)))
        if not evidence:
            evidence.append(f"total uncertainty {totals[i]:.2f}")
        present = M if measures.present is None else int(measures.present[i])
        text = f"{kind.describe(present)}: {'; '.join(evidence)}"
        if pair is None:
            explained.append(Reason(kind.name, text, None, None))
        else:
            a, b = pair
            classes = labels[top[i][a]], labels[top[i][b]]
            explained.append(Reason(kind.name, text, (names[a], names[b]), classes))
    return explained


def widest_pairs(points: Array, distance: Distance) -> list[list[int] | None]:
    """Return the two members of ``(n, M, K)`` with the largest distance in each instance.

    None where all members are equal. Members that are NaN are missing.
    """
    n, M, _ = points.shape
    rows = points.astype(np.float64)
    missing = np.isnan(rows[:, :, 0])
    if type(distance) is TotalVariation and n and not missing.any():
        widest, pairs = np.empty(n), np.empty((n, 2), np.int64)
        rows = np.ascontiguousarray(rows)
        _kernels.closed_forms(rows, None, None, widest, None, DEFAULT_THREADS, pairs=pairs)
        each = zip(widest.tolist(), pairs.tolist(), strict=True)
        return [pair if most > 0 else None for most, pair in each]
    rows[missing] = 1 / rows.shape[2]
    widest, pairs = np.zeros(n), np.full((n, 2), -1)
    for m in range(1, M):
        distances = distance.between(rows[:, :m], rows[:, m : m + 1])
        distances = np.where(missing[:, :m] | missing[:, m : m + 1], -1.0, distances)
        wider = distances.max(axis=1) > widest
        pairs[wider] = np.stack([distances.argmax(axis=1), np.full(n, m)], axis=1)[wider]
        widest = np.maximum(widest, distances.max(axis=1))
    return [None if a < 0 else [a, b] for a, b in pairs.tolist()]


def apart(rows: Array, models: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Describe how two predictions differ, by the most probable class of each.

    If both have the same one, by the class with the largest difference. The text is returned in
    pieces, with names as pieces of their own, so that a page can mark them up.

    Examples
    --------
    >>> "".join(apart(np.array([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"], ["cat", "dog"]))
    'a says cat (0.90), b says dog (0.80)'
    >>> "".join(apart(np.array([[0.9, 0.1], [0.5, 0.5]]), ["a", "b"], ["cat", "dog"]))
    'a gives cat 0.90, b 0.50'
    """
    (a, b), (first, second) = models, rows.argmax(axis=1).tolist()
    if first != second:
        return [
            *(a, " says ", classes[first], f" ({rows[0, first]:.2f}), "),
            *(b, " says ", classes[second], f" ({rows[1, second]:.2f})"),
        ]
    most = int(np.abs(rows[0] - rows[1]).argmax())
    return [a, " gives ", classes[most], f" {rows[0, most]:.2f}, ", b, f" {rows[1, most]:.2f}"]
