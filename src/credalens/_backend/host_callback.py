"""NumPy functions inside differentiated and traced computations of PyTorch and JAX.

A solver is written once, for NumPy arrays, with a vector-Jacobian product (VJP) that follows from
its solution. Here it becomes a node of an autograd graph or of a JAX computation.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from credalens._backend.backend import Array, backend_of, to_numpy

#: From an array and the cotangents of the outputs to the cotangent of the array; None stands for
#: zero. The last of several outputs is an error bound and has no cotangent.
VJP = Callable[..., Array]


def host_callback(
    function: Callable[[Array], Any], vjp: VJP, n_outputs: int, x: Any, name: str
) -> Any:
    """Return the outputs ``(...)`` of `function` for a tensor ``(..., M, K)``, differentiable."""
    if n_outputs == 1:
        return host_callback(lambda array: (function(array), 0.0), vjp, 2, x, name)[0]
    if backend_of(x).library == "jax":
        return _jax_callback(function, vjp, n_outputs, x)
    if x.device.type == "meta":
        raise ValueError(
            f"{name}: the tensor is on meta, which has no data; this measure has no closed form "
            "and needs them"
        )
    return _torch_function().apply(x, function, vjp, name)


@functools.cache
def _torch_function() -> Any:
    torch = sys.modules["torch"]

    class HostCallback(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, function: Any, vjp: VJP, name: str) -> Any:
            ctx.save_for_backward(x)
            ctx.vjp, ctx.name = vjp, name
            ctx.set_materialize_grads(False)
            results = tuple(_to_torch(y, x) for y in function(to_numpy(x.detach(), name)))
            ctx.mark_non_differentiable(results[-1])
            return results

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            (x,) = ctx.saved_tensors
            used = [None if g is None else to_numpy(g.detach(), "grad") for g in cotangents[:-1]]
            if all(g is None for g in used):
                return None, None, None, None
            gradient = _to_torch(ctx.vjp(to_numpy(x.detach(), ctx.name), *used), x)
            if torch.is_grad_enabled():  # create_graph=True
                gradient = NoSecondDerivative.apply(gradient, x, *cotangents)
            return gradient, None, None, None

    class NoSecondDerivative(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, gradient: Any, *_: Any) -> Any:
            return gradient.view_as(gradient)

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise RuntimeError(
                "credalens: solvers support first derivatives only; detach the gradient, or the "
                "measure, where second derivatives are taken"
            )

    return HostCallback


def _to_torch(array: Any, like: Any) -> Any:
    return sys.modules["torch"].from_numpy(np.asarray(array)).to(like.device, like.dtype)


def _jax_callback(function: Callable[[Array], Any], vjp: VJP, n_outputs: int, x: Any) -> Any:
    jax, dtype = sys.modules["jax"], x.dtype

    def on_host(y: Any) -> Array:
        array = np.asarray(y)
        return array if array.dtype.kind == "f" else array.astype(np.float32)  # bfloat16

    def run(y: Any) -> Any:
        return tuple(np.broadcast_to(v, y.shape[:-2]).astype(dtype) for v in function(on_host(y)))

    def pull(y: Any, *cotangents: Any) -> Array:
        whole = np.broadcast_to(on_host(y), (*np.shape(cotangents[0]), *y.shape[-2:]))
        return np.asarray(vjp(whole, *map(on_host, cotangents)), dtype)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def callback(y: Any) -> Any:
        result = jax.ShapeDtypeStruct(y.shape[:-2], dtype)
        return jax.pure_callback(run, (result,) * n_outputs, y, vmap_method="broadcast_all")

    def backward(y: Any, cotangents: Any) -> tuple[Any]:
        result = jax.ShapeDtypeStruct(y.shape, dtype)
        return (jax.pure_callback(pull, result, y, *cotangents[:-1], vmap_method="broadcast_all"),)

    callback.defvjp(lambda y: (callback(y), y), backward)
    return callback(x)
