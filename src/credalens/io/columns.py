"""Columns of tables: which contain class probabilities, labels and identifiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from credalens._backend import Array
from credalens.io.class_columns import UndecidedError, choose_class_columns
from credalens.io.source import ReadOptions, find_names, raise_file_error

#: Names of the index that pandas writes to CSV and Parquet.
PANDAS_INDEX = ("", "__index_level_0__", "Unnamed: 0")
#: Names of identifiers in tables, archives and files of labels, in the order in which they are
#: looked for; case, and whether words are joined by an underscore or a hyphen, do not matter.
ID_NAMES = (
    "id", "ids", "image_id", "img_id", "sample_id", "instance_id", "example_id", "item_id",
    "row_id", "record_id", "case_id", "uid", "uuid", "guid", "studyinstanceuid",
    "sopinstanceuid", "seriesinstanceuid", "filename", "file_name", "filenames", "image_name",
    "path", "file_path", "filepath", "image_path", "image", "file", "study_id", "patient_id",
    "subject_id", "name", "key", "index", "idx",
)  # fmt: skip
#: Names of labels, likewise.
LABEL_NAMES = (
    "label", "labels", "y_true", "true_label", "true_labels", "true_class", "ground_truth", "gt",
    "truth", "target", "targets", "y", "class", "class_label", "gold", "gold_label", "actual",
    "label_id", "label_ids", "class_id", "class_idx", "label_idx", "y_test", "test_labels", "y_val",
    "val_labels", "gt_label", "gt_labels",
)  # fmt: skip
#: Names of columns that describe a row and are neither classes nor labels.
OTHER_NAMES = (
    "fold", "folds", "kfold", "cv_fold", "split", "subset", "partition", "patient", "subject",
    "site", "center", "group", "epoch", "seed", "run", "batch", "rank", "row", "n", "total",
    "weight", "sample_weight", "prediction", "predicted", "pred", "y_pred", "predicted_label",
    "predicted_class", "pred_label", "pred_class", "argmax", "confidence", "max_prob", "entropy",
    "loss", "correct", "is_correct", "timestamp", "date", "time", "age",
)  # fmt: skip


_DIGITS = "0123456789"


def normalized(name: str) -> str:
    """Return a name in lower case with words joined by underscores."""
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def find_known(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the `names` that are among the `known`, in the order of these.

    A number after the name, as in ``target-0``, does not matter unless another name has the same
    stem, as in ``class_0``, ``class_1``.
    """
    # One pass over the names, which may be many.
    same: dict[str, list[str]] = {}
    numbered: dict[str, list[str]] = {}
    stems: Counter[str] = Counter()
    for name in names:
        form = normalized(name)
        stem = form.rstrip(_DIGITS)
        if stem != form:
            stem = stem.removesuffix("_")
            numbered.setdefault(stem, []).append(name)
        stems[stem] += 1
        same.setdefault(form, []).append(name)
    found = [name for wanted in known for name in same.get(wanted, ())]
    found += [name for wanted in known if stems[wanted] == 1 for name in numbered.get(wanted, ())]
    return found


