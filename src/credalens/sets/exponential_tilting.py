"""Members of a Kullback-Leibler ball that maximise an expectation, by exponential tilting.

The largest expectation of f over ``KL(p || c) <= r`` is attained at ``p`` proportional to
``c exp(theta f)``. ``KL(p || c)`` increases with theta from 0 to ``-ln c(M)``, where M are the
classes with the largest f. Weak duality certifies the result: no member has an expectation above
``(ln sum c exp(theta f) + r) / theta``, for any theta > 0.
"""

from __future__ import annotations

import math

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array

#: Iterations of the safeguarded Newton method; 5 to 8 are usual, bisection alone takes 60.
MAX_STEPS = 100
#: Below this radius in nats the rounding of the divergence exceeds the error of its quadratic
#: approximation at small theta, which gives theta directly.
QUADRATIC = 1e-11
#: Largest number of classes whose supports are enumerated.
MAX_SUPPORTS = 12
#: Relative and absolute errors of the divergence, those of rounding, at which it is solved.
RELATIVE, ABSOLUTE = 4e-15, 4e-16
#: Logarithms of probabilities that differ at all differ enough for this theta.
MAX_THETA = 1e21
#: The smallest probability in a logarithm.
TINY = 1e-300


def tilted(center: Array, f: Array, radius: Array) -> tuple[Array, Array]:
    """Return the members ``(n, K)`` with the largest expectation of f, and certified gaps.

    Parameters
    ----------
    center : array of shape (n, K)
        Rows that sum to 1.
    f : array of shape (K,) or (n, K)
        Test functions, finite where the center is positive.
    radius : array of shape (n,)
        In nats; infinite for all distributions.

    Returns
    -------
    p : array of shape (n, K)
        If several distributions are best, the one nearest to the center.
    gap : array of shape (n,)
        No member has an expectation above ``E_p[f] + gap``.
    """
    n = len(center)
    f = np.broadcast_to(f, center.shape)
    positive = center > 0
    least = np.where(positive, f, np.inf).min(axis=1, keepdims=True)
    most = np.where(positive, f, -np.inf).max(axis=1, keepdims=True)
    span = most - least
    # Scaled to [-1, 0]; classes outside of the support are not chosen.
    scaled = np.where(positive, f - most, 0.0) / np.where(span > 0, span, 1.0)
    is_top = positive & (scaled == 0.0)
    top = np.where(is_top, center, 0.0)
    share = top.sum(axis=1)
    p = np.where(positive, top, 0.0) / share[:, None]
    gap = np.zeros(n)
    inside = np.flatnonzero((radius < -np.log(share)) & (radius > 0))
    if len(inside):
        p[inside], gap[inside] = _root(
            center[inside], scaled[inside], radius[inside], share[inside]
        )
    gap *= span[:, 0]
    precise = radius <= 0
    p[precise] = center[precise]
    free = np.isinf(radius)
    if free.any():
        p[free] = np.eye(center.shape[1])[f[free].argmax(axis=1)]
    return p, gap


