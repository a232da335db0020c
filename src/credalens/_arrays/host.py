"""Functions that run on the host, with gradients, for tensors of PyTorch and JAX.

A solver is written in NumPy and C++ once, with the gradient that its solution gives; here it
becomes a step of the other library's differentiable computations.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._arrays import Array, is_native


@dataclass(frozen=True)
class HostFunction:
    """A function of members ``(..., M, K)`` with `n_outputs` results ``(...)``.

    The last result is an error or a gap and has no gradient. `pullback` is given the members and
    the derivatives of a loss by the other results, ``None`` for 0, and returns that by the members.
    """

    forward: Callable[[Array], tuple[Array, ...]]
    pullback: Callable[..., Array]
    n_outputs: int


def through_host(function: HostFunction, members: Any) -> tuple[Any, ...]:
    """Return the results for a tensor, as tensors of its library, dtype and device."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(members, torch.Tensor):
        if members.device.type == "meta":
            raise ValueError(
                "members: the tensor is on meta, where it has no data; this measure is not a "
                "closed form and must read them"
            )
        results: tuple[Any, ...] = _torch_step().apply(members, function)
        return results
    return _jax_step(function, members)


@functools.cache
def _torch_step() -> Any:
    torch = sys.modules["torch"]

    class ThroughHost(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, members: Any, function: HostFunction) -> Any:
            ctx.save_for_backward(members)
            ctx.function = function
            ctx.set_materialize_grads(False)
            results = tuple(_to_torch(x, members) for x in function.forward(_to_host(members)))
            ctx.mark_non_differentiable(results[-1])
            return results

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            (members,) = ctx.saved_tensors
            losses = [None if g is None else _to_host(g) for g in cotangents[:-1]]
            if all(g is None for g in losses):
                return None, None
            gradient = _to_torch(ctx.function.pullback(_to_host(members), *losses), members)
            if torch.is_grad_enabled():  # create_graph: somebody may differentiate it again
                gradient = Final.apply(gradient, members, *cotangents)
            return gradient, None

    class Final(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, gradient: Any, *_: Any) -> Any:
            return gradient.view_as(gradient)

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise RuntimeError(
                "credalens: the solution of a solver gives first derivatives only; "
                "detach the gradient, or the measure, where second ones are taken"
            )

    return ThroughHost


def _to_host(x: Any) -> Array:
    torch = sys.modules["torch"]
    x = x.detach()
    array: Array = (x.float() if x.dtype == torch.bfloat16 else x).cpu().resolve_neg().numpy()
    return array


def _to_torch(array: Array, like: Any) -> Any:
    return sys.modules["torch"].from_numpy(np.asarray(array)).to(like.device, like.dtype)


def _jax_step(function: HostFunction, members: Any) -> tuple[Any, ...]:
    jax = sys.modules["jax"]
    dtype = members.dtype

    def host(x: Any) -> Array:
        # Half precision of other makers is not a dtype of NumPy's.
        array = np.asarray(x)
        return array if array.dtype.kind == "f" else array.astype(np.float32)

    def forward(x: Any) -> tuple[Array, ...]:
        return tuple(np.asarray(value, dtype) for value in function.forward(host(x)))

    def backward(x: Any, *losses: Any) -> Array:
        lead = np.shape(losses[0])
        x = np.broadcast_to(host(x), (*lead, *x.shape[-2:]))
        return np.asarray(function.pullback(x, *map(host, losses)), dtype)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def step(x: Any) -> Any:
        result = jax.ShapeDtypeStruct(x.shape[:-2], dtype)
        return jax.pure_callback(
            forward, (result,) * function.n_outputs, x, vmap_method="broadcast_all"
        )

    def pull(x: Any, losses: Any) -> tuple[Any]:
        result = jax.ShapeDtypeStruct(x.shape, dtype)
        return (jax.pure_callback(backward, result, x, *losses[:-1], vmap_method="broadcast_all"),)

    step.defvjp(lambda x: (step(x), x), pull)
    results: tuple[Any, ...] = tuple(step(members))
    return results


def glimpse(x: Any) -> Array | None:
    """Return the values of an array for a look at them, or ``None`` if it has none."""
    if not is_native(x):
        return np.asarray(x)
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(x, torch.Tensor):
        return None if x.device.type == "meta" else _to_host(x)
    return None if jax is None or isinstance(x, jax.core.Tracer) else np.asarray(x)
