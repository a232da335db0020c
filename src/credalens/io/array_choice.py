"""Which arrays of a file contain predictions, labels and identifiers, and what their axes are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from credalens._row_kinds import distribution_axis
from credalens.io.array_stores import ArrayInfo, ArrayStore
from credalens.io.columns import ID_NAMES, LABEL_NAMES
from credalens.io.npy import raise_pickled
from credalens.io.source import ReadOptions, find_names, raise_file_error

#: Names of arrays and columns of probabilities, of predictions of either kind, of logits and of
#: log-probabilities, in the order in which they are looked for, in any case.
PROBABILITIES = ("probs", "prob", "probabilities", "probability", "proba", "probas", "softmax",
                 "softmax_probs", "pred_probs", "predict_proba", "y_prob", "y_probs", "y_proba",
                 "y_pred_proba")  # fmt: skip
PREDICTIONS = ("predictions", "preds", "pred", "y_pred", "y_score", "outputs", "output", "scores",
               "arr_0")  # fmt: skip
LOGITS = ("logits", "logit", "pred_logits", "y_logits")
LOG_PROBABILITIES = ("logprobs", "log_probs", "logprob", "log_softmax", "log_probabilities",
                     "top_logprobs")  # fmt: skip
#: Names of the axes of arrays with 1, 2 and 3 axes.
DEFAULT_AXES = {1: ("rows",), 2: ("rows", "classes"), 3: ("rows", "models", "classes")}
AXES = ("models", "rows", "classes")
#: Largest array, in bytes, that is read to find out which axis has the classes.
INSPECTED_BYTES = 1 << 28


def content_of(name: str) -> str:
    """Return ``"probs"``, ``"logits"`` or ``"logprobs"`` by the name of an array, else nothing."""
    kinds = {"probs": PROBABILITIES, "logits": LOGITS, "logprobs": LOG_PROBABILITIES}
    return next((kind for kind, known in kinds.items() if _base(name) in known), "")


def known_names(logits: bool) -> tuple[str, ...]:
    """Return the names of predictions in the order of preference."""
    of_logits = (*LOGITS, *LOG_PROBABILITIES)
    first, last = (of_logits, PROBABILITIES) if logits else (PROBABILITIES, of_logits)
    return (*first, *PREDICTIONS, *last)


def _base(name: str) -> str:
    """Return the name of an array without those of its groups, in lower case."""
    return name.rpartition("/")[2].lower()


def _group(name: str) -> str:
    return name.rpartition("/")[0]


def find_arrays(names: Iterable[str], *wanted: str) -> list[str]:
    """Return the arrays with a known name in any group, in the order of `wanted`."""
    return [name for known in wanted for name in names if _base(name) == known]


@dataclass(frozen=True)
class ArrayChoice:
    """Names of the arrays to read, and the names of the axes of the predictions."""

    predictions: str
    axes: tuple[str, ...]
    labels: str | None = None
    ids: str | None = None
    class_names: str | None = None
    notes: tuple[str, ...] = ()


def choose_arrays(store: ArrayStore, options: ReadOptions) -> ArrayChoice:
    """Return which arrays of a store to read; raise `PredictionFileError` if that is unclear."""
    arrays = store.arrays
    name, note = _predictions(store, options)
    axes = axes_of(store, name, options)
    shape = arrays[name].shape
    n_classes = shape[axes.index("classes")] if "classes" in axes else 1
    group = _group(name)  # of an HDF5 file
    others = {
        key: info for key, info in arrays.items() if key != name and _group(key) in ("", group)
    }
    fix = _RowsFix(store.path, shape, axes)
    labels = _labels(store, others, options, fix, n_classes)
    ids = _per_row(others, ID_NAMES, ("ids", "id"), fix)
    if options.id == "none":
        ids = None
    names = next(
        (key for key in find_arrays(others, "class_names", "classes", "label_names")
         if others[key].shape == (n_classes,)), None
    )  # fmt: skip
    strict = next((key for key in find_arrays(others, "class_names") if key != names), None)
    if strict is not None:
        problem = f"{strict} has shape {others[strict].shape}"
        raise_file_error(store.path, problem, f"save shape ({n_classes},), one entry per class")
    return ArrayChoice(name, axes, labels, ids, names, (note,) if note else ())


def _predictions(store: ArrayStore, options: ReadOptions) -> tuple[str, str]:
    """Return the name of the array of predictions, and a note if it was inferred."""
    arrays, path = store.arrays, store.path
    listed = _listed(arrays)
    if options.key is not None:
        found = find_names(arrays, options.key)
        if not found:
            raise_file_error(path, f"has no array {options.key!r} (--key)", f"it has {listed}")
        _check_kind(path, found[0], arrays[found[0]])
        return found[0], ""
    if list(arrays) == [""]:
        _check_kind(path, "", arrays[""])
        return "", ""
    axes = len(options.axes) if options.axes is not None else 0
    for least in (2, 1):  # a probability of one of two classes only if nothing else fits
        fitting = [key for key, info in arrays.items() if _fits(info, least, axes)]
        known = find_arrays(fitting, *known_names(options.logits))
        same = [key for key in known if _base(key) == _base(known[0])]
        if len(same) > 1:
            problem = f"contains {_listed({key: arrays[key] for key in same})}"
            raise_file_error(path, problem, f"name the predictions, e.g. --key {same[0]}")
        if known:
            _check_unnamed(path, known[0], {key: arrays[key] for key in fitting})
            return known[0], ""
        floats = [key for key in fitting if arrays[key].dtype.kind == "f"]
        if len(floats) > 1:
            problem = f"contains {_listed({key: arrays[key] for key in floats})}"
            raise_file_error(path, problem, f"name the predictions, e.g. --key {floats[0]}")
        if floats:
            return floats[0], f"the predictions are read from the array {floats[0]!r}"
    return _raise_no_predictions(store, listed)


def _check_unnamed(path: str, name: str, fitting: Mapping[str, ArrayInfo]) -> None:
    """Raise if arrays that ``numpy.savez`` named by their position have the same shape."""
    same = [key for key, info in fitting.items() if info.shape == fitting[name].shape
            and re.fullmatch(r"arr_\d+", key)]  # fmt: skip
    if name in same and len(same) > 1:
        problem = f"contains {_listed({key: fitting[key] for key in same})}"
        fix = f"save numpy.stack(models, axis=1), or name the predictions, e.g. --key {name}"
        raise_file_error(path, problem, fix)


def _fits(info: ArrayInfo, least_classes: int, axes: int) -> bool:
    shape = info.shape
    if 0 in shape or info.dtype.kind not in "fiub":
        return False
    if axes:
        return len(shape) == axes
    if least_classes > 1:
        return len(shape) in (2, 3) and shape[-1] > 1
    return info.dtype.kind == "f" and len(shape) in (1, 2, 3)


def _check_kind(path: str, name: str, info: ArrayInfo) -> None:
    prefix = f"{name} " if name else ""
    if info.dtype.hasobject:
        raise_pickled(path, name)
    if not info.shape:
        raise_file_error(path, f"{prefix}contains a single number", "save (rows, ..., classes)")
    if info.shape[0] == 0:
        raise_file_error(path, f"{prefix}has no rows", "save at least one")
    if info.dtype.kind not in "fiub":
        raise_file_error(path, f"{prefix}has dtype {info.dtype}", "save floats")


def _listed(arrays: Mapping[str, ArrayInfo]) -> str:
    shown = [f"{name or 'an array'} {info.shape}" for name, info in arrays.items()]
    return ", ".join(shown[:10]) + (", ..." if len(shown) > 10 else "") or "no arrays"


def _raise_no_predictions(store: ArrayStore, listed: str) -> tuple[str, str]:
    for name in find_arrays(store.arrays, *known_names(False)):
        if store.arrays[name].dtype.hasobject:
            raise_pickled(store.path, name)
        if len(store.arrays[name].shape) > 3:
            _raise_dense(store, name)
    if any(info.dtype.hasobject for info in store.arrays.values()):
        raise_pickled(store.path)
    return raise_file_error(
        store.path,
        f"contains {listed}",
        "save predictions (rows, classes) or (rows, models, classes), e.g. by "
        "numpy.savez(path, probs=...)",
    )


def _raise_dense(store: ArrayStore, name: str) -> None:
    """Raise the error for predictions of every pixel or voxel."""
    info = store.arrays[name]
    axis = None
    if info.dtype.itemsize * _product(info.shape) <= INSPECTED_BYTES:
        axis = distribution_axis(store.load(name))
    array = name or "a"
    moved = array if axis is None else f"numpy.moveaxis({array}, {axis}, -1)"
    classes = info.shape[-1 if axis is None else axis]
    what = f"{name} has" if name else "has"
    raise_file_error(
        store.path,
        f"{what} shape {info.shape}, like predictions for every pixel",
        f"save one row per pixel: {moved}.reshape(-1, {classes})",
    )


def _product(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def axes_of(store: ArrayStore, name: str, options: ReadOptions) -> tuple[str, ...]:
    """Return the names of the axes of the predictions."""
    shape = store.arrays[name].shape
    given = options.axes
    if given is not None:
        if "rows" not in given or len(set(given)) < len(given) or not set(given) <= set(AXES):
            fix = "name each axis once: models, rows and classes in their order"
            raise_file_error("--axes", f"is {','.join(given)!r}", fix)
        if len(given) != len(shape):
            problem = f"has shape {shape}, --axes names {len(given)} axes"
            raise_file_error(store.path, problem, f"name {len(shape)} axes")
        return given
    if len(shape) > 3:
        _raise_dense(store, name)
    if 0 in shape:
        fix = "save (rows, classes) or (rows, models, classes)"
        raise_file_error(store.path, f"has shape {shape}", fix)
    if len(shape) == 1 and store.arrays[name].dtype.kind != "f":
        raise_file_error(
            store.path,
            f"has shape {shape} and dtype {store.arrays[name].dtype}, like labels",
            "save predictions (rows, classes), and pass labels by --labels",
        )
    return DEFAULT_AXES[len(shape)]


def axes_with_rows(shape: Sequence[int], axes: Sequence[str], count: int) -> str:
    """Return the option that gives the rows the axis of `count` entries; nothing without one.

    Examples
    --------
    >>> axes_with_rows((3, 60, 4), ("rows", "models", "classes"), 60)
    '--axes models,rows,classes'
    """
    names, i = list(axes), axes.index("rows")
    if count not in shape or shape[i] == count:
        return ""
    j = list(shape).index(count)
    names[i], names[j] = names[j], names[i]
    return f"--axes {','.join(names)}"


@dataclass(frozen=True)
class _RowsFix:
    """Shape and axes of the predictions, for the errors about arrays of other lengths."""

    path: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        return self.shape[self.axes.index("rows")]

    def raise_for(self, name: str, info: ArrayInfo) -> NoReturn:
        """Raise the error for an array that does not have one entry per row."""
        if info.dtype.hasobject:
            raise_pickled(self.path, name)
        option = axes_with_rows(self.shape, self.axes, max(info.shape, default=0))
        fix = f"save shape ({self.n_rows},), one entry per row"
        if option:
            fix = f"the predictions have shape {self.shape}: if its axes are so, pass {option}"
        raise_file_error(self.path, f"{name} has shape {info.shape}", fix)


def _labels(
    store: ArrayStore,
    arrays: Mapping[str, ArrayInfo],
    options: ReadOptions,
    fix: _RowsFix,
    n_classes: int,
) -> str | None:
    if options.label == "none":
        return None
    if options.label_key is not None:
        found = find_names(store.arrays, options.label_key)
        if not found:
            problem = f"has no array {options.label_key!r} (--label-key)"
            raise_file_error(store.path, problem, f"it has {_listed(store.arrays)}")
        arrays = {found[0]: store.arrays[found[0]]}
        return _per_row(arrays, [_base(found[0])], [_base(found[0])], fix, max(n_classes, 2))
    return _per_row(arrays, LABEL_NAMES, ("labels", "label"), fix, max(n_classes, 2))


def _per_row(
    arrays: Mapping[str, ArrayInfo],
    names: Sequence[str],
    strict: Sequence[str],
    fix: _RowsFix,
    n_classes: int = 1,
) -> str | None:
    """Return the first array with one entry, or one per class, for each row.

    An array with a name in `strict` must have such a shape.
    """
    n = fix.n_rows
    shapes = {(n,), (n, 1), (1, n), (n, n_classes)}
    for name in find_arrays(arrays, *names):
        if arrays[name].shape in shapes and not arrays[name].dtype.hasobject:
            return name
        if _base(name) in strict:
            fix.raise_for(name, arrays[name])
    return None
