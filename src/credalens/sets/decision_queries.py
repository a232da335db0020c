"""Queries of decision rules: bounds of expected costs, regrets and admissible actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credalens._backend import Array, namespace, native
from credalens.sets.scoring_queries import ScoringQueries

#: Expected costs that differ by at most this share of the range of the costs are equal.
RELATIVE_TIE = 1e-12


def tie_tolerance(cost: Array | None) -> float:
    """Return the largest difference of expected costs that is rounding; None is the 0-1 cost."""
    return RELATIVE_TIE * (1.0 if cost is None else float(np.ptp(cost)))


class DecisionQueries(ScoringQueries):
    """Queries about actions with costs ``(K, D)``: one row per class, one column per action.

    ``None`` stands for the 0-1 costs of predicting a class.
    """

    if TYPE_CHECKING:

        def lower(self, f: Any = None) -> Any: ...
        def upper(self, f: Any = None) -> Any: ...
        def maximin(self, cost: Array | None = None) -> tuple[Any, Any]: ...
        def center(self) -> Any: ...

    def expected_costs(self, cost: Array | None = None) -> tuple[Any, Any]:
        """Return the smallest and the largest expected cost of each action, ``(..., D)``."""
        if cost is None:
            return native.complement(self.upper()), native.complement(self.lower())
        return self.lower(cost.T), self.upper(cost.T)

    def max_regret(self, cost: Array | None = None) -> Any:
        """Return the largest regret ``max_p (E_p[c_d] - min_d' E_p[c_d'])`` of each action."""
        regrets = self._pairwise_upper(cost)
        return namespace(regrets).max(regrets, axis=-1)

    def maximal_actions(self, cost: Array | None = None) -> Any:
        """Return which actions are maximal: no other one is better under every distribution."""
        # The largest E_p[c_d' - c_d] is negative if d' is always better than d.
        dominated = self._pairwise_upper(cost) < -tie_tolerance(cost)
        return ~namespace(dominated).any(dominated, axis=-2)

    def e_admissible_actions(self, cost: Array | None = None) -> tuple[Any, Any]:
        """Return which actions are optimal for some distribution of the set, and the error.

        An action d is if ``max_p min_d' E_p[c_d' - c_d] >= 0``. Where the certified bounds of this
        value contain 0, the action is undecided: it is returned as admissible, with the duality gap
        as its error. The error of other actions is 0.
        """
        cost = 1 - np.eye(self.n_classes) if cost is None else cost
        found, errors = [], []
        for d in range(cost.shape[1]):
            others = np.delete(cost, d, axis=1)
            if not others.shape[1]:
                value = gap = native.zeros_like(self.upper(cost[:, 0]))
            else:
                value, gap = self.maximin(others - cost[:, [d]])
            xp, slack = namespace(value), -tie_tolerance(cost)
            found.append(value + gap >= slack)
            errors.append(xp.where((value < slack) & found[-1], gap, 0.0 * gap))
        xp = namespace(errors[0])
        maximal = self.maximal_actions(cost)
        mask = xp.stack(found, axis=-1) & maximal
        return mask, xp.where(maximal, xp.stack(errors, axis=-1), 0.0)

    def _pairwise_upper(self, cost: Array | None) -> Any:
        """Return the largest ``E_p[c_d - c_d']``, ``(..., D, D)`` with d first."""
        cost = 1 - np.eye(self.n_classes) if cost is None else cost
        D = cost.shape[1]
        differences = (cost[:, :, None] - cost[:, None, :]).reshape(len(cost), D * D)
        upper = self.upper(differences.T)
        return namespace(upper).reshape(upper, (*upper.shape[:-1], D, D))

    def lower_prefixes(self, order: Array) -> Any:
        """Return the lower probabilities of the prefixes of an order of the classes.

        `order` is ``(..., K)``, one permutation per instance; the result ``(..., K)`` has the lower
        probability of its first 1, ..., K classes.
        """
        return self.to_hull().lower_prefixes(order)

    def probes(self) -> list[Array]:
        """Return some distributions ``(..., K)`` of each set."""
        return [np.asarray(self.center(), np.float64)]
