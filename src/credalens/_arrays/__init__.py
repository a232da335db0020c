"""Any array library in, the same one out; and arrays cut into blocks for the kernels."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels

Array = NDArray[Any]

#: Bytes handed to a kernel at once: large enough that starting threads costs nothing, small enough
#: that converting an awkward layout block by block takes little memory.
BLOCK_BYTES = 1 << 25
#: Bytes that are never too many.
SMALL_BYTES = 1 << 16

DOUBLE = np.dtype(np.float64)
#: Threads of a kernel: as many as `num_threads` says, if there is work for several.
AS_WANTED = 0


@dataclass(frozen=True)
class Origin:
    """Where an array came from, so that results go back there."""

    library: str = "numpy"
    dtype: Any = None
    device: Any = None
    #: "host": the kernels read the data; "device": they stay where they are, or belong to a
    #: computation that is differentiated or traced; "lazy": there are none yet.
    where: str = "host"
    #: Whether a gradient is recorded.
    grad: bool = False
    #: Whether there is nothing but shapes, inside a function that JAX transforms.
    traced: bool = False

    def wrap(self, array: Any) -> Any:
        """Return `array` as an array of the library, dtype and device that came in.

        Truth values and integers keep their own dtype.
        """
        if self.library == "numpy":
            return array[()]  # a zero-dimensional array becomes a NumPy scalar
        if is_native(array):
            return array if self.dtype in (None, array.dtype) else _cast(array, self.dtype)
        array = np.asarray(array)
        real = array.dtype.kind == "f" and self.dtype is not None
        if self.library == "torch":
            # A scalar has no memory to share, and what is read-only must not be shared.
            share = array.ndim > 0 and array.flags.writeable
            tensor = sys.modules["torch"].from_numpy(array if share else np.array(array))
            return tensor.to(self.device, self.dtype if real else None)
        return sys.modules["jax"].device_put(
            array.astype(self.dtype, copy=False) if real else array, self.device
        )


NUMPY = Origin()


def is_native(x: Any) -> bool:
    """Say whether `x` is an array of PyTorch or JAX."""
    return type(x) is not np.ndarray and (_is_torch(x) or _is_jax(x))


def is_lazy(x: Any) -> bool:
    """Say whether `x` is a Dask array."""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(x, dask.Array)


def origin_of(x: Any) -> Origin:
    """Return where `x` is; nothing is computed or copied."""
    if type(x) is np.ndarray:
        return NUMPY
    if is_lazy(x):
        return Origin("dask", where="lazy")
    if _is_torch(x):
        torch = sys.modules["torch"]
        grad = x.requires_grad and torch.is_grad_enabled()
        away = grad or x.device.type != "cpu"
        return Origin("torch", x.dtype if x.is_floating_point() else None, x.device,
                      "device" if away else "host", grad)  # fmt: skip
    if _is_jax(x):
        jax = sys.modules["jax"]
        dtype = x.dtype if jax.numpy.issubdtype(x.dtype, jax.numpy.floating) else None
        if isinstance(x, jax.core.Tracer):
            return Origin("jax", dtype, None, "device", grad=True, traced=True)
        near = all(device.platform == "cpu" for device in x.devices()) and len(x.devices()) == 1
        return Origin("jax", dtype, x.sharding, "host" if near else "device")
    return NUMPY


def _is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_jax(x: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, getattr(jax, "Array", ()))


def _cast(array: Any, dtype: Any) -> Any:
    return array.to(dtype) if _is_torch(array) else array.astype(dtype)


def namespace(x: Any) -> Any:
    """Return the functions of the library of `x`, in the array API's names."""
    if not is_native(x):
        return np
    from array_api_compat import array_namespace

    return array_namespace(x)


def to_numpy(x: Any, name: str) -> tuple[Array, Origin]:
    """Return `x` as a NumPy array, sharing memory where that can be, and its origin.

    What comes from another device is copied. The origin says that the data are on the host now.
    """
    if type(x) is np.ndarray:
        return x, NUMPY
    origin = origin_of(x)
    if origin.library == "torch":
        return _from_torch(x, origin, name)
    if origin.library == "jax":
        return _from_jax(x, origin, name)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name}: has masked entries; fill them, or drop these instances, first")
    try:
        if isinstance(x, np.ndarray) or hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
            return np.asarray(x), NUMPY
        return np.from_dlpack(x), NUMPY
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"{name}: a ragged list ({error}); every row must have the same length"
            ) from None
        raise


def _from_torch(x: Any, origin: Origin, name: str) -> tuple[Array, Origin]:
    torch = sys.modules["torch"]
    if origin.grad:
        raise ValueError(f"{name}: the tensor requires grad; pass {name}.detach()")
    if x.device.type == "meta":
        raise ValueError(f"{name}: the tensor is on meta, where it has no data; pass one that has")
    x = x.detach()
    if x.dtype == torch.bfloat16:
        x = x.float()
    return x.cpu().resolve_neg().numpy(), Origin("torch", origin.dtype, origin.device)


def _from_jax(x: Any, origin: Origin, name: str) -> tuple[Array, Origin]:
    if origin.traced:
        raise ValueError(
            f"{name}: is traced by JAX, so that its values are not known; this needs them: call it "
            "outside of jit, grad and vmap"
        )
    array = np.asarray(x)
    if array.dtype.kind == "V":  # bfloat16 is not a dtype of NumPy
        array = array.astype(np.float32)
    return array, Origin("jax", origin.dtype, origin.device)


