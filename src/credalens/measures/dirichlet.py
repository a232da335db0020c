"""Uncertainty of a Dirichlet distribution over distributions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import NUMPY, Array, backend_of, dispatch, is_lazy, to_numpy
from credalens._backend.lazy import LazyBatch
from credalens.measures.entropy import Base, log_base
from credalens.measures.results import Uncertainty

#: Total, aleatoric, epistemic and error of float64 concentrations ``(n, K)``.
Parts = tuple[Array, Array | None, Array | None, Array]
#: Steps of the search for the median, and the gap at which it ends.
MEDIAN_STEPS, MEDIAN_GAP = 60, 1e-13


def quantify_dirichlet(
    alpha: Any,
    measure: str = "information",
    *,
    base: Base = 2,
    n_samples: int = 4096,
    random_state: Any = None,
) -> Uncertainty:
    """Return total, aleatoric and epistemic uncertainty of Dirichlet distributions.

    The second-order measures of `quantify`, with the distribution in place of a sample of members:
    the limit of infinitely many members drawn from it.

    Parameters
    ----------
    alpha : array-like of shape (..., K)
        Concentrations, positive, as evidential networks predict them.
    measure : str, default="information"
        ``"information"``, ``"variance"``, ``"zero_one"``, ``"spherical"``,
        ``"second_order_distance"``, ``"confidence"``, ``"labelwise:entropy"`` (also
        ``"labelwise"``) or ``"labelwise:variance"``; see `quantify`.
    base : number > 1, "e" or "classes", default=2
        Unit of entropies.
    n_samples : int, default=4096
        Number of distributions that are drawn, at least 2, where there is no closed form.
    random_state : int, RandomState, Generator or None
        Seed of the samples. All instances use the same one, so that the value of an instance does
        not depend on others.

    Returns
    -------
    Uncertainty
        In the array library, dtype and device of `alpha`. ``error`` is the standard error of what
        is sampled, 0 (up to rounding) otherwise. Gradients are not supported.

    Notes
    -----
    With the mean ``m = alpha / alpha_0`` and the sum ``alpha_0``, the expected entropy is
    ``psi(alpha_0 + 1) - sum_k m_k psi(alpha_k + 1)``, and the variance of a class is
    ``m_k (1 - m_k) / (alpha_0 + 1)``. The smallest expected total variation distance is attained at
    the quantiles of all (beta distributed) class probabilities at one common level, at which they
    sum to 1: a search in one dimension, with a certified gap. Sampled are the aleatoric and
    epistemic parts of ``"zero_one"`` and ``"spherical"``, and the aleatoric part of
    ``"second_order_distance"``: epistemic uncertainty is the mean divergence of p from m, which is
    never negative, and aleatoric uncertainty the rest.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.quantify_dirichlet([1.0, 1.0])
    Uncertainty(total=1, aleatoric=0.7213, epistemic=0.2787, error=0)
    >>> cl.quantify_dirichlet([[20.0, 2.0], [2.0, 2.0]], "zero_one", random_state=0)
    Uncertainty: 2 rows
         total  aleatoric  epistemic     error
    0  0.09091    0.09091          0         0
    1      0.5     0.3165     0.1835  0.003954
    """
    name = _validation.one_of(measure, "measure", _MEASURES)
    _validation.whole_number(n_samples, "n_samples", 2)
    seed = _validation.seed(random_state)
    of_chunk = partial(_quantify, name=name, base=base, n_samples=n_samples, seed=seed)
    if is_lazy(alpha):
        result: Uncertainty = LazyBatch.of([alpha], [1], ["alpha"]).map(of_chunk)
        return result
    backend = backend_of(alpha)
    found = of_chunk(to_numpy(alpha, "alpha"))
    return found if backend is NUMPY else dispatch.to_backend(found, backend)


def _quantify(alpha: Any, name: str, base: Base, n_samples: int, seed: int) -> Uncertainty:
    array = _validation.finite(alpha, "alpha")
    if array.ndim < 1 or array.shape[-1] == 0:
        _validation.raise_invalid(
            "alpha", f"has shape {array.shape}", "pass one concentration per class, (..., K)"
        )
    _validation.raise_first(
        array <= 0, array, "alpha", "is {:.6g}{}", "pass positive concentrations"
    )
    lead, K = array.shape[:-1], array.shape[-1]
    rows = array.reshape(-1, K).astype(np.float64)
    parts = _MEASURES[name](rows, log_base(base, K), n_samples, seed)

    def shaped(x: Array | None) -> Any:
        if x is None:
            return None
        x = np.zeros_like(x) if K == 1 else x
        return x.reshape((*lead, *x.shape[1:])).astype(array.dtype)[()]

    return Uncertainty(*map(shaped, parts))


def _exact(total: Array, epistemic: Array) -> Parts:
    epistemic = np.maximum(epistemic, 0.0)
    return total, np.maximum(total - epistemic, 0.0), epistemic, np.zeros_like(total)


def _mean(alpha: Array) -> tuple[Array, Array]:
    """Return the mean and the sum of the concentrations."""
    sums = alpha.sum(axis=-1, keepdims=True)
    return alpha / sums, sums


def _information(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    from scipy.special import digamma, entr

    mean, sums = _mean(alpha)
    total = entr(mean).sum(axis=-1)
    expected = digamma(sums[:, 0] + 1) - (mean * digamma(alpha + 1)).sum(axis=-1)
    return _exact(total / unit, (total - expected) / unit)


def _variance(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    mean, sums = _mean(alpha)
    total = (mean * (1 - mean)).sum(axis=-1)
    return _exact(total, total / (sums[:, 0] + 1))


def _labelwise_entropy(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    from scipy.special import digamma, entr

    mean, sums = _mean(alpha)
    rest = 1 - mean
    total = entr(mean) + entr(rest)
    expected = mean * digamma(alpha + 1) + rest * digamma(sums - alpha + 1)
    return _exact(total / unit, (total - digamma(sums + 1) + expected) / unit)


def _labelwise_variance(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    mean, sums = _mean(alpha)
    return _exact(mean * (1 - mean), mean * (1 - mean) / (sums + 1))


def _confidence(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    total = 1 - _mean(alpha)[0].max(axis=-1)
    return total, None, None, np.zeros_like(total)


def _sampled(total: Array, divergence: Callable[[Array, int], Array], samples: Any) -> Parts:
    """Return the parts if epistemic uncertainty is a mean of non-negative divergences."""
    epistemic, error = np.empty((2, len(total)))
    for i, p in enumerate(samples):
        values = divergence(p, i)
        epistemic[i], error[i] = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    return total, np.maximum(total - epistemic, 0.0), epistemic, error


def _draw(alpha: Array, n_samples: int, seed: int) -> Any:
    """Yield `n_samples` distributions of each instance, with the same seed."""
    for row in alpha:
        yield np.random.default_rng(seed).dirichlet(row, n_samples)


def _zero_one(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    mean, _ = _mean(alpha)
    mode = mean.argmax(axis=-1)
    return _sampled(
        1 - mean.max(axis=-1),
        lambda p, i: p.max(axis=-1) - p[:, mode[i]],
        _draw(alpha, n_samples, seed),
    )


def _spherical(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    mean, _ = _mean(alpha)
    norm = np.linalg.norm(mean, axis=-1)
    return _sampled(
        1 - norm,
        lambda p, i: np.maximum(np.linalg.norm(p, axis=-1) - p @ (mean[i] / norm[i]), 0.0),
        _draw(alpha, n_samples, seed),
    )


def _second_order_distance(alpha: Array, unit: float, n_samples: int, seed: int) -> Parts:
    total, aleatoric, _, error = _zero_one(alpha, unit, n_samples, seed)
    distance, gap = _median_distance(alpha) if alpha.shape[-1] > 1 else np.zeros((2, len(alpha)))
    return total, aleatoric, distance, np.maximum(error, gap)


def _median_distance(alpha: Array) -> tuple[Array, Array]:
    """Return ``min over q of E |p - q|_1 / 2`` and a certified error.

    The quantiles q of the classes at level t minimise ``E |p - q|_1 / 2 - (t - 1/2) sum q``; where
    they sum to 1, they are optimal. Any t gives a lower bound, and q divided by its sum an upper
    bound.
    """
    from scipy.special import betainc, betaincinv

    mean, sums = _mean(alpha)
    others = sums - alpha
    low, high = np.zeros((len(alpha), 1)), np.ones((len(alpha), 1))
    best, bound = np.full(len(alpha), np.inf), np.full(len(alpha), -np.inf)

    def expected(q: Array) -> Array:
        below = q * betainc(alpha, others, q) - mean * betainc(alpha + 1, others, q)
        return np.asarray((below + (mean - q) / 2).sum(axis=-1))

    for _ in range(MEDIAN_STEPS):
        level = (low + high) / 2
        q = betaincinv(alpha, others, level)
        size = q.sum(axis=-1, keepdims=True)
        bound = np.maximum(bound, expected(q) + ((level - 0.5) * (1 - size))[:, 0])
        best = np.minimum(best, expected(q / np.maximum(size, np.finfo(float).tiny)))
        if (best - bound <= MEDIAN_GAP).all():
            break
        low, high = np.where(size < 1, level, low), np.where(size < 1, high, level)
    return best, np.maximum(best - bound, 0.0)


_MEASURES: dict[str, Callable[[Array, float, int, int], Parts]] = {
    "information": _information,
    "variance": _variance,
    "zero_one": _zero_one,
    "spherical": _spherical,
    "second_order_distance": _second_order_distance,
    "confidence": _confidence,
    "labelwise": _labelwise_entropy,
    "labelwise:entropy": _labelwise_entropy,
    "labelwise:variance": _labelwise_variance,
}
