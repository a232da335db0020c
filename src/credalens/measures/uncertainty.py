"""What a family of measures says of a batch of sets."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.measures.interval import Interval


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Total, aleatoric and epistemic uncertainty of a batch of credal sets.

    Examples
    --------
    >>> import credalens as cl
    >>> u = cl.quantify([[[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> u.to_pandas(index=["a", "b"]).round(2)
       total  aleatoric_lower  aleatoric_upper  epistemic  error
    a    0.6              0.2              0.5        0.2    0.0
    b    0.5              0.5              0.5        0.0    0.0
    """

    #: Total uncertainty, ``(...)``.
    total: Any
    #: Aleatoric uncertainty: an `Interval` for distances, an array ``(...)`` otherwise.
    aleatoric: Any
    #: Epistemic uncertainty, ``(...)``.
    epistemic: Any
    #: The certified error of what needed a solver or an estimate, ``(...)``: for distances the
    #: duality gap of the aleatoric ends, for entropy that of the upper entropy, for Hartley that
    #: gap plus the standard error of the generalized Hartley measure if it was sampled.
    error: Any

    def to_pandas(self, index: Any = None) -> Any:
        """Return a pandas frame with one row per instance, one column per number.

        Columns are ``total``, ``aleatoric_lower`` and ``aleatoric_upper`` (or ``aleatoric``, for
        families where it is one number), ``epistemic`` and ``error``. Tensors are brought to the
        host, Dask arrays computed.

        Parameters
        ----------
        index : sequence, optional
            Names of the instances in order; by default their positions, with one level for each
            axis of the batch if it has several.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = _library("pandas")
        columns, shape = self._flat()
        if index is not None:
            _check_length(index, columns)
        elif len(shape) > 1:
            levels = [range(size) for size in shape]
            index = pandas.MultiIndex.from_product(levels, names=_axes(shape))
        return pandas.DataFrame(columns, index=index)

    def to_polars(self, index: Any = None) -> Any:
        """Return a polars frame with one row per instance; columns as in `to_pandas`.

        Parameters
        ----------
        index : sequence, optional
            Names of the instances. They become a first column, called ``index`` or by its own name
            if it has one. Without it, the positions in a batch of several axes become columns
            ``axis_0``, ``axis_1``, ...

        Returns
        -------
        polars.DataFrame
        """
        polars = _library("polars")
        columns, shape = self._flat()
        names: dict[str, Any] = {}
        if index is not None:
            _check_length(index, columns)
            names[getattr(index, "name", None) or "index"] = list(index)
        elif len(shape) > 1:
            places = np.indices(shape).reshape(len(shape), -1)
            names = dict(zip(_axes(shape), places, strict=True))
        return polars.DataFrame({**names, **columns})

    def to_xarray(self, dims: Sequence[str] | None = None, index: Any = None) -> Any:
        """Return an xarray dataset with one variable per number, over the axes of the batch.

        Variables are called as the columns of `to_pandas`. Dask arrays stay lazy, tensors are
        brought to the host.

        Parameters
        ----------
        dims : sequence of str, optional
            Names of the axes; by default ``("instance",)``, or ``("axis_0", "axis_1", ...)`` if
            there are several.
        index : sequence, optional
            Names along the first axis.

        Returns
        -------
        xarray.Dataset
        """
        xarray = _library("xarray")
        values = {name: x if _is_dask(x) else _on_host(x) for name, x in self._named().items()}
        shape = np.shape(values["total"])
        names = _axes(shape) if dims is None else [dims] if isinstance(dims, str) else list(dims)
        if len(names) != len(shape):
            _validation.refuse("dims", f"is {dims!r}", f"name each axis of the batch, {shape}")
        coords = {}
        if index is not None:
            if not shape or len(index) != shape[0]:
                _validation.refuse(
                    "index", f"has {len(index)} names", f"pass one along the first axis of {shape}"
                )
            coords[names[0]] = np.asarray(index)
        return xarray.Dataset({name: (names, x) for name, x in values.items()}, coords)

    def _named(self) -> dict[str, Any]:
        interval = isinstance(self.aleatoric, Interval)
        aleatoric = (
            {"aleatoric_lower": self.aleatoric.lower, "aleatoric_upper": self.aleatoric.upper}
            if interval
            else {"aleatoric": self.aleatoric}
        )
        return {
            "total": self.total,
            **aleatoric,
            "epistemic": self.epistemic,
            "error": self.error,
        }

    def _flat(self) -> tuple[dict[str, Array], tuple[int, ...]]:
        """Return the columns, flat and on the host, and the shape of the batch."""
        named = self._named()
        if any(map(_is_dask, named.values())):
            # At once, so that what the numbers share is computed once.
            named = dict(zip(named, sys.modules["dask"].compute(*named.values()), strict=True))
        columns = {name: _on_host(x) for name, x in named.items()}
        shape = columns["total"].shape
        return {name: x.reshape(-1) for name, x in columns.items()}, shape


def _axes(shape: tuple[int, ...]) -> list[str]:
    return ["instance"] if len(shape) == 1 else [f"axis_{i}" for i in range(len(shape))]


def _is_dask(x: Any) -> bool:
    return hasattr(x, "__dask_graph__")


def _on_host(x: Any) -> Array:
    if hasattr(x, "detach"):  # a tensor of PyTorch
        x = x.detach().cpu().resolve_conj().resolve_neg()
        x = x.float() if x.element_size() < 4 else x  # NumPy has no bfloat16
        return np.asarray(x.numpy())
    array = np.asarray(x)
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def _check_length(index: Any, columns: dict[str, Array]) -> None:
    n = len(columns["total"])
    if len(index) != n:
        _validation.refuse("index", f"has {len(index)} names", f"pass one per instance, {n}")


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"to_{name}() needs {name}: pip install {name}", name=name) from None
