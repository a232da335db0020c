"""A row of the measure table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from credalens._backend import Array
from credalens.sets import CredalSet


@dataclass(frozen=True)
class Measure:
    """A measure by name; calling it measures a batch of sets.

    Examples
    --------
    >>> import credalens as cl
    >>> from credalens.axioms import MEASURES
    >>> MEASURES["total"](cl.ConvexHull([[[0.7, 0.3], [0.5, 0.5]]]))
    array([0.5])
    """

    #: Its key in `credalens.axioms.MEASURES`.
    name: str
    #: From a batch of n sets to ``(n,)``.
    function: Callable[[CredalSet], Any]
    #: The definition, from the members ``(M, K)`` of one hull to a number.
    reference: Callable[[Array], float]
    #: The definition of a batch, with every supremum and infimum over the set taken over its
    #: generators ``(n, V, K)`` only: what A5b compares with.
    at_generators: Callable[[Array], Array]
    #: The largest value for a number of classes.
    bound: Callable[[int], float]
    #: Axioms that hold for every number of classes, by proof.
    claims: tuple[str, ...]
    #: Axioms that fail for every number of classes from 2 on.
    fails: tuple[str, ...] = ()
    #: Name of the measure of total uncertainty that must not be smaller.
    total: str | None = None
    #: Names of measures that must not be larger.
    parts: tuple[str, ...] = ()
    #: Maximum mean imprecision, for measures that must not exceed half of it.
    imprecision: Callable[[CredalSet], Array] | None = None
    #: Whether the measure treats the members as a sample, so that it is not a function of the set:
    #: it needs a hull, duplicated members count, and A5b, on optima over the set, does not apply.
    second_order: bool = False

    def __call__(self, Q: CredalSet) -> Any:
        """Measure a batch of sets."""
        return self.function(Q)
