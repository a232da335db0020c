"""Ensembles that have broken algorithms of this kind, by name: ``(n, M, K)`` each, read-only.

`ENSEMBLES` is what most tests run over. An input that breaks something new is added here, so that
every measure meets it.
"""

from __future__ import annotations

import numpy as np


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def dirichlet(n: int, M: int, K: int, concentration: float = 1.0, seed: int = 0) -> np.ndarray:
    """Members drawn at random from the simplex."""
    return _rng(seed).dirichlet(np.full(K, concentration), (n, M))


def disagreeing(n: int, M: int, K: int, seed: int = 0) -> np.ndarray:
    """Members that put different classes first, so that the game has no pure saddle point."""
    P = 0.6 * dirichlet(n, M, K, 0.5, seed)
    P[:, np.arange(M), np.arange(M) % K] += 0.4
    return P


def _sparse(n: int, M: int, K: int) -> np.ndarray:
    rng = _rng(1)
    P = rng.dirichlet(np.ones(K), (n, M)) * (rng.random((n, M, K)) < 0.4)
    P[..., 0] += 1e-3  # no row without mass
    return P / P.sum(axis=-1, keepdims=True)


def _dead_class(n: int, M: int, K: int) -> np.ndarray:
    P = dirichlet(n, M, K, seed=2)
    P[..., 1] = 0
    return P / P.sum(axis=-1, keepdims=True)


def _diracs(n: int, M: int, K: int) -> np.ndarray:
    return np.eye(K)[_rng(3).integers(0, K, (n, M))]


def _duplicated(n: int, M: int, K: int) -> np.ndarray:
    return np.repeat(dirichlet(n, M, K, seed=4), 3, axis=1)


def _ties(n: int, M: int, K: int) -> np.ndarray:
    counts = _rng(5).integers(0, 4, (n, M, K)).astype(float)
    counts[..., 0] += counts.sum(axis=-1) == 0
    return counts / counts.sum(axis=-1, keepdims=True)


def _collinear(n: int, M: int, K: int) -> np.ndarray:
    ends = dirichlet(n, 2, K, seed=6)
    t = np.linspace(0, 1, M)[:, None]
    P = (1 - t) * ends[:, :1] + t * ends[:, 1:]
    P = np.abs(P + 1e-13 * _rng(7).standard_normal(P.shape))
    return P / P.sum(axis=-1, keepdims=True)


def _noisy_dirac(n: int, M: int, K: int) -> np.ndarray:
    P = np.zeros((n, M, K))
    P[..., 0] = 1
    P += 1e-12 * _rng(8).random(P.shape)
    return P / P.sum(axis=-1, keepdims=True)


def _single_precision_rows(n: int, M: int, K: int) -> np.ndarray:
    logits = 3 * _rng(9).standard_normal((n, M, K)).astype(np.float32)
    e = np.exp(logits)
    return e / e.sum(axis=-1, keepdims=True)


def _tiny_entries(n: int, M: int, K: int) -> np.ndarray:
    e = np.exp(-40 * _rng(10).random((n, M, K)))
    return e / e.sum(axis=-1, keepdims=True)


ENSEMBLES: dict[str, np.ndarray] = {
    "one member": dirichlet(5, 1, 4),
    "two classes": dirichlet(8, 5, 2),
    "one class": np.ones((3, 4, 1)),
    "one of each": np.ones((2, 1, 1)),
    "dirichlet": dirichlet(8, 6, 5),
    "peaked": dirichlet(8, 6, 5, 0.1),
    "disagreeing": disagreeing(8, 7, 6),
    "sparse zeros": _sparse(8, 6, 6),
    "dead class": _dead_class(6, 5, 4),
    "diracs": _diracs(8, 4, 5),
    "all diracs": np.eye(5)[None],
    "duplicated": _duplicated(5, 3, 4),
    "all equal": np.repeat(dirichlet(4, 1, 6), 7, axis=1),
    "uniform": np.full((2, 4, 5), 0.2),
    "integer ties": _ties(12, 5, 4),
    "collinear": _collinear(6, 6, 5),
    "noisy dirac": _noisy_dirac(4, 5, 4),
    "normalised in float32": _single_precision_rows(8, 6, 7),
    "float32, many classes": _single_precision_rows(3, 5, 65),
    "float32 of sparse": _sparse(6, 5, 9).astype(np.float32),
    "tiny entries": _tiny_entries(8, 5, 6),
    "many members": dirichlet(4, 60, 3),
    "many members, disagreeing": disagreeing(2, 150, 7),
    "many classes": dirichlet(3, 4, 140, 0.05),
    "many classes, disagreeing": disagreeing(3, 9, 300),
}
for _array in ENSEMBLES.values():
    _array.flags.writeable = False

#: Those whose events can be listed.
FEW_CLASSES = {name: P for name, P in ENSEMBLES.items() if P.shape[-1] <= 9}


def slack(P: np.ndarray) -> float:
    """How far a definition may differ from a formula on `P`: what its rows miss of 1, and rounding.

    Results in the dtype of `P` are rounded once more.
    """
    off = np.abs(P.sum(axis=-1, dtype=np.float64) - 1).max()
    return float(off + 2 * np.finfo(P.dtype).eps + 1e-13)
