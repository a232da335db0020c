"""The positions at which the members of a record can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credalens._backend import Array
from credalens.io.language.answers import UNNAMED, Tokens
from credalens.io.language.reading import Record


@dataclass(frozen=True)
class Compared:
    """The positions of a record at which all members have the same tokens before.

    Attributes are documented in `compare`.
    """

    members: Array
    tokens: Array
    chosen: Array
    logprobs: Array
    #: Length of the longest answer.
    length: int


def compare(record: Record) -> Compared:
    """Return the positions at which the members of a record can be compared.

    The distribution of the next token depends on the tokens before, so answers are compared up to
    and including the first token at which they differ. Texts that were given are compared from
    their ends, where they have the same tokens: the prompts before may be different.

    Returns
    -------
    Compared
        ``members`` are the members that have the record, ``(m,)``; ``tokens`` the index of the
        token in the answer of each of them, ``(T, m)``; ``chosen`` the chosen token, ``(T,)``, -1
        if members chose different ones; ``logprobs`` its log-probability, ``(T, m)``, NaN if it is
        not known.
    """
    members = np.flatnonzero([own is not None for own in record.members])
    answers = [own for own in record.members if own is not None]
    lengths = np.array([len(own.chosen) for own in answers])
    shortest = int(lengths.min())
    from_end = all(own.scored for own in answers)
    starts = lengths - shortest if from_end else np.zeros_like(lengths)
    chosen = np.stack(
        [own.chosen[s : s + shortest] for own, s in zip(answers, starts, strict=True)], axis=1
    )
    same = (chosen == chosen[:, :1]).all(axis=1) & (chosen[:, 0] != UNNAMED)
    if len(answers) == 1:
        first, stop = 0, shortest
    elif from_end:
        different = np.flatnonzero(~same)
        first, stop = (int(different[-1]) + 1 if len(different) else 0), shortest
    else:
        different = np.flatnonzero(~same)
        first, stop = 0, (int(different[0]) + 1 if len(different) else shortest)
    at = np.arange(first, stop)[:, None] + starts
    listed = np.ones(len(at), bool)
    for own, index in zip(answers, at.T, strict=True):
        listed &= _has_list(own)[index]
    at, kept = at[listed], np.arange(first, stop)[listed]
    logprobs = np.stack([own.logprobs[i] for own, i in zip(answers, at.T, strict=True)], axis=1)
    token = np.where(same[kept], chosen[kept, 0], UNNAMED)
    logprobs[token == UNNAMED] = np.nan
    return Compared(members, at, token, logprobs, int(lengths.max()))


def _has_list(own: Tokens) -> Array:
    if not own.ids.shape[1]:
        return np.zeros(len(own.ids), bool)
    return np.asarray((own.ids >= 0).any(axis=1))
