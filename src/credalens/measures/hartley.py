"""The generalized Hartley measure, a measure of non-specificity."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Iterable
from typing import Any, Literal, overload

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import Array, TensorT, concrete_values, native
from credalens._warnings import warn_caller
from credalens.measures.distance import warn_of_error
from credalens.measures.entropy import Base, log_base
from credalens.measures.rounding import cover_rounding
from credalens.sets import CredalSet, SetLike, set_function

#: Largest number of classes for the sum over all events with "auto", and with "exact".
EXACT_CLASSES, MAX_EXACT_CLASSES = 26, 30
#: Smallest number of pairs of permutations: with fewer, the standard error has too few degrees of
#: freedom (two pairs have one) to say anything about the error.
MIN_PAIRS = 8
#: Largest number of pairs of permutations of an adaptive estimate.
MAX_PAIRS = 1 << 14
#: Standard error, in bits, at which an adaptive estimate stops in any case.
NEGLIGIBLE_BITS = 1e-12
#: Assumed number of pairs of an adaptive estimate when "auto" compares it with the exact sum.
TYPICAL_PAIRS = 1000


@functools.cache
def weights(n_classes: int) -> tuple[Array, Array]:
    """Return the weights of events by size, and the logarithms of the sampler's, ``(K + 1,)``."""
    w, log_v = np.zeros((2, n_classes + 1))
    if n_classes > 1:
        _kernels.hartley_weights(n_classes, w, log_v)
    w.flags.writeable = log_v.flags.writeable = False
    return w, log_v


@overload
def generalized_hartley(
    Q: TensorT,
    base: Base = ...,
    method: str = ...,
    n_samples: int | None = ...,
    random_state: Any = ...,
    *,
    rtol: float = ...,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def generalized_hartley(
    Q: SetLike,
    base: Base = ...,
    method: str = ...,
    n_samples: int | None = ...,
    random_state: Any = ...,
    *,
    rtol: float = ...,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def generalized_hartley(
    Q: SetLike | TensorT,
    base: Base = ...,
    method: str = ...,
    n_samples: int | None = ...,
    random_state: Any = ...,
    *,
    rtol: float = ...,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@set_function()
def generalized_hartley(
    Q: Any,
    base: Base = 2,
    method: str = "auto",
    n_samples: int | None = None,
    random_state: Any = None,
    *,
    rtol: float = 0.01,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
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
        The sum over all events, in O(M 2^K), or an unbiased estimate for any K. ``"auto"`` uses
        the exact sum where it is cheaper, i.e. up to about 20 classes. ``"exact"`` raises
        ValueError beyond 30 classes; beyond 26 it prints an estimate of the run time to stderr.
    n_samples : int, optional
        Number of pairs of random permutations for the estimate, at least 8: the standard error of
        fewer is not reliable. By default as many as `rtol` requires, from 32 to 16384.
    random_state : int, RandomState, Generator or None
        Seed of the permutations. All instances share them, so that an estimate does not depend on
        the batch.
    rtol : float, default=0.01
        Target of the relative standard error if `n_samples` is not given.
    return_error : bool, default=False
        Also return the standard error, ``(...)``: 0 for the exact sum. For truncated predictions
        (`ConvexHull.from_topk`), plus a bound of what the unlisted classes change.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

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
    an unbiased estimate; the mean of the members is a control variate, the reversed permutation an
    antithetic one. An interval of `value` plus or minus t times the standard error needs the
    quantile t of Student's distribution with ``n_samples - 1`` degrees of freedom: 2.36 for 95 %
    and 8 pairs, 2.04 for 32.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.generalized_hartley([[1.0, 0.0], [0.0, 1.0]])), 6)
    1.0
    """
    unit = log_base(base, Q.n_classes) / math.log(2)
    value, error = hartley_bits(Q, method, n_samples, random_state, rtol)
    if return_error:
        return value / unit, cover_rounding(Q, error / unit, value / unit)
    if Q.truncated:
        warn_of_error(error / unit, "generalized_hartley")
    return value / unit


def is_sampled(n_classes: int, n_samples: int = 0) -> bool:
    """Return whether ``method="auto"`` samples, as the sum over all events takes longer."""
    # An event costs about a thirtieth of a class in a permutation (see benchmarks).
    cheap = 30 * n_classes * (n_samples or TYPICAL_PAIRS) >= 2 ** (n_classes - 1)
    return n_classes > EXACT_CLASSES or not cheap


def hartley_bits(
    Q: CredalSet,
    method: str = "auto",
    n_samples: int | None = None,
    random_state: Any = None,
    rtol: float = 0.01,
) -> tuple[Any, Any]:
    """Return the measure and its standard error, in bits."""
    parts = Q.hartley_parts()
    if parts is not None:
        options = (method, n_samples, _validation.seed(random_state), rtol)
        return _of_parts(Q.batch_shape, parts, options)
    K = Q.n_classes
    _validation.one_of(method, "method", ("auto", "exact", "sample"))
    pairs = 0
    if n_samples is not None:
        pairs = _validation.whole_number(n_samples, "n_samples", least=MIN_PAIRS)
    rtol = _validation.positive(rtol, "rtol")
    if method == "auto":
        method = "sample" if is_sampled(K, pairs) else "exact"
    if method == "exact":
        value = _exact(Q)
        return value, native.zeros_like(value)
    seed = _validation.seed(random_state)
    value, error = Q.hartley_sample(weights(K)[1], seed, pairs, rtol, NEGLIGIBLE_BITS, MAX_PAIRS)
    if not pairs:
        _warn_of_cap(value, error, rtol)
    return value, error


def _of_parts(
    shape: tuple[int, ...],
    parts: Iterable[tuple[Array, CredalSet, Array]],
    options: tuple[Any, ...],
) -> tuple[Array, Array]:
    """Return the measures of sets that replace others, and their errors, in bits."""
    value, error = np.empty((2, math.prod(shape)))
    for rows, hull, difference in parts:
        value[rows], own = hartley_bits(hull, *options)
        error[rows] = own + difference
    return value.reshape(shape), error.reshape(shape)


def _exact(Q: CredalSet) -> Any:
    K = Q.n_classes
    if K > MAX_EXACT_CLASSES:
        _validation.raise_invalid(
            "method",
            f"is 'exact' for {K} classes, i.e. a sum over 2**{K} events",
            f"pass method='sample', or at most {MAX_EXACT_CLASSES} classes",
        )
    if K > EXACT_CLASSES and sys.stderr is not None:
        _print_run_time(Q)
    return Q.hartley_exact(weights(K)[0])


def _print_run_time(Q: CredalSet) -> None:
    """Time one small set and extrapolate: the cost doubles with each class."""
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


def _warn_of_cap(value: Any, error: Any, rtol: float) -> None:
    value, error = concrete_values(value), concrete_values(error)
    short = error > np.maximum(1.000001 * rtol * value, NEGLIGIBLE_BITS)
    if short.any():
        worst = float((error[short] / value[short]).max())
        warn_caller(
            f"generalized_hartley: {int(short.sum())} of {short.size} instances did not reach a "
            f"relative standard error of {rtol:g} with {MAX_PAIRS} permutations; the worst is "
            f"{worst:.3g}; pass n_samples for more",
            RuntimeWarning,
        )
