"""The one rule that calls a prediction clear, ambiguous, unknown or both.

It decides in ``credalens pick`` and in the report alike; see `Rule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.distances import Distance, Kolmogorov, TotalVariation
from credalens.measures import Interval, aleatoric_uncertainty
from credalens.sets import ConvexHull

#: Level that makes an input ambiguous, and the models disagree. Two sure models that contradict
#: each other span risks from 0 to 1/2, with midpoint 1/4; three reach 1/3, four 3/8: these are
#: unknown, and more are both. Two classes at 60:40 are ambiguous.
SECOND_LOOK = 0.4


@dataclass(frozen=True)
class Kind:
    """What an ensemble knows of a prediction, and what to do about it."""

    name: str
    meaning: str
    #: The same of a single model, which cannot disagree.
    meaning_of_one: str
    advice: str
    ambiguous: bool = False
    unknown: bool = False

    def told(self, n_models: int) -> str:
        """Return what it means for so many models."""
        return self.meaning if n_models > 1 else self.meaning_of_one


#: In the order of their codes: the first bit is ambiguity, the second disagreement.
KINDS = (
    Kind(
        "clear",
        "the models largely agree, and expect to be right",
        "the model expects to be right",
        "Accept the prediction.",
    ),
    Kind(
        "ambiguous",
        "the models agree that the input is hard to tell",
        "the model finds the input hard to tell",
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
        "the risk is high, and the models disagree",
        "one model alone cannot tell",
        "Ask a person first, and keep the answers for training.",
        ambiguous=True,
        unknown=True,
    ),
)


@dataclass(frozen=True)
class Rule:
    """The two thresholds that tell the kinds apart.

    A prediction is *ambiguous* if the midpoint of its aleatoric interval is at least ``level``
    times ``risk``: the plausible models see about that risk. It is *unknown* if epistemic
    uncertainty is at least half of that: two models are ``level`` times ``risk`` or more apart. It
    may be *both*; what is neither is *clear*. What is ambiguous alone, no model finds easy: the
    interval is no wider than twice the epistemic uncertainty, and its lower end is at least half of
    ``level`` times ``risk``. Where the models contradict one another it begins lower, and the risk
    may be anything.

    Neither the midpoint nor epistemic uncertainty is ever larger than total uncertainty, so that
    what has less of it than half of ``level`` times ``risk`` (0.2 for total variation) is clear.
    """

    #: Share of what can be that counts.
    level: float
    #: Largest distance between two sure predictions: 1 for total variation.
    scale: float
    #: Largest risk of any distribution over K classes, times K / (K - 1): 1 for total variation.
    risk: float

    @property
    def aleatoric(self) -> float:
        """Midpoint of the aleatoric interval from which an input is ambiguous."""
        return self.level * self.risk

    @property
    def epistemic(self) -> float:
        """Epistemic uncertainty, half a distance, from which models disagree."""
        return self.aleatoric / 2

    def codes(self, aleatoric: Interval, epistemic: Any) -> Array:
        """Return the positions in `KINDS`.

        Examples
        --------
        >>> risks = Interval([0.1, 0.5, 0.1, 0.5], [0.2, 0.5, 0.2, 0.5])
        >>> Rule(0.4, 1.0, 1.0).codes(risks, [0.1, 0.1, 0.3, 0.3])
        array([0, 1, 2, 3], dtype=uint8)
        """
        # Rounding in either precision does not decide.
        slack = 1e-6 * self.scale
        lower, upper, apart = (np.asarray(x, np.float64) + slack for x in (*aleatoric, epistemic))
        ambiguous, unknown = (lower + upper) / 2 >= self.aleatoric, apart >= self.epistemic
        return ambiguous.astype(np.uint8) + 2 * unknown.astype(np.uint8)


def make_rule(level: Any, distance: Distance, n_classes: int) -> Rule:
    """Return the rule at `level` for a distance, whose unit may be anything."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < 1:
        _validation.refuse("second_look", f"is {level!r}", "pass a number between 0 and 1")
    if n_classes == 1 or isinstance(distance, TotalVariation):
        return Rule(number, 1.0, 1.0)
    everything = ConvexHull(np.eye(n_classes)[None])
    risk = float(aleatoric_uncertainty(everything, distance).upper[0])
    return Rule(number, _largest(distance, n_classes), risk * n_classes / (n_classes - 1))


def _largest(distance: Distance, n_classes: int) -> float:
    if isinstance(distance, Kolmogorov):
        return 1.0
    if distance.dirac_costs is not None:
        return float(distance.dirac_costs.max())
    return float(distance.diameter(np.eye(n_classes)[None])[0])