def _root(center: Array, f: Array, radius: Array, top: Array) -> tuple[Array, Array]:
    """Return the tilted distributions with ``KL = radius``, for f in [-1, 0], and their gaps.

    The Newton method for ``sqrt(KL)``, which is almost linear in theta for small radii, with
    bisection of the logarithm of theta as a safeguard.
    """
    p, gap = np.empty_like(center), np.zeros(len(center))
    mean = (center * f).sum(axis=1)
    variance = (center * (f - mean[:, None]) ** 2).sum(axis=1)
    # The variance is at most 1/4 under every tilted distribution.
    low, high = np.sqrt(8 * radius), np.full(len(center), np.inf)
    theta = np.sqrt(2 * radius / np.maximum(variance, TINY))
    quadratic = (radius < QUADRATIC) & (theta < 0.01)
    theta = np.where(quadratic, theta, np.minimum(theta, 2 - np.log(top)))
    theta = np.maximum(theta, low)
    active = np.arange(len(center))
    for _ in range(MAX_STEPS):
        tilt = center * np.exp(theta[:, None] * f)
        total = tilt.sum(axis=1)
        tilt /= total[:, None]
        mean = (tilt * f).sum(axis=1)
        divergence = theta * mean - np.log(total)
        excess = divergence - radius
        solved = (np.abs(excess) <= RELATIVE * radius + ABSOLUTE) | quadratic[active]
        solved |= ((1 - 1e-15) * high <= low) | (theta >= MAX_THETA)
        # With |f| <= 1, the quadratic approximation is off by less than twice the radius.
        left = np.where(quadratic[active], 2 * radius, np.maximum(-excess, 0.0) / theta)
        p[active], gap[active] = tilt, left
        if solved.all():
            break
        above = excess > 0
        high, low = np.where(above, theta, high), np.where(above, low, theta)
        variance = (tilt * (f - mean[:, None]) ** 2).sum(axis=1)
        root = np.sqrt(np.maximum(divergence, 0.0))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            step = theta + (np.sqrt(radius) - root) * 2 * root / (theta * variance)
        middle = np.where(np.isinf(high), 4 * theta, np.sqrt(low * high))
        step = np.where((step > low) & (step < high) & (step <= 8 * theta), step, middle)
        keep = ~solved
        if keep.all():
            theta = step
            continue
        active, theta, low, high = active[keep], step[keep], low[keep], high[keep]
        center, f, radius = center[keep], f[keep], radius[keep]
    return p, gap


def event_bound(mass: Array, rest: Array, radius: Array, *, upper: bool) -> Array:
    """Return the smallest or largest probability of events over the ball.

    Parameters
    ----------
    mass, rest : arrays of the same shape
        The probabilities of an event and of its complement under the center. They are two
        arguments because the bound depends on the logarithms of both.
    radius : array
        In nats, broadcast against `mass`.
    upper : bool
        Whether to return the largest probability.
    """
    events, others, limits = (
        np.ascontiguousarray(np.broadcast_to(x, mass.shape), np.float64).reshape(-1)
        for x in (mass, rest, radius)
    )
    bound = np.empty(mass.size)
    _kernels.event_bounds(events, others, limits, upper, bound, DEFAULT_THREADS)
    return bound.reshape(mass.shape)


def smallest_maximum(center: Array, radius: Array) -> tuple[Array, Array]:
    """Return ``min over p of max over y of p_y`` over the ball, and its duality gap.

    The solution is ``min(t, s c)``: the j largest classes are at t, the others in proportion to the
    center. Over one j the divergence is convex and decreasing in t, with derivative ``-1 / tau``,
    and the dual value is ``tau (ln s - r)``.
    """
    n, K = center.shape
    falling = -np.sort(-center, axis=1)
    size = (falling > 0).sum(axis=1)
    logs = _logarithms(falling)
    sums = np.cumsum(logs, axis=1)
    tails = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]
    # With j classes at t, the next one reaches t at t = c_(j+1) / (tail_j + j c_(j+1)).
    count = np.arange(K)
    cap = falling / np.maximum(tails + count * falling, TINY)
    log_s = np.log(np.maximum(cap, TINY)) - logs
    before = sums - logs
    at_cap = count * cap * np.log(np.maximum(cap, TINY)) - cap * before + (1 - count * cap) * log_s
    at_cap = np.where(count < size[:, None], at_cap, np.inf)
    j = (at_cap <= radius[:, None]).sum(axis=1)
    value, gap = 1.0 / size, np.zeros(n)
    value[np.isinf(radius)] = 1 / K
    precise = radius <= 0
    value[precise] = falling[precise, 0]
    rows = np.flatnonzero((j < size) & (j > 0) & ~precise)
    if len(rows):
        j = j[rows]
        value[rows], gap[rows] = _cap(
            j, before[rows, j], tails[rows, j], cap[rows, j], cap[rows, j - 1], radius[rows]
        )
        # Pinsker's inequality is the better certificate of the smallest radii.
        pinsker = np.maximum(value[rows] - falling[rows, 0] + np.sqrt(radius[rows]), 0.0)
        gap[rows] = np.minimum(gap[rows], pinsker)
    return value, gap


