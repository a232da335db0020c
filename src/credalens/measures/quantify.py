"""Everything that a family of measures says of a set, in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from credalens import _validation
from credalens._arrays import Array, namespace, native
from credalens.distances import NAMES, Distance, as_distance
from credalens.measures.entropy import certify, log_base
from credalens.measures.hartley import hartley_bits
from credalens.measures.interval import Interval
from credalens.measures.uncertainty import Uncertainty
from credalens.sets import CredalSet
from credalens.sets.anywhere import anywhere

#: Families by name; "tv" stands for any distance.
FAMILIES = ("tv", "entropy", "hartley")
FAMILY_NAMES = frozenset({*NAMES, *FAMILIES})
#: What each of them tells.
COMPONENTS = ("total", "aleatoric", "epistemic")


@anywhere
def quantify(
    Q: Any, measure: Any = "tv", *, base: Any = 2, random_state: Any = None, **hartley: Any
) -> Any:
    """Return total, aleatoric and epistemic uncertainty of each set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    measure : str, distance, or a sequence of these, default="tv"
        The family of measures. A distance or its name: total, the aleatoric interval, epistemic.
        ``"entropy"``: S*, S_*, their difference. ``"hartley"``: S*, S* - GH, GH; the difference
        can be negative (from K = 20 on) and is not clamped.
    base : number > 1, "e" or "classes", default=2
        Unit of the entropy and Hartley families.
    random_state : int, RandomState, Generator or None
        Seeds the Hartley measure where it is sampled (more than about 20 classes).
    **hartley
        Further arguments of `generalized_hartley`: ``method``, ``n_samples``, ``rtol``.

    Returns
    -------
    Uncertainty, or a dict of them for a sequence of measures
        With fields ``total``, ``aleatoric``, ``epistemic`` and ``error``. What families share is
        computed once; for total variation the data are read once. Arrays are of the library, dtype
        and device that the data have; from Dask arrays they are Dask arrays, and one task per
        chunk finds all of them.

    Notes
    -----
    Tensors of PyTorch that require grad, and arrays of JAX inside ``grad`` and ``jit``, are
    differentiated by the members of a hull, both aleatoric ends included. The gradient of what a
    solver finds is that of the objective at the solution (Danskin's theorem): for the upper
    aleatoric end the weights of the members times those of the classes in the game, for S* that of
    the entropy at the maximising distribution, for GH each event's weight at the member that gives
    it the least. Where choices tie, it is the gradient of one of them, or a mean of several: a
    generalised gradient. Entropies and GH divide rows by their sums first, and are differentiated
    through that; a class that no member gives mass has the derivative 0. Only first derivatives
    are to be had from solvers. The sampled GH, and aleatoric ends of distances other than total
    variation and Wasserstein, have no gradient and say so. Inside JAX's transformations rows cannot
    be checked: pass ``ConvexHull(members, validate=False)`` or use `ConvexHull.from_logits`.

    Examples
    --------
    >>> import credalens as cl
    >>> u = cl.quantify([[0.6, 0.4], [0.2, 0.8]])
    >>> [round(float(x), 3) for x in (u.total, *u.aleatoric, u.epistemic)]
    [0.6, 0.2, 0.5, 0.2]
    >>> both = cl.quantify([[0.6, 0.4], [0.2, 0.8]], measure=["tv", "entropy"])
    >>> round(float(both["entropy"].total), 3)
    1.0
    """
    several = not isinstance(measure, str) and isinstance(measure, Sequence)
    wanted = list(measure) if several else [measure]
    for one in wanted:
        if not isinstance(one, Distance):
            _validation.one_of(one, "measure", FAMILY_NAMES)
    unknown = hartley.keys() - {"method", "n_samples", "rtol"}
    if unknown:
        raise TypeError(f"quantify() got an unexpected keyword argument {min(unknown)!r}")
    shared = _Entropies(Q.plain(), base, {"random_state": random_state, **hartley})
    results = {one: _family(Q, one, shared) for one in wanted}
    return results if several else results[measure]


def _family(Q: CredalSet, measure: Any, shared: _Entropies) -> Uncertainty:
    wrap = Q.origin.wrap
    if measure == "entropy":
        values = shared.entropy()
    elif measure == "hartley":
        values = shared.hartley()
    else:
        distance = as_distance(measure, Q.n_classes)
        total, lower, upper, epistemic, error = distance.everything(Q.plain())
        return Uncertainty(
            wrap(total), Interval(wrap(lower), wrap(upper)), wrap(epistemic), wrap(error)
        )
    return Uncertainty(*map(Q.answer, values))


class _Entropies:
    """The entropy and Hartley families; the upper entropy, which they share, is found once."""

    def __init__(self, Q: CredalSet, base: Any, hartley: dict[str, Any]) -> None:
        self.Q, self._hartley = Q, hartley
        self._unit = log_base(base, Q.n_classes)
        self._upper: tuple[Array, Array] | None = None

    def upper(self) -> tuple[Array, Array]:
        """Return the upper entropy and its gap."""
        if self._upper is None:
            value, gap, _ = self.Q.max_entropy()
            certify(gap, "upper entropy")
            self._upper = value / self._unit, gap / self._unit
        return self._upper

    def entropy(self) -> tuple[Array, Array, Array, Array]:
        """Return S*, S_*, their difference and the error."""
        upper, gap = self.upper()
        lower, error, _ = self.Q.min_entropy()
        certify(error, "lower entropy")
        lower = lower / self._unit
        # Equal entropies of a precise set may differ by rounding; a difference cannot be negative.
        width = namespace(upper).clip(upper - lower, min=0.0)
        return upper, lower, width, gap + native.beside(error / self._unit, gap)

    def hartley(self) -> tuple[Array, Array, Array, Array]:
        """Return S*, S* - GH, GH and the error."""
        upper, gap = self.upper()
        bits, error = hartley_bits(self.Q, **self._hartley)
        scale = math.log(2) / self._unit
        return upper, upper - scale * bits, scale * bits, gap + scale * error
