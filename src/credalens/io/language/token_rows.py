"""Tokens as credal sets: the rows of all records, in batches with equally many members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from credalens._backend import Array
from credalens.io.language.alignment import Compared, compare
from credalens.io.language.answers import Tokens
from credalens.io.language.reading import Records
from credalens.io.source import raise_file_error
from credalens.sets import TopKHull

#: Number of classes if the size of the vocabulary is not known: errors then hold for any size.
ANY_SIZE = 2**31 - 1
#: Rows of a batch.
BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class TokenRows:
    """Every compared token of all records: n rows."""

    records: Records
    n_classes: int | None
    #: The record of each row, ``(n,)``.
    record: Array
    #: Its position in the answer of the first member that has the record, ``(n,)``.
    position: Array
    #: The chosen token, ``(n,)``; -1 if the members chose different ones.
    chosen: Array
    #: Smallest and largest log-probability of it, ``(n,)``; NaN if it is not known.
    logprob_lower: Array
    logprob_upper: Array
    #: Number of members of each row, ``(n,)``.
    n_members: Array
    #: Length of the longest answer of each record, ``(records,)``.
    lengths: Array
    compared: tuple[Compared, ...]

    def __len__(self) -> int:
        return len(self.record)

    def batches(self) -> Iterator[tuple[Array, TopKHull]]:
        """Yield rows ``(b,)``, and their credal sets, with equally many members."""
        for count in np.unique(self.n_members).tolist():
            rows = np.flatnonzero(self.n_members == count)
            for step in range(0, len(rows), BATCH_ROWS):
                some = rows[step : step + BATCH_ROWS]
                yield some, self._hull(some, count)

    def _hull(self, rows: Array, count: int) -> TopKHull:
        """Return the credal sets of rows with `count` members."""
        owns, first = np.unique(self.record[rows], return_index=True)
        # The first row of each record, and its rows among `rows`.
        starts, stops = np.searchsorted(self.record, owns), np.append(first[1:], len(rows))
        parts: list[tuple[Tokens, slice, Array, int]] = []
        for own, start, i, j in zip(owns.tolist(), starts, first, stops, strict=True):
            known = self.compared[own]
            inside = rows[i:j] - start
            for m, member in enumerate(known.members.tolist()):
                tokens = self._tokens(own, member)
                parts.append((tokens, slice(i, j), known.tokens[inside, m], m))
        width = max(tokens.ids.shape[1] for tokens, *_ in parts)
        ids = np.full((len(rows), count, width), -1, np.int64)
        probs = np.zeros(ids.shape)
        for tokens, at, index, m in parts:
            k = tokens.ids.shape[1]
            ids[at, m, :k], probs[at, m, :k] = tokens.ids[index], tokens.probs[index]
        return self._checked(rows, self.records.vocabulary.placed(ids), probs)

    def _tokens(self, record: int, member: int) -> Tokens:
        """Return the tokens of a member that is compared, which is therefore present."""
        return cast("Tokens", self.records.records[record].members[member])

    def _checked(self, rows: Array, ids: Array, probs: Array) -> TopKHull:
        K = self.n_classes or ANY_SIZE
        if (ids >= K).any():
            i, m, _ = (int(x) for x in np.argwhere(ids >= K)[0])
            what = "ids of tokens" if self.records.vocabulary.by_id else "different tokens"
            problem = f"has {what} that do not fit a vocabulary of {K}"
            self._refuse(rows[i], m, problem, "pass a larger --n-classes")
        try:
            return TopKHull(ids, probs, K)
        except ValueError as error:
            for i in range(len(rows)):
                for m in range(ids.shape[1]):
                    try:
                        TopKHull(ids[i, m][None], probs[i, m][None], K)
                    except ValueError as own:
                        problem, _, fix = str(own).rpartition("; ")
                        self._refuse(rows[i], m, problem, fix)
            raise error

    def _refuse(self, row: int, m: int, problem: str, fix: str) -> None:
        """Raise the error for a member of a row, with the line that it is from."""
        own = int(self.record[row])
        member = int(self.compared[own].members[m])
        tokens = self._tokens(own, member)
        at = f"line {tokens.line}, token {self.position[row]} (zero-based):"
        raise_file_error(tokens.path, f"{at} {problem}", fix)


def token_rows(records: Records, n_classes: int | None = None) -> TokenRows:
    """Return every token at which the members of a record can be compared."""
    compared = tuple(map(compare, records.records))
    counts = np.array([len(one.chosen) for one in compared], np.int64)
    chosen = np.concatenate([one.chosen for one in compared])
    return TokenRows(
        records,
        n_classes,
        np.repeat(np.arange(len(compared)), counts),
        np.concatenate([one.tokens[:, 0] for one in compared]),
        records.vocabulary.placed(chosen),
        np.concatenate([one.logprobs.min(axis=1) for one in compared]),
        np.concatenate([one.logprobs.max(axis=1) for one in compared]),
        np.repeat([len(one.members) for one in compared], counts),
        np.array([one.length for one in compared]),
        compared,
    )


def common_hull(rows: TokenRows) -> TopKHull:
    """Return the credal sets of all rows, which have equally many members."""
    batches = list(rows.batches())
    if len(batches) == 1:
        return batches[0][1]
    return _joined([hull for _, hull in batches], rows)


def _joined(hulls: Sequence[TopKHull], rows: TokenRows) -> TopKHull:
    width = max(hull.ids.shape[-1] for hull in hulls)

    def widened(arrays: list[Array], fill: float) -> Array:
        return np.concatenate([
            np.pad(a, ((0, 0), (0, 0), (0, width - a.shape[2])), constant_values=fill)
            for a in arrays
        ])  # fmt: skip

    ids = widened([np.asarray(hull.ids) for hull in hulls], -1)
    probs = widened([np.asarray(hull.probs) for hull in hulls], 0.0)
    return TopKHull(ids, probs, rows.n_classes or ANY_SIZE, validate=False)
