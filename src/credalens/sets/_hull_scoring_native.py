"""Second-order measures and scoring rules of a hull in the array API, for tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from credalens._backend import namespace, native, stop_gradient
from credalens.sets.member_weights import member_weights, shares


def second_order(Q: Any, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
    """See `ScoringQueries.second_order`."""

    def both(p: Any, share: Any) -> tuple[Any, Any]:
        xp = namespace(p)
        p = p / xp.sum(p, axis=-1, keepdims=True) if loss == "log" else p
        expected = xp.sum(_entropy(p, loss) * share[..., 0], axis=1)
        return _entropy(xp.sum(p * share, axis=1), loss), expected

    total, aleatoric = _of_sample(Q, weights, both)
    return total, aleatoric, _difference(total, aleatoric)


def second_order_by_class(Q: Any, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
    """See `ScoringQueries.second_order_by_class`."""

    def both(p: Any, share: Any) -> tuple[Any, Any]:
        xp = namespace(p)
        expected = xp.sum(_binary_entropy(p, loss) * share, axis=1)
        return _binary_entropy(xp.sum(p * share, axis=1), loss), expected

    total, aleatoric = _of_sample(Q, weights, both)
    return total, aleatoric, _difference(total, aleatoric)


def median_distance(Q: Any, weights: Any = None) -> Any:
    """See `ScoringQueries.median_distance`.

    Mass is moved from the smallest values upwards, in the order of the slopes: see
    kernels/second_order/second_order.hpp.
    """

    def value(p: Any, share: Any) -> tuple[Any]:
        xp = namespace(p)
        order = xp.argsort(p, axis=1)
        rising = xp.take_along_axis(p, order, axis=1)
        share = xp.broadcast_to(share, p.shape)
        below = xp.cumulative_sum(xp.take_along_axis(share, order, axis=1), axis=1)
        start = xp.sum(rising[:, 0, :], axis=-1)
        mass = xp.sum(p * share, axis=(1, 2))
        slopes = xp.reshape(below[:, :-1, :] - 0.5, (p.shape[0], -1))
        lengths = xp.reshape(rising[:, 1:, :] - rising[:, :-1, :], slopes.shape)
        order = xp.argsort(slopes, axis=1)
        lengths = xp.take_along_axis(lengths, order, axis=1)
        slopes = xp.take_along_axis(slopes, order, axis=1)
        left = (mass - start)[:, None] - (xp.cumulative_sum(lengths, axis=1) - lengths)
        steps = xp.minimum(lengths, xp.clip(left, 0.0, None))
        return ((mass - start) / 2 + xp.sum(slopes * steps, axis=1),)

    (result,) = _of_sample(Q, weights, value)
    return native.clip_values(result, 0.0, None)


def max_square_norm(Q: Any) -> Any:
    """See `ScoringQueries.max_square_norm`."""
    members = Q._arrays[0]
    xp = namespace(members)

    def of_block(block: Any) -> Any:
        p = native.widen(block)
        return xp.max(xp.sum(p * p, axis=-1), axis=-1)

    return native.map_blocks(of_block, members, 3 * members.shape[-2] * members.shape[-1])


def max_divergence(Q: Any, loss: str) -> Any:
    """See `ScoringQueries.max_divergence`."""
    members = Q._arrays[0]
    M, K = members.shape[-2:]
    if loss == "brier":
        return native.diameter(members, 2) ** 2
    xp = namespace(members)

    def of_block(block: Any) -> Any:
        pairs = _divergences(native.widen(stop_gradient(block)), loss)
        place = xp.argmax(xp.reshape(pairs, (block.shape[0], M * M)), axis=1)
        p = native.widen(native.take_rows(block, place // M))
        q = native.widen(native.take_rows(block, place % M))
        return _divergence(p, q, loss)

    return native.map_blocks(of_block, members, 3 * M * K + 2 * M * M)


def _of_sample(
    Q: Any, weights: Any, function: Callable[[Any, Any], tuple[Any, ...]]
) -> tuple[Any, ...]:
    """Run ``function(members (b, M, K), weights (b, M, 1))`` over blocks; stack its results."""
    members = Q._arrays[0]
    xp, (M, K) = namespace(members), members.shape[-2:]
    weights = Q._weights if weights is None else member_weights(weights, Q.batch_shape, M)
    if weights is not None:
        share = native.asarray_like(shares(weights), members)
        members = xp.concat([native.widen(members), share[..., None]], axis=-1)

    def of_block(block: Any) -> Any:
        p = native.widen(block[..., :K])
        share = xp.full_like(p[..., :1], 1 / M) if weights is None else block[..., K:]
        return xp.stack(function(p, share), axis=1)

    stacked = native.map_blocks(of_block, members, 6 * M * K)
    lead = (slice(None),) * len(Q.batch_shape)
    return tuple(stacked[(*lead, i)] for i in range(stacked.shape[len(lead)]))


def _difference(total: Any, aleatoric: Any) -> Any:
    return native.clip_values(total - aleatoric, 0.0, None)


def _entropy(p: Any, loss: str) -> Any:
    """Return G of ``(..., K)``, not negative; see `ScoringQueries`."""
    xp = namespace(p)
    if loss == "log":
        value = native.entropy(p)
    elif loss == "brier":
        value = 1.0 - xp.sum(p * p, axis=-1)
    else:
        value = 1.0 - (native.norm(p, 2) if loss == "spherical" else xp.max(p, axis=-1))
    return native.clip_values(value, 0.0, None)


def _binary_entropy(p: Any, loss: str) -> Any:
    """Return G of ``(p, 1 - p)``, elementwise."""
    xp = namespace(p)
    p = xp.clip(p, 0.0, 1.0)
    if loss == "brier":
        return p * (1.0 - p)
    return -_times_log(p, p) - _times_log(1.0 - p, 1.0 - p)


def _times_log(p: Any, q: Any) -> Any:
    """Return ``p ln q``, 0 where q is 0."""
    xp = namespace(q)
    return p * xp.log(xp.where(q > 0, q, xp.ones_like(q)))


def _divergences(p: Any, loss: str) -> Any:
    """Return the divergences of all pairs of rows of ``(b, M, K)``, ``(b, M, M)``."""
    xp = namespace(p)
    if loss == "spherical":
        size = native.norm(p, 2)
        return size[:, :, None] - xp.matmul(p, xp.matrix_transpose(p)) / size[:, None, :]
    p = p / xp.sum(p, axis=-1, keepdims=True)
    logs = xp.log(xp.where(p > 0, p, xp.ones_like(p)))
    own = xp.sum(p * logs, axis=-1)
    zero = xp.astype(p == 0, p.dtype)
    lost = xp.matmul(xp.astype(p > 0, p.dtype), xp.matrix_transpose(zero)) > 0
    finite = own[:, :, None] - xp.matmul(p, xp.matrix_transpose(logs))
    return xp.where(lost, xp.full_like(finite, float("inf")), finite)


def _divergence(p: Any, q: Any, loss: str) -> Any:
    """Return D(p, q) of rows ``(b, K)``, not negative."""
    xp = namespace(p)
    if loss == "spherical":
        cosine = xp.sum(p * q, axis=-1) / native.norm(q, 2)
        return native.clip_values(native.norm(p, 2) - cosine, 0.0, None)
    p, q = (x / xp.sum(x, axis=-1, keepdims=True) for x in (p, q))
    finite = xp.sum(_times_log(p, p) - _times_log(p, q), axis=-1)
    finite = native.clip_values(finite, 0.0, None)
    lost = xp.any((p > 0) & (q == 0), axis=-1)
    return xp.where(lost, xp.full_like(finite, float("inf")), finite)
