"""Members that are copies of each other, or whose classes or rows are in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credalens._backend import Array

#: Rows, and numbers, of a sample.
SAMPLE_ROWS, SAMPLE_NUMBERS = 2000, 1 << 23
#: Fewest rows from which an order is judged.
LEAST_ROWS = 20


@dataclass(frozen=True, eq=False)
class PermutedClasses:
    """A member whose classes agree better with the others in another order."""

    member: int
    #: ``order[k]`` is the column of the member that corresponds to class k of the others.
    order: Array
    #: Share of the rows on which the member agrees with the others, before and after.
    before: float
    after: float

    @property
    def moved(self) -> list[int]:
        """The classes that are in another place."""
        return np.flatnonzero(self.order != np.arange(len(self.order))).tolist()


@dataclass(frozen=True, eq=False)
class Agreement:
    """How members agree with the vote of the others, see `member_agreement`."""

    #: Number of rows that were compared.
    n_rows: int
    #: Share of the rows on which each member's most probable class is the vote of the others.
    shares: Array
    #: The share that is expected if the rows are unrelated, for each member.
    chance: Array
    #: Groups of members with equal predictions.
    identical: tuple[tuple[int, ...], ...]
    permuted_classes: tuple[PermutedClasses, ...]
    #: Members whose rows seem to be in another order.
    permuted_rows: tuple[int, ...]

    def warnings(self, names: Sequence[str]) -> list[str]:
        """Return what to report, in one sentence each; `names` are those of the members."""
        found = []
        rows = f"{self.n_rows} rows"
        for group in self.identical:
            *first, last = (names[m] for m in group)
            shown = first if len(first) <= 5 else [*first[:4], f"{len(first) - 4} others"]
            found.append(
                f"models {', '.join(shown)} and {last} are identical ({rows} compared); every copy "
                "of a file counts in the vote"
            )
        for one in self.permuted_classes:
            found.append(
                f"model {names[one.member]} looks permuted: it agrees with "
                f"{self._others(one.member, names)} on {one.before:.0%} of {rows}, and on "
                f"{one.after:.0%} with its classes in another order; {_class_fix(one)}"
            )
        for m in self.permuted_rows:
            found.append(
                f"model {names[m]} looks permuted: it agrees with {self._others(m, names)} on "
                f"{self.shares[m]:.0%} of {rows}, no more than by chance ({self.chance[m]:.0%}), "
                "although it predicts the classes as often; put its rows in the same order, or "
                "save ids with the predictions of all models"
            )
        return found

    def _others(self, member: int, names: Sequence[str]) -> str:
        return f"model {names[1 - member]}" if len(self.shares) == 2 else "the vote of the others"


def _class_fix(one: PermutedClasses) -> str:
    if len(one.order) <= 20:
        return f"save p[:, {one.order.tolist()}] of its predictions p, or class names in each file"
    return "save class names in each file, by which columns are then matched"


class RowSample:
    """Rows at equal distances of a stream, between `limit` and twice as many, or all of fewer.

    The first rows alone would mislead: files are often sorted by class.

    Examples
    --------
    >>> import numpy as np
    >>> sample = RowSample(2)
    >>> for start in range(0, 12, 3):
    ...     sample.add(np.arange(start, start + 3))
    >>> sample.rows()
    array([0, 4, 8])
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._parts: list[Array] = []
        self._kept = self._seen = 0
        self._step = 1

    def add(self, rows: Array) -> None:
        """Add the next rows of the stream."""
        part = rows[-self._seen % self._step :: self._step]
        while self._kept + len(part) > 2 * self.limit:
            self._parts = [self.rows()[::2].copy()] if self._parts else []
            self._kept = sum(map(len, self._parts))
            self._step *= 2
            part = rows[-self._seen % self._step :: self._step]
        self._seen += len(rows)
        self._parts.append(part.copy())
        self._kept += len(part)

    def rows(self) -> Array:
        """Return the sample."""
        return np.concatenate(self._parts)


