"""The KEEL file format, ``.dat``."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from credalens._arrays import Array

#: How the format writes a missing value.
MISSING = ("?", "<null>")

_ATTRIBUTE = re.compile(
    r"""(?P<name>'[^']*'|"[^"]*"|\S.*?)
        (?:\s*\{(?P<values>.*)\}
        |\s+(?P<kind>real|integer|numeric|nominal)\s*(?:\[(?P<range>.*)\])?)$""",
    re.VERBOSE | re.IGNORECASE,
)
_FIELD = re.compile(r"""\s*('[^']*'|"[^"]*"|[^,]*?)\s*(?:,|$)""")


class MalformedFileError(ValueError):
    """A file that does not follow its format; the message names file, line and reason.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credalens.datasets import MalformedFileError, read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels-idx1-ubyte")
    ...     _ = path.write_bytes(b"no header")
    ...     try:
    ...         read_idx(path)
    ...     except MalformedFileError as error:
    ...         print(str(error).partition(";")[0].removeprefix(folder)[1:])
    labels-idx1-ubyte: begins with the bytes 6e 6f 20 68
    """


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification problem as numbers.

    Examples
    --------
    >>> from credalens.datasets import load_bundled
    >>> iris = load_bundled("iris")
    >>> iris.X.shape, iris.y.shape, iris.class_names
    ((150, 4), (150,), ('setosa', 'versicolor', 'virginica'))
    """

    #: Name of the dataset.
    name: str
    #: Features, ``(n, d)``; nominal attributes as the position of their value in the header.
    X: Array
    #: Classes 0 .. K - 1, ``(n,)``; every one of them occurs.
    y: Array
    #: Names of the d features.
    feature_names: tuple[str, ...]
    #: Names of the K classes.
    class_names: tuple[str, ...]
    #: Rows left out because a value was missing.
    n_dropped: int = 0

    def __repr__(self) -> str:
        n, features = self.X.shape
        return (
            f"Dataset(name={self.name!r}, n={n}, features={features}, "
            f"classes={len(self.class_names)})"
        )


@dataclass(frozen=True)
class _Attribute:
    name: str
    #: Values of a nominal attribute in the order of the header; None for numbers.
    values: tuple[str, ...] | None


@dataclass
class _Header:
    """What stands before the data, filled line by line."""

    attributes: list[_Attribute] = field(default_factory=list)
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    inputs_line: int = 0
    outputs_line: int = 0

    def column(self, name: str) -> int | None:
        names = [attribute.name for attribute in self.attributes]
        return names.index(name) if name in names else None


def read_dat(path: str | Path) -> Dataset:
    """Read a KEEL ``.dat`` file.

    Rows with missing values (``?``, ``<null>``) are left out, nominal attributes become numbers.
    Without ``@outputs`` the last column is the class, without ``@inputs`` all others are features;
    without any header, a column is numeric if all its values are.

    Parameters
    ----------
    path : str or Path
        A file in KEEL's format.

    Returns
    -------
    Dataset

    Raises
    ------
    MalformedFileError
        With the line (counted from 1) and the reason.

    Notes
    -----
    A column has far fewer distinct values than rows; each distinct text is parsed once.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from credalens.datasets import read_dat
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "fruit.dat")
    >>> _ = path.write_text('''@relation fruit
    ... @attribute weight real [0, 9]
    ... @attribute colour {red, green}
    ... @attribute kind {apple, pear}
    ... @data
    ... 1.5, red, apple
    ... 2.5, green, pear
    ... ?, red, pear
    ... ''')
    >>> fruit = read_dat(path)
    >>> fruit
    Dataset(name='fruit', n=2, features=2, classes=2)
    >>> fruit.X
    array([[1.5, 0. ],
           [2.5, 1. ]])
    >>> folder.cleanup()
    """
    path = Path(path)

    def fail(line: int, reason: str) -> NoReturn:
        raise MalformedFileError(f"{path}, line {line}: {reason}")

    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    lines = text.splitlines()
    header, start = _read_header(lines, fail)
    columns, numbers = _read_columns(lines, start, header, fail)
    if not header.attributes:
        header.attributes = [_guess(f"column {i}", column) for i, column in enumerate(columns)]
    inputs, output = _roles(header, len(columns), fail)

    def codes(i: int) -> Array:
        return _column(columns[i], header.attributes[i], numbers, fail)

    X = np.column_stack([codes(i) for i in inputs]) if inputs else np.empty((len(numbers), 0))
    classes, names = _classes(columns[output], header.attributes[output], numbers, fail)
    whole = ~(np.isnan(X).any(axis=1) | (classes < 0))
    if not whole.any():
        fail(numbers[0], "every row has a missing value")
    present, y = np.unique(classes[whole], return_inverse=True)
    return Dataset(
        path.stem,
        X[whole],
        y,
        tuple(header.attributes[i].name for i in inputs),
        tuple(names[i] for i in present),
        int((~whole).sum()),
    )


def _fields(text: str) -> list[str]:
    """Split at commas, but not inside quotes."""
    if "'" not in text and '"' not in text:
        return text.split(",")
    parts, end = [], 0
    while match := _FIELD.match(text, end):
        parts.append(match[1])
        end = match.end()
        if not match[0].endswith(","):
            break
    return parts


def _plain(text: str) -> str:
    """Return a name or value without the blanks and quotes around it."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _read_header(lines: list[str], fail: Callable[[int, str], NoReturn]) -> tuple[_Header, int]:
    """Return the header, and the position of the first line after it."""
    header = _Header()
    for i, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if not text.startswith("@"):
            if i and any(before.strip().startswith("@") for before in lines[:i]):
                fail(i + 1, "a data row before @data")
            return header, i
        word, *more = text.split(maxsplit=1)
        word, rest = word.lower(), more[0] if more else ""
        if word == "@data":
            return header, i + 1
        if word == "@attribute":
            header.attributes.append(_read_attribute(rest, header, functools.partial(fail, i + 1)))
        elif word in ("@input", "@inputs"):
            header.inputs = [_plain(name) for name in _fields(rest)]
            header.inputs_line = i + 1
        elif word in ("@output", "@outputs"):
            header.outputs = [_plain(name) for name in _fields(rest)]
            header.outputs_line = i + 1
        elif word != "@relation":
            fail(i + 1, f"unknown keyword {word}")
    return header, len(lines)


