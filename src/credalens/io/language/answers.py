"""Answers as arrays: their tokens as numbers, whatever response they are from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from credalens._backend import Array
from credalens.io.language.entries import Entry, refuse, shown
from credalens.io.language.positions import Position
from credalens.io.language.shapes import Answer

#: The number of a chosen token that the response does not name, or lists not at all.
UNNAMED = -1


class Tokens(NamedTuple):
    """The tokens of one answer of one member, T of them."""

    #: The chosen tokens, ``(T,)``.
    chosen: Array
    #: Their log-probabilities, ``(T,)``; NaN if they are not known.
    logprobs: Array
    #: The listed tokens, ``(T, k)``, padded with -1; none at positions without a list.
    ids: Array
    #: Their probabilities, ``(T, k)``.
    probs: Array
    #: Whether the tokens were given instead of generated.
    scored: bool
    #: Where it was read.
    path: str
    line: int


@dataclass
class Vocabulary:
    """The numbers of tokens: their ids, or one number for each text.

    With texts, tokens with the same text are one.
    """

    by_id: bool

    def __post_init__(self) -> None:
        self._texts: dict[int, bytes] = {}
        self._numbers: dict[bytes, int] = {}
        #: Positions that list several tokens with the same text.
        self.merged = 0
        #: Ids with different texts.
        self.conflicts: dict[int, tuple[bytes, bytes]] = {}

    def number(self, entry: Entry) -> int:
        """Return the number of a token."""
        if not self.by_id:
            if entry.text is None:
                refuse("has a token without a text", "write the texts of tokens, or their ids")
            return self._numbers.setdefault(entry.text, len(self._numbers))
        if entry.id is None:
            refuse("has a token without an id, unlike others", "write the ids of all tokens")
        if entry.text is not None:
            known = self._texts.setdefault(entry.id, entry.text)
            if known.strip() != entry.text.strip() and b"\xef\xbf\xbd" not in known + entry.text:
                self.conflicts.setdefault(entry.id, (known, entry.text))
        return entry.id

    def __len__(self) -> int:
        return len(self._texts if self.by_id else self._numbers)

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._numbers)

    @cached_property
    def places(self) -> Array:
        """The place of each number among the sorted texts; for when everything was read.

        So the order of two tokens does not depend on what else was read.
        """
        places = np.empty(len(self._numbers), np.int64)
        places[[self._numbers[text] for text in self._sorted]] = np.arange(len(places))
        return places

    def placed(self, numbers: Array) -> Array:
        """Return the classes of tokens: their ids, or their `places`; -1 stays."""
        if self.by_id or not len(self._numbers):
            return numbers
        return np.where(numbers >= 0, self.places[numbers], -1)

    def texts(self, classes: Array) -> list[str]:
        """Return the texts of tokens for people, by their classes."""
        if not self.by_id:
            return ["" if i < 0 else shown(self._sorted[i]) for i in classes.tolist()]
        known = self._texts
        return [
            "" if i < 0 else shown(known[i]) if i in known else str(i) for i in classes.tolist()
        ]


def as_tokens(answer: Answer, vocabulary: Vocabulary, path: str, line: int) -> Tokens:
    """Return the arrays of an answer."""
    chosen, logprobs, lists = [], [], list[dict[int, float]]()
    for position in answer.positions:
        own = None if position is None else position.chosen
        chosen.append(UNNAMED if own is None else vocabulary.number(own))
        known = own is not None and own.logprob > -np.inf
        logprobs.append(own.logprob if own is not None and known else np.nan)
        lists.append({} if position is None else _merged(position, vocabulary))
    width = max((len(one) for one in lists), default=0)
    ids, probs = np.full((len(lists), width), -1), np.zeros((len(lists), width))
    for i, one in enumerate(lists):
        ids[i, : len(one)] = list(one)
        probs[i, : len(one)] = list(one.values())
    _check_sums(probs)
    return Tokens(
        np.array(chosen, np.int64), np.array(logprobs), ids, probs, answer.scored, path, line
    )


def _merged(position: Position, vocabulary: Vocabulary) -> dict[int, float]:
    """Return the probability of each number, those of tokens with the same text added."""
    found: dict[int, float] = {}
    for entry in position.listed:
        number = vocabulary.number(entry)
        found[number] = found.get(number, 0.0) + float(np.exp(entry.logprob))
    vocabulary.merged += len(found) < len(position.listed)
    return found


def _check_sums(probs: Array) -> None:
    sums = probs.sum(axis=1)
    if (sums > 1 + 1e-3).any():
        i = int(sums.argmax())
        refuse(
            f"lists probabilities that sum to {sums[i]:.6g} at token {i} (zero-based)",
            "write natural logarithms of the probabilities of one distribution",
        )
    over = sums > 1
    probs[over] /= sums[over, None]


def is_truncated(answers: Sequence[Tokens]) -> bool:
    """Return whether the lists leave a rest, as those do that were not divided by their sums."""
    sums = [one.probs.sum(axis=1) for one in answers]
    return any(bool(((s > 0) & (s < 1 - 1e-6)).any()) for s in sums)
