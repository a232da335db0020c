"""Uncertainty scores by name: rows of the measure table, families and their components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import namespace
from credalens.distances import Distance
from credalens.measures import Interval, quantify
from credalens.measures.families import FAMILY_TABLE
from credalens.measures.quantify import COMPONENTS, FAMILY_NAMES
from credalens.measures.table import MEASURES

#: A score of credal sets: a name, a distance or a function of a batch of sets.
Score = str | Distance | Callable[[Any], Any]
#: The components of a family, with the ends of intervals.
_PARTS = (*COMPONENTS, *(f"{c}_{end}" for c in COMPONENTS[:2] for end in ("lower", "upper")))


def named_scores(score: Any, name: str = "score") -> dict[str, Callable[[Any], Any]]:
    """Return functions of credal sets by name.

    Parameters
    ----------
    score : str, distance, callable, a sequence of these, or a mapping of names to these
        A name is a row of the measure table (``"upper_entropy"``, ``"total:ordinal"``), a family of
        `credalens.quantify` and a component (``"tv epistemic"``, ``"entropy_total"``,
        ``"tv aleatoric_lower"``), or a family alone, which is its total uncertainty. Label-wise
        families are summed over the classes.
    name : str
        Name of the argument, for errors.
    """
    if isinstance(score, Mapping):
        pairs = [(str(key), one) for key, one in score.items()]
    else:
        several = isinstance(score, Sequence) and not isinstance(score, str)
        pairs = [(name_of(one), one) for one in (score if several else [score])]
    if not pairs:
        _validation.raise_invalid(name, "is empty", "pass at least one score")
    functions: dict[str, Callable[[Any], Any]] = {}
    for key, one in pairs:
        if key in functions:
            _validation.raise_invalid(
                name, f"has two scores named {key!r}", "pass a mapping of different names"
            )
        functions[key] = score_function(one, name)
    return functions


def score_function(score: Score, name: str = "score") -> Callable[[Any], Any]:
    """Return a function from a batch of n credal sets to scores ``(n,)``, or an `Interval`.

    See `named_scores` for the names.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.ConvexHull([[[0.6, 0.4], [0.2, 0.8]]])
    >>> [float(score_function(s)(Q)[0].round(2)) for s in ("tv", "tv epistemic", "upper_entropy")]
    [0.6, 0.2, 1.0]
    """
    if isinstance(score, str) and score in MEASURES:
        return MEASURES[score]
    if isinstance(score, Distance):
        return lambda Q: quantify(Q, score).total
    if not isinstance(score, str):
        if not callable(score):
            _validation.raise_invalid(name, f"is {score!r}", "pass a name or a function of sets")
        return score
    family, part = next(_readings(score), ("", ""))
    if not family:
        _validation.raise_invalid(
            name,
            f"is {score!r}",
            f"pass one of {', '.join(sorted(FAMILY_NAMES))} and one of {', '.join(COMPONENTS)}, as "
            "in 'tv epistemic', or a name in credalens.axioms.MEASURES, as in 'upper_entropy'",
        )
    return lambda Q: _part_of(Q, family, part, name)


def _readings(score: str) -> Iterator[tuple[str, str]]:
    """Yield the family and the component that a name stands for, the longest family first."""
    for family in sorted(FAMILY_NAMES, key=len, reverse=True):
        rest = score.removeprefix(family)
        part = rest[1:].replace(" ", "_")
        if rest == "":
            yield family, "total"
        elif rest != score and rest[0] in " _" and part in _PARTS:
            yield family, part


def _part_of(Q: Any, family: str, part: str, name: str) -> Any:
    # A fixed seed makes sampled measures reproducible.
    component, _, end = part.partition("_")
    value = getattr(quantify(Q, family, random_state=0), component)
    if family in FAMILY_TABLE and FAMILY_TABLE[family].by_class:
        value = namespace(value).sum(value, axis=-1)
    if end and isinstance(value, Interval):
        return getattr(value, end)
    if value is None or end or (not isinstance(value, Interval) and np.ndim(value) != 1):
        _validation.raise_invalid(
            name,
            f"is '{family} {part}', which is not one number per instance",
            "choose another component or a function of sets",
        )
    return value


def name_of(score: Any) -> str:
    """Return the name of a score: itself, or that of the class or function."""
    if isinstance(score, str):
        return score
    if isinstance(score, Distance):
        return type(score).__name__
    return str(getattr(score, "__name__", "score"))
