"""Rows of the measure table: second-order measures, scoring rules, label-wise measures, volume.

Rows are called ``<component>:<family>``. Label-wise measures are summed over the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credalens._backend import Array, namespace
from credalens.measures import reference
from credalens.measures.families import FAMILY_TABLE
from credalens.measures.measure import Measure
from credalens.measures.quantify import quantify
from credalens.measures.volume import volume
from credalens.sets import CredalSet

Batch = Callable[[Array], Array]
Bound = Callable[[int], float]

#: Axioms of functions of the set, and of measures that treat its members as a sample.
_OF_SET = ("A2", "A4", "A5a", "permutation")
_OF_SAMPLE = ("A1", "A2", "A4", "permutation", "dominance")


def component(family: str, name: str) -> Callable[[CredalSet], Any]:
    """Return the function of a component, such as ``"epistemic"`` or ``"aleatoric_lower"``."""
    part, _, end = name.partition("_")

    def function(Q: CredalSet) -> Any:
        value = getattr(quantify(Q, family), part)
        value = getattr(value, end) if end else value
        by_class = FAMILY_TABLE[family].by_class
        return namespace(value).sum(value, axis=-1) if by_class else value

    return function


def entropies(P: Array) -> Array:
    """Return the Shannon entropies of ``(..., K)`` in bits."""
    logs = np.log2(P, where=P > 0, out=np.zeros_like(P))
    return np.asarray(0.0 - (P * logs).sum(axis=-1))  # not -0.0


#: Generalised entropies of ``(..., K)``, and their largest value for a number of classes.
_ENTROPIES: dict[str, Batch] = {
    "log": entropies,
    "brier": lambda P: 1 - (P**2).sum(axis=-1),
    "spherical": lambda P: 1 - np.sqrt((P**2).sum(axis=-1)),
    "zero_one": lambda P: 1 - P.max(axis=-1),
}
_BOUNDS: dict[str, Bound] = {
    "log": math.log2,
    "brier": lambda K: 1 - 1 / K,
    "spherical": lambda K: 1 - 1 / math.sqrt(K),
    "zero_one": lambda K: 1 - 1 / K,
}


def _row(family: str, name: str, *args: Any, **options: Any) -> Measure:
    return Measure(f"{name}:{family}", component(family, name), *args, **options)


def _sample_rows(
    family: str,
    definitions: tuple[Callable[[Array], float], ...],
    batches: tuple[Batch, ...],
    bound: Bound,
    invariant: bool,
) -> tuple[Measure, ...]:
    """Return the rows of a second-order family; `invariant` is whether translation keeps its EU."""
    total, *parts = (f"{name}:{family}" for name in ("total", "aleatoric", "epistemic"))
    moving = {"claims": _OF_SAMPLE, "fails": ("A3", "A5a", "translation"), "second_order": True}
    last = {**moving, "claims": (*_OF_SAMPLE, "translation"), "fails": ("A3", "A5a")}
    first, second, third = zip(definitions, batches, strict=True)
    return (
        _row(family, "total", *first, bound, parts=tuple(parts), **moving),
        _row(family, "aleatoric", *second, bound, total=total, **moving),
        _row(family, "epistemic", *third, bound, total=total, **(last if invariant else moving)),
    )


def _entropy_rows(family: str, loss: str, invariant: bool = False) -> tuple[Measure, ...]:
    """Return the rows of ``G(mean)``, mean G and their difference."""
    G, batch = reference.GENERALISED_ENTROPIES[loss], _ENTROPIES[loss]
    return _sample_rows(
        family,
        (
            lambda P: reference.entropy_of_mean(P, G),
            lambda P: reference.mean_entropy(P, G),
            lambda P: reference.entropy_difference_of_mean(P, G),
        ),
        (
            lambda P: batch(P.mean(axis=1)),
            lambda P: batch(P).mean(axis=1),
            lambda P: batch(P.mean(axis=1)) - batch(P).mean(axis=1),
        ),
        _BOUNDS[loss],
        invariant,
    )


def _labelwise_rows(family: str, loss: str, invariant: bool) -> tuple[Measure, ...]:
    """Return the rows of the sums over the classes of binary measures."""
    G = reference.GENERALISED_ENTROPIES[loss]
    half = 0.5 if loss == "brier" else 1.0  # p (1 - p) is half of 1 - p^2 - (1 - p)^2
    definitions = (
        reference.entropy_of_mean,
        reference.mean_entropy,
        reference.entropy_difference_of_mean,
    )

    def binary(P: Array) -> Array:
        values = _ENTROPIES[loss](np.stack([P, 1 - P], axis=-1))
        return np.asarray(half * values.sum(axis=-1))

    def bound(K: int) -> float:
        return float(K * half * G(np.array([1 / K, 1 - 1 / K])))

    def define(one: Callable[..., float]) -> Callable[[Array], float]:
        return lambda P: half * reference.sum_over_classes(lambda p: one(p, G), P)

    return _sample_rows(
        family,
        tuple(map(define, definitions)),
        (
            lambda P: binary(P.mean(axis=1)),
            lambda P: binary(P).mean(axis=1),
            lambda P: binary(P.mean(axis=1)) - binary(P).mean(axis=1),
        ),
        bound,
        invariant,
    )


def median_distances(P: Array) -> Array:
    """Return ``min_q mean_m |p_m - q|_1 / 2`` of each ``(n, M, K)``.

    With the sums S_j of the j-th smallest values of all classes, the slope of the objective is
    ``j / M - 1/2`` while the mass of q is between S_j and S_(j+1).
    """
    sums = np.sort(P, axis=1).sum(axis=2)
    M, mass = P.shape[1], P.sum(axis=(1, 2)) / P.shape[1]
    steps = np.diff(np.minimum(sums, mass[:, None]), axis=1)
    slopes = np.arange(1, M) / M - 0.5
    return np.asarray((mass - sums[:, 0]) / 2 + steps @ slopes)


def _divergences(P: Array, loss: str) -> Array:
    """Return the largest divergence between two members of each ``(n, M, K)``."""
    p, q = P[:, :, None], P[:, None]
    if loss == "brier":
        return np.asarray(((p - q) ** 2).sum(axis=-1).max(axis=(1, 2)))
    if loss == "spherical":
        sizes = np.sqrt((P**2).sum(axis=-1))
        values = sizes[:, :, None] - (p * q).sum(axis=-1) / sizes[:, None]
        return np.asarray(np.maximum(values, 0.0).max(axis=(1, 2)))
    if loss == "zero_one":
        regrets = np.take_along_axis(p, q.argmax(axis=-1)[..., None], axis=-1)[..., 0]
        return np.asarray((P.max(axis=-1)[:, :, None] - regrets).max(axis=(1, 2)))
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(p / q), 0.0)
    return np.asarray(np.maximum(terms.sum(axis=-1), 0.0).max(axis=(1, 2)))


#: The largest divergence, the axioms of the divergence, and those that it violates.
_DIVERGENCES: dict[str, tuple[float, tuple[str, ...], tuple[str, ...]]] = {
    "log": (
        math.inf, ("A3", "A4", "A5a", "A5b", "permutation", "dominance"),
        ("A1", "translation"),
    ),
    "brier": (2.0, (*_OF_SET, "A1", "A3", "A5b", "dominance", "translation"), ()),
    "spherical": (1.0, (*_OF_SET, "A1", "A3", "A5b", "dominance"), ("translation",)),
    "zero_one": (
        1.0, ("A1", "A3", "A4", "A5a", "permutation", "dominance"), ("A2", "translation"),
    ),
}  # fmt: skip


def _scoring_rows(loss: str) -> tuple[Measure, ...]:
    """Return both ends of total and aleatoric uncertainty, and epistemic uncertainty."""
    family = f"scoring:{loss}"
    G, batch, bound = reference.GENERALISED_ENTROPIES[loss], _ENTROPIES[loss], _BOUNDS[loss]
    largest, claims, fails = _DIVERGENCES[loss]

    def divergence(P: Array) -> float:
        if loss == "zero_one":
            return reference.zero_one_divergence(P)
        return reference.scoring_divergence(P, reference.DIVERGENCES[loss])

    def lower(P: Array) -> float:
        return reference.scoring_lower(P, G)

    def upper(P: Array) -> float:
        return reference.scoring_upper(P, G)

    pairs = partial(_divergences, loss=loss)
    # The sums are bounded and continuous if the divergence is.
    shared = ("A4", "A5a", "permutation", "dominance", *({"A1", "A2"} & {*claims}))
    broken = ({"A1", "A2"} & {*fails}) | {"translation"}
    return (
        _row(
            family, "total_lower", lambda P: lower(P) + divergence(P),
            lambda P: batch(P).min(axis=1) + pairs(P), lambda K: bound(K) + largest,
            (*shared, *({"A5b"} & {*claims})), fails=(*broken, "A3"),
            parts=(f"aleatoric_lower:{family}", f"epistemic:{family}"),
        ),
        _row(
            family, "total_upper", lambda P: upper(P) + divergence(P),
            lambda P: batch(P).max(axis=1) + pairs(P), lambda K: bound(K) + largest,
            (*shared, "A3"), fails=(*broken, "A5b"),
            parts=(f"aleatoric_upper:{family}", f"epistemic:{family}"),
        ),
        _row(
            family, "aleatoric_lower", lower, lambda P: batch(P).min(axis=1), bound,
            (*_OF_SET, "A1", "A5b", "dominance"), fails=("A3", "translation"),
            total=f"total_lower:{family}",
        ),
        _row(
            family, "aleatoric_upper", upper, lambda P: batch(P).max(axis=1), bound,
            (*_OF_SET, "A1", "A3", "dominance"), fails=("A5b", "translation"),
            total=f"total_upper:{family}",
        ),
        _row(
            family, "epistemic", divergence, pairs, lambda K: largest, claims, fails=fails,
            total=f"total_lower:{family}",
        ),
    )  # fmt: skip


def _credal_batch(P: Array, part: int) -> Array:
    a, b = P.min(axis=1), P.max(axis=1)
    parts = (np.minimum(1 - a, b), np.minimum(a, 1 - b), b - a)
    return np.asarray(parts[part].sum(axis=1))


def _credal_rows() -> tuple[Measure, ...]:
    family = "labelwise:credal"
    total, others = f"total:{family}", tuple(f"{n}:{family}" for n in ("aleatoric", "epistemic"))
    shared = (*_OF_SET, "A1", "A5b", "dominance")
    details: tuple[tuple[str, tuple[str, ...], tuple[str, ...], Bound], ...] = (
        ("total", ("A3",), ("translation",), float),
        ("aleatoric", (), ("A3", "translation"), lambda K: 1.0),
        ("epistemic", ("A3", "translation"), (), float),
    )
    return tuple(
        _row(
            family, name, partial(reference.labelwise_credal, part=part),
            partial(_credal_batch, part=part), bound, (*shared, *claims), fails=fails,
            total=None if name == "total" else total, parts=others if name == "total" else (),
        )
        for part, (name, claims, fails, bound) in enumerate(details)
    )  # fmt: skip


_ZERO_ONE = _entropy_rows("zero_one", "zero_one")

#: One row per component of each family, and the volume.
FAMILY_ROWS: tuple[Measure, ...] = (
    *_entropy_rows("information", "log"),
    *_entropy_rows("variance", "brier", invariant=True),
    *_ZERO_ONE,
    *_entropy_rows("spherical", "spherical"),
    *_sample_rows(
        "second_order_distance",
        (*(row.reference for row in _ZERO_ONE[:2]), reference.median_distance),
        (*(row.at_generators for row in _ZERO_ONE[:2]), median_distances),
        _BOUNDS["zero_one"],
        invariant=True,
    ),
    _row(
        "confidence", "total", partial(reference.entropy_of_mean, G=reference.zero_one),
        lambda P: 1 - P.mean(axis=1).max(axis=1), _BOUNDS["zero_one"],
        ("A1", "A2", "A4", "permutation"), fails=("A3", "A5a", "translation"), second_order=True,
    ),
    *(row for loss in _ENTROPIES for row in _scoring_rows(loss)),
    *_labelwise_rows("labelwise:entropy", "log", invariant=False),
    *_labelwise_rows("labelwise:variance", "brier", invariant=True),
    *_credal_rows(),
    Measure(
        "volume", volume, reference.volume,
        lambda P: np.array([reference.volume(one) for one in P]),
        lambda K: 1 / math.factorial(K - 1),
        (*_OF_SET, "A1", "A3", "A5b", "translation"),
    ),
)  # fmt: skip
