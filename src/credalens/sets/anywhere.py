"""Where a question is answered: by the kernels, where the tensors are, or chunk by chunk later.

Users put questions to sets and measures without a thought to where the data are. Here is the one
place that thinks of it. Data on the host are answered for at once. Tensors elsewhere, or with
gradients, are answered for by `credalens.sets.tensors` where they are if that is possible, and
through a copy on the host otherwise. Dask arrays are answered for when Dask computes them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from credalens import _validation
from credalens._arrays import Array, Origin, is_lazy, is_native, lazy, native, origin_of, to_numpy

if TYPE_CHECKING:
    from credalens.sets.base import CredalSet

F = TypeVar("F", bound=Callable[..., Any])
_NOTHING: Any = object()

#: What a set says of itself without looking at its data, or says where they are.
OF_ITSELF = (
    "answer",
    "batch_shape",
    "dtype",
    "n_classes",
    "n_members",
    "on_host",
    "plain",
    "settled",
)
#: Questions whose first argument may have one row per instance, and those answered by sets.
BY_INSTANCE = ("contains", "translate")
SETS = ("to_hull", "to_intervals", "translate")


#: What is on the host without a look at where it came from.
HERE = frozenset((np.ndarray, np.float64, float, int, bool, list, tuple))


class NeedsHostError(Exception):
    """A question that cannot be answered where the tensors are."""


@dataclass(frozen=True)
class Recipe:
    """How to make sets of Dask arrays, chunk by chunk."""

    #: Makes the sets of a chunk of its arrays, and checks them.
    build: Callable[..., CredalSet]
    data: lazy.Batch
    #: Whether it is a single set; its arrays then have one axis more, of length 1.
    single: bool

    @property
    def batch_shape(self) -> tuple[Any, ...]:
        """Shape of the batch; NaN where Dask does not know it."""
        return () if self.single else self.data.shape

    def __getitem__(self, index: Any) -> Recipe:
        if self.single:
            raise IndexError("a single credal set cannot be indexed; its batch_shape is ()")
        picked = self.data[index]
        if picked.shape:
            return Recipe(self.build, picked, False)
        return Recipe(self.build, _with_axis(picked), True)


def recipe(build: Callable[..., CredalSet], arrays: Sequence[Any], cores: Sequence[int],
           names: Sequence[str]) -> Recipe:  # fmt: skip
    """Return how to make sets of Dask arrays with `cores` axes of their own."""
    data = lazy.batch(arrays, cores, names)
    return Recipe(build, data, False) if data.shape else Recipe(build, _with_axis(data), True)


def _with_axis(data: lazy.Batch) -> lazy.Batch:
    return lazy.Batch(tuple(array[None] for array in data.arrays), data.cores)


def wherever(*cores: int) -> Callable[[F], F]:
    """Let the constructor of a set take arrays anywhere, with so many axes of their own each.

    Dask arrays are kept for later; tensors elsewhere stay there, and a copy of them is checked.
    """

    def decorate(init: F) -> F:
        signature = inspect.signature(init)
        names = list(signature.parameters)[1 : 1 + len(cores)]

        @functools.wraps(init)
        def construct(self: Any, *args: Any, **kwargs: Any) -> None:
            if HERE.issuperset(map(type, args)) and HERE.issuperset(map(type, kwargs.values())):
                init(self, *args, **kwargs)
                return
            origins = [origin_of(x) for x in (*args, *kwargs.values())]
            places = {origin.where for origin in origins}
            if places <= {"host"}:
                init(self, *args, **kwargs)
                return
            given = signature.bind(self, *args, **kwargs).arguments
            arrays = [given[name] for name in names]
            options = {name: x for name, x in given.items() if name not in names}
            del options[next(iter(options))]  # self
            if "lazy" in places:
                make: Callable[..., Any] = type(self)
                build = functools.partial(make, **options)
                self._defer(recipe(build, arrays, cores, names))
                return
            origin = next(origin for origin in origins if origin.where == "device")
            if options.get("validate", True):
                _check_copies(type(self), arrays, options, origin, names)
            self._stay(arrays, options, origin)

        return construct  # type: ignore[return-value]

    return decorate


def _check_copies(
    make: Callable[..., Any], arrays: list[Any], options: dict[str, Any], origin: Origin,
    names: list[str],
) -> None:  # fmt: skip
    """Make the set of copies on the host, which refuses what is wrong."""
    if origin.traced:
        unchecked = "validate" in inspect.signature(make).parameters
        _validation.refuse(
            names[0], "is traced by JAX, so that its values cannot be checked",
            "pass validate=False" if unchecked else "make the set outside of jit, grad and vmap",
        )  # fmt: skip
    copies = (native.frozen(x) if is_native(x) else x for x in arrays)
    make(*(to_numpy(x, name)[0] for x, name in zip(copies, names, strict=True)), **options)


@dataclass(frozen=True)
class _Method:
    """Ask a set by the name of a method or property."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, Q: Any, *first: Any) -> Any:
        found: Any = getattr(Q, self.name)
        if inspect.ismethod(found):
            return found(*first, *self.args, **self.kwargs)
        return found  # a property


