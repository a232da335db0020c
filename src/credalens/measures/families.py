"""The families of measures that `quantify` computes, by name."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from credalens._backend import namespace, native
from credalens.measures.entropy import Base, log_base, warn_of_gap
from credalens.measures.hartley import hartley_bits
from credalens.measures.results import ComponentErrors, Interval, Uncertainty
from credalens.sets import CredalSet

#: The components of a family.
COMPONENTS = ("total", "aleatoric", "epistemic")


class SharedQueries:
    """The queries of a set that several families use, each computed once."""

    def __init__(self, Q: CredalSet, base: Base = 2, hartley: dict[str, Any] | None = None) -> None:
        self.Q, self.base, self._hartley = Q, base, hartley or {}

    @cached_property
    def unit(self) -> float:
        """The unit of entropies, in nats."""
        return log_base(self.base, self.Q.n_classes)

    @cached_property
    def upper_entropy(self) -> tuple[Any, Any]:
        """S* and its duality gap."""
        unit, (value, gap) = self.unit, self.Q.max_entropy()
        if not self.Q.truncated:
            warn_of_gap(gap, "upper entropy")
        return value / unit, gap / unit

    @cached_property
    def lower_entropy(self) -> tuple[Any, Any]:
        """S_* and its error."""
        value, error = self.Q.min_entropy()
        if not self.Q.truncated:
            warn_of_gap(error, "lower entropy")
        return value / self.unit, error / self.unit

    @cached_property
    def hartley(self) -> tuple[Any, Any]:
        """GH and its standard error."""
        bits, error = hartley_bits(self.Q, **self._hartley)
        scale = math.log(2) / self.unit
        return scale * bits, scale * error

    @cached_property
    def square_norms(self) -> tuple[Any, Any, Any]:
        """The smallest and the largest ``|p|^2``, and the gap of the smallest."""
        (least, gap), most = self.Q.min_norm_point(), self.Q.max_square_norm()
        return least, namespace(most).maximum(least, most), gap

    @cached_property
    def zero_one(self) -> tuple[Any, Any, Any]:
        """The zero-one loss of the mean, the mean loss, and their difference."""
        return self.Q.second_order("zero_one")


def _entropy(shared: SharedQueries) -> Uncertainty:
    upper, gap = shared.upper_entropy
    lower, error = shared.lower_entropy
    # Equal entropies of a precise set may differ by rounding.
    width = namespace(upper).clip(upper - lower, 0.0, None)
    both = gap + native.asarray_like(error, gap)
    errors = ComponentErrors(gap, error, both) if shared.Q.truncated else None
    return Uncertainty(upper, lower, width, both, errors)


def _hartley(shared: SharedQueries) -> Uncertainty:
    upper, gap = shared.upper_entropy
    hartley, error = shared.hartley
    errors = ComponentErrors(gap, gap + error, error) if shared.Q.truncated else None
    return Uncertainty(upper, upper - hartley, hartley, gap + error, errors)


def _exact(total: Any, aleatoric: Any, epistemic: Any) -> Uncertainty:
    return Uncertainty(total, aleatoric, epistemic, native.zeros_like(total))


def _of_members(
    shared: SharedQueries, loss: str, values: tuple[Any, ...], unit: float = 1.0
) -> Uncertainty:
    """Return the results of `second_order` in a unit, with their errors."""
    total, aleatoric, epistemic = (x if unit == 1 else x / unit for x in values)
    found = shared.Q.second_order_errors(loss)
    if found is None:
        return _exact(total, aleatoric, epistemic)
    errors = ComponentErrors(*(x / unit for x in found))
    return Uncertainty(total, aleatoric, epistemic, largest_error(errors), errors)


def largest_error(errors: ComponentErrors) -> Any:
    """Return the largest error of a component, ``(...)``."""
    arrays = list(errors._arrays().values())
    return functools.reduce(namespace(arrays[0]).maximum, arrays)


def _second_order(loss: str) -> Callable[[SharedQueries], Uncertainty]:
    return lambda shared: _of_members(shared, loss, shared.Q.second_order(loss))


def _information(shared: SharedQueries) -> Uncertainty:
    return _of_members(shared, "log", shared.Q.second_order("log"), shared.unit)


def _zero_one(shared: SharedQueries) -> Uncertainty:
    return _of_members(shared, "zero_one", shared.zero_one)


def _second_order_distance(shared: SharedQueries) -> Uncertainty:
    total, aleatoric, _ = shared.zero_one
    return _exact(total, aleatoric, shared.Q.median_distance())


def _confidence(shared: SharedQueries) -> Uncertainty:
    value = native.complement(shared.Q.center_max())
    if not shared.Q.truncated:
        return _exact(value, None, None)
    found = shared.Q.second_order_errors("zero_one")
    error = native.zeros_like(value) if found is None else found[0]
    return Uncertainty(value, None, None, error, ComponentErrors(error, None, None))


def _with_ends(lower: Any, upper: Any, epistemic: Any, error: Any) -> Uncertainty:
    """Return the results of a credal scoring rule: total is aleatoric plus epistemic."""
    lower = namespace(lower).minimum(lower, upper)  # up to rounding
    total = Interval(lower + epistemic, upper + epistemic)
    return Uncertainty(total, Interval(lower, upper), epistemic, error)


def _scoring_log(shared: SharedQueries) -> Uncertainty:
    (upper, gap), (lower, error) = shared.upper_entropy, shared.lower_entropy
    divergence = shared.Q.max_divergence("log") / shared.unit
    return _with_ends(lower, upper, divergence, gap + native.asarray_like(error, gap))


def _scoring_brier(shared: SharedQueries) -> Uncertainty:
    least, most, gap = shared.square_norms
    divergence = shared.Q.max_divergence("brier")
    return _with_ends(native.complement(most), native.complement(least), divergence, 2 * gap)


def _scoring_spherical(shared: SharedQueries) -> Uncertainty:
    least, most, gap = shared.square_norms
    xp = namespace(least)
    norm, largest = xp.sqrt(least), xp.sqrt(most)
    divergence = shared.Q.max_divergence("spherical")
    return _with_ends(native.complement(largest), native.complement(norm), divergence, gap / norm)


def _scoring_zero_one(shared: SharedQueries) -> Uncertainty:
    _, lower, upper, _, gap = shared.Q.tv_uncertainty(epistemic=False)
    return _with_ends(lower, upper, shared.Q.max_zero_one_divergence(), gap)


def _labelwise_entropy(shared: SharedQueries) -> Uncertainty:
    return _exact(*(x / shared.unit for x in shared.Q.second_order_by_class("log")))


def _labelwise_variance(shared: SharedQueries) -> Uncertainty:
    return _exact(*shared.Q.second_order_by_class("brier"))


def _labelwise_credal(shared: SharedQueries) -> Uncertainty:
    lower, upper = shared.Q.lower(), shared.Q.upper()
    xp = namespace(lower)
    total = xp.minimum(native.complement(lower), upper)
    aleatoric = xp.minimum(lower, native.complement(upper))
    return _exact(total, aleatoric, upper - lower)


@dataclass(frozen=True)
class Family:
    """A family of measures, other than those of a distance."""

    name: str
    function: Callable[[SharedQueries], Uncertainty]
    components: tuple[str, ...] = COMPONENTS
    #: Components that are intervals.
    intervals: frozenset[str] = frozenset()
    #: Whether results have one number per class, ``(..., K)``.
    by_class: bool = False
    #: Whether it is also defined for real-valued targets, by the queries of `RealHull`.
    on_real_line: bool = False
    #: The number that rounded results of queries are subtracted from, 0 for none.
    shift: float = 0.0


_SCORING = frozenset({"total", "aleatoric"})

#: Every family but that of the distances, by name.
FAMILY_TABLE: dict[str, Family] = {
    family.name: family
    for family in (
        Family("entropy", _entropy),
        Family("hartley", _hartley),
        Family("information", _information),
        Family("variance", _second_order("brier"), on_real_line=True),
        Family("zero_one", _zero_one),
        Family("spherical", _second_order("spherical")),
        Family("second_order_distance", _second_order_distance),
        Family("confidence", _confidence, components=("total",), shift=1.0),
        Family("scoring:log", _scoring_log, intervals=_SCORING),
        Family("scoring:brier", _scoring_brier, intervals=_SCORING, shift=1.0),
        Family("scoring:spherical", _scoring_spherical, intervals=_SCORING, shift=1.0),
        Family("scoring:zero_one", _scoring_zero_one, intervals=_SCORING),
        Family("labelwise", _labelwise_entropy, by_class=True),
        Family("labelwise:entropy", _labelwise_entropy, by_class=True),
        Family("labelwise:variance", _labelwise_variance, by_class=True),
        Family("labelwise:credal", _labelwise_credal, by_class=True, shift=1.0),
    )
}
