"""Predictions as other libraries keep them, brought to members ``(..., M, K)``.

Nothing is imported for it: an object is known by its attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import Array

# ---------------------------------------------------------------- arrays and stacks


def as_members(
    x: Any,
    axis: int | None = None,
    name: str = "members",
    last: str = "classes",
    class_axis: int | None = None,
) -> Any:
    """Return `x` as one array ``(..., M, K)`` of the library that it came from.

    `axis` is where the members are, by default before the classes, and `class_axis` where the
    classes are, by default the last one; moving them makes a view. Frames, and arrays in a dict,
    are one per member. A list of arrays ``(..., K)`` may be one per member or one per instance, so
    that it needs an `axis`: 0 for one per member. `last` is what the last axis has, for errors.
    """
    if is_probly(x):
        _validation.raise_invalid(
            name, f"is probly's {type(x).__name__}", "write credalens.from_probly(...)"
        )
    if isinstance(x, Mapping):
        x, axis = list(x.values()), 0 if axis is None else axis
    if isinstance(x, Sequence) and len(x) > 0:
        if all(is_frame(one) for one in x):
            for argument, value in (("axis", axis), ("class_axis", class_axis)):
                if value not in (None, 0 if argument == "axis" else -1):
                    _validation.raise_invalid(
                        argument,
                        f"is {value!r} for a list of frames",
                        "leave it out: a frame is a model, and its columns are classes",
                    )
            return frame_members(x)
        if all(getattr(one, "ndim", 0) > 0 for one in x):
            if axis == 0 and class_axis in (None, -1):
                return _stacked(x, -2, name)
            if axis is None and is_sequence_of_arrays(x):
                _raise_ambiguous(x, name)
            x = _stacked(x, 0, name)
    if axis is None and class_axis is None:
        return x
    return _moved(x, axis, class_axis, name, last)


def is_sequence_of_arrays(x: Any) -> bool:
    """Say whether `x` is a sequence of arrays with rows, ``(..., K)``, not of numbers."""
    return isinstance(x, Sequence) and len(x) > 0 and all(getattr(a, "ndim", 0) > 1 for a in x)


def _raise_ambiguous(arrays: Sequence[Any], name: str) -> NoReturn:
    shapes = " and ".join(dict.fromkeys(str(tuple(one.shape)) for one in arrays[:2]))
    stack = f"{library_of(arrays[0]).__name__}.stack"
    _validation.raise_invalid(
        name,
        f"is a sequence of {len(arrays)} arrays of shape {shapes}, which may be one per member or "
        "one per instance",
        f"pass {stack}({name}, axis=-2) for one per member, {stack}({name}) for one per instance",
    )


def _stacked(arrays: Sequence[Any], axis: int, name: str) -> Any:
    """Return arrays of one shape as one, in their own library."""
    first = tuple(arrays[0].shape)
    for m, one in enumerate(arrays):
        if tuple(one.shape) != first:
            _validation.raise_invalid(
                name,
                f"array {m} (zero-based) has shape {tuple(one.shape)}, array 0 has {first}",
                "pass arrays of one shape",
            )
    return library_of(arrays[0]).stack(tuple(arrays), axis)


def _moved(x: Any, axis: int | None, class_axis: int | None, name: str, content: str) -> Any:
    """Return a view of `x` with the members and then `content` on the last two axes."""
    array = x if hasattr(x, "ndim") else np.asarray(x)
    last = array.ndim - 1
    classes = last if class_axis is None else _axis(array, class_axis, "class_axis", name, content)
    if axis is None:
        if classes == 0:
            _validation.raise_invalid(
                "class_axis",
                f"is {class_axis!r}, the first one of shape {tuple(array.shape)}",
                "the members are on the axis before it; pass axis=, that of the members",
            )
        members = classes - 1
    else:
        members = _axis(array, axis, "axis", name, "members", last if class_axis is None else None)
    if members == classes:
        where = "the last one of" if class_axis is None else f"as class_axis={class_axis!r}, of"
        _validation.raise_invalid(
            "axis",
            f"is {axis!r}, {where} shape {tuple(array.shape)}",
            f"the {content} are on {'the last' if class_axis is None else 'this'} axis; pass that "
            "of the members",
        )
    return library_of(array).moveaxis(array, (members, classes), (-2, -1))


def _axis(
    array: Any, axis: Any, argument: str, name: str, content: str, stop: int | None = None
) -> int:
    """Return an axis of an array, counted from the first; raise if it does not exist."""
    whole = isinstance(axis, int | np.integer) and not isinstance(axis, bool)
    if not whole or not -array.ndim <= axis < array.ndim:
        largest = array.ndim if stop is None else stop
        _validation.raise_invalid(
            argument,
            f"is {axis!r}, and {name} has shape {tuple(array.shape)}",
            f"pass the axis of the {content}, 0 to {max(largest - 1, 0)}",
        )
    return int(axis) % int(array.ndim)


def library_of(array: Any) -> Any:
    """Return the module whose `stack` and `moveaxis` keep `array` in its library."""
    for library, module in (("torch", "torch"), ("jax", "jax.numpy"), ("jaxlib", "jax.numpy")):
        if type(array).__module__.partition(".")[0] == library and module in sys.modules:
            return sys.modules[module]
    return np  # which hands Dask's arrays back to Dask


def is_probly(x: Any) -> bool:
    """Say whether `x` is one of probly's own objects."""
    return any(base.__module__.partition(".")[0] == "probly" for base in type(x).__mro__)


