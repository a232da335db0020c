"""Metrics of selective prediction by their definitions, over all orders of tied scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import mean


def risks(losses: Sequence[Fraction]) -> list[Fraction]:
    """Mean loss of the first k instances, for k = 1 .. n."""
    return [sum(losses[:k], Fraction(0)) / k for k in range(1, len(losses) + 1)]


def orders(scores: Sequence[float]) -> Iterator[tuple[int, ...]]:
    """All orders of the instances by increasing score."""
    for order in itertools.permutations(range(len(scores))):
        ordered = [scores[i] for i in order]
        if all(a <= b for a, b in itertools.pairwise(ordered)):
            yield order


def areas(losses: Sequence[Fraction], max_rejection: float) -> tuple[Fraction, ...]:
    """AURC, AUGRC and the area of the prediction-rejection curve, of one order."""
    n, r = len(losses), risks(losses)
    generalized = [Fraction(k, n) * risk for k, risk in enumerate(r, start=1)]
    rejected = math.floor(Fraction(str(max_rejection)) * n)
    return mean(r), mean(generalized), mean(r[n - rejected :]) if rejected else r[-1]


def metrics(
    losses: Sequence[float], scores: Sequence[float], max_rejection: float = 1.0
) -> dict[str, float]:
    """Every metric as a mean over the orders of tied instances."""
    exact = [Fraction(loss) for loss in losses]
    each = [areas([exact[i] for i in order], max_rejection) for order in orders(scores)]
    aurc, augrc, area = (mean(column) for column in zip(*each, strict=True))
    best_aurc, best_augrc, best_area = areas(sorted(exact), max_rejection)
    risk = mean(exact)
    found = {
        "aurc": aurc,
        "eaurc": aurc - best_aurc,
        "auarc": 1 - aurc,
        "augrc": augrc,
        "eaugrc": augrc - best_augrc,
        "prr": (risk - area) / (risk - best_area) if risk != best_area else math.nan,
        "auroc": auroc(losses, scores),
    }
    return {name: float(value) for name, value in found.items()}


def auroc(losses: Sequence[float], scores: Sequence[float]) -> float:
    """Share of the pairs of a larger and a smaller loss that the score orders, ties half."""
    if len(set(losses)) != 2:
        return math.nan
    large = max(losses)
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, loss in zip(scores, losses, strict=True)
        for b, other in zip(scores, losses, strict=True)
        if loss == large and other != large
    ]
    return mean(pairs)


def risk_at(losses: Sequence[float], scores: Sequence[float], coverage: Fraction) -> float:
    """Expected mean loss of the first ceil(coverage n) instances."""
    k = math.ceil(coverage * len(losses))
    exact = [Fraction(loss) for loss in losses]
    return float(mean(mean([exact[i] for i in order[:k]]) for order in orders(scores)))


def coverage_at(losses: Sequence[float], scores: Sequence[float], risk: Fraction) -> float:
    """Largest k / n with an expected risk of at most `risk`."""
    n = len(losses)
    exact = [Fraction(loss) for loss in losses]
    every = list(orders(scores))
    within = [
        k
        for k in range(1, n + 1)
        if mean(mean([exact[i] for i in order[:k]]) for order in every) <= risk
    ]
    return max(within, default=0) / n
