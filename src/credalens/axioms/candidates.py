"""Random candidates for a counterexample, and ways to perturb and simplify them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from credalens._backend import Array

Rng = np.random.Generator


def _dirichlet(rng: Rng, n: int, M: int, K: int) -> Array:
    concentration = rng.choice([0.05, 0.3, 1.0, 10.0, 100.0], (n, 1, 1))
    return _normalized(rng.standard_gamma(np.broadcast_to(concentration, (n, M, K))))


def _sparse(rng: Rng, n: int, M: int, K: int) -> Array:
    return _normalized(rng.standard_exponential((n, M, K)) * (rng.random((n, M, K)) < 0.5))


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
    """Return a Dirac measure and points on the segments to other Dirac measures."""
    whole = np.arange(M) <= rng.integers(M, size=(n, 1))
    length = np.where(whole, 1.0, 0.3 * rng.random((n, 1)))[..., None]
    length[:, 0] = 0.0
    return np.asarray((1 - length) * np.eye(K)[0] + length * np.eye(K)[np.arange(M) % K])


def _grid(rng: Rng, n: int, M: int, K: int) -> Array:
    """Return fractions of small denominators, so that ties are common."""
    parts = rng.choice([2, 3, 4, 10], (n, 1))
    counts = rng.multinomial(np.broadcast_to(parts, (n, M)), np.full(K, 1 / K))
    return np.asarray(counts / parts[..., None])


def _near_uniform(rng: Rng, n: int, M: int, K: int) -> Array:
    share = 10.0 ** -rng.uniform(0, 6, (n, 1, 1))
    return (1 - share) / K + share * _dirichlet(rng, n, M, K)


#: Functions of the random generator and the numbers of sets, members and classes.
SAMPLERS: tuple[Callable[[Rng, int, int, int], Array], ...] = (
    _dirichlet,
    _sparse,
    _diracs,
    _near_duplicates,
    _collinear,
    _disagreeing,
    _stars,
    _grid,
    _near_uniform,
)


def draw(rng: Rng, n: int, M: int, K: int) -> Array:
    """Return n sets of M members, ``(n, M, K)``, in equal shares from `SAMPLERS`."""
    each = -(-n // len(SAMPLERS))
    return np.concatenate([sampler(rng, each, M, K) for sampler in SAMPLERS])[:n]


def draw_weights(rng: Rng, n: int, R: int, M: int) -> Array:
    """Return mixing weights ``(n, R, M)``: Dirac, uniform over some members, or Dirichlet.

    Between one and R rows of a candidate are distinct; the others repeat the first.
    """
    kind = rng.integers(3, size=(n, R, 1))
    dirac = np.eye(M)[rng.integers(M, size=(n, R))]
    uniform = _normalized((rng.random((n, R, M)) < 0.5).astype(float))
    rows = np.where(kind == 0, dirac, np.where(kind == 1, uniform, _dirichlet(rng, n, R, M)))
    distinct = np.arange(R) < rng.integers(1, R + 1, size=(n, 1))
    return np.where(distinct[..., None], rows, rows[:, :1])


def _normalized(x: Array) -> Array:
    """Return rows that sum to 1; a row of zeros becomes uniform."""
    total = x.sum(axis=-1, keepdims=True)
    uniform = np.full_like(x, 1 / x.shape[-1])
    return np.where(total > 0, np.divide(x, total, out=uniform, where=total > 0), uniform)


@dataclass(frozen=True)
class Candidates:
    """A batch of candidates for a counterexample; all rows are probability vectors."""

    #: The sets, ``(n, M, K)``.
    members: Array
    #: Weights ``(n, R, M)`` of mixtures of the members, if the axiom needs points of the hull.
    weights: Array | None = None
    #: Targets of moves, ``(n, M, K)``, or ``(n, 1, K)`` for a single point.
    toward: Array | None = None

    def __len__(self) -> int:
        return len(self.members)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that are not None, by name."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: array for name, array in pairs if array is not None}

    def _map(self, function: Callable[[Array], Array]) -> Candidates:
        return replace(self, **{name: function(array) for name, array in self.arrays().items()})

    def __getitem__(self, index: Any) -> Candidates:
        return self._map(lambda array: array[index])

    def concatenate(self, other: Candidates) -> Candidates:
        """Return these candidates followed by others of the same shape."""
        theirs = iter(other.arrays().values())
        return self._map(lambda array: np.concatenate([array, next(theirs)]))

    def mixtures(self) -> Array:
        """Return the mixtures of the members, ``(n, R, K)``."""
        if self.weights is None:
            raise TypeError("candidates without weights have no mixtures")
        return np.asarray(self.weights @ self.members)

    def target(self) -> Array:
        """Return `toward`, which must not be None."""
        if self.toward is None:
            raise TypeError("candidates without toward have no target")
        return self.toward

    def perturbed(self, rng: Rng, scale: float) -> Candidates:
        """Return neighbours: some rows mixed with random ones, a few replaced by Dirac measures."""

        def move(x: Array) -> Array:
            n, rows, width = x.shape
            step = scale * rng.random((n, rows, 1)) * (rng.random((n, rows, 1)) < 0.6)
            step = np.where(rng.random((n, rows, 1)) < 0.03, 1.0, step)
            sharp = np.where(rng.random((n, rows, 1)) < 0.5, 0.1, 1.0)
            goal = _normalized(rng.standard_gamma(np.broadcast_to(sharp, (n, rows, width))))
            dirac = np.eye(width)[rng.integers(width, size=(n, rows))]
            goal = np.where(rng.random((n, rows, 1)) < 0.5, dirac, goal)
            return np.asarray((1 - step) * x + step * goal)

        return self._map(move)

    def size(self) -> int:
        """Return the number of characters of the arrays as text."""
        return sum(len(str(array.tolist())) for array in self.arrays().values())

    def simplifications(self) -> Iterator[Candidates]:
        """Yield candidates with fewer members or fewer digits; for a single candidate."""
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

    def _without_member(self, m: int) -> Candidates | None:
        M = self.members.shape[1]
        if M == 1:
            return None
        weights, toward = self.weights, self.toward
        if weights is not None:
            weights = np.delete(weights, m, axis=2)
            if not (weights.sum(axis=2) > 0).all():
                return None
            weights = _normalized(weights)
        if toward is not None and toward.shape[1] == M:
            toward = np.delete(toward, m, axis=1)
        return Candidates(np.delete(self.members, m, axis=1), weights, toward)


def rounded(x: Array, parts: int) -> Array:
    """Return probability vectors near `x` whose entries are multiples of ``1 / parts``.

    The largest remainders are rounded up, so that rows sum to 1.
    """
    scaled = x * parts
    floor = np.floor(scaled + 1e-9)
    short = np.rint(parts - floor.sum(axis=-1, keepdims=True))
    rank = np.argsort(np.argsort(floor - scaled, axis=-1, kind="stable"), axis=-1)
    return np.asarray((floor + (rank < short)) / parts)