def _read_attribute(rest: str, header: _Header, fail: Callable[[str], NoReturn]) -> _Attribute:
    match = _ATTRIBUTE.match(rest)
    if match is None:
        fail(f"not an attribute: {rest!r}; write @attribute NAME real|integer|{{a, b}}")
    name = _plain(match["name"])
    if header.column(name) is not None:
        fail(f"attribute {name!r} occurs twice")
    if match["values"] is not None:
        values = tuple(_plain(value) for value in _fields(match["values"]))
        if "" in values or len(set(values)) < len(values):
            fail(f"attribute {name!r} lists an empty or repeated value")
        return _Attribute(name, values)
    if match["range"] is not None:
        try:
            low, high = map(float, match["range"].split(","))
        except ValueError:
            fail(f"attribute {name!r} has the range [{match['range']}]; write [low, high]")
        if low > high:
            fail(f"attribute {name!r} has an empty range, {low:g} > {high:g}")
    return _Attribute(name, None)


def _read_columns(
    lines: list[str], start: int, header: _Header, fail: Callable[[int, str], NoReturn]
) -> tuple[list[list[str]], list[int]]:
    """Return the fields column by column, and the line number of each row."""
    places = [i for i in range(start, len(lines)) if lines[i].strip() and lines[i][0] != "%"]
    body = [lines[i] for i in places]
    if not body:
        fail(len(lines), "no data rows")
    # One flat list: a list for each row would keep the garbage collector busy for seconds.
    if any("'" in line or '"' in line for line in body):
        rows = [_fields(line) for line in body]
        counts, flat = [len(row) for row in rows], [text for row in rows for text in row]
    else:
        counts, flat = [line.count(",") + 1 for line in body], ",".join(body).split(",")
    wanted = len(header.attributes) or counts[0]
    for place, count in zip(places, counts, strict=True):
        if count != wanted:
            fail(place + 1, f"{count} values, {wanted} expected")
    return [flat[i::wanted] for i in range(wanted)], [place + 1 for place in places]


