"""The results of measures: intervals, and the decomposition of a batch of sets."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from credalens import _validation
from credalens._backend import Array, concrete_values, is_lazy
from credalens._results import TableResult, format_cell, optional_library


class BatchResult(TableResult):
    """A result with arrays ``(...)`` of any backend, one number per instance."""

    #: Labels of the instances, if the members came with any (pandas frames).
    index: Any = None

    def _arrays(self) -> dict[str, Any]:
        """Return the arrays by name."""
        raise AssertionError("a subclass defines the arrays")

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(np.shape(next(iter(self._arrays().values()))))

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError(f"the {type(self).__name__} of a single set has no len()")
        return self._shape[0]

    def __getitem__(self, index: Any) -> Self:
        """Return the results of some instances."""
        if not self._shape:
            raise IndexError(f"the {type(self).__name__} of a single set cannot be indexed")
        new = self._take(index)
        first = index[0] if isinstance(index, tuple) and index else index
        if self.index is not None and new._shape and not isinstance(first, int | np.integer):
            new.__dict__["index"] = self.index[first]
        return new

    def _take(self, index: Any) -> Self:
        raise AssertionError("a subclass defines the selection")

    def _columns(self) -> dict[str, Array]:
        named = self._arrays()
        if any(map(is_lazy, named.values())):
            # Together, so that shared tasks run once.
            named = dict(zip(named, sys.modules["dask"].compute(*named.values()), strict=True))
        return {name: _on_host(x).reshape(-1) for name, x in named.items()}

    def _index(self) -> tuple[str | None, Sequence[Any]]:
        shape = self._shape
        if len(shape) > 1:
            return None, list(itertools.product(*self._levels(self.index)))
        if self.index is not None:
            return getattr(self.index, "name", None), self.index
        return None, range(int(np.prod(shape)))

    def _levels(self, index: Any) -> list[Sequence[Any]]:
        """Return the labels along each axis: those of the instances, then positions."""
        levels: list[Sequence[Any]] = [range(size) for size in self._shape]
        return levels if index is None else [index, *levels[1:]]

    def __repr__(self) -> str:
        arrays, shape = self._arrays(), self._shape
        name = type(self).__name__
        if any(is_lazy(x) or concrete_values(x) is None for x in arrays.values()):
            return f"{name}(batch_shape={shape}, not computed)"
        if shape:
            return super().__repr__()
        values = (f"{k}={format_cell(float(x[0]))}" for k, x in self._columns().items())
        return f"{name}({', '.join(values)})"

    def to_pandas(self, index: Any = None) -> Any:
        """Return a pandas frame with one row per instance and one column per number.

        Tensors are copied to the host, Dask arrays are computed.

        Parameters
        ----------
        index : sequence, optional
            Labels of the instances; by default those of the input, if it had any, or their
            positions, with one level for each axis of the batch.

        Returns
        -------
        pandas.DataFrame
        """
        shape = self._shape
        if index is None and len(shape) > 1:
            pandas = optional_library("pandas")
            names = _axis_names(shape)
            names[0] = getattr(self.index, "name", None) or names[0]
            index = pandas.MultiIndex.from_product(self._levels(self.index), names=names)
        return super().to_pandas(index)

    def to_polars(self, index: Any = None) -> Any:
        """Return a polars frame with one row per instance; columns as in `to_pandas`.

        Parameters
        ----------
        index : sequence, optional
            Labels of the instances, the first column, which is called ``index`` or by the name of
            the labels. Without it, the positions in a batch of several axes become columns
            ``axis_0``, ``axis_1``, ...

        Returns
        -------
        polars.DataFrame
        """
        polars = optional_library("polars")
        columns, shape, names = self._columns(), self._shape, dict[str, Any]()
        if index is None and len(shape) > 1:
            labels = zip(*itertools.product(*self._levels(self.index)), strict=True)
            names = dict(zip(_axis_names(shape), map(list, labels), strict=False))
        elif index is not None or self.index is not None:
            index = self.index if index is None else index
            n = int(np.prod(shape))
            if len(index) != n:
                _validation.raise_invalid(
                    "index", f"has {len(index)} labels", f"pass one per row, {n}"
                )
            names[getattr(index, "name", None) or "index"] = list(index)
        return polars.DataFrame({**names, **columns})

    def to_xarray(self, dims: Sequence[str] | None = None, index: Any = None) -> Any:
        """Return an xarray dataset with one variable per number over the axes of the batch.

        Variables have the names of the columns of `to_pandas`. Dask arrays stay lazy, tensors are
        copied to the host.

        Parameters
        ----------
        dims : sequence of str, optional
            Names of the axes; by default ``("instance",)``, or ``("axis_0", "axis_1", ...)``.
        index : sequence, optional
            Labels along the first axis.

        Returns
        -------
        xarray.Dataset
        """
        xarray = optional_library("xarray")
        values = {name: x if is_lazy(x) else _on_host(x) for name, x in self._arrays().items()}
        shape, coords = self._shape, {}
        names = _axis_names(shape) if dims is None else [dims] if isinstance(dims, str) else [*dims]
        if len(names) != len(shape):
            _validation.raise_invalid(
                "dims", f"is {dims!r}", f"name each axis of the batch, {shape}"
            )
        index = self.index if index is None else index
        if index is not None:
            if not shape or len(index) != shape[0]:
                _validation.raise_invalid(
                    "index", f"has {len(index)} labels", f"pass one along the first axis of {shape}"
                )
            coords[names[0]] = np.asarray(index)
        return xarray.Dataset({name: (names, x) for name, x in values.items()}, coords)


@dataclass(frozen=True, eq=False, repr=False)
class Interval(BatchResult):
    """A batch of closed intervals: the values that the members of each credal set attain.

    ``lower, upper = interval`` unpacks the ends, ``np.asarray(interval)`` stacks them along a last
    axis, and indexing selects instances. Comparison and arithmetic raise TypeError: use an end, the
    `midpoint` or the `width`.

    Examples
    --------
    >>> import credalens as cl
    >>> au = cl.aleatoric_uncertainty([[0.9, 0.1], [0.3, 0.7]])
    >>> au
    Interval(lower=0.1, upper=0.5)
    >>> round(float(au.midpoint), 3)
    0.3
    """

    #: Smallest values, ``(...)``.
    lower: Any
    #: Largest values, ``(...)``.
    upper: Any

    def __init__(self, lower: Any, upper: Any) -> None:
        # Faster than the constructor of a frozen dataclass.
        self.__dict__.update(lower=lower, upper=upper)

    @property
    def midpoint(self) -> Any:
        """Middle of the interval."""
        return (self.lower + self.upper) / 2

    @property
    def width(self) -> Any:
        """Upper end minus lower end."""
        return self.upper - self.lower

    def __iter__(self) -> Iterator[Any]:
        return iter((self.lower, self.upper))

    def _arrays(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper}

    def _take(self, index: Any) -> Self:
        return type(self)(self.lower[index], self.upper[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.stack([_on_host(x) for x in self], axis=-1).astype(dtype, copy=False)

    def _raise_two_ends(self, other: Any) -> NoReturn:
        raise TypeError(
            "an Interval has two ends; use .lower, .upper, .midpoint, .width or np.asarray(...)"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _raise_two_ends
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _raise_two_ends


#: Summaries by name; the paper's endpoint summary, "interval", keeps both ends.
SUMMARIES: dict[str, Callable[[Interval], Any]] = {
    "lower": lambda interval: interval.lower,
    "upper": lambda interval: interval.upper,
    "midpoint": lambda interval: interval.midpoint,
    "width": lambda interval: interval.width,
    "interval": lambda interval: interval,
}


def summarize(interval: Interval, how: str | Callable[[Interval], Any] = "interval") -> Any:
    """Return a summary of aleatoric uncertainty, such as one number per instance for ranking.

    Parameters
    ----------
    interval : Interval
        The result of `aleatoric_uncertainty`.
    how : {"lower", "upper", "midpoint", "width", "interval"} or callable, default="interval"
        ``"interval"`` keeps both ends; a function takes the `Interval`.

    Returns
    -------
    array, Interval, or the result of the function

    References
    ----------
    González-García et al. (2026), section 4, "Aleatoric uncertainty", where it is the operator Phi.

    Examples
    --------
    >>> import credalens as cl
    >>> au = cl.aleatoric_uncertainty([[0.9, 0.1], [0.3, 0.7]])
    >>> round(float(cl.summarize(au, "midpoint")), 3)
    0.3
    >>> round(float(cl.summarize(au, lambda i: 0.9 * i.upper + 0.1 * i.lower)), 3)
    0.46
    """
    if not isinstance(interval, Interval):
        _validation.raise_invalid(
            "interval",
            f"is a {type(interval).__name__}",
            "pass the result of aleatoric_uncertainty",
        )
    if callable(how):
        return how(interval)
    return SUMMARIES[_validation.one_of(how, "how", SUMMARIES)](interval)


@dataclass(frozen=True, eq=False, repr=False)
class ComponentErrors(BatchResult):
    """The certified error of each component of an `Uncertainty`, if these differ.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.ConvexHull.from_topk([[3, 7], [3, 9]], [[0.8, 0.15], [0.6, 0.35]], n_classes=100)
    >>> cl.quantify(Q).errors
    ComponentErrors(total=0, aleatoric_lower=0, aleatoric_upper=0, epistemic=0.025)
    """

    #: Error of the total uncertainty, ``(...)``.
    total: Any
    #: Errors of the aleatoric uncertainty: an `Interval` of the errors of both ends, or an array.
    aleatoric: Any
    #: Error of the epistemic uncertainty, ``(...)``.
    epistemic: Any

    def _arrays(self) -> dict[str, Any]:
        return _named(self, ("total", "aleatoric", "epistemic"))

    def _take(self, index: Any) -> Self:
        fields = (self.total, self.aleatoric, self.epistemic)
        return type(self)(*(None if x is None else x[index] for x in fields))


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(BatchResult):
    """Total, aleatoric and epistemic uncertainty of a batch of credal sets.

    Indexing selects instances.

    Examples
    --------
    >>> import credalens as cl
    >>> u = cl.quantify([[[0.6, 0.4], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> u.to_pandas(index=["a", "b"]).round(2)
       total  aleatoric_lower  aleatoric_upper  epistemic  error
    a    0.6              0.2              0.5        0.2    0.0
    b    0.5              0.5              0.5        0.0    0.0
    >>> u[1]
    Uncertainty(total=0.5, aleatoric_lower=0.5, aleatoric_upper=0.5, epistemic=0, error=0)
    """

    #: Total uncertainty, ``(...)``; an `Interval` for the scoring rules of a set.
    total: Any
    #: Aleatoric uncertainty: an `Interval` for distances and for the scoring rules of a set, an
    #: array ``(...)`` otherwise, None if the family has none.
    aleatoric: Any
    #: Epistemic uncertainty, ``(...)``, None if the family has none.
    epistemic: Any
    #: The certified error, ``(...)``: for distances and scoring rules the duality gap of the
    #: aleatoric ends, for entropy that of the upper entropy, for Hartley that gap plus the standard
    #: error if it is sampled, for Dirichlet distributions the standard error of sampled parts. For
    #: truncated predictions (`TopKHull`) the largest of `errors`. In single precision it includes
    #: the rounding of the results to their dtype, in double precision, about 1e-15, it does not.
    error: Any
    #: The error of each component if these differ, as for truncated predictions; otherwise None.
    errors: ComponentErrors | None = None
    #: Number of members that are present, ``(...)``, if the ensemble may lack some; else None.
    n_members: ClassVar[Any] = None

    def __init__(
        self,
        total: Any,
        aleatoric: Any,
        epistemic: Any,
        error: Any,
        errors: ComponentErrors | None = None,
    ) -> None:
        # Faster than the constructor of a frozen dataclass.
        self.__dict__.update(
            total=total, aleatoric=aleatoric, epistemic=epistemic, error=error, errors=errors
        )

    def _arrays(self) -> dict[str, Any]:
        arrays = _named(self, ("total", "aleatoric", "epistemic", "error"))
        if self.errors is not None:
            arrays.update({f"{name}_error": x for name, x in self.errors._arrays().items()})
        # Label-wise results have another shape.
        if self.n_members is not None and np.shape(self.n_members) == np.shape(arrays["error"]):
            arrays["n_members"] = self.n_members
        return arrays

    def _take(self, index: Any) -> Self:
        fields = (self.total, self.aleatoric, self.epistemic, self.error)
        total, aleatoric, epistemic, error = (None if x is None else x[index] for x in fields)
        errors = None if self.errors is None else self.errors._take(index)
        new = type(self)(total, aleatoric, epistemic, error, errors)
        if self.n_members is not None:
            new.__dict__["n_members"] = self.n_members[index]
        return new


def _named(result: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of fields by name, the ends of an interval with a suffix."""
    arrays: dict[str, Any] = {}
    for name in names:
        value = getattr(result, name)
        if isinstance(value, Interval):
            arrays.update({f"{name}_{end}": x for end, x in value._arrays().items()})
        elif value is not None:
            arrays[name] = value
    return arrays


def _axis_names(shape: tuple[int, ...]) -> list[str]:
    return ["instance"] if len(shape) == 1 else [f"axis_{i}" for i in range(len(shape))]


def _on_host(x: Any) -> Array:
    array = np.asarray(concrete_values(x))
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array