@dataclass(frozen=True)
class _Measure:
    """Ask for a measure of a set."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, Q: Any) -> Any:
        return self.function(Q, *self.args, **self.kwargs)


@dataclass(frozen=True)
class _Chunk:
    """Make the sets of a chunk and ask them."""

    build: Callable[..., CredalSet]
    question: Callable[..., Any]
    n_arrays: int

    def __call__(self, *arrays: Array) -> Any:
        return self.question(self.build(*arrays[: self.n_arrays]), *arrays[self.n_arrays :])


def answer_anywhere(cls: type) -> None:
    """Make all that a class can be asked a question that can be asked anywhere."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_") or name in OF_ITSELF:
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(_asked(name, member.fget), doc=member.__doc__))
        elif inspect.isfunction(member):
            setattr(cls, name, _asked(name, member))


def _asked(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(self: CredalSet, *args: Any, **kwargs: Any) -> Any:
        if self.origin.where == "host":
            return method(self, *args, **kwargs)
        if self.origin.where == "lazy":
            return _ask_method_lazily(self, name, args, kwargs)
        question = _Method(name, args, kwargs)
        return _ask_there(self, lambda: adopted(question(self.plain()), self.origin), question)

    return ask


def anywhere(function: F, directly: Callable[[Array], Any] | None = None) -> F:
    """Let a function of a credal set take sets, and bare members, wherever their data are.

    Given an array of NumPy and nothing else, it first asks `directly`, which takes the array to the
    kernel without making a set, and returns None where that cannot be: making a set and asking it
    takes longer than measuring a single instance.
    """
    from credalens.sets import as_credal_set

    signature = inspect.signature(function)
    first = next(iter(signature.parameters))

    @functools.wraps(function)
    def measure(given: Any = _NOTHING, /, *args: Any, **kwargs: Any) -> Any:
        if directly is not None and type(given) is np.ndarray and not (args or kwargs):
            answer = directly(given)
            if answer is not None:
                return answer
        elif given is _NOTHING:
            if first not in kwargs:
                signature.bind()  # the error that a call without arguments gets
            given = kwargs.pop(first)
        Q = as_credal_set(given, validate="later")
        if Q.origin.where == "host":
            return function(Q, *args, **kwargs)
        if Q.origin.where == "lazy":
            return _ask_lazily(Q, _seeded(signature, _Measure(measure, args, kwargs)))
        question = _Measure(measure, args, kwargs)
        return _ask_there(Q, lambda: function(Q, *args, **kwargs), question)

    return measure  # type: ignore[return-value]


def _seeded(signature: inspect.Signature, question: _Measure) -> _Measure:
    """Draw the seed now, so that all chunks, and all times that they are computed, share it."""
    if "random_state" not in signature.parameters:
        return question
    bound = signature.bind_partial(None, *question.args, **question.kwargs)
    bound.arguments["random_state"] = _validation.seed(bound.arguments.get("random_state"))
    return _Measure(question.function, bound.args[1:], bound.kwargs)


def _ask_there(Q: CredalSet, there: Callable[[], Any], question: Callable[..., Any]) -> Any:
    """Answer where the tensors are or, if they must be read, by way of the host."""
    try:
        return there()
    except NeedsHostError as missing:
        if Q.origin.grad:
            _refuse_gradient(Q.origin, str(missing))
    return adopted(question(Q.on_host()), Q.origin)


def _refuse_gradient(origin: Origin, missing: str) -> NoReturn:
    if origin.traced:
        _validation.refuse(
            "members",
            f"is traced by JAX, and {missing!r} has no closed form or gradient there",
            "call it outside of jit, grad and vmap",
        )
    _validation.refuse(
        "members",
        f"requires grad, and there is no gradient of what asks for {missing!r}",
        "pass members.detach(), or one of: total variation, Wasserstein, entropies, exact Hartley; "
        "total and epistemic uncertainty for every distance of credalens",
    )


def adopted(answer: Any, origin: Origin) -> Any:
    """Return an answer that came from the host as if it came from `origin`."""

    def change(x: Any) -> Any:
        return x.settled(origin) if hasattr(x, "settled") else origin.wrap(x)

    return lazy.rebuilt(answer, change)


def _ask_method_lazily(Q: CredalSet, name: str, args: Any, kwargs: Any) -> Any:
    if name == "extreme_points":
        _validation.refuse(
            "extreme_points",
            "how many there are depends on the data, which Dask has not computed",
            "compute the arrays first, or ask Q.to_hull() of a part",
        )
    if name in BY_INSTANCE and args and (is_lazy(args[0]) or np.ndim(args[0]) > 1):
        return _ask_lazily(Q, _Method(name, args[1:], kwargs), args[0])
    return _ask_lazily(Q, _Method(name, args, kwargs))


def _ask_lazily(Q: CredalSet, question: Any, first: Any = None) -> Any:
    """Answer for each chunk when it is computed; `first` has one row per instance."""
    made: Recipe = Q._recipe
    data, single = made.data, made.single
    if first is not None:
        single = single and np.ndim(first) == 1
        data = data.joined(first, 1, "argument")
    chunk = _Chunk(made.build, question, len(made.data.arrays))
    if getattr(question, "name", None) in SETS:
        return chunk(*data.empty())._deferred(Recipe(chunk, data, single))
    answer = lazy.ask(data, chunk)
    return lazy.rebuilt(answer, lambda array: array[0]) if single else answer
