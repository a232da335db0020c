"""Where the search starts: sets that have broken measures before, and ways to change a set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from credalens._arrays import Array

Rng = np.random.Generator


def _dirichlet(rng: Rng, n: int, M: int, K: int) -> Array:
    concentration = rng.choice([0.05, 0.3, 1.0, 10.0, 100.0], (n, 1, 1))
    return _scaled(rng.standard_gamma(np.broadcast_to(concentration, (n, M, K))))


def _sparse(rng: Rng, n: int, M: int, K: int) -> Array:
    return _scaled(rng.standard_exponential((n, M, K)) * (rng.random((n, M, K)) < 0.5))


def _diracs(rng: Rng, n: int, M: int, K: int) -> Array:
    return np.eye(K)[rng.integers(K, size=(n, M))]


def _near_duplicates(rng: Rng, n: int, M: int, K: int) -> Array:
    noise = 10.0 ** -rng.integers(2, 13, (n, 1, 1))
    return (1 - noise) * _dirichlet(rng, n, 1, K) + noise * _dirichlet(rng, n, M, K)


def _collinear(rng: Rng, n: int, M: int, K: int) -> Array:
    ends, share = _dirichlet(rng, n, 2, K), rng.random((n, M, 1))
    return share * ends[:, :1] + (1 - share) * ends[:, 1:]


def _disagreeing(rng: Rng, n: int, M: int, K: int) -> Array:
    favourite = np.eye(K)[(np.arange(M) + rng.integers(K, size=(n, 1))) % K]
    share = rng.random((n, 1, 1))
    return np.asarray(share * favourite + (1 - share) * _dirichlet(rng, n, M, K))


def _stars(rng: Rng, n: int, M: int, K: int) -> Array:
    """Return a corner and steps from it towards the others: some all the way, the rest short."""
    whole = np.arange(M) <= rng.integers(M, size=(n, 1))
    length = np.where(whole, 1.0, 0.3 * rng.random((n, 1)))[..., None]
    length[:, 0] = 0.0
    return np.asarray((1 - length) * np.eye(K)[0] + length * np.eye(K)[np.arange(M) % K])


def _grid(rng: Rng, n: int, M: int, K: int) -> Array:
    """Return small fractions: ties between classes and members are common."""
    parts = rng.choice([2, 3, 4, 10], (n, 1))
    counts = rng.multinomial(np.broadcast_to(parts, (n, M)), np.full(K, 1 / K))
    return np.asarray(counts / parts[..., None])


def _round_uniform(rng: Rng, n: int, M: int, K: int) -> Array:
    share = 10.0 ** -rng.uniform(0, 6, (n, 1, 1))
    return (1 - share) / K + share * _dirichlet(rng, n, M, K)


#: Kinds of sets, each a function of the generator, the number of sets, of members and of classes.
FAMILIES: tuple[Callable[[Rng, int, int, int], Array], ...] = (
    _dirichlet,
    _sparse,
    _diracs,
    _near_duplicates,
    _collinear,
    _disagreeing,
    _stars,
    _grid,
    _round_uniform,
)


def draw(rng: Rng, n: int, M: int, K: int) -> Array:
    """Return n sets of M members, ``(n, M, K)``, in equal shares from `FAMILIES`."""
    each = -(-n // len(FAMILIES))
    return np.concatenate([family(rng, each, M, K) for family in FAMILIES])[:n]


def draw_weights(rng: Rng, n: int, R: int, M: int) -> Array:
    """Return ``(n, R, M)`` mixing weights: corners, even mixtures of some members, any mixture.

    From one to R rows of a trial differ; the others repeat the first.
    """
    kind = rng.integers(3, size=(n, R, 1))
    corner = np.eye(M)[rng.integers(M, size=(n, R))]
    even = _scaled((rng.random((n, R, M)) < 0.5).astype(float))
    rows = np.where(kind == 0, corner, np.where(kind == 1, even, _dirichlet(rng, n, R, M)))
    distinct = np.arange(R) < rng.integers(1, R + 1, size=(n, 1))
    return np.where(distinct[..., None], rows, rows[:, :1])


def _scaled(x: Array) -> Array:
    """Return rows that sum to 1; a row without mass becomes uniform."""
    total = x.sum(axis=-1, keepdims=True)
    even = np.full_like(x, 1 / x.shape[-1])
    return np.where(total > 0, np.divide(x, total, out=even, where=total > 0), even)


@dataclass(frozen=True)
class Trial:
    """A batch of situations that an axiom speaks of; all rows are probability vectors."""

    #: The sets, ``(n, M, K)``.
    members: Array
    #: Weights ``(n, R, M)`` of mixtures of the members, where the axiom needs points of the hull.
    weights: Array | None = None
    #: Where something moves, ``(n, M, K)``, or ``(n, 1, K)`` for a single point.
    toward: Array | None = None

    def __len__(self) -> int:
        return len(self.members)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that are there, by name."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: array for name, array in pairs if array is not None}

    def __getitem__(self, index: Any) -> Trial:
        return replace(self, **{name: array[index] for name, array in self.arrays().items()})

    def joined(self, other: Trial) -> Trial:
        """Return these trials followed by others of the same shape."""
        theirs = other.arrays()
        return replace(
            self, **{name: np.concatenate([x, theirs[name]]) for name, x in self.arrays().items()}
        )

    def mixtures(self) -> Array:
        """Return the points of the hull that the weights stand for, ``(n, R, K)``."""
        if self.weights is None:
            raise TypeError("a trial without weights has no mixtures")
        return np.asarray(self.weights @ self.members)

    def target(self) -> Array:
        """Return `toward`, which must be there."""
        if self.toward is None:
            raise TypeError("a trial without toward has no target")
        return self.toward

    def jittered(self, rng: Rng, scale: float) -> Trial:
        """Return neighbours: some rows mixed with random ones, a few moved to a corner."""

        def move(x: Array) -> Array:
            n, rows, width = x.shape
            step = scale * rng.random((n, rows, 1)) * (rng.random((n, rows, 1)) < 0.6)
            step = np.where(rng.random((n, rows, 1)) < 0.03, 1.0, step)
            sharp = np.where(rng.random((n, rows, 1)) < 0.5, 0.1, 1.0)
            goal = _scaled(rng.standard_gamma(np.broadcast_to(sharp, (n, rows, width))))
            corner = np.eye(width)[rng.integers(width, size=(n, rows))]
            goal = np.where(rng.random((n, rows, 1)) < 0.5, corner, goal)
            return np.asarray((1 - step) * x + step * goal)

        return replace(self, **{name: move(array) for name, array in self.arrays().items()})

    def size(self) -> int:
        """Return the number of characters that it takes to write the arrays down."""
        return sum(len(str(array.tolist())) for array in self.arrays().values())

    def simpler(self) -> Iterator[Trial]:
        """Yield trials that say nearly the same in fewer or rounder numbers; for one trial."""
        for m in range(self.members.shape[1]):
            smaller = self._without_member(m)
            if smaller is not None:
                yield smaller
        if self.weights is not None and self.weights.shape[1] > 1:
            for r in range(self.weights.shape[1]):
                yield replace(self, weights=np.delete(self.weights, r, axis=1))
        for parts in (1, 2, 4, 10, 20, 100, 1000):
            yield replace(self, **{k: rounded(x, parts) for k, x in self.arrays().items()})
            for name, array in self.arrays().items():
                yield replace(self, **{name: rounded(array, parts)})
                for row in range(array.shape[1]):
                    changed = array.copy()
                    changed[:, row] = rounded(array[:, row], parts)
                    yield replace(self, **{name: changed})

    def _without_member(self, m: int) -> Trial | None:
        M = self.members.shape[1]
        if M == 1:
            return None
        weights, toward = self.weights, self.toward
        if weights is not None:
            weights = np.delete(weights, m, axis=2)
            if not (weights.sum(axis=2) > 0).all():
                return None
            weights = _scaled(weights)
        if toward is not None and toward.shape[1] == M:
            toward = np.delete(toward, m, axis=1)
        return replace(
            self, members=np.delete(self.members, m, axis=1), weights=weights, toward=toward
        )


def rounded(x: Array, parts: int) -> Array:
    """Return probability vectors near `x` whose entries are multiples of ``1 / parts``.

    Largest remainders are rounded up, so that a row still sums to 1.
    """
    scaled = x * parts
    floor = np.floor(scaled + 1e-9)
    short = np.rint(parts - floor.sum(axis=-1, keepdims=True))
    rank = np.argsort(np.argsort(floor - scaled, axis=-1, kind="stable"), axis=-1)
    return np.asarray((floor + (rank < short)) / parts)
