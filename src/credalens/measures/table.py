"""The table of the measures that give one number per set, with what is claimed of each.

A row here brings the checks of the axioms, the tests of invariance, a column of
``credalens score --measures NAME`` and a line of the benchmark.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.distances import NAMES, Distance, TotalVariation, as_distance
from credalens.measures import reference
from credalens.measures.distance import (
    aleatoric_uncertainty,
    epistemic_uncertainty,
    total_uncertainty,
)
from credalens.measures.entropy import lower_entropy, upper_entropy
from credalens.measures.hartley import generalized_hartley
from credalens.measures.imprecision import imprecision_bound
from credalens.measures.measure import Measure
from credalens.measures.table_families import FAMILY_ROWS, entropies
from credalens.sets import ConvexHull, CredalSet

#: Most classes for sums over all events written out.
WRITTEN_OUT = 8


def events(n_classes: int) -> Array:
    """Return the indicators of all events, ``(2**K, K)``, row = bit mask."""
    return np.asarray((np.arange(2**n_classes)[:, None] >> np.arange(n_classes)) & 1, float)


def _hartley_of_generators(P: Array) -> Array:
    """Return ``sum over A of m(A) log2 |A|`` from the lower probabilities of all events."""
    K = P.shape[-1]
    if K > WRITTEN_OUT:
        return np.asarray(_hartley(ConvexHull(P, validate=False)))
    masks = events(K)
    mass = (P @ masks.T).min(axis=1)
    for y in range(K):  # the Moebius transform, class by class
        pairs = mass.reshape(len(mass), -1, 2, 2**y)
        pairs[:, :, 1] -= pairs[:, :, 0]
    return np.asarray(mass[:, 1:] @ np.log2(masks[1:].sum(axis=1)))


def _imprecision_of_generators(P: Array) -> Array:
    """Return the largest ``upper(A) - lower(A)`` over the events."""
    if P.shape[-1] > WRITTEN_OUT:
        return TotalVariation().diameter(P)
    probability = P @ events(P.shape[-1]).T
    return np.asarray((probability.max(axis=1) - probability.min(axis=1)).max(axis=1))


def imprecision(Q: CredalSet) -> Array:
    """Return the maximum mean imprecision for total variation, from the events.

    The definition written out, which `credalens.axioms.check` compares with: the largest difference
    between the upper and the lower probability of an event. Up to 8 classes it looks at all events,
    beyond at the widest pair of members, which has the same value. See
    `credalens.maximum_mean_imprecision` for one that is fast.

    Parameters
    ----------
    Q : CredalSet
        A batch of n sets.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import credalens as cl
    >>> from credalens.axioms import imprecision
    >>> imprecision(cl.ConvexHull([[[0.7, 0.3], [0.5, 0.5]]])).round(3)
    array([0.2])
    """
    return _imprecision_of_generators(np.asarray(Q.to_hull().generators))


def _hartley(Q: CredalSet) -> Any:
    # Never sampled: the noise of an estimate would look like a violation.
    return generalized_hartley(Q, method="exact")


def _distance_rows(name: str) -> tuple[Measure, ...]:
    """Return total, both aleatoric ends and epistemic uncertainty for a distance."""
    suffix = "" if name == "tv" else f":{name}"

    def geometry(n_classes: int) -> Distance:
        return as_distance(name, n_classes)

    def width(n_classes: int) -> float:
        """Return the largest distance between two distributions, which Dirac measures have."""
        return float(geometry(n_classes).to_diracs(np.eye(n_classes)[None]).max())

    def to_diracs(P: Array) -> Array:
        return geometry(P.shape[-1]).to_diracs(P)

    def half_diameter(P: Array) -> Array:
        pairs = geometry(P.shape[-1]).between(P[:, :, None], P[:, None])
        return np.asarray(pairs.max(axis=(1, 2)) / 2)

    def ends(Q: CredalSet) -> Any:
        return aleatoric_uncertainty(Q, geometry(Q.n_classes))

    def between(p: Array, q: Array) -> Array:
        return geometry(p.shape[-1]).between(p, q)

    d = reference.DISTANCES.get(name, between)
    # The least of functions that are linear over the set is at a generator.
    lower_at_generator = geometry(2).dirac_costs is not None
    free = ("permutation",) if name == "tv" else ()
    common = ("A1", "A2", "A4", "A5a", "dominance", *free)
    total = f"total{suffix}"
    lower, upper, spread = (
        f"{kind}{suffix}" for kind in ("aleatoric_lower", "aleatoric_upper", "epistemic")
    )
    return (
        Measure(
            total,
            lambda Q: total_uncertainty(Q, geometry(Q.n_classes)),
            lambda P: reference.total_uncertainty(P, d),
            lambda P: to_diracs(P).max(axis=1).min(axis=1),
            width,
            (*common, "A3", "A5b"),
            fails=("translation",),
            parts=(lower, upper, spread),
        ),
        Measure(
            lower,
            lambda Q: ends(Q).lower,
            lambda P: reference.aleatoric_lower(P, d),
            lambda P: to_diracs(P).min(axis=(1, 2)),
            width,
            (*common, "A5b") if lower_at_generator else common,
            # With two classes every distance is a multiple of total variation.
            fails=("A3", "translation"),
            total=total,
        ),
        Measure(
            upper,
            lambda Q: ends(Q).upper,
            lambda P: reference.ALEATORIC_UPPER.get(name, reference.aleatoric_upper)(P, d),
            lambda P: to_diracs(P).min(axis=2).max(axis=1),
            width,
            (*common, "A3"),
            fails=("A5b", "translation"),
            total=total,
        ),
        Measure(
            spread,
            lambda Q: epistemic_uncertainty(Q, geometry(Q.n_classes)),
            lambda P: reference.epistemic_uncertainty(P, d),
            half_diameter,
            lambda K: width(K) / 2,
            (*common, "A3", "A5b", "translation", *(("mmi",) if name == "tv" else ())),
            total=total,
            imprecision=imprecision if name == "tv" else None,
        ),
    )


_SET_FUNCTION = ("A2", "A4", "A5a", "permutation")

_OTHER_ROWS = (
    Measure(
        "mmi",
        lambda Q: 2 * epistemic_uncertainty(Q),
        reference.maximum_mean_imprecision,
        _imprecision_of_generators,
        lambda K: 1.0,
        (*_SET_FUNCTION, "A1", "A3", "A5b", "translation"),
    ),
    Measure(
        "imprecision_bound",
        imprecision_bound,
        reference.imprecision_bound,
        lambda P: np.maximum(1 - P.min(axis=1).sum(axis=1), 0.0),
        lambda K: 1.0,
        (*_SET_FUNCTION, "A1", "A3", "A5b", "translation"),
    ),
    Measure(
        "upper_entropy",
        upper_entropy,
        reference.upper_entropy,
        lambda P: entropies(P).max(axis=1),
        math.log2,
        (*_SET_FUNCTION, "A1", "A3", "dominance"),
        fails=("A5b", "translation"),
        parts=("lower_entropy", "entropy_difference"),
    ),
    Measure(
        "lower_entropy",
        lower_entropy,
        reference.lower_entropy,
        lambda P: entropies(P).min(axis=1),
        math.log2,
        (*_SET_FUNCTION, "A1", "A5b", "dominance"),
        fails=("A3", "translation"),
        total="upper_entropy",
    ),
    Measure(
        "entropy_difference",
        lambda Q: upper_entropy(Q) - lower_entropy(Q),
        reference.entropy_difference,
        lambda P: entropies(P).max(axis=1) - entropies(P).min(axis=1),
        math.log2,
        (*_SET_FUNCTION, "A1", "A3", "dominance"),
        fails=("A5b", "translation"),
        total="upper_entropy",
    ),
    Measure(
        "generalized_hartley",
        _hartley,
        reference.generalized_hartley,
        _hartley_of_generators,
        math.log2,
        (*_SET_FUNCTION, "A1", "A3", "A5b", "translation"),
        total="upper_entropy",  # dominance holds for few classes, not from about 20 on
    ),
    Measure(
        "hartley_residual",
        lambda Q: upper_entropy(Q) - _hartley(Q),
        reference.hartley_residual,
        lambda P: entropies(P).max(axis=1) - _hartley_of_generators(P),
        math.log2,
        (*_SET_FUNCTION, "dominance"),  # A1 holds for few classes, not from 20 on
        fails=("A3", "A5b", "translation"),
        total="upper_entropy",
    ),
)

#: Every built-in measure by name. A distance of `NAMES` adds four rows; its name is the part after
#: the colon, none for total variation. Other families have one row per component.
MEASURES: dict[str, Measure] = {
    row.name: row
    for row in (
        *_distance_rows("tv"),
        *_OTHER_ROWS,
        *(row for name in NAMES if name != "tv" for row in _distance_rows(name)),
        *FAMILY_ROWS,
    )
}