@dataclass(frozen=True)
class ColumnRoles:
    """The columns of each kind."""

    classes: tuple[str, ...]
    label: str | None
    id: str | None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of all columns that are read."""
        return [*self.classes, *(name for name in (self.label, self.id) if name is not None)]


def find_column(names: Sequence[str], wanted: str) -> str | None:
    """Return the column of a name or, if there is none, at a zero-based position."""
    if wanted in names:
        return wanted
    return names[int(wanted)] if wanted.isdecimal() and int(wanted) < len(names) else None


def assign_columns(
    path: str,
    names: Sequence[str],
    options: ReadOptions,
    sample: Mapping[str, Array],
    index: Sequence[str] = (),
) -> ColumnRoles:
    """Return the class, label and identifier columns of a table.

    `sample` has the first values of each column, floats with NaN for what is not a number, or text
    for columns without numbers. `index` are the columns that the metadata of pandas declares as
    index.
    """
    if len(set(names)) < len(names):
        counts = Counter(names)
        name = next(name for name in names if counts[name] > 1)
        raise_file_error(path, f"has two columns {name!r}", "rename one, or pass --no-header")

    known_names = frozenset(names)

    def find(wanted: str, option: str) -> str:
        found = wanted if wanted in known_names else find_column(names, wanted)
        if found is None:
            problem = f"has no column {wanted!r} ({option})"
            raise_file_error(path, problem, f"its columns are {', '.join(names)}")
        return found

    indices = find_names(names, *index, *PANDAS_INDEX)
    # The column after a separator at the end of every line is empty.
    indices = [n for n in indices if sample[n].dtype.kind != "f" or not np.isnan(sample[n]).all()]
    labels, ids = find_known(names, LABEL_NAMES), find_known(names, ID_NAMES)
    classes = _classes(path, names, options, sample, {*labels, *ids, *indices}, find)
    label = _role(labels, classes, options.label, "--label-column", find)
    sure = [name for name in ids if normalized(name) in ("id", "ids")]
    unique = [name for name in ids if len(set(sample[name].tolist())) == len(sample[name])]
    taken = (*classes, *(() if label is None else (label,)))
    identifier = _role([*sure, *unique, *indices], taken, options.id, "--id-column", find)
    notes: list[str] = []
    if identifier is None and options.id is None and options.columns is None:
        identifier = _unnamed_ids(names, taken, sample)
        if identifier is not None:
            notes.append(f"the column {identifier} is read as ids")
    known = {*taken, identifier, *labels, *ids, *indices, ""}
    left_out = [name for name in names if name not in known]
    if left_out and options.columns is None:
        what = f"columns {', '.join(left_out)} are" if len(left_out) > 1 else (
            f"column {left_out[0]} is")  # fmt: skip
        notes.append(f"the {what} not read as classes; --columns selects others")
    return ColumnRoles(classes, label, identifier, tuple(notes))


def _unnamed_ids(
    names: Sequence[str], taken: Sequence[str], sample: Mapping[str, Array]
) -> str | None:
    """Return the only column of text with different values, like file names in any language."""
    excluded = {*taken, *find_known(names, OTHER_NAMES)}
    found = []
    for name in names:
        if name in excluded or sample[name].dtype.kind != "O":
            continue
        values = sample[name].tolist()
        texts = {
            value for value in values if isinstance(value, str) and re.fullmatch(r"\S+", value)
        }
        if len(texts) == len(values) > 1:
            found.append(name)
    return found[0] if len(found) == 1 else None


def _classes(
    path: str,
    names: Sequence[str],
    options: ReadOptions,
    sample: Mapping[str, Array],
    known: set[str],
    find: Callable[[str, str], str],
) -> tuple[str, ...]:
    if options.columns is not None:
        return tuple(find(name, "--columns") for name in options.columns)
    explicit = {
        find(name, option)
        for name, option in ((options.label, "--label-column"), (options.id, "--id-column"))
        if name not in (None, "none")
    }
    free = [name for name in names if name not in explicit]
    described = {*known, *find_known(names, OTHER_NAMES)}
    numeric = [name for name in free if sample[name].dtype.kind == "f"]
    if not numeric:
        _raise_no_numbers(path, free, sample)
    values = np.stack([sample[name] for name in numeric], axis=1)
    try:
        chosen = choose_class_columns(
            numeric, values, described, logits=options.logits, rescaled=options.rescaled
        )
    except UndecidedError as doubt:
        choices = " or ".join(columns_option(c, names) for c in doubt.choices)
        fix = ", ".join(filter(None, (f"pass {choices}", doubt.otherwise)))
        raise_file_error(path, doubt.problem, fix)
    return tuple(chosen)


def _raise_no_numbers(path: str, names: Sequence[str], sample: Mapping[str, Array]) -> NoReturn:
    """Raise the error for a table without numbers, such as one with percent signs."""
    percent = [name for name in names if re.fullmatch(r"[\d.,]+\s*%", str(sample[name][0]))]
    if percent:
        problem = f"column {percent[0]!r} is {sample[percent[0]][0]!r}, not a number"
        raise_file_error(path, problem, "remove the percent signs, and pass --percent")
    shown = f" ({names[0]} is {str(sample[names[0]][0])[:40]!r})" if names else ""
    raise_file_error(path, f"has no column of numbers{shown}", "save one number per class")


def columns_option(columns: Sequence[str], names: Sequence[str]) -> str:
    """Return the option that selects columns: by name, or by position if they are many.

    Examples
    --------
    >>> columns_option(["cat", "dog"], ["id", "cat", "dog"])
    '--columns cat,dog'
    >>> columns_option([f"c{k}" for k in range(100)], ["id", *(f"c{k}" for k in range(100))])
    '--columns 1-100'
    """
    numbered = all(name.isdecimal() for name in columns)  # a name has precedence over a position
    if len(columns) <= 10 and not any("," in name for name in columns):
        return f"--columns {','.join(columns)}"
    positions = [int(name) if numbered else list(names).index(name) for name in columns]
    spans: list[list[int]] = []
    for position in positions:
        if spans and spans[-1][1] == position - 1:
            spans[-1][1] = position
        else:
            spans.append([position, position])
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in spans]
    return f"--columns {','.join(parts)}"


def _role(
    candidates: Sequence[str],
    classes: Sequence[str],
    given: str | None,
    option: str,
    find: Callable[[str, str], str],
) -> str | None:
    """Return the column that an option names, or the first candidate that is not a class."""
    if given is not None and given != "none":
        name: str = find(given, option)
        return name
    if given == "none":
        return None
    return next((name for name in candidates if name not in classes), None)
