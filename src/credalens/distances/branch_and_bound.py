"""Branch and bound for a batch of independent maximisation problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from credalens._backend import Array

#: Number of nodes per problem and iteration. More than one increases the batches of matrix games;
#: the number is fixed, so that the result of a problem does not depend on the other problems.
WIDTH = 16


@dataclass(frozen=True, eq=False)
class Nodes:
    """Subproblems with their bounds."""

    problem: Array  # (b,): index of the problem
    state: Array  # (b, ...): the subset of its domain
    upper: Array  # (b,): upper bound on the subset
    hint: Array  # (b, ...): information for the split

    def take(self, which: Array) -> Nodes:
        """Return some of the nodes."""
        return Nodes(*(x[which] for x in (self.problem, self.state, self.upper, self.hint)))

    def join(self, other: Nodes) -> Nodes:
        """Return the nodes of both."""
        mine = (self.problem, self.state, self.upper, self.hint)
        others = (other.problem, other.state, other.upper, other.hint)
        return Nodes(*(np.concatenate(pair) for pair in zip(mine, others, strict=True)))


class Problem(Protocol):
    """A batch of problems that can be bounded and split."""

    def bound(self, problem: Array, state: Array) -> tuple[Array, Array, Array, Array]:
        """Return upper bounds, attained values, the points that attain them, and hints."""

    def split(self, nodes: Nodes) -> tuple[Array, Array]:
        """Return the states of two parts whose union is the node."""


def maximise(
    problems: Problem, roots: Array, tolerance: float, limit: int
) -> tuple[Array, Array, Array]:
    """Maximise each problem by best-first search.

    `roots` contains the initial parts of each problem, ``(n, parts, ...)``. The search of a problem
    stops if no bound exceeds its best value by more than `tolerance`, or after `limit` nodes.

    Returns
    -------
    value, bound, point : arrays of shape (n,), (n,) and (n, M)
        The point attains the value, which is at most the certified bound.
    """
    n, parts = roots.shape[:2]
    problem, state = np.repeat(np.arange(n), parts), roots.reshape(n * parts, *roots.shape[2:])
    upper, value, where, hint = problems.bound(problem, state)
    best, point = np.full(n, -np.inf), np.empty((n, where.shape[1]))
    _improve(best, point, problem, value, where)
    nodes = Nodes(problem, state, upper, hint)
    n_nodes = np.full(n, parts)
    pruned_bound = best.copy()  # largest bound of the pruned nodes
    while True:
        open_nodes = nodes.upper > best[nodes.problem] + tolerance
        np.maximum.at(pruned_bound, nodes.problem[~open_nodes], nodes.upper[~open_nodes])
        nodes = nodes.take(open_nodes)
        chosen = _best_of_each(nodes, n_nodes < limit)
        if not chosen.any():
            break
        parents, nodes = nodes.take(chosen), nodes.take(~chosen)
        state = np.concatenate(problems.split(parents))
        problem = np.concatenate([parents.problem, parents.problem])
        upper, value, where, hint = problems.bound(problem, state)
        # The bound of a part is at most that of its parent, also after rounding.
        np.minimum(upper, np.concatenate([parents.upper, parents.upper]), out=upper)
        np.add.at(n_nodes, problem, 1)
        _improve(best, point, problem, value, where)
        nodes = nodes.join(Nodes(problem, state, upper, hint))
    np.maximum.at(pruned_bound, nodes.problem, nodes.upper)
    return best, np.maximum(best, pruned_bound), point


def _best_of_each(nodes: Nodes, active: Array) -> Array:
    """Select the `WIDTH` nodes with the largest bounds of each active problem."""
    order = np.lexsort((-nodes.upper, nodes.problem))
    problem = nodes.problem[order]
    rank = np.arange(len(order)) - np.searchsorted(problem, problem)
    chosen = np.zeros(len(order), bool)
    chosen[order[(rank < WIDTH) & active[problem]]] = True
    return chosen


def _improve(best: Array, point: Array, problem: Array, value: Array, where: Array) -> None:
    """Update the best value of each problem and the point that attains it."""
    for i in np.flatnonzero(value > best[problem]):
        if value[i] > best[problem[i]]:
            best[problem[i]] = value[i]
            point[problem[i]] = where[i]
