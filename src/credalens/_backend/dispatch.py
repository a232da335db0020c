"""Dispatch: the one place that decides which code computes a query, and on which device.

A *primitive* is an operation of a credal set: a NumPy implementation, usually a kernel, and
optionally one in the array API for tensors (``native``) and a vector-Jacobian product (``vjp``).

============================================  ====================================================
arrays of the set                             computed by
============================================  ====================================================
NumPy                                         the NumPy implementation
PyTorch and JAX in host memory, no gradient   the NumPy implementation, on shared memory
Dask                                          one task per chunk, when the result is computed
with missing members                          as above and below, once for each number of members,
                                              on copies of those that are present
PyTorch in host memory with a gradient        the NumPy implementation with its VJP, if it has one
other tensors: another device, JAX tracers    the native implementation; without one, the NumPy
                                              implementation on a copy in host memory, with its VJP
============================================  ====================================================
"""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from credalens._backend.backend import (
    NUMPY,
    Array,
    Backend,
    is_lazy,
    is_traced_by_torch,
    to_numpy,
    tree_map,
)
from credalens._backend.host_callback import VJP, host_callback

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Primitive:
    """One operation of a representation, with its implementations."""

    #: Class and name, such as ``ConvexHull.maximin``.
    name: str
    #: Core dimensions, where ``Q`` stands for the arrays of the set: ``Q,(k)->()`` has an argument
    #: with one row per instance, ``Q->(),()`` two results per instance, ``Q->Q`` returns sets.
    signature: str
    numpy: Callable[..., Any]
    #: Takes a set of tensors; returns NotImplemented for arguments that it does not support.
    native: Callable[..., Any] | None = None
    #: Takes the arguments; returns a VJP, or None if there is none for these arguments.
    vjp: Callable[..., VJP | None] | None = None

    @property
    def result(self) -> str:
        """The core dimensions of the results."""
        return self.signature.partition("->")[2]

    @property
    def by_instance(self) -> bool:
        """Whether the results have no axis of members, so that members may be left out."""
        return not self.signature.endswith(("->Q", "->(...)"))

    @property
    def supports(self) -> dict[str, str]:
        """How the primitive is computed on a device, and how its gradient is."""
        device = "native" if self.native else "through the host"
        gradient = "VJP" if self.vjp else "automatic" if self.native else "none"
        return {"device": device, "gradient": gradient}


#: Every primitive, in the order of definition.
PRIMITIVES: list[Primitive] = []