# ---------------------------------------------------------------- frames


def is_frame(x: Any) -> bool:
    """Say whether `x` is a table with named columns, as those of pandas and polars."""
    return hasattr(x, "columns") and hasattr(x, "to_numpy")


def frame_members(frames: Any, columns: Sequence[Any] | None = None) -> Array:
    """Return frames, one per model, as ``(n, M, K)``: columns by name, rows by index or position.

    The classes come in the order of `columns`, or of the columns of the first frame. Frames of
    pandas whose indexes hold the same labels in another order are aligned by them.
    """
    tables = list(frames.values()) if isinstance(frames, Mapping) else list(frames)
    for m, table in enumerate(tables):
        if not is_frame(table):
            _validation.raise_invalid(
                f"frames[{m}]", f"is a {type(table).__name__}", "pass pandas or polars frames"
            )
    if not tables:
        _validation.raise_invalid("frames", "is empty", "pass one frame per model")
    names = list(tables[0].columns if columns is None else columns)
    if not names or len(set(names)) < len(names):
        what = "has no columns" if not names else f"has a column twice in {names}"
        _validation.raise_invalid("columns", what, "name every class once")
    parts = []
    for m, table in enumerate(tables):
        _check_columns(m, list(table.columns), names, exact=columns is None)
        parts.append(_numbers(m, _aligned(m, table, tables[0]), names))
    members = np.empty((len(parts[0]), len(parts), len(names)), np.result_type(*parts))
    for m, part in enumerate(parts):
        members[:, m] = part
    return members


def union_of_rows(frames: Any) -> list[Any]:
    """Return pandas frames with the rows of all of them, NaN where a frame has none."""
    tables = list(frames.values()) if isinstance(frames, Mapping) else list(frames)
    if not all(hasattr(table, "reindex") for table in tables) or not tables:
        _validation.raise_invalid(
            "missing", "is 'allow', which matches rows by the index of pandas frames",
            "pass pandas frames, or arrays with NaN",
        )  # fmt: skip
    index = tables[0].index
    for m, table in enumerate(tables):
        if not table.index.is_unique:
            _validation.raise_invalid(
                f"frames[{m}]", "has a label twice in its index", "make the labels unique"
            )
        index = index.append(table.index.difference(index, sort=False))
    return [table if table.index.equals(index) else table.reindex(index) for table in tables]


def _check_columns(m: int, have: list[Any], names: list[Any], *, exact: bool) -> None:
    missing = [name for name in names if name not in have]
    extra = [name for name in have if name not in names] if exact else []
    twice = sorted({str(name) for name in have if have.count(name) > 1 and name in names})
    if missing or extra or twice:
        problems = [
            f"{word} {', '.join(map(repr, those))}"
            for word, those in (("lacks", missing), ("also has", extra), ("repeats", twice))
            if those
        ]
        _validation.raise_invalid(
            f"frames[{m}]",
            f"{' and '.join(problems)} (the classes are {', '.join(map(repr, names))})",
            "give all frames the same class columns; from_frames(frames, columns=[...]) picks them",
        )


def _aligned(m: int, table: Any, first: Any) -> Any:
    """Return a frame with its rows in the order of those of `first`."""
    fix = "pass the same instances for every model"
    if len(table) != len(first):
        _validation.raise_invalid(
            f"frames[{m}]", f"has {len(table)} rows, frames[0] {len(first)}", fix
        )
    index, wanted = getattr(table, "index", None), getattr(first, "index", None)
    if index is None or wanted is None or index.equals(wanted):
        return table
    if not (index.is_unique and wanted.is_unique):
        _validation.raise_invalid(
            f"frames[{m}]",
            "has another index than frames[0], with a label twice",
            "align the rows first; reset_index(drop=True) takes them by position",
        )
    where = index.get_indexer(wanted)
    if (where < 0).any():
        label = wanted[int(np.argmax(where < 0))]
        _validation.raise_invalid(
            f"frames[{m}]",
            f"has no row {label!r}, which is in the index of frames[0]",
            f"{fix}; reset_index(drop=True) takes rows by position",
        )
    return table.iloc[where]