def _cap(
    j: Array, logs: Array, tail: Array, low: Array, high: Array, radius: Array
) -> tuple[Array, Array]:
    """Return t between `low` and `high` with ``KL(min(t, s c) || c) = radius``, and the gap.

    `logs` is the sum of the logarithms of the j largest classes, `tail` the sum of the others.
    """
    value, gap = np.empty((2, len(j)))
    active, t = np.arange(len(j)), low
    for _ in range(MAX_STEPS):
        log_t, log_s = np.log(t), np.log1p(-j * t) - np.log(tail)
        divergence = j * t * log_t - t * logs + (1 - j * t) * log_s
        inverse = j * (log_s - log_t) + logs  # 1 / tau
        excess = divergence - radius
        high, low = np.where(excess < 0, t, high), np.where(excess >= 0, t, low)
        keep = np.abs(excess) > RELATIVE * radius + ABSOLUTE
        keep &= low < (1 - 2e-16) * high
        root = np.sqrt(np.maximum(divergence, 0.0))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            dual = (log_s - radius) / inverse
            step = t + (root - np.sqrt(radius)) * 2 * root / inverse
        value[active] = t
        gap[active] = np.where(inverse > 0, np.maximum(t - dual, 0.0), high - low)
        t = np.where((step > low) & (step < high), step, (low + high) / 2)[keep]
        if not len(t):
            break
        active, j, logs, tail = active[keep], j[keep], logs[keep], tail[keep]
        low, high, radius = low[keep], high[keep], radius[keep]
    return value, gap


def largest_entropy(center: Array, radius: Array) -> tuple[Array, Array, Array]:
    """Return the largest entropy over the ball in nats, its gap, and the maximiser.

    ``H(p) = E_p[-ln c] - KL(p || c)``: a power of the center between 0 and 1 is best, which is the
    uniform distribution of the support if that is in the ball.
    """
    logs = _logarithms(center)
    positive = center > 0
    size = positive.sum(axis=1)
    p, gap = tilted(center, -logs, radius)
    flat = positive / size[:, None]
    divergence = -np.log(size) - (flat * logs).sum(axis=1)
    uniform = radius >= divergence
    p[uniform], gap[uniform] = flat[uniform], 0.0
    p[np.isinf(radius)] = 1 / center.shape[1]
    return entropies(p), gap, p


def smallest_entropy(center: Array, radius: Array) -> tuple[Array, Array, Array]:
    """Return the smallest entropy over the ball in nats, its error, and the minimiser.

    ``KL(p || c) = -H(p) - E_p[ln c] <= r`` is ``H(p) >= E_p[-ln c] - r``, with equality on the
    boundary of the ball. The smallest entropy is therefore ``max(0, min_p E_p[-ln c] - r)``:
    attained at a power of the center above 1, or if the most probable classes alone are in the
    ball, at a distribution of these.
    """
    logs = _logarithms(center)
    p, gap = tilted(center, logs, radius)
    top = center.max(axis=1)
    bound = -(p * logs).sum(axis=1) - gap - radius
    inner = radius < -np.log(top)
    tied = (logs == np.log(top)[:, None]) & (center > 0)
    within = inner & (radius > 0) & (radius >= -np.log(np.where(tied, center, 0.0).sum(axis=1)))
    for i in np.flatnonzero(within):
        p[i] = _tied(tied[i], -math.log(top[i]) - radius[i])
    sure = ~inner
    p[sure] = np.eye(center.shape[1])[center[sure].argmax(axis=1)]
    value = entropies(p)
    error = np.maximum(value - np.maximum(bound, 0.0), 0.0)
    error[sure | (radius <= 0)] = 0.0
    return value, error, p


def _tied(chosen: Array, entropy: float) -> Array:
    """Return a distribution of the m chosen classes with an entropy between 0 and ln m."""
    m = int(chosen.sum())
    low, high = 0.0, (m - 1) / m
    for _ in range(60):
        x = (low + high) / 2
        own = -(1 - x) * math.log1p(-x) - x * math.log(x / (m - 1))
        low, high = (x, high) if own < entropy else (low, x)
    p = np.where(chosen, high / (m - 1), 0.0)
    p[chosen.argmax()] = 1 - high
    return p