def primitive(
    signature: str,
    *,
    native: Callable[..., Any] | None = None,
    vjp: Callable[..., VJP | None] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a method of a set a primitive; its body is the NumPy implementation."""

    def decorate(numpy: Callable[P, R]) -> Callable[P, R]:
        entry = Primitive(numpy.__qualname__, signature, numpy, native, vjp)
        PRIMITIVES.append(entry)

        @functools.wraps(numpy)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.backend is NUMPY:
                return numpy(self, *args, **kwargs)
            return call(entry, self, args, kwargs)

        return method  # type: ignore[return-value]

    return decorate


def call(entry: Primitive, Q: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a primitive for a set that does not hold NumPy arrays, or lacks members."""
    backend, name = Q.backend, entry.name.rpartition(".")[2]
    if backend.ragged and entry.by_instance:
        return _call_by_group(entry, Q, args, kwargs)
    if backend.placement == "host":
        return to_backend(entry.numpy(Q.to_numpy_backed(), *args, **kwargs), backend)
    if backend.placement == "lazy":
        if "(v," in entry.signature:
            raise ValueError(
                f"{name}: the number of points depends on the data, which Dask has not computed; "
                "compute the arrays first, or use Q.to_hull()"
            )
        n = entry.signature.partition("->")[0].count("(")
        n = n if any(is_lazy(x) or np.ndim(x) > 1 for x in args[:n]) else 0
        return Q._lazy.map(_Call(name, args[n:], kwargs), args[:n])
    with _device_call() as outermost:
        result = _call_on_device(entry, Q, args, kwargs)
    # Other primitives and measures combine results in the dtype for sums.
    return to_backend(result, backend) if outermost and "Q" not in entry.result else result


#: Keyword arguments of measures that say where the members and the classes of an array are.
LAYOUT = ("axis", "class_axis")
#: Whether a primitive or a measure of tensors that do not share memory with kernels is running.
_ON_DEVICE: contextvars.ContextVar[bool] = contextvars.ContextVar("on_device", default=False)


@contextmanager
def _device_call() -> Iterator[bool]:
    """Mark a call of a primitive or a measure; yields whether it is the outermost one."""
    outermost = not _ON_DEVICE.get()
    token = _ON_DEVICE.set(True)
    try:
        yield outermost
    finally:
        _ON_DEVICE.reset(token)


def _call_on_device(entry: Primitive, Q: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    backend = Q.backend
    vjp = entry.vjp(*args, **kwargs) if entry.vjp else None
    if entry.native is not None and not (vjp and backend.kernels_can_read):
        result = entry.native(Q, *args, **kwargs)
        if result is not NotImplemented:
            return result
    if vjp is not None:

        def forward(array: Array) -> Any:
            return entry.numpy(Q._from_validated((array,), NUMPY), *args, **kwargs)

        n_outputs = entry.result.count("(")
        return host_callback(forward, vjp, n_outputs, Q._arrays[0], Q.array_names[0])
    if backend.grad:
        raise_no_gradient(backend, entry.name.rpartition(".")[2], Q.array_names[0])
    return to_backend(entry.numpy(Q.to_numpy_backed(), *args, **kwargs), backend)


def _call_by_group(entry: Primitive, Q: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a primitive for a set with missing members."""
    bound = inspect.signature(entry.numpy).bind(Q, *args, **kwargs)
    weights = bound.arguments.pop("weights", None)
    if weights is not None:  # of all members: with the set, those of missing members are left out
        Q, args, kwargs = Q.with_weights(weights), bound.args[1:], bound.kwargs
    name, n = entry.name.rpartition(".")[2], entry.signature.partition("->")[0].count("(")
    if Q.backend.placement == "host" or n:
        if Q.backend.grad:
            raise_no_gradient(Q.backend, name, Q.array_names[0])
        n = n if any(np.ndim(x) > 1 for x in args[:n]) else 0
        result = Q.to_numpy_backed().map_groups(
            _Call(name, args[n:], kwargs), [to_numpy(x, "argument") for x in args[:n]]
        )
        return to_backend(result, Q.backend)
    return Q.map_groups(_Call(name, args, kwargs))


def to_backend(result: Any, backend: Backend) -> Any:
    """Return arrays and sets that were computed on the host as those of `backend`."""

    def change(x: Any) -> Any:
        return x.with_backend(backend) if hasattr(x, "with_backend") else backend.wrap(x)

    return tree_map(change, result)


def raise_no_gradient(backend: Backend, operation: str, name: str) -> NoReturn:
    """Raise the error for an operation without a gradient."""
    if backend.traced:
        raise ValueError(
            f"{name}: is traced by JAX, and {operation!r} has neither a closed form nor a gradient "
            "there; call it outside of jit, grad and vmap"
        )
    raise ValueError(
        f"{name}: requires grad, and {operation!r} has no gradient; pass {name}.detach(), or use "
        "total variation, Wasserstein, entropies, the exact Hartley measure, or total and "
        "epistemic uncertainty of any distance of credalens"
    )


@dataclass(frozen=True)
class _Call:
    """Call a method, by name, or a function of a set; unlike a closure it can be pickled."""

    function: str | Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, Q: Any, *batched: Any) -> Any:
        function = self.function
        function = getattr(type(Q), function) if isinstance(function, str) else function
        return function(Q, *batched, *self.args, **self.kwargs)


def set_function(
    from_array: Callable[..., Any],
    convert: Callable[..., Any],
    arrange: Callable[..., Any],
    draw_seed: Callable[[Any], int],
) -> Callable[..., Callable[[F], F]]:
    """Return a decorator for functions of credal sets, such as measures.

    The decorated function accepts NumPy arrays, which `from_array` makes sets of, and whatever
    `convert` makes sets of. It is written for a set: it calls queries and combines their results
    with functions of their array namespace. For Dask arrays one task per chunk runs the whole
    function. The keyword arguments ``axis`` and ``class_axis``, which a function may declare, are
    not passed to it: `arrange` makes a view of the array. `draw_seed` turns a ``random_state`` into
    a seed that all chunks share. For tensors that PyTorch traces, `traced` is called with the
    arguments instead.
    """

    def decorator(
        numpy_fast_path: Callable[[Array], Any] | None = None,
        traced: Callable[..., Any] | None = None,
    ) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            signature = inspect.signature(function)
            first = next(iter(signature.parameters))
            has_layout = signature.parameters.keys() >= set(LAYOUT)

            @functools.wraps(function)
            def wrapper(*args: Any, **kwargs: Any) -> Any:
                if not args:
                    signature.bind_partial(**kwargs)  # raises the usual TypeError
                    args = (
                        (kwargs.pop(first),) if first in kwargs else signature.bind(**kwargs).args
                    )
                given = args[0]
                if has_layout and ("axis" in kwargs or "class_axis" in kwargs):
                    axes = [kwargs.pop(name, None) for name in LAYOUT]
                    if axes != [None, None]:
                        given = arrange(given, *axes)
                if numpy_fast_path and type(given) is np.ndarray and len(args) == 1 and not kwargs:
                    result = numpy_fast_path(given)
                    if result is not None:
                        return result
                if is_traced_by_torch(given):
                    if traced is None:
                        raise_traced(function.__name__)
                    return traced(given, *args[1:], **kwargs)
                convert_given = from_array if type(given) is np.ndarray else convert
                Q = convert_given(given, validate="later")
                backend = Q.backend
                if backend is NUMPY:
                    result = function(Q, *args[1:], **kwargs)
                    return result if _has_finished_results(Q) else _finish(result, Q)
                if backend.placement == "lazy" or backend.ragged:
                    if "random_state" in signature.parameters:
                        bound = signature.bind(*args, **kwargs)
                        state = bound.arguments.get("random_state")
                        bound.arguments["random_state"] = draw_seed(state)
                        args, kwargs = bound.args, bound.kwargs
                    return _run_in_parts(_Call(wrapper, args[1:], kwargs), Q)
                if backend.placement == "host":
                    result = function(Q.to_numpy_backed(), *args[1:], **kwargs)
                else:
                    with _device_call():
                        result = function(Q, *args[1:], **kwargs)
                result = to_backend(result, backend)
                if Q.may_lack_members:
                    _attach(result, n_members=Q.n_present)
                return result

            return wrapper  # type: ignore[return-value]

        return decorate

    return decorator


def raise_traced(name: str) -> NoReturn:
    """Raise the error for a measure of tensors that PyTorch traces."""
    raise ValueError(
        f"Q: is traced by PyTorch (torch.compile, torch.export, torch.func), and {name} needs "
        "values; call it outside, or use total_uncertainty, epistemic_uncertainty or "
        "aleatoric_uncertainty(Q, end='lower')"
    )


def _run_in_parts(function: _Call, Q: Any) -> Any:
    """Run a function of sets chunk by chunk, or once for each number of members."""
    if Q.backend.placement == "lazy":
        result = Q._lazy.map(function)
    elif Q.backend.placement == "host":
        result = to_backend(Q.to_numpy_backed().map_groups(function), Q.backend)
    else:
        result = Q.map_groups(function)
    _attach(result, index=Q.index, n_members=Q.n_present if Q.may_lack_members else None)
    return result


def _attach(result: Any, **values: Any) -> None:
    """Set attributes of the results of measures: labels of instances, numbers of members."""
    if isinstance(result, dict | tuple | list):
        for part in result.values() if isinstance(result, dict) else result:
            _attach(part, **values)
    elif is_dataclass(result):
        for field in fields(result):
            _attach(getattr(result, field.name), **values)
        known = {name: x for name, x in values.items() if x is not None and hasattr(result, name)}
        vars(result).update(known)


def _has_finished_results(Q: Any) -> bool:
    """Return whether queries return results as `_finish` does: of a float64 batch, unlabelled."""
    if Q.index is not None or Q.may_lack_members:
        return False
    return Q.dtype.type is np.float64 and bool(Q.batch_shape)


def _finish(result: Any, Q: Any) -> Any:
    """Return results in the dtype of the set, as scalars for a single set, with its labels."""

    def change(x: Any) -> Any:
        array = np.asarray(x)
        return array.astype(Q.dtype, copy=False)[()] if array.dtype.kind == "f" else array[()]

    result = tree_map(change, result)
    if Q.index is not None or Q.may_lack_members:
        _attach(result, index=Q.index, n_members=Q.n_present if Q.may_lack_members else None)
    return result