def sample_rows(n_members: int, n_classes: int) -> int:
    """Return the number of rows that `member_agreement` needs at most."""
    return max(LEAST_ROWS, min(SAMPLE_ROWS, SAMPLE_NUMBERS // (n_members * n_classes)))


def member_agreement(members: Array) -> Agreement:
    """Return members that are identical, or in which classes or rows seem to be permuted.

    Parameters
    ----------
    members : array of shape (n, M, K)
        Predictions for a sample of rows.

    Returns
    -------
    Agreement

    Notes
    -----
    Each member's most probable class is compared to the vote of the others. Classes are permuted
    if an assignment of the member's classes to those of the vote, found on every second row,
    corrects at least five times as many of the other rows as it spoils, and at least 20 or half of
    them. Rows are permuted if the member agrees with the vote no more than by chance, although its
    classes are as frequent and its predictions as confident. With two members, only the second is
    reported.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.full(3, 0.2), 100)
    >>> members = np.stack([p, 0.9 * p + 0.1 / 3, p[:, [1, 2, 0]]], axis=1)
    >>> found = member_agreement(members)
    >>> [(one.member, one.order.tolist()) for one in found.permuted_classes]
    [(2, [2, 0, 1])]
    """
    n, M, K = members.shape
    top = members.argmax(axis=2)
    counts = np.zeros((n, K))
    for m in range(M):
        counts[np.arange(n), top[:, m]] += 1
    mean = members.mean(axis=1, dtype=np.float64)
    shares, chance = np.ones(M), np.ones(M)
    votes = []
    for m in range(M):
        others = counts.copy()
        others[np.arange(n), top[:, m]] -= 1
        # Ties go to the class that the others find more probable.
        vote = (others + (M * mean - members[:, m]) / (2.0 * M)).argmax(axis=1)
        votes.append(vote)
        shares[m] = float((top[:, m] == vote).mean()) if n else 1.0
        own, other = (np.bincount(x, minlength=K) / max(n, 1) for x in (top[:, m], vote))
        chance[m] = float(own @ other)
    identical = _identical(members)
    classes: list[PermutedClasses] = []
    rows: list[int] = []
    if M > 1 and n >= LEAST_ROWS:
        judged = range(M) if M > 2 else (1,)
        for m in judged:
            order = _class_order(top[:, m], votes[m], K)
            if order is not None:
                after = float((np.argsort(order)[top[:, m]] == votes[m]).mean())
                classes.append(PermutedClasses(m, order, float(shares[m]), after))
        permuted = {one.member for one in classes}
        for m in judged:
            if m not in permuted and _has_permuted_rows(m, members, top, votes, shares, chance):
                rows.append(m)
    return Agreement(n, shares, chance, identical, tuple(classes), tuple(rows))


def _identical(members: Array) -> tuple[tuple[int, ...], ...]:
    """Return the groups of equal members."""
    if len(members) < 2:
        return ()
    groups: dict[bytes, list[int]] = {}
    for m in range(members.shape[1]):
        groups.setdefault(np.ascontiguousarray(members[:, m]).tobytes(), []).append(m)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _class_order(top: Array, vote: Array, n_classes: int) -> Array | None:
    """Return the column of each class of the vote, ``None`` if they are in order."""
    half, rest = slice(0, None, 2), slice(1, None, 2)
    table = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(table, (top[half], vote[half]), 1)
    if table.max(axis=1).sum() - np.trace(table) < 3:  # no assignment is much better
        return None
    check = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(check, (top[rest], vote[rest]), 1)
    right = check.diagonal()
    wrong = (check - np.diag(right)).max(axis=1)
    if not (wrong >= np.maximum(5 * right, 1)).any():  # as every cycle below has such a class
        return None
    from scipy.optimize import linear_sum_assignment

    # A class that the member never predicts keeps its place if possible.
    bonus = 1e-3 * np.eye(n_classes)
    _, partner = linear_sum_assignment(table + bonus, maximize=True)
    partner = np.asarray(partner)
    for cycle in _cycles(partner):
        inside = np.isin(top[rest], cycle)
        own, other = top[rest][inside], vote[rest][inside]
        corrected = int(((partner[own] == other) & (own != other)).sum())
        spoilt = int(((own == other) & (partner[own] != other)).sum())
        # Few corrections count only if they are most of the rows, not the noise of a weak member.
        enough = corrected >= 20 or corrected >= max(5, len(own) / 2)
        if not enough or corrected < 5 * spoilt:
            partner[cycle] = cycle
    if (partner == np.arange(n_classes)).all():
        return None
    return np.argsort(partner)


def _cycles(permutation: Array) -> list[list[int]]:
    """Return the cycles of a permutation that move something."""
    seen: set[int] = set()
    found = []
    for start in range(len(permutation)):
        cycle: list[int] = []
        k = start
        while k not in seen:
            seen.add(k)
            cycle.append(k)
            k = int(permutation[k])
        if len(cycle) > 1:
            found.append(cycle)
    return found


def _has_permuted_rows(
    m: int, members: Array, top: Array, votes: Sequence[Array], shares: Array, chance: Array
) -> bool:
    n, M, K = members.shape
    if n < 5 * LEAST_ROWS or chance[m] >= 1:
        return False

    if _excess(float(shares[m]), float(chance[m]), n) > 3:
        return False
    others = [i for i in range(M) if i != m]
    if M > 2 and not _agree(top[:, others], K):
        return False
    own, other = (np.bincount(x, minlength=K) / n for x in (top[:, m], votes[m]))
    if np.abs(own - other).sum() / 2 > 0.1 + 0.5 * math.sqrt(K / n):
        return False
    confidence = members.max(axis=2).mean(axis=0, dtype=np.float64)
    return bool(confidence[m] >= (1 / K + confidence[others].mean()) / 2)


def _excess(share: float, chance: float, n: int) -> float:
    """Return agreement above chance, in standard deviations."""
    return (share - chance) / math.sqrt(chance * (1 - chance) / n + 1e-12)


def _agree(top: Array, n_classes: int) -> bool:
    """Return whether two of the members agree clearly more than by chance."""
    n, M = top.shape
    frequencies = np.stack([np.bincount(top[:, m], minlength=n_classes) / n for m in range(M)])
    for i in range(M):
        for j in range(i):
            chance = float(frequencies[i] @ frequencies[j])
            if _excess(float((top[:, i] == top[:, j]).mean()), chance, n) > 5:
                return True
    return False
