"""The generalized Hartley measure: how many classes remain possible."""

from __future__ import annotations

import functools
import math
import sys
import time
import warnings
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import Array, native
from credalens.measures.entropy import log_base
from credalens.sets import CredalSet
from credalens.sets.anywhere import anywhere

#: Most classes for the sum over all events unless the caller insists, and then.
EXACT_CLASSES, MOST_EXACT_CLASSES = 26, 30
#: Most pairs of permutations that an adaptive estimate draws.
MOST_PAIRS = 1 << 14
#: An estimate whose standard error is below this many bits is as good as exact.
NEGLIGIBLE_BITS = 1e-12
#: Pairs that an adaptive estimate is taken to draw when "auto" weighs it against the exact sum.
TYPICAL_PAIRS = 1000


@functools.cache
def weights(n_classes: int) -> tuple[Array, Array]:
    """Return the weights of events by size, and the logarithms of the sampler's, ``(K + 1,)``."""
    w, log_v = np.zeros((2, n_classes + 1))
    if n_classes > 1:
        _kernels.hartley_weights(n_classes, w, log_v)
    w.flags.writeable = log_v.flags.writeable = False
    return w, log_v


@anywhere
def generalized_hartley(
    Q: Any,
    base: Any = 2,
    method: str = "auto",
    n_samples: int | None = None,
    random_state: Any = None,
    *,
    rtol: float = 0.01,
    return_error: bool = False,
) -> Any:
    """Return the generalized Hartley measure, ``sum over A of m(A) log |A|``.

    Here m is the Moebius inverse of the lower probability of the set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    base : number > 1, "e" or "classes", default=2
        Unit of the result; ``"classes"`` divides by log K, for values in [0, 1].
    method : {"auto", "exact", "sample"}, default="auto"
        The sum over all events, in O(M 2^K), or an unbiased estimate for any K. ``"auto"`` takes
        the exact one where it is cheaper, i.e. up to about 20 classes. ``"exact"`` is refused
        beyond 30 classes; beyond 26 it first says on stderr how long it will take.
    n_samples : int, optional
        Number of random permutations for the estimate, at least 2. By default as many as `rtol`
        asks, at most 16384.
    random_state : int, RandomState, Generator or None
        Seeds the permutations. All instances share them, so that an estimate does not depend on
        the batch.
    rtol : float, default=0.01
        Relative standard error to reach when `n_samples` is not given.
    return_error : bool, default=False
        Also return the standard error, ``(...)``: 0 for the exact sum.

    Returns
    -------
    array of shape (...), or (array, array)

    Warns
    -----
    RuntimeWarning
        If 16384 permutations did not reach `rtol` for some instances.

    Notes
    -----
    ``GH = log2 K - sum_{0 < |B| < K} w_K(|B|) lower(B)`` with positive weights w, so that no
    Moebius transform is needed. A random permutation gives a chain of events, one of each size, and
    with it an unbiased term; the mean of the members serves as control variate, the reversed
    permutation as antithetic partner.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.generalized_hartley([[1.0, 0.0], [0.0, 1.0]])), 6)
    1.0
    """
    unit = log_base(base, Q.n_classes) / math.log(2)
    value, error = hartley_bits(Q.plain(), method, n_samples, random_state, rtol)
    return (
        (Q.answer(value / unit), Q.answer(error / unit)) if return_error else Q.answer(value / unit)
    )


def is_sampled(n_classes: int, n_samples: int = 0) -> bool:
    """Tell whether ``method="auto"`` estimates, as the sum over all events would take longer."""
    # An event costs about a thirtieth of a class in a permutation (see benchmarks).
    cheap = 30 * n_classes * (n_samples or TYPICAL_PAIRS) >= 2 ** (n_classes - 1)
    return n_classes > EXACT_CLASSES or not cheap


def hartley_bits(
    Q: CredalSet,
    method: str = "auto",
    n_samples: int | None = None,
    random_state: Any = None,
    rtol: float = 0.01,
) -> tuple[Array, Array]:
    """Return the measure and its standard error, in bits."""
    K = Q.n_classes
    _validation.one_of(method, "method", ("auto", "exact", "sample"))
    pairs = 0 if n_samples is None else _validation.whole_number(n_samples, "n_samples", least=2)
    rtol = _validation.positive(rtol, "rtol")
    if method == "auto":
        method = "sample" if is_sampled(K, pairs) else "exact"
    if method == "exact":
        value = _exact(Q)
        return value, native.no_error(value)
    seed = _validation.seed(random_state)
    value, error = Q.hartley_sample(weights(K)[1], seed, pairs, rtol, NEGLIGIBLE_BITS, MOST_PAIRS)
    if not pairs:
        _warn_of_cap(value, error, rtol)
    return value, error


def _exact(Q: CredalSet) -> Array:
    K = Q.n_classes
    if K > MOST_EXACT_CLASSES:
        _validation.refuse(
            "method",
            f"is 'exact' for {K} classes, i.e. a sum over 2**{K} events",
            f"pass method='sample', or at most {MOST_EXACT_CLASSES} classes",
        )
    if K > EXACT_CLASSES and sys.stderr is not None:
        _say_how_long(Q)
    return Q.hartley_exact(weights(K)[0])


def _say_how_long(Q: CredalSet) -> None:
    """Time one small set and scale it up: the cost doubles with each class."""
    trial = 18
    members = np.full((4, getattr(Q, "n_members", 1), trial), 1.0 / trial)
    out = np.empty(4)
    start = time.perf_counter()
    _kernels.hartley_exact(members, weights(trial)[0], out, 1)
    one = (time.perf_counter() - start) / 4
    seconds = one * 2.0 ** (Q.n_classes - trial) * math.prod(Q.batch_shape)
    print(
        f"credalens: exact generalized Hartley for {Q.n_classes} classes, about {seconds:.1f} s "
        "on one core",
        file=sys.stderr,
    )


def _warn_of_cap(value: Array, error: Array, rtol: float) -> None:
    short = error > np.maximum(1.000001 * rtol * value, NEGLIGIBLE_BITS)
    if short.any():
        worst = float((error[short] / value[short]).max())
        warnings.warn(
            f"generalized_hartley: {int(short.sum())} of {short.size} instances did not reach a "
            f"relative standard error of {rtol:g} with {MOST_PAIRS} permutations; the worst is "
            f"{worst:.3g}; pass n_samples for more",
            RuntimeWarning,
            stacklevel=5,
        )