def num_threads() -> int:
    """Return the number of kernel threads: ``CREDALENS_NUM_THREADS``, or the cores at hand."""
    return _kernels.wanted_threads()


def working_dtype(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return the dtype in which the kernels read an array of `dtype`."""
    return np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64


def blocks(
    array: Array,
    core: int,
    dtype: type[np.floating[Any]] | None = None,
    rows: int | None = None,
    *,
    large: bool = False,
) -> Iterable[tuple[int, int, Array]]:
    """Cut ``(..., *core axes)`` into C-contiguous native blocks ``(b, *core axes)``.

    Yields ``(start, stop, block)`` in the order of the flattened leading axes. A block is a view
    where the layout allows it, a copy of at most about `BLOCK_BYTES`, or a sixth of the array,
    otherwise: two are alive while the next one is made. `rows` bounds the instances in a block, for
    kernels that take long on each; `large` allows views of a sixteenth of the array, for kernels
    that hold nothing of a block's size.
    """
    dtype = working_dtype(array.dtype) if dtype is None else dtype
    lead = array.shape[: array.ndim - core]
    if not lead:
        return ((0, 1, laid_out(array, dtype)[None]),)
    kind = array.dtype
    flags = array.flags
    as_it_is = flags.c_contiguous and flags.aligned and kind.type is dtype and kind.isnative
    if large and as_it_is:
        # Nothing is copied. Few blocks, as a thread takes long to start on some systems.
        limit = max(BLOCK_BYTES, array.nbytes // 16)
    else:
        limit = min(BLOCK_BYTES, max(array.nbytes // 6, SMALL_BYTES))
    n = math.prod(lead)
    if as_it_is and 0 < array.nbytes <= limit and (rows is None or n <= rows):
        whole = array if len(lead) == 1 else array.reshape(n, *array.shape[-core:])
        return ((0, n, whole),)
    return _cut(array, core, dtype, rows, large=large, limit=limit)


def _cut(
    array: Array,
    core: int,
    dtype: type[np.floating[Any]],
    rows: int | None,
    *,
    large: bool,
    limit: int,
) -> Iterator[tuple[int, int, Array]]:
    lead, tail = array.shape[: array.ndim - core], array.shape[array.ndim - core :]
    if 0 in lead:
        return
    per_index = math.prod(lead[1:])
    index_bytes = per_index * math.prod(tail) * np.dtype(dtype).itemsize
    if len(lead) > 1 and (index_bytes > limit or (rows is not None and per_index > rows)):
        for i, part in enumerate(array):
            for start, stop, block in blocks(part, core, dtype, rows, large=large):
                yield i * per_index + start, i * per_index + stop, block
        return
    step = max(1, limit // max(index_bytes, 1))
    if rows is not None:
        step = min(step, max(1, rows // per_index))
    for first in range(0, lead[0], step):
        part = laid_out(array[first : first + step], dtype)
        stop = min(lead[0], first + step)
        yield first * per_index, stop * per_index, part.reshape(-1, *tail)


def laid_out(array: Array, dtype: Any) -> Array:
    """Return `array` as the kernels read it, in C order and aligned; a copy if that must be."""
    block = np.ascontiguousarray(array, dtype)
    return block if block.flags.aligned else block.copy()


def per_instance(
    array: Array,
    kernel: Callable[..., Any],
    shapes: Sequence[tuple[int, ...] | None],
    *,
    rows: int | None = None,
    dtype: type[np.floating[Any]] | None = None,
    large: bool = False,
) -> list[Array]:
    """Run ``kernel(block, *outputs)`` over the instances of ``(..., M, K)``.

    `shapes` are the trailing shapes of the float64 outputs; one that is not wanted has None and is
    None. Results come back with the leading axes of `array` and in its dtype, or in `dtype`. A
    kernel that returns True ends it: what it has left in its outputs is not looked at.
    """
    if dtype in (None, np.float64) and (rows is None or len(array) <= rows):
        most = BLOCK_BYTES if large else SMALL_BYTES
        found = _kernels.at_once(kernel, array, shapes, most)
        if found is not None:  # nothing to cut or convert
            return found[1]
    lead = array.shape[:-2]
    kind = array.dtype.newbyteorder("=") if dtype is None else np.dtype(dtype)
    n = math.prod(lead)
    # A float64 result is written in place, any other is rounded once, at the end.
    direct = kind.type is np.float64
    results = outputs(n, shapes, kind)
    for start, stop, block in blocks(array, 2, rows=rows, large=large):
        places: list[Any] = [None if r is None else r[start:stop] for r in results]
        written = places if direct else outputs(stop - start, shapes)
        if kernel(block, *written):
            break
        for place, output in zip(places, written, strict=True):
            if place is not output:
                place[...] = output
    if len(lead) != 1:
        results = [None if r is None else r.reshape(lead + r.shape[1:]) for r in results]
    return results


def outputs(
    n: int, shapes: Sequence[tuple[int, ...] | None], dtype: np.dtype[Any] = DOUBLE
) -> list[Any]:
    """Return room for n results of each shape, None for None."""
    empty = np.empty
    return [
        None if shape is None else empty((n, *shape), dtype) if shape else empty(n, dtype)
        for shape in shapes
    ]
