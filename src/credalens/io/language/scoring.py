"""Scores of tokens and of whole answers, with the errors of lists that are truncated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.scores import ScoreColumns
from credalens.io.language.alignment import Compared
from credalens.io.language.token_rows import TokenRows
from credalens.measures import Interval, Uncertainty, summarize
from credalens.measures.families import FAMILY_TABLE

#: How the scores of tokens become that of an answer.
AGGREGATES = ("mean", "max", "sum")
#: Families that are defined for truncated lists, and those of them that depend on the number of
#: classes, because the rest may be spread over many.
FAMILIES = ("tv", "entropy", "information", "hartley", "zero_one", "confidence")
NEED_CLASSES = ("entropy", "information", "hartley")


@dataclass(frozen=True)
class TokenScores:
    """The columns of tokens: scores, and for each its certified error."""

    columns: ScoreColumns

    def __post_init__(self) -> None:
        for name in self.columns.measures:
            if name not in FAMILIES:
                _validation.raise_invalid(
                    "measures",
                    f"is {name!r}, which needs the probabilities of all tokens",
                    f"choose from {', '.join(FAMILIES)}",
                )

    def check_classes(self, n_classes: int | None) -> None:
        """Raise an error if a measure needs the size of the vocabulary and it is not known."""
        needed = [name for name in self.columns.measures if name in NEED_CLASSES]
        if needed and n_classes is None:
            _validation.raise_invalid(
                "--n-classes",
                f"is needed by {', '.join(needed)}, whose bounds depend on how many tokens share "
                "the probability that is not listed",
                "pass the size of the vocabulary, such as 128256; tv, zero_one and confidence do "
                "not need it",
            )

    def of_tokens(self, rows: TokenRows) -> dict[str, Array]:
        """Return the score columns of all rows, ``(n,)`` each, with those of their errors."""
        found: dict[str, Array] = {}
        predicted = np.full(len(rows), -1, np.int64)
        for some, hull in rows.batches():
            own, measured = self.columns.rows(hull)
            predicted[some] = own.pop("prediction")
            own.pop("hartley_error", None)
            for name, values in {**own, **self._errors(measured)}.items():
                found.setdefault(name, np.empty(len(rows)))[some] = values
        ordered = self.names
        return {"prediction": predicted, **{name: found[name] for name in ordered if name in found}}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scores, and of the error after each."""
        return tuple(name for one in self.columns.names for name in (one, f"{one}_error"))

    def _errors(self, measured: dict[str, Uncertainty]) -> dict[str, Array]:
        """Return the error of each score."""
        found: dict[str, Array] = {}
        for family, u in measured.items():
            errors: Any = u.errors
            components = FAMILY_TABLE[family].components if family in FAMILY_TABLE else None
            values = []
            for name in components or ("total", "aleatoric", "epistemic"):
                error = getattr(errors, name)
                if isinstance(error, Interval):
                    values.extend(self._of_interval(error))
                else:
                    values.append(error)
            names = self.columns._names(family)
            found.update(zip((f"{name}_error" for name in names), values, strict=True))
        return found

    def _of_interval(self, error: Interval) -> list[Any]:
        """Return the errors of what is shown of an interval."""
        if self.columns.summary == "interval":
            return [error.lower, error.upper]
        if self.columns.summary in ("lower", "upper"):
            return [summarize(error, self.columns.summary)]
        both = error.lower + error.upper
        return [both if self.columns.summary == "width" else both / 2]


def token_columns(rows: TokenRows, scores: TokenScores) -> dict[str, Any]:
    """Return one row per token: identifiers, tokens and scores."""
    found = scores.of_tokens(rows)
    records, vocabulary = rows.records, rows.records.vocabulary
    ids = np.array([record.id for record in records.records], dtype=object)
    columns: dict[str, Any] = _identifiers(rows, ids[rows.record], rows.record)
    columns["position"] = rows.position
    columns["token"] = np.array(vocabulary.texts(rows.chosen), dtype=object)
    columns["n_members"] = rows.n_members
    columns["prediction"] = np.array(vocabulary.texts(found.pop("prediction")), dtype=object)
    columns["logprob_lower"] = _nullable(rows.logprob_lower)
    columns["logprob_upper"] = _nullable(rows.logprob_upper)
    return {**columns, **found}


def answer_columns(rows: TokenRows, scores: TokenScores, aggregate: str = "mean") -> dict[str, Any]:
    """Return one row per record: scores of its tokens, aggregated.

    Records without a token that can be compared are left out. ``n_tokens`` is the number of tokens
    that are compared, ``length`` that of the longest answer. The log-probability is that of the
    tokens on which all members agree, per token, or in total for the sum.
    """
    _validation.one_of(aggregate, "aggregate", AGGREGATES)
    found = scores.of_tokens(rows)
    found.pop("prediction")
    owns, starts = np.unique(rows.record, return_index=True)
    counts = np.diff(np.append(starts, len(rows)))
    ids = np.array([record.id for record in rows.records.records], dtype=object)
    columns: dict[str, Any] = _identifiers(rows, ids[owns], owns)
    columns["n_members"] = rows.n_members[starts]
    columns["n_tokens"] = counts
    columns["length"] = rows.lengths[owns]
    likelihoods = np.array([_likelihood(rows.compared[own], aggregate) for own in owns.tolist()])
    for name, values in zip(("logprob_lower", "logprob_upper"), likelihoods.T, strict=True):
        columns[name] = _nullable(values)
    for name, values in found.items():
        columns[name] = aggregated(values, starts, counts, aggregate)
    return columns


def aggregated(values: Array, starts: Array, counts: Array, aggregate: str) -> Array:
    """Return the mean, the largest or the sum of each run of values."""
    if not len(starts):
        return np.empty(0)
    if aggregate == "max":
        return np.maximum.reduceat(values, starts)
    sums = np.add.reduceat(values, starts)
    return sums if aggregate == "sum" else sums / counts


def _likelihood(record: Compared, aggregate: str) -> tuple[float, float]:
    """Return the smallest and the largest log-probability that a member gives to an answer.

    The mean, or the sum, over the tokens on which all members agree; NaN if there are none.
    """
    agreed = record.logprobs[record.chosen >= 0]
    if not len(agreed):
        return np.nan, np.nan
    own = agreed.sum(axis=0) / (1 if aggregate == "sum" else len(agreed))
    return float(own.min()), float(own.max())


def _nullable(values: Array) -> Any:
    return np.ma.MaskedArray(np.nan_to_num(values), np.isnan(values))


def _identifiers(rows: TokenRows, ids: Array, numbers: Array) -> dict[str, Any]:
    """Return the column of identifiers, or of the numbers of the lines without them."""
    return {"id": ids} if rows.records.has_ids else {"row": numbers}


def summary_of(rows: TokenRows) -> Sequence[str]:
    """Return what was compared, for the user."""
    partial = int((np.bincount(rows.record, minlength=len(rows.lengths)) < rows.lengths).sum())
    if not partial:
        return []
    return [
        f"the answers of {partial} of {len(rows.lengths)} records differ before their ends; tokens "
        "after the first difference are not compared"
    ]