def _numbers(m: int, table: Any, names: list[Any]) -> Array:
    array = np.asarray(table[names].to_numpy())
    if array.dtype.kind in "fbiu":
        return array
    columns = []
    for name in names:  # nullable columns come as objects, though each of them is numeric
        try:
            columns.append(np.asarray(table[name].to_numpy(), np.float64))
        except (TypeError, ValueError):
            _validation.raise_invalid(
                f"frames[{m}]",
                f"column {name!r} is not numeric, or has missing values",
                "leave it out with from_frames(frames, columns=[...]), or fill it",
            )
    return np.stack(columns, axis=1)


# ---------------------------------------------------------------- forests


def forest_members(forest: Any, X: Any, smoothing: float = 0.0) -> Array:
    """Return the class frequencies of the leaf in each tree, ``(n, M, K)``.

    A tree is read once: the leaf that each instance falls into, then a row of its table.
    """
    trees = _trees(forest)
    if not isinstance(smoothing, Real) or not 0 <= smoothing < np.inf:
        _validation.raise_invalid(
            "smoothing", f"is {smoothing!r}", "pass a number >= 0, 1 for Laplace's"
        )
    n_classes = len(forest.classes_)
    leaves = _leaves(forest, trees, X)
    members = np.empty((len(leaves[0]), len(trees), n_classes))
    for m, (tree, leaf) in enumerate(zip(trees, leaves, strict=True)):
        members[:, m] = leaf_table(tree, n_classes, float(smoothing))[leaf]
    return members


def _trees(forest: Any) -> list[Any]:
    name, fix = type(forest).__name__, "pass a fitted forest of classification trees"
    trees = getattr(forest, "estimators_", None)
    if trees is None:
        unfitted = hasattr(forest, "fit") and not hasattr(forest, "classes_")
        what = "is not fitted" if unfitted else "has no estimators_"
        _validation.raise_invalid("forest", f"a {name} {what}", fix)
    if hasattr(forest, "estimator_weights_"):
        _validation.raise_invalid("forest", f"a {name} weights its trees, a hull does not", fix)
    if getattr(forest, "n_outputs_", 1) != 1:
        _validation.raise_invalid(
            "forest", f"has {forest.n_outputs_} outputs", "fit one forest for each of them"
        )
    trees = list(trees)
    wrong = [tree for tree in trees if not hasattr(tree, "tree_") or not hasattr(tree, "classes_")]
    if wrong or not hasattr(forest, "classes_"):
        kind = type(wrong[0]).__name__ if wrong else "regression trees"
        _validation.raise_invalid(
            "forest",
            f"is a {name} of {kind}",
            f"{fix}; for other models pass their predict_proba, ConvexHull([p1, p2, ...], axis=0)",
        )
    return trees


def _leaves(forest: Any, trees: list[Any], X: Any) -> list[Array]:
    """Return the leaf of each instance in each tree."""
    if hasattr(forest, "apply"):
        return list(np.asarray(forest.apply(X)).T)
    # A bag of trees: each sees its own features, and knows no names.
    expected = getattr(forest, "feature_names_in_", None)
    if is_frame(X) and expected is not None and list(X.columns) != list(expected):
        _validation.raise_invalid(
            "X", f"has the columns {list(X.columns)}", f"pass those of the fit, {list(expected)}"
        )
    sparse = hasattr(X, "tocsr")
    # Trees read single precision; converted here once, not by each of them.
    array = X.tocsr() if sparse else np.asarray(X.to_numpy() if is_frame(X) else X, np.float32)
    if array.ndim != 2 or array.shape[1] != forest.n_features_in_:
        _validation.raise_invalid(
            "X", f"has shape {array.shape}", f"pass an array (n, {forest.n_features_in_})"
        )
    chosen = getattr(forest, "estimators_features_", None) or [None] * len(trees)

    def seen(columns: Any) -> Any:
        if columns is None or np.array_equal(columns, np.arange(forest.n_features_in_)):
            return array
        return array[:, columns] if sparse else np.take(array, columns, axis=1)

    return [tree.apply(seen(columns)) for tree, columns in zip(trees, chosen, strict=True)]


def leaf_table(tree: Any, n_classes: int, smoothing: float) -> Array:
    """Return the (smoothed) class frequencies of every node, ``(nodes, K)``."""
    inner = tree.tree_
    values = inner.value[:, 0, : tree.n_classes_]
    # A tree of a bag may have seen some of the classes only; it knows them by their number.
    seen = np.asarray(tree.classes_).astype(np.intp) if len(tree.classes_) < n_classes else ...
    shares = np.zeros((len(values), n_classes))
    shares[:, seen] = values
    if smoothing == 0:
        return shares
    counts = np.asarray(inner.weighted_n_node_samples)[:, None]
    return np.asarray((shares * counts + smoothing) / (counts + n_classes * smoothing))