def entropies(p: Array) -> Array:
    """Return the entropy of each row in nats; ``0 log 0 = 0``."""
    return np.asarray(-(p * _logarithms(p)).sum(axis=1)) + 0.0


def _logarithms(p: Array) -> Array:
    """Return the logarithms of positive entries, 0 for others."""
    return np.log(np.where(p > 0, p, 1.0))


def divergence(p: Array, center: Array) -> Array:
    """Return ``KL(p || center)`` of ``(..., K)`` in nats, 0 for equal rows."""
    positive = p > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(np.where(positive, p, 1.0)) - np.log(np.where(positive, center, 1.0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(positive, p * ratio - p + center, center).sum(axis=-1))


def largest_divergence(center: Array, radius: float, other: Array) -> float:
    """Return the largest ``KL(p || other)`` over one ball ``(K,)``.

    It is ``KL(p || center) + E_p[f]`` with ``f = ln(center / other)``, at most ``radius`` plus the
    largest expectation of f. Both are attained unless the classes of the largest f alone are in
    the ball. Then the convex function is largest at a member that has the largest or the smallest
    expectation of f among those of some support; for more than 12 classes, the upper bound is
    returned.
    """
    K = len(center)
    if math.isinf(radius):
        return float(-np.log(np.maximum(other.min(), 0.0))) if other.min() > 0 else math.inf
    if np.any((center > 0) & (other == 0)):
        return math.inf
    f = _logarithms(center) - _logarithms(other)
    limit = np.array([radius])
    best = float(divergence(tilted(center[None], f, limit)[0], other)[0])
    bound = radius + float((tilted(center[None], f, limit)[0] * f).sum())
    if bound <= best + 1e-12:
        return best
    if K > MAX_SUPPORTS:
        return bound
    masks = (np.arange(1, 1 << K)[:, None] >> np.arange(K) & 1) * center
    share = masks.sum(axis=1)
    masks, share = masks[share > 0], share[share > 0]
    left = radius + np.log(share)  # KL(p || center) = KL(p || part) - ln share
    parts, left = (masks / share[:, None])[left >= 0], left[left >= 0]
    for sign in (1.0, -1.0):
        best = max(best, float(divergence(tilted(parts, sign * f, left)[0], other).max()))
    return best


def nearest_distance(target: Array, center: Array, radius: Array) -> tuple[Array, Array]:
    """Return the total variation distance of `target` to the ball, and its error.

    Of all q with ``TV(q, p) <= t``, the divergence from the center c is smallest where the ratio
    q / c is p / c clipped to an interval [A, B], such that the mass t is moved from the classes
    above it to those below. With classes in the order of p / c, A and B are extremes over prefixes
    and suffixes. The smallest t with a divergence of at most the radius is found by bisection; the
    error is the length of its last interval.

    Parameters
    ----------
    target, center : arrays of shape (n, K)
    radius : array of shape (n,)
        In nats.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(center > 0, target / center, np.inf)
        order = np.argsort(ratio, axis=1, kind="stable")
        p, c = (np.take_along_axis(x, order, axis=1) for x in (target, center))
        below = p.cumsum(axis=1), c.cumsum(axis=1)
        above = tuple(x[:, ::-1].cumsum(axis=1)[:, ::-1] for x in (p, c))

        def is_inside(t: Array) -> Array:
            mass = t[:, None]
            least = np.where(below[1] > 0, (mass + below[0]) / below[1], np.inf).min(axis=1)
            most = np.where(above[1] > 0, (above[0] - mass) / above[1], 0.0).max(axis=1)
            q = np.clip(p, least[:, None] * c, np.maximum(most, least)[:, None] * c)
            # Mass on classes that the center excludes has to be moved.
            enough = np.where(c > 0, 0.0, p).sum(axis=1) <= t
            return np.asarray(enough & (divergence(q, c) <= radius))

        low = np.zeros(len(p))
        high = np.abs(p - c).sum(axis=1) / 2
        start = is_inside(low)
        for _ in range(54):
            middle = (low + high) / 2
            inside = is_inside(middle)
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(start, 0.0, high), np.where(start, 0.0, high - low)
