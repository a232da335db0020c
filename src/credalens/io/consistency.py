"""Whether files fit together and to the options: rows, classes, and the names of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.io.source import ARRAY_OPTIONS, COLUMN_OPTIONS, ReadOptions, Source, raise_file_error
from credalens.io.values import MISSING_FIX, ValueOptions


def check_shapes(sources: Sequence[Source], missing: bool | None = None, join: bool = True) -> None:
    """Raise an error for files with different numbers of classes or rows.

    Models may have different rows if they may be `missing` and are matched (`join`) by identifiers;
    None if there is no option for it.
    """
    first = sources[0]
    by_id = join and all(source.id_name is not None for source in sources)
    for source in sources[1:]:
        for what in ("classes", "rows"):
            own, other = getattr(source, f"n_{what}"), getattr(first, f"n_{what}")
            if None not in (own, other) and own != other:
                if what == "rows" and missing and by_id:
                    continue
                problem = f"has {own} {what}, {first.path} {other}"
                single = [s.path for s in (first, source) if s.n_classes == 1]
                labels = f", or --labels {single[0]} if it contains labels" if single else ""
                if what == "rows" and by_id and missing is False:
                    labels += f", {MISSING_FIX}"
                elif what == "rows" and missing and join:
                    labels += ", or save ids, by which rows that models lack are matched"
                elif what == "rows" and missing:
                    labels += ", or leave out --engine dask, which does not match rows by their ids"
                raise_file_error(source.path, problem, f"pass models of the same {what}{labels}")


def check_options(sources: Sequence[Source], options: ReadOptions, values: ValueOptions) -> None:
    """Raise an error for options that contradict the files or have no effect."""
    if not 0 < values.temperature < np.inf:
        problem = f"is {values.temperature:g}"
        raise_file_error("--temperature", problem, "pass a positive number")
    are_logits = [values.is_logits(source) for source in sources]
    if values.temperature != 1 and not any(are_logits):
        raise_file_error("--temperature", "applies to logits", "pass --logits, or leave it out")
    for option, given in (("--normalize", values.normalize), ("--percent", values.percent)):
        if given and all(are_logits):
            raise_file_error(option, "applies to probabilities", "leave it out for logits")
    reads_files = any("--format" in source.options for source in sources)
    given_format = options.format is not None and not reads_files
    if given_format and all(source.path != "stdin" for source in sources):
        fix = "leave it out: files have extensions"
        raise_file_error("--format", "applies to standard input", fix)
    columns = (options.columns, options.label, options.id)
    arrays = (options.key, options.label_key, options.axes)
    given_options: dict[str, Any] = {
        **dict(zip(COLUMN_OPTIONS, columns, strict=True)),
        "--header": options.header,
        **dict(zip(ARRAY_OPTIONS, arrays, strict=True)),
    }
    for option, value in given_options.items():
        if value in (None, "none") or any(option in source.options for source in sources):
            continue
        kind = "arrays" if option in ARRAY_OPTIONS else "tables"
        kind = "text files" if option == "--header" else kind
        raise_file_error(option, f"applies to {kind}, and there are none", "leave it out")
    for option, value in (("--choices", options.choices), ("--aggregate", options.aggregate)):
        if value is not None and not reads_files:
            raise_file_error(option, "applies to language models", "pass --format logprobs")
    for source in sources:
        if values.logits and not values.force_logits and source.content == "probs":
            raise_file_error(source.path, "contains probs, not logits", "leave out --logits")


def common_classes(
    sources: Sequence[Source], given: Sequence[str] | None, n_classes: int
) -> tuple[tuple[str, ...] | None, tuple[Array | None, ...], list[str]]:
    """Return the class names, the position of each class in the columns of each file, and notes.

    The names are `given`, or those of the first file that has some; ``None`` if they are the
    indices. Columns of the same names in another order are put into that of the names.
    """
    named = [source for source in sources if source.class_names is not None]
    named = [source for source in named if source.n_classes > 1]
    names = tuple(given) if given is not None else (named[0].class_names if named else None)
    if names is None:
        return None, (None,) * len(sources), []
    if len(names) != n_classes or len(set(names)) < len(names):
        problem = f"has {len(set(names))} different names"
        raise_file_error("--class-names", problem, f"pass {n_classes}, one per class")
    orders: list[Array | None] = []
    notes: list[str] = []
    for source in sources:
        own = source.class_names if source.n_classes > 1 else None
        if own is None or own == names:
            orders.append(None)
        elif set(own) == set(names):
            orders.append(np.array([own.index(name) for name in names]))
            listed = ", ".join(own)[:200]
            notes.append(f"{source.path}: its classes, {listed}, are matched by name")
        elif given is None:
            listed, first = (", ".join(s.class_names or ())[:100] for s in (source, named[0]))
            problem = f"has the classes {listed}, {named[0].path} {first}"
            fix = "pass --class-names to name them by position"
            raise_file_error(source.path, problem, fix)
        else:
            orders.append(None)
    indices = tuple(str(k) for k in range(len(names)))
    return (None if names == indices else names), tuple(orders), notes