def _roles(
    header: _Header, n_columns: int, fail: Callable[[int, str], NoReturn]
) -> tuple[list[int], int]:
    """Return the columns of the features, and that of the class."""
    if header.outputs is not None and len(header.outputs) != 1:
        fail(header.outputs_line, f"{len(header.outputs)} outputs; one class is expected")

    def position(name: str, line: int) -> int:
        column = header.column(name)
        if column is None:
            fail(line, f"{name!r} is no attribute")
        return column

    if header.outputs is not None:
        output = position(header.outputs[0], header.outputs_line)
    else:
        left = [i for i, a in enumerate(header.attributes) if a.name not in (header.inputs or ())]
        output = left[-1] if left else n_columns - 1
    if header.inputs is None:
        return [i for i in range(n_columns) if i != output], output
    inputs = [position(name, header.inputs_line) for name in header.inputs]
    if output in inputs:
        name = header.attributes[output].name
        fail(header.inputs_line, f"{name!r} is both input and output")
    return inputs, output


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _guess(name: str, column: Iterable[str]) -> _Attribute:
    """Return the kind of a column that has no header."""
    values = {_plain(text) for text in set(column)} - {*MISSING}
    if all(_number(value) is not None for value in values):
        return _Attribute(name, None)
    return _Attribute(name, tuple(sorted(values)))


def _parser(attribute: _Attribute) -> Callable[[str], float | None]:
    """Return the function that makes a number of a value, or None of a wrong one."""
    if attribute.values is None:
        return _number
    places: dict[str | float | None, int] = {}
    # Headers write {1, 2} where rows write 1.0: equal numbers are the same value.
    for key in (lambda value: value, _number):
        for i, value in enumerate(attribute.values):
            places.setdefault(key(value), i)
    places.pop(None, None)
    return lambda text: places.get(text, places.get(_number(text)))


def _column(
    column: list[str],
    attribute: _Attribute,
    numbers: list[int],
    fail: Callable[[int, str], NoReturn],
) -> Array:
    """Return a column as numbers, NaN where missing; each distinct text is parsed once."""
    parse = _parser(attribute)
    distinct = set(column)
    table = {
        text: math.nan if _plain(text) in MISSING else parse(_plain(text)) for text in distinct
    }
    bad = {text for text, value in table.items() if value is None}
    if bad:
        row = next(i for i, text in enumerate(column) if text in bad)
        wanted = "not a number" if attribute.values is None else "not one of its declared values"
        fail(numbers[row], f"{attribute.name!r} is {_plain(column[row])!r}, {wanted}")
    return np.fromiter(map(table.__getitem__, column), np.float64, len(column))


def _classes(
    column: list[str],
    attribute: _Attribute,
    numbers: list[int],
    fail: Callable[[int, str], NoReturn],
) -> tuple[Array, tuple[str, ...]]:
    """Return class numbers, -1 where missing, and the names of the classes."""
    values = _column(column, attribute, numbers, fail)
    missing = np.isnan(values)
    if attribute.values is not None:
        return np.where(missing, -1, values).astype(np.intp), attribute.values
    distinct, codes = np.unique(values[~missing], return_inverse=True)
    classes = np.full(len(values), -1, np.intp)
    classes[~missing] = codes
    return classes, tuple(f"{value:g}" for value in distinct)
