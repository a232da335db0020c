"""Array backends: which library an array belongs to, and conversion to and from NumPy."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class _TorchLike(Protocol):
    requires_grad: bool


class _JaxLike(Protocol):
    @property
    def sharding(self) -> Any: ...


class _DaskLike(Protocol):
    @property
    def chunks(self) -> Any: ...


#: An array of PyTorch, JAX or Dask, for annotations: results are of the same type.
TensorT = TypeVar("TensorT", bound=_TorchLike | _JaxLike | _DaskLike)


@dataclass(frozen=True)
class Backend:
    """The library, dtype and device of an array, so that results are returned to them."""

    library: str = "numpy"
    #: That of results: for arrays in half precision, single precision.
    dtype: Any = None
    device: Any = None
    #: "host": the kernels can read the data; "device": the data are on another device, require a
    #: gradient or are traced; "lazy": a Dask array.
    placement: str = "host"
    #: Whether a gradient is recorded.
    grad: bool = False
    #: Whether a JAX transformation traces the array, which then has a shape but no values.
    traced: bool = False
    #: Whether members are missing, so that instances have different numbers of them.
    ragged: bool = False

    @property
    def kernels_can_read(self) -> bool:
        """Whether the data are in host memory, although a gradient is recorded."""
        return self.library == "torch" and self.device.type == "cpu"

    def wrap(self, array: Any) -> Any:
        """Return `array` in the library, dtype and device of this backend.

        Boolean and integer arrays keep their dtype. A zero-dimensional array becomes a scalar.
        """
        if self.library == "numpy":
            return array[()]
        if is_tensor(array):
            same = self.dtype in (None, array.dtype) or not backend_of(array).dtype
            return array if same else _cast(array, self.dtype)
        array = np.asarray(array)
        dtype = self.dtype if array.dtype.kind == "f" else None
        if self.library == "torch":
            # PyTorch cannot share the memory of scalars and of read-only arrays.
            shared = array.ndim > 0 and array.flags.writeable
            tensor = sys.modules["torch"].from_numpy(array if shared else np.array(array))
            return tensor.to(self.device, dtype)
        array = array if dtype is None else array.astype(dtype, copy=False)
        return sys.modules["jax"].device_put(array, self.device)


NUMPY = Backend()
#: NumPy arrays of an ensemble with missing members.
RAGGED = Backend(ragged=True)
LAZY = Backend("dask", placement="lazy")


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a PyTorch tensor or a JAX array."""
    return type(x) is not np.ndarray and (_is_torch(x) or _is_jax(x))


def is_lazy(x: Any) -> bool:
    """Return whether `x` is a Dask array."""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(x, dask.Array)


def _is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_jax(x: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, getattr(jax, "Array", ()))


def _cast(tensor: Any, dtype: Any) -> Any:
    return tensor.to(dtype) if _is_torch(tensor) else tensor.astype(dtype)


#: Dtypes with two bytes, by their names.
_HALF = {"float16": "float16", "torch.float16": "float16", "bfloat16": "bfloat16"}
_HALF["torch.bfloat16"] = "bfloat16"


def half_kind(x: Any) -> str:
    """Return "float16" or "bfloat16" if an array of any library has that dtype, otherwise ""."""
    dtype = getattr(x, "dtype", None)
    # The names of other dtypes are not computed, which would take microseconds.
    if getattr(dtype, "itemsize", 0) != 2:
        return ""
    return _HALF.get(getattr(dtype, "name", None) or str(dtype), "")


def is_traced_by_torch(x: Any) -> bool:
    """Return whether `x` is a tensor of a compiler or a transformation of PyTorch.

    These have a shape but no values: `torch.compile`, `torch.export`, `torch.vmap`, `torch.func`.
    """
    if not _is_torch(x):
        return False
    torch = sys.modules["torch"]
    return bool(torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(x))


