"""The columns that a policy computes from the predictions of one request, and reasons."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens.distances import as_distance
from credalens.evaluation.kinds import KINDS, REVIEW_THRESHOLD, make_rule
from credalens.evaluation.reasons import RowMeasures, explain
from credalens.measures import Interval
from credalens.policy.application import PreparedColumns
from credalens.policy.policy import Policy
from credalens.policy.rules import HAND_OVER, KEEP, DecisionRule
from credalens.service.tv_columns import TotalVariationColumns
from credalens.sets import ConvexHull

#: Which rows have a reason: those that are handed over, all, or none.
REASONS = ("handed_over", "all", "none")
#: The options of the command line that change the values of an array; others describe files.
VALUE_OPTIONS = ("logits", "force_logits", "temperature", "normalize", "percent")


class Scorer:
    """Applies a policy to arrays of predictions, as the service does.

    Examples
    --------
    >>> from credalens.policy import Policy, ThresholdRule
    >>> from credalens.service import Scorer
    >>> scorer = Scorer(Policy(n_classes=2, member_names=["a", "b"], rule=ThresholdRule(0.3)))
    >>> answer = scorer([[0.9, 0.1], [0.4, 0.6]])
    >>> answer["action"], answer["kind"], answer["reason"]
    ('hand over', 'unknown', 'the models disagree: a says class 0 (0.90), b says class 1 (0.60)')
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.columns = PreparedColumns(policy, ("tv",))
        metric = as_distance(policy.distance, policy.n_classes)
        self._metric = metric
        self._rule = make_rule(REVIEW_THRESHOLD, metric, policy.n_classes)
        self._kinds = np.array([kind.name for kind in KINDS], dtype=object)
        repair = policy.repair
        kept = range(policy.n_members) if repair is None else repair.kept.tolist()
        self._members = [policy.member_names[m] for m in kept]
        self._fast = (
            TotalVariationColumns(policy, self._rule)
            if TotalVariationColumns.apply_to(policy)
            else None
        )
        self._reading = {name: policy.reading.get(name) for name in VALUE_OPTIONS}

    def __call__(self, predictions: Any, reasons: str = "handed_over") -> dict[str, Any]:
        """Return the columns of one row ``(M, K)``, or for several ``(n, M, K)``.

        Parameters
        ----------
        predictions : array-like of shape (M, K) or (n, M, K)
            Predictions of the members of the policy, in their order.
        reasons : {"handed_over", "all", "none"}, default="handed_over"
            Which rows have a text in ``reason``; the others have None. A policy that makes
            decisions has a reason for every row.

        Returns
        -------
        dict
            The columns of ``score --policy``, ``keep``, ``kind`` and ``reason``: one value each
            for one row, else an array or a list with one value per row.
        """
        values = np.asarray(predictions)
        if values.ndim not in (2, 3):
            _raise_shape(values.shape, self.policy)
        rows = values if values.ndim == 3 else values[None]
        found = None if self._fast is None else self._fast.measures(rows)
        if found is not None and self._fast is not None:
            return self._fast_rows(self._fast, rows, *found, reasons, one=values.ndim == 2)
        columns = self._rows(rows, reasons)
        if values.ndim == 3:
            return columns
        return {name: _scalar(column) for name, column in columns.items()}

    def _fast_rows(
        self,
        fast: TotalVariationColumns,
        rows: Array,
        found: Array,
        vote: Array,
        which: str,
        *,
        one: bool,
    ) -> dict[str, Any]:
        """Return the columns from the results of the kernel."""
        if one:
            columns, code = fast.one(found, vote)
            columns["kind"] = KINDS[code].name
            columns["reason"] = None
            if which != "none" and (which == "all" or not columns["keep"]):
                total, lower, upper, _ = found
                measures = RowMeasures(total, Interval(lower, upper), np.array([code]))
                (columns["reason"],) = self._explain(rows, measures)
            return columns
        total, lower, upper, epistemic = found
        columns = fast.several(found, vote)
        codes = self._rule.codes(Interval(lower, upper), epistemic)
        columns["kind"] = self._kinds[codes]
        measures = RowMeasures(total, Interval(lower, upper), codes)
        columns["reason"] = self._reasons(rows, measures, columns["keep"], which)
        return columns

    def _rows(self, values: Array, reasons: str) -> dict[str, Any]:
        policy = self.policy
        if values.shape[1:] != (policy.n_members, policy.n_classes):
            policy.check_shape(*values.shape[1:])
        Q = policy.prepare(self._probabilities(values))
        columns, measured = self.columns.rows(Q, None, policy.class_names)
        u = measured["tv"]
        codes = self._rule.codes(u.aleatoric, u.epistemic)
        keep = self._keep(columns)
        if keep is not None:
            columns["keep"] = keep
        columns["kind"] = self._kinds[codes]
        if "reason" not in columns:
            measures = RowMeasures(u.total, u.aleatoric, codes)
            columns["reason"] = self._reasons(np.asarray(Q.members), measures, keep, reasons)
        return columns

    def _probabilities(self, values: Array) -> Any:
        """Return the probabilities of values that are logits, weights or percentages."""
        reading = self._reading
        if reading["percent"]:
            values = values / 100
        if reading["logits"] or reading["force_logits"]:
            return ConvexHull.from_logits(values, float(reading["temperature"] or 1))
        if reading["normalize"]:
            return ConvexHull(values, normalize=True)
        return values

    def _keep(self, columns: dict[str, Any]) -> NDArray[np.bool_] | None:
        rule = self.policy.rule
        if rule is None:
            return None
        if not isinstance(rule, DecisionRule):
            return np.asarray(columns["action"] == KEEP)
        if rule.report == "labels":
            return np.asarray(columns["size"] == 1)
        return np.asarray(columns["action"] != HAND_OVER)

    def _reasons(
        self, rows: Array, measures: RowMeasures, keep: Array | None, which: str
    ) -> list[str | None]:
        texts: list[str | None] = [None] * len(rows)
        if which == "none":
            return texts
        if which == "all" or keep is None:
            return self._explain(rows, measures)
        selected = np.flatnonzero(~np.asarray(keep))
        found = self._explain(rows[selected], measures.take(selected))
        for i, text in zip(selected.tolist(), found, strict=True):
            texts[i] = text
        return texts

    def _explain(self, rows: Array, measures: RowMeasures) -> list[str | None]:
        found = explain(rows, measures, self._metric, self._members, self.policy.class_names)
        return [reason.text for reason in found]


def _scalar(column: Any) -> Any:
    value = column[0]
    return value.item() if isinstance(value, np.generic) else value


def _raise_shape(shape: tuple[int, ...], policy: Policy) -> NoReturn:
    one = f"({policy.n_members}, {policy.n_classes})"
    _validation.raise_invalid(
        "predictions", f"has shape {shape}", f"send {one} for one row, or (n, {one[1:]} for several"
    )
