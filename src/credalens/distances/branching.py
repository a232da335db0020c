"""Branch and bound for a batch of maximisation problems, each on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from credalens._arrays import Array

#: Nodes that a problem splits in a round. More than one keeps the compiled games busy; the number
#: is fixed, so that a problem does not depend on how many others there are.
WIDTH = 16


@dataclass(frozen=True, eq=False)
class Nodes:
    """Parts of the problems, and what is known of each."""

    problem: Array  # (b,): which problem
    state: Array  # (b, ...): which part of it
    upper: Array  # (b,): no point of the part is above
    hint: Array  # (b, ...): what the problem wants to know to split it

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
        """Return the states of two parts that make up each node."""


def maximise(
    problems: Problem, roots: Array, tolerance: float, limit: int
) -> tuple[Array, Array, Array]:
    """Maximise each of the problems, best nodes first.

    `roots` holds the parts that make up each problem, ``(n, parts, ...)``. A problem ends when no
    node is above its best value by more than `tolerance`, or when it has had `limit` nodes.

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
    seen = np.full(n, parts)
    given_up = best.copy()  # the largest bound among the nodes that are not looked into
    while True:
        live = nodes.upper > best[nodes.problem] + tolerance
        np.maximum.at(given_up, nodes.problem[~live], nodes.upper[~live])
        nodes = nodes.take(live)
        chosen = _best_of_each(nodes, seen < limit)
        if not chosen.any():
            break
        parents, nodes = nodes.take(chosen), nodes.take(~chosen)
        state = np.concatenate(problems.split(parents))
        problem = np.concatenate([parents.problem, parents.problem])
        upper, value, where, hint = problems.bound(problem, state)
        # A part is never above the whole, whatever rounding says.
        np.minimum(upper, np.concatenate([parents.upper, parents.upper]), out=upper)
        np.add.at(seen, problem, 1)
        _improve(best, point, problem, value, where)
        nodes = nodes.join(Nodes(problem, state, upper, hint))
    np.maximum.at(given_up, nodes.problem, nodes.upper)
    return best, np.maximum(best, given_up), point


def _best_of_each(nodes: Nodes, going: Array) -> Array:
    """Mark the `WIDTH` highest nodes of each problem that is still going."""
    order = np.lexsort((-nodes.upper, nodes.problem))
    problem = nodes.problem[order]
    rank = np.arange(len(order)) - np.searchsorted(problem, problem)
    chosen = np.zeros(len(order), bool)
    chosen[order[(rank < WIDTH) & going[problem]]] = True
    return chosen


def _improve(best: Array, point: Array, problem: Array, value: Array, where: Array) -> None:
    """Keep the best value of each problem and the point that attains it."""
    for i in np.flatnonzero(value > best[problem]):
        if value[i] > best[problem[i]]:
            best[problem[i]] = value[i]
            point[problem[i]] = where[i]