def backend_of(x: Any) -> Backend:
    """Return the backend of `x` without computing or copying anything."""
    if type(x) is np.ndarray:
        return NUMPY
    if is_lazy(x):
        return LAZY
    if _is_torch(x):
        grad = x.requires_grad and sys.modules["torch"].is_grad_enabled()
        placement = "device" if grad or x.device.type != "cpu" else "host"
        dtype = x.dtype if x.is_floating_point() else None
        if half_kind(x):
            dtype = sys.modules["torch"].float32
        return Backend("torch", dtype, x.device, placement, grad)
    if _is_jax(x):
        jax = sys.modules["jax"]
        dtype = x.dtype if jax.numpy.issubdtype(x.dtype, jax.numpy.floating) else None
        if half_kind(x):
            dtype = jax.numpy.dtype("float32")
        if isinstance(x, jax.core.Tracer):
            return Backend("jax", dtype, None, "device", grad=True, traced=True)
        on_host = all(d.platform == "cpu" for d in x.devices()) and len(x.devices()) == 1
        return Backend("jax", dtype, x.sharding, "host" if on_host else "device")
    return NUMPY


def namespace(x: Any) -> Any:
    """Return the array API namespace of `x`; NumPy for arrays of other libraries."""
    if not is_tensor(x):
        return np
    from array_api_compat import array_namespace

    return array_namespace(x)


def stop_gradient(x: Any) -> Any:
    """Return `x` without its gradient."""
    if not is_tensor(x):
        return x
    return x.detach() if _is_torch(x) else sys.modules["jax"].lax.stop_gradient(x)


def has_values(x: Any) -> bool:
    """Return whether a tensor has values: traced arrays and tensors on meta have none."""
    return not (backend_of(x).traced or str(getattr(x, "device", "")) == "meta")


def on_host(x: Any, name: str) -> Any:
    """Return an array in host memory without a gradient, in its dtype; `name` is for errors."""
    if _is_torch(x) and has_values(x):
        return x.detach().cpu()
    return to_numpy(stop_gradient(x), name) if is_tensor(x) else x


def concrete_values(x: Any) -> Array | None:
    """Return the values of an array as a NumPy array, ``None`` if it has none."""
    if type(x) is np.ndarray:
        return x
    return to_numpy(stop_gradient(x), "array") if has_values(x) else None


def to_numpy(x: Any, name: str) -> Array:
    """Return `x` as a NumPy array, sharing memory if possible; `name` is used in errors."""
    if type(x) is np.ndarray:
        return x
    if _is_torch(x):
        return _torch_to_numpy(x, name)
    if _is_jax(x):
        if backend_of(x).traced:
            raise ValueError(
                f"{name}: is traced by JAX, and this function needs its values; "
                "call it outside of jit, grad and vmap"
            )
        return np.asarray(x)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name}: has masked entries; fill them, or drop these instances")
    try:
        if isinstance(x, np.ndarray) or hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
            return np.asarray(x)
        return np.from_dlpack(x)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"{name}: a ragged list ({error}); every row must have the same length"
            ) from None
        raise


def _torch_to_numpy(x: Any, name: str) -> Array:
    if is_traced_by_torch(x):
        raise ValueError(
            f"{name}: is traced by PyTorch, and this needs its values; call it outside of "
            "torch.compile, torch.export and torch.func, or pass the tensor to total_uncertainty, "
            "epistemic_uncertainty or aleatoric_uncertainty(..., end='lower')"
        )
    if backend_of(x).grad:
        raise ValueError(f"{name}: the tensor requires grad; pass {name}.detach()")
    if x.device.type == "meta":
        raise ValueError(f"{name}: the tensor is on meta, which has no data; pass one with data")
    x = x.detach()
    if x.dtype == sys.modules["torch"].bfloat16:
        x = x.float()
    array: Array = x.cpu().resolve_conj().resolve_neg().numpy()
    return array


def tree_map(change: Callable[[Any], Any], result: Any) -> Any:
    """Return `result` with `change` applied to every leaf of tuples, dicts and dataclasses."""
    if isinstance(result, dict):
        return {key: tree_map(change, value) for key, value in result.items()}
    if isinstance(result, tuple | list):
        return type(result)(tree_map(change, value) for value in result)
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        fields = [field.name for field in dataclasses.fields(result) if field.init]
        return dataclasses.replace(
            result, **{name: tree_map(change, getattr(result, name)) for name in fields}
        )
    return result if result is None or isinstance(result, str) else change(result)
