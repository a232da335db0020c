"""Which columns of a table are classes, decided from a sample of its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np

from credalens._backend import Array
from credalens._row_kinds import ROUNDING

#: Most columns of which every subset is tried, and most columns that are split into groups.
MAX_SUBSETS, MAX_GROUPED = 10, 2000
#: Fewest rows from which columns that differ from the others, and groups, are judged.
LEAST_ROWS, LEAST_GROUP_ROWS = 20, 5
#: Sums of rows of classes, and their tolerances: distributions; distributions rounded to one or two
#: digits; percentages.
EXACT_SUM, LOOSE_SUMS = (1.0, ROUNDING), ((1.0, 0.1), (100.0, 1.0))


class UndecidedError(Exception):
    """Several sets of columns could be the classes; `otherwise` is what else the user can do."""

    def __init__(self, problem: str, choices: Sequence[Sequence[str]], otherwise: str = "") -> None:
        super().__init__(problem)
        self.problem, self.choices, self.otherwise = problem, choices, otherwise


def choose_class_columns(
    names: Sequence[str],
    values: Array,
    described: Collection[str],
    *,
    logits: bool = False,
    rescaled: bool = False,
) -> list[str]:
    """Return the columns that contain probabilities of classes.

    Parameters
    ----------
    names : sequence of str
        Numeric columns.
    values : array of shape (r, columns)
        Their values in a sample of rows; NaN if one is missing or not a number.
    described : collection of str
        Columns whose names are those of identifiers, labels, folds and the like.
    logits, rescaled : bool, default=False
        Whether the classes contain logits, or counts, weights or percentages, so that their rows
        need not sum to 1.

    Returns
    -------
    list of str
        In the order of `names`.

    Raises
    ------
    UndecidedError
        If there are several possibilities.

    Notes
    -----
    A set of columns explains the sample by the share of its complete rows that sum to 1. The
    columns without a descriptive name are classes if they explain all rows. Otherwise other sets
    are tried: with columns of descriptive names added, and with columns left out, any one or
    several that contain integers or numbers outside of [0, 1]. The set that explains most rows is
    returned, if these are more than half; of several such sets, that with the fewest changes. If
    there is none, adjacent columns whose rows sum to 1 are looked for, and then the same is tried
    with sums of 1 within 10 %, and of 100 within 1 %: such rows are reported as invalid when they
    are read, unless they are rescaled. Of logits, the exponentials may sum to 1, and of weights,
    all sums may be equal. If nothing explains the rows, the columns without a descriptive name are
    returned, unless some of them differ from the others like identifiers or measurements.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[7, 0.5, 0.5, 1], [9, 0.25, 0.75, 2]])
    >>> choose_class_columns(["case", "cat", "dog", "fold"], values, {"fold"})
    ['cat', 'dog']
    """
    names = list(names)
    first = [name for name in names if name not in described] or names
    if not len(values):
        return first
    sample = _Sample(names, first, values)
    for total in LOOSE_SUMS if logits or rescaled else (EXACT_SUM, *LOOSE_SUMS):
        found = sample.explanations(*total) or sample.groups(*total)
        if len(found) > 1:
            raise UndecidedError("several sets of columns sum to 1", found[:3], sample.otherwise)
        if found:
            sample.check_zeros(found[0])
            return found[0]
    if logits:
        with np.errstate(over="ignore"):
            exponentials = _Sample(names, first, np.exp(values))
        found = exponentials.explanations(1.0, 1e-2)
        if len(found) == 1:
            return found[0]
    elif rescaled:
        found = sample.equal_sums()
        if len(found) == 1:
            return found[0]
    sample.check_integers(always=logits or rescaled)
    if logits:
        sample.check_signs()
    return first


def sum_to_one(names: Sequence[str], values: Array, described: Collection[str]) -> bool:
    """Return whether the rows of some of the columns, see `choose_class_columns`, sum to 1."""
    first = [name for name in names if name not in described]
    return bool(
        len(values) and first and _Sample(list(names), first, values).explanations(*EXACT_SUM)
    )


class _Sample:
    """A sample of rows; `first` are the columns without a descriptive name."""

    def __init__(self, names: list[str], first: list[str], values: Array) -> None:
        self.names, self.first = names, first
        self._values = dict(zip(names, values.T, strict=True))
        chosen = set(first)  # a search in lists of many names would take quadratic time
        self._described = [name for name in names if name not in chosen]
        self._suspects = [name for name in first if _is_suspect(self._values[name])]
        self._n_rows = len(values)
        #: What to do about several groups of columns.
        self.otherwise = ""

    def _share(self, columns: Sequence[str], total: float, tolerance: float) -> float:
        """Return the share of the complete rows that are not negative and sum to `total`."""
        if len(columns) < 2:
            return 0.0
        rows = np.stack([self._values[name] for name in columns], axis=1)
        complete = rows[np.isfinite(rows).all(axis=1)]
        if not len(complete):
            return 0.0
        with np.errstate(over="ignore"):
            close = np.abs(complete.sum(axis=1) - total) <= tolerance
        return float(((complete >= 0).all(axis=1) & close).mean())

    def explanations(self, total: float, tolerance: float) -> list[list[str]]:
        """Return the sets with the largest share, above a half, after the fewest changes."""
        best, found = self._share(self.first, total, tolerance), [self.first]
        if best < 1:
            for sets in self._changes(total, tolerance):
                shares = [self._share(columns, total, tolerance) for columns in sets]
                largest = max(shares, default=0.0)
                if largest > best:
                    best = largest
                    found = [s for s, share in zip(sets, shares, strict=True) if share == largest]
                if best == 1:
                    break
        return found if best > 0.5 else []

    def _without_one(self, total: float, tolerance: float) -> list[list[str]]:
        """Return the sets without one column that may explain more than half of the rows."""
        rows = np.stack([self._values[name] for name in self.first], axis=1)
        invalid = ~np.isfinite(rows) | (rows < 0)
        valid = np.where(invalid, 0.0, rows)
        with np.errstate(over="ignore"):
            close = np.abs(valid.sum(axis=1)[:, None] - valid - total) <= tolerance
        good = close & (invalid.sum(axis=1)[:, None] == invalid)
        likely = np.flatnonzero(good.mean(axis=0) > 0.25).tolist()
        return [[n for n in self.first if n != self.first[k]] for k in likely[:MAX_SUBSETS]]

    def _changes(self, total: float, tolerance: float) -> Iterator[list[list[str]]]:
        """Yield sets of columns, by the number of changes."""
        first = set(self.first)
        yield [[n for n in self.names if n in first or n == added]
               for added in self._described]  # fmt: skip
        yield self._without_one(total, tolerance)
        if len(self._described) > 1:
            yield [self.names, self._described]
            for count in range(2, min(len(self._described), MAX_SUBSETS)):
                yield [
                    [n for n in self.names if n in first or n in added]
                    for added in combinations(self._described[:MAX_SUBSETS], count)
                ]
        several = self._suspects if len(self._suspects) <= MAX_SUBSETS else []
        for count in range(2, len(several) + 1):
            yield [[n for n in self.first if n not in out] for out in combinations(several, count)]
        suspects = set(self._suspects)
        yield [[n for n in self.first if n not in suspects]]

    def check_zeros(self, columns: Sequence[str]) -> None:
        """Raise if columns are 0 in every row, while no other column is 0 in any row."""
        zero = [name for name in columns if (self._values[name] == 0).all()]
        zeros = set(zero)
        others = [name for name in columns if name not in zeros]
        if not zero or len(others) < 2 or len(self._values[zero[0]]) < 2:
            return
        if not any((self._values[name] == 0).any() for name in others):
            _raise_doubt(zero, "only zeros", others, columns)

    def check_integers(self, always: bool) -> None:
        """Raise if some columns differ from the others like identifiers or folds.

        Unless `always`, only if the other column is the probability of one of two classes.
        """
        columns, finite = self.first, self._finite()
        integers = [n for n, v in finite.items() if len(v) > 1 and (v == np.rint(v)).all()]
        counting = [n for n, v in finite.items() if len(v) > 2 and (np.diff(v) == 1).all()]
        odd = counting if len(integers) == len(columns) else integers
        left_out = set(odd)
        kept = [name for name in columns if name not in left_out]
        single = len(kept) == 1 and not _is_suspect(finite[kept[0]])
        if odd and kept and (always or single):
            what = "row numbers" if odd == counting else "integers, unlike the others,"
            _raise_doubt(odd, what, kept, columns)

    def check_signs(self) -> None:
        """Raise if columns are never negative, or much larger, while the others are logits."""
        finite = {name: v for name, v in self._finite().items() if len(v) >= LEAST_ROWS}
        if len(finite) < max(3, len(self.first)):
            return
        sizes = np.array([np.abs(v).max() for v in finite.values()])
        second, most = np.sort(sizes)[-2:]
        signed = {name for name, v in finite.items() if (v < 0).mean() > 0.1}
        for (name, own), size in zip(finite.items(), sizes, strict=True):
            if np.median(np.abs(own)) > 2 * (second if size == most else most):
                what = "much larger numbers than the others"
            elif own.min() >= 0 and len(signed) == len(finite) - 1:
                what = "no negative numbers, unlike the others,"
            else:
                continue
            kept = [other for other in self.first if other != name]
            _raise_doubt([name], what, kept, self.first)

    def _finite(self) -> dict[str, Array]:
        first = set(self.first)
        return {n: v[np.isfinite(v)] for n, v in self._values.items() if n in first}

    def equal_sums(self) -> list[list[str]]:
        """Return all columns if their sums are equal, or those without one column."""
        rows = np.stack([self._values[name] for name in self.first], axis=1)
        rows = rows[np.isfinite(rows).all(axis=1)]
        if len(rows) < 3 or len(self.first) < 3:
            return []
        sums = np.column_stack([rows.sum(axis=1), rows.sum(axis=1)[:, None] - rows])
        negative = rows < 0
        invalid = np.r_[negative.any(), (negative.sum(axis=1)[:, None] > negative).any(axis=0)]
        with np.errstate(over="ignore"):
            equal = np.ptp(sums, axis=0) <= ROUNDING * np.abs(sums.mean(axis=0))
        good = equal & ~invalid
        if good[0]:
            return [self.first]
        out = [self.first[k] for k in np.flatnonzero(good[1:])[: MAX_SUBSETS + 1]]
        return [[n for n in self.first if n != name] for name in out]

    def groups(self, total: float, tolerance: float) -> list[list[str]]:
        """Return the groups of columns whose rows all sum to `total`, like those of other models.

        A group is adjacent columns, or every second, third, ... column.
        """
        if not 2 < len(self.first) <= MAX_GROUPED or (total, tolerance) == LOOSE_SUMS[0]:
            return []
        rows = np.stack([self._values[name] for name in self.first], axis=1)[: LEAST_ROWS * 10]
        rows = rows[np.isfinite(rows).all(axis=1)]
        if len(rows) < LEAST_GROUP_ROWS:
            return []
        found = _adjacent_groups(rows, total, tolerance) or _alternate_groups(
            rows, total, tolerance
        )
        if len(found) > 1:
            self.otherwise = "or save one file per model"
        return [[self.first[k] for k in group] for group in found]


def _adjacent_groups(rows: Array, total: float, tolerance: float) -> list[list[int]]:
    few = rows[:LEAST_GROUP_ROWS]  # most sums are excluded by a few rows
    negative = np.flatnonzero((rows < 0).any(axis=0))
    groups: list[list[int]] = []
    start = 0
    while start < rows.shape[1] - 1:
        stop = int(min(negative[negative >= start], default=rows.shape[1]))
        sums = few[:, start:stop].cumsum(axis=1)
        ends = np.flatnonzero((np.abs(sums - total) <= tolerance).all(axis=0)).tolist()
        found = [end for end in ends if end > 0
                 and (np.abs(rows[:, start : start + end + 1].sum(axis=1) - total)
                      <= tolerance).all()]  # fmt: skip
        longest = max(found, default=0)
        if longest:
            groups.append(list(range(start, start + longest + 1)))
        start += longest + 1
    return groups


def _alternate_groups(rows: Array, total: float, tolerance: float) -> list[list[int]]:
    n = rows.shape[1]
    for step in range(2, n // 2 + 1):
        if n % step == 0 and (rows >= 0).all():
            sums = rows.reshape(len(rows), -1, step).sum(axis=1)
            if (np.abs(sums - total) <= tolerance).all():
                return [list(range(k, n, step)) for k in range(step)]
    return []


def _raise_doubt(
    odd: Sequence[str], what: str, kept: Sequence[str], columns: Sequence[str]
) -> None:
    many = len(odd) > 1
    raise UndecidedError(
        f"the column{'s' if many else ''} {', '.join(odd)} contain{'' if many else 's'} {what} and "
        f"may be {'classes' if many else 'a class'} or not",
        (kept, columns),
    )


def _is_suspect(values: Array) -> bool:
    """Return whether values are integers, or mostly outside of [0, 1]."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return True
    outside = (finite < 0) | (finite > 1)
    return bool((finite == np.rint(finite)).all() or outside.mean() > 0.5)
