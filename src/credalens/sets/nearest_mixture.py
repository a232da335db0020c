"""Total variation distance of a point to a hull, by column generation."""

from __future__ import annotations

import numpy as np

from credalens import _matrix_game
from credalens._backend import Array, blocks

#: Differences between the bounds of a distance at which it counts as solved.
SOLVED = 1e-12
#: Largest number of rounds; the bounds are then returned as they are.
MAX_ROUNDS = 500


def tv_distance_to_hull(members: Array, target: Array) -> tuple[Array, Array]:
    """Return the total variation distance of `target` to the nearest mixture of members.

    The distance is the value of a matrix game between the weights of the members ``(..., M, K)``
    and the events A, with payoff ``p_m(A) - target(A)``; shapes broadcast. Events are generated:
    for given weights the best one has the classes at which the mixture exceeds the target. Games
    with some of the events bound the distance from below, and mixtures bound it from above.

    Returns
    -------
    distance, error : arrays
        A mixture attains the distance; the smallest one is at most `error` below it.
    """
    lead = np.broadcast_shapes(members.shape[:-2], target.shape[:-1])
    M, K = members.shape[-2:]
    goals = np.broadcast_to(target, (*lead, K)).reshape(-1, 1, K).astype(np.float64)
    distance, error = np.empty((2, len(goals)))
    whole = np.broadcast_to(members, (*lead, M, K))
    for start, stop, (block,) in blocks((whole,), (2,), np.float64):
        difference = block - goals[start:stop]
        distance[start:stop], error[start:stop] = _smallest_excess(difference)
    return distance.reshape(lead), error.reshape(lead)


def _smallest_excess(difference: Array) -> tuple[Array, Array]:
    """Return ``min over w of sum_k max((w D)_k, 0)`` of each D in ``(b, M, K)``, and its error."""
    excess = np.maximum(difference, 0.0).sum(axis=2)
    upper = excess.min(axis=1)
    if difference.shape[1] == 1:
        return upper, np.zeros(len(upper))
    lower = np.zeros(len(upper))
    events = (difference > 0).astype(np.float64)
    open_ = np.flatnonzero(upper > SOLVED)
    events = events[open_]
    for _ in range(MAX_ROUNDS):
        if not len(open_):
            break
        rows = difference[open_]
        payoff = rows @ np.swapaxes(events, 1, 2)
        value, gap, weights = _matrix_game.minimax(payoff, weights=True, overwrite=True)
        mixture = (weights[:, None, :] @ rows)[:, 0]
        upper[open_] = np.minimum(upper[open_], np.maximum(mixture, 0.0).sum(axis=1))
        lower[open_] = np.maximum(lower[open_], value - gap)
        going = upper[open_] - lower[open_] > SOLVED
        events = np.concatenate([events, (mixture > 0)[:, None].astype(np.float64)], axis=1)[going]
        open_ = open_[going]
    return upper, np.maximum(upper - np.minimum(lower, upper), 0.0)
