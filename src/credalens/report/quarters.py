"""Which predictions deserve a second look, and for which reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.distances import Distance, Kolmogorov, TotalVariation

#: Level that makes an input ambiguous, and the models disagree. Two sure models that contradict
#: each other span risks from 0 to 1/2, with midpoint 1/4; three reach 1/3, four 3/8: below 0.4 all
#: of these count as disagreement, not as ambiguity. Two classes at 60:40 are ambiguous.
SECOND_LOOK = 0.4


@dataclass(frozen=True)
class Quarter:
    """One of the four corners of the map."""

    name: str
    #: What the ensemble knows here, and what to do about it.
    meaning: str
    advice: str


#: In the order of their codes: the first bit is ambiguity, the second disagreement.
QUARTERS = (
    Quarter("clear", "the models agree, and expect to be right", "Accept the prediction."),
    Quarter(
        "ambiguous",
        "the models agree that the input is hard to tell",
        "Ask a person or measure more: more training will hardly help.",
    ),
    Quarter(
        "unknown",
        "the models contradict each other",
        "Label some of these: more data or training will help.",
    ),
    Quarter(
        "both",
        "hard to tell, and the models contradict each other",
        "Ask a person first, and keep the answers for training.",
    ),
)


@dataclass(frozen=True)
class Rule:
    """The two thresholds of the map."""

    #: Share of the largest risk that counts.
    level: float
    #: Largest distance between two sure predictions: 1 for total variation.
    scale: float

    @property
    def aleatoric(self) -> float:
        """Midpoint of the aleatoric interval from which an input is ambiguous."""
        return self.level * self.scale

    @property
    def epistemic(self) -> float:
        """Epistemic uncertainty, half a distance, from which models disagree."""
        return self.level * self.scale / 2

    def codes(self, midpoint: Array, epistemic: Array) -> Array:
        """Return the positions in `QUARTERS`.

        Examples
        --------
        >>> import numpy as np
        >>> Rule(0.4, 1.0).codes(np.array([0.1, 0.5, 0.1, 0.5]), np.array([0.1, 0.1, 0.3, 0.3]))
        array([0, 1, 2, 3], dtype=uint8)
        """
        ambiguous, unknown = midpoint >= self.aleatoric, epistemic >= self.epistemic
        return ambiguous.astype(np.uint8) + 2 * unknown.astype(np.uint8)


def make_rule(level: Any, distance: Distance, n_classes: int) -> Rule:
    """Return the rule at `level` for a distance, whose unit may be anything."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < 1:
        _validation.refuse("second_look", f"is {level!r}", "pass a number between 0 and 1")
    return Rule(number, _largest(distance, n_classes))


def _largest(distance: Distance, n_classes: int) -> float:
    if n_classes == 1 or isinstance(distance, TotalVariation | Kolmogorov):
        return 1.0
    if distance.dirac_costs is not None:
        return float(distance.dirac_costs.max())
    return float(distance.diameter(np.eye(n_classes)[None])[0])
