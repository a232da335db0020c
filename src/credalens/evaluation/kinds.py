"""Classification of predictions as clear, ambiguous, unknown or both.

``credalens pick`` and the report use the same rule; see `Rule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array
from credalens._edges import Edges
from credalens.distances import Distance, Kolmogorov, TotalVariation, as_distance
from credalens.evaluation.arguments import fraction
from credalens.measures import Interval, aleatoric_uncertainty, quantify
from credalens.sets import Contamination, as_credal_set

#: Default level of the rule: two classes at 60:40 are ambiguous.
REVIEW_THRESHOLD = 0.4


@dataclass(frozen=True)
class Kind:
    """A kind of prediction, its meaning and the recommended action."""

    name: str
    meaning: str
    #: The meaning for a single model, which cannot disagree.
    meaning_of_one: str
    advice: str
    ambiguous: bool = False
    unknown: bool = False

    def describe(self, n_models: int) -> str:
        """Return the meaning for this number of models."""
        return self.meaning if n_models > 1 else self.meaning_of_one


#: Indexed by code: bit 0 is ambiguity, bit 1 disagreement.
KINDS = (
    Kind(
        "clear",
        "the models largely agree, and at least one expects to be right",
        "the model expects to be right",
        "The first predictions to accept.",
    ),
    Kind(
        "ambiguous",
        "every model finds the input hard to classify",
        "the model finds the input hard to classify",
        "Ask a person or measure more: more training will hardly help.",
        ambiguous=True,
    ),
    Kind(
        "unknown",
        "the models disagree",
        "one model alone cannot tell",
        "Label some of these: more data or training will help.",
        unknown=True,
    ),
    Kind(
        "both",
        "every model finds the input hard to classify, and the models disagree",
        "one model alone cannot tell",
        "Ask a person first, and keep the answers for training.",
        ambiguous=True,
        unknown=True,
    ),
)


def kinds(
    Q: Any, distance: Any = "tv", *, review_threshold: float = REVIEW_THRESHOLD
) -> NDArray[np.str_]:
    """Classify each prediction as clear, ambiguous, unknown or both.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The distance between distributions.
    review_threshold : float in (0, 1), default=0.4
        Level t of the rule, in units of the largest risk.

    Returns
    -------
    array of str, shape (...)
        ``"clear"``, ``"ambiguous"``, ``"unknown"`` or ``"both"``.

    Notes
    -----
    For total variation, a prediction is *ambiguous* if the lower end of its aleatoric interval is
    at least t, i.e. if every distribution in the set has a risk of at least t. It is *unknown* if
    its epistemic uncertainty is at least t / 2, i.e. if two members have a distance of at least t.
    Otherwise it is *clear*, and its total uncertainty is below 2 t. For other distances t is scaled
    by the largest risk of K classes.

    Examples
    --------
    >>> import credalens as cl
    >>> agree, ambiguous = [[0.9, 0.1], [0.8, 0.2]], [[0.5, 0.5], [0.4, 0.6]]
    >>> cl.kinds([agree, ambiguous, [[0.9, 0.1], [0.2, 0.8]]]).tolist()
    ['clear', 'ambiguous', 'unknown']
    """
    Q = as_credal_set(Q)
    metric = as_distance(distance, Q.n_classes)
    rule = make_rule(review_threshold, metric, Q.n_classes)
    u = quantify(Q, metric)
    return np.array([kind.name for kind in KINDS])[rule.codes(u.aleatoric, u.epistemic)]


@dataclass(frozen=True)
class Rule:
    """The two thresholds that separate the kinds; see `kinds`.

    Total uncertainty is at most the lower aleatoric end plus twice the epistemic uncertainty (the
    triangle inequality), so that it is below twice the threshold if a prediction is clear.
    """

    #: Smallest lower aleatoric end of an ambiguous prediction.
    aleatoric: float
    #: Largest distance between two Dirac measures: 1 for total variation.
    scale: float

    @property
    def epistemic(self) -> float:
        """Smallest epistemic uncertainty, half a distance, of an unknown prediction."""
        return self.aleatoric / 2

    def codes(self, aleatoric: Interval, epistemic: Any) -> Array:
        """Return the indices into `KINDS`.

        Examples
        --------
        >>> risks = Interval([0.1, 0.5, 0.1, 0.5], [0.2, 0.5, 0.7, 0.8])
        >>> Rule(0.4, 1.0).codes(risks, [0.1, 0.1, 0.3, 0.3])
        array([0, 1, 2, 3], dtype=uint8)
        """
        # The slack makes the result independent of rounding in either precision.
        slack = 1e-6 * self.scale
        lower, apart = (np.asarray(x, np.float64) + slack for x in (aleatoric.lower, epistemic))
        ambiguous, unknown = lower >= self.aleatoric, apart >= self.epistemic
        return ambiguous.astype(np.uint8) + 2 * unknown.astype(np.uint8)

    def code(self, lower: float, epistemic: float) -> int:
        """Return the index into `KINDS` of one prediction, from its lower aleatoric end.

        Examples
        --------
        >>> Rule(0.4, 1.0).code(0.5, 0.3)
        3
        """
        slack = 1e-6 * self.scale
        return (lower + slack >= self.aleatoric) + 2 * (epistemic + slack >= self.epistemic)


def make_rule(
    level: Any, distance: Distance, n_classes: int, name: str = "review_threshold"
) -> Rule:
    """Return the rule at `level` for a distance in any unit; errors name the argument `name`."""
    level, scale = fraction(level, name), largest_distance(distance, n_classes)
    if n_classes == 1 or isinstance(distance, TotalVariation):
        return Rule(level, scale)
    simplex = Contamination(np.full((1, n_classes), 1 / n_classes), np.ones(1))
    risk = float(aleatoric_uncertainty(simplex, distance).upper[0])
    return Rule(level * risk * n_classes / (n_classes - 1), scale)


def largest_distance(distance: Distance, n_classes: int) -> float:
    """Return the largest distance between two Dirac measures."""
    if n_classes == 1 or isinstance(distance, TotalVariation | Kolmogorov):
        return 1.0
    costs = distance.ground_costs()
    if costs is not None:
        return costs.diameter if isinstance(costs, Edges) else float(costs.max())
    return float(distance.diameter(np.eye(n_classes)[None])[0])
