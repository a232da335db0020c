"""The list of one position: which of its entries are the most probable tokens of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from credalens.io.language.entries import Entry, refuse

#: What to do about lists that are too short.
MORE = "request more log-probabilities (top_logprobs=20, logprobs=5, n_probs=20)"
#: A single token with a larger log-probability is the most probable one.
HALF = math.log(0.5)


class Position(NamedTuple):
    """The next token of an answer: the one that was chosen, and the most probable ones."""

    #: None if the response does not name it.
    chosen: Entry | None
    #: Without the tokens of which only the rank below the others is known.
    listed: tuple[Entry, ...]


def position_of(chosen: Entry | None, listed: Sequence[Entry]) -> Position | None:
    """Return the most probable tokens of a position; None if the response lists none.

    APIs and servers add the chosen token to the list, or put it in the place of another one,
    if it is not among the most probable ones. No unlisted token may be more probable than a
    listed one, so the chosen token is removed where it may be such an addition: if its rank states
    it or, without ranks, if it is the least probable token of the list. Tokens of probability 0,
    or that are only known to be very unlikely, are removed.
    """
    known = sorted((e for e in listed if e.logprob > -math.inf), key=lambda e: -e.logprob)
    if not known:
        if listed:
            refuse("has a list of tokens without a probability above 0", MORE)
        return None
    if any(entry.rank is not None for entry in known):
        known = _by_rank(known)
    elif chosen is not None and _same(known[-1], chosen) and _as_probable(known[-1], chosen):
        if len(known) > 1 and known[-2].logprob > known[-1].logprob:
            known.pop()
        elif len(known) == 1 and known[0].logprob <= HALF:
            refuse("lists only the chosen token, which may not be the most probable one", MORE)
    if chosen is not None and chosen.logprob == -math.inf:
        # The list may state what the token itself does not.
        chosen = next((entry for entry in listed if _same(entry, chosen)), chosen)
    return Position(chosen, tuple(known))


def _by_rank(known: list[Entry]) -> list[Entry]:
    """Return the entries before the first one whose rank states that others are more probable."""
    for i, entry in enumerate(known):
        ties = sum(other.logprob == entry.logprob for other in known[i:])
        if entry.rank is not None and entry.rank > i + ties:
            if not i:
                refuse("does not list the most probable token", MORE)
            return known[:i]
    return known


def _as_probable(one: Entry, other: Entry) -> bool:
    """Return whether two entries have the same log-probability, or one is not known.

    Other tokens may have the same text.
    """
    return other.logprob == -math.inf or abs(one.logprob - other.logprob) < 1e-6


def _same(one: Entry, other: Entry) -> bool:
    if one.id is not None and other.id is not None:
        return one.id == other.id
    return one.text is not None and one.text == other.text
