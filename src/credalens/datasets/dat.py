"""Tabular datasets, and the KEEL file format ``.dat``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from credalens._backend import Array

#: Representations of a missing value.
MISSING = ("?", "<null>")

_KIND = re.compile(r"\s(real|integer|numeric|nominal)\s*(?=\[|$)", re.IGNORECASE)
_BLANK = re.compile(r"\s*")


class MalformedFileError(ValueError):
    """A file that violates its format; the message names the file, the line and the reason.

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
    """A classification dataset with numerical features.

    Examples
    --------
    >>> from credalens.datasets import load_bundled
    >>> iris = load_bundled("iris")
    >>> iris.X.shape, iris.y.shape, iris.class_names
    ((150, 4), (150,), ('setosa', 'versicolor', 'virginica'))
    """

    #: Name of the dataset.
    name: str
    #: Features, ``(n, d)``; a nominal value is its position in the header.
    X: Array
    #: Class indices 0 .. K - 1, ``(n,)``; every class occurs.
    y: Array
    #: Names of the d features.
    feature_names: tuple[str, ...]
    #: Names of the K classes.
    class_names: tuple[str, ...]
    #: Number of rows dropped because of a missing value.
    n_dropped: int = 0

    def __repr__(self) -> str:
        n, features = self.X.shape
        return (
            f"Dataset(name={self.name!r}, n={n}, features={features}, "
            f"classes={len(self.class_names)})"
        )


def read_dat(path: str | Path) -> Dataset:
    """Read a KEEL ``.dat`` file.

    Rows with missing values (``?``, ``<null>``) are dropped, and nominal values are converted to
    their positions in the header. Without ``@outputs`` the last column is the class, without
    ``@inputs`` all others are features. Without a header, a column of numbers is numeric.

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
        If the file is invalid, with the one-based line and the reason.

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
    return _Reader(Path(path)).read()


class _Attribute(NamedTuple):
    name: str
    #: Values of a nominal attribute in the order of the header; None for numbers.
    values: tuple[str, ...] | None


class _Reader:
    """State of `read_dat`: the lines of the file, and the content of its header."""

    def __init__(self, path: Path) -> None:
        self.path = path
        raw = path.read_bytes()
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
        self.lines = text.splitlines()
        self.attributes: list[_Attribute] = []
        #: Names in ``@inputs`` and ``@outputs``, each with its line.
        self.roles: dict[str, tuple[list[str], int]] = {}

    def fail(self, line: int, reason: str) -> NoReturn:
        raise MalformedFileError(f"{self.path}, line {line}: {reason}")

    def read(self) -> Dataset:
        columns = self.read_columns(self.read_header())
        if not self.attributes:
            self.attributes = [_infer(f"column {i}", column) for i, column in enumerate(columns)]
        inputs, output = self.assign_roles(len(columns))
        features = [self.parse(columns[i], self.attributes[i]) for i in inputs]
        X = np.column_stack(features) if inputs else np.empty((len(columns[0]), 0))
        target = self.parse(columns[output], self.attributes[output])
        complete = ~(np.isnan(X).any(axis=1) | np.isnan(target))
        if not complete.any():
            self.fail(self.line_numbers[0], "every row has a missing value; fix the file")
        present, y = np.unique(target[complete], return_inverse=True)
        names = self.attributes[output].values
        return Dataset(
            self.path.stem,
            X[complete],
            y,
            tuple(self.attributes[i].name for i in inputs),
            tuple(f"{value:g}" if names is None else names[int(value)] for value in present),
            int((~complete).sum()),
        )

    def read_header(self) -> int:
        """Read the header; return the position of the first line after it."""
        for i, line in enumerate(self.lines):
            text = line.strip()
            if not text or text.startswith("%"):
                continue
            if not text.startswith("@"):
                if any(before.strip().startswith("@") for before in self.lines[:i]):
                    self.fail(i + 1, "a data row before @data")
                return i
            word, *more = text.split(maxsplit=1)
            word, rest = word.lower(), more[0] if more else ""
            if word == "@data":
                return i + 1
            if word == "@attribute":
                self.attributes.append(self.read_attribute(rest, i + 1))
            elif word in ("@input", "@inputs", "@output", "@outputs"):
                self.roles[word.removesuffix("s")] = [_unquote(n) for n in _split(rest)], i + 1
            elif word != "@relation":
                self.fail(i + 1, f"unknown keyword {word}")
        return len(self.lines)

    def read_attribute(self, rest: str, line: int) -> _Attribute:
        found = _split_attribute(rest)
        if found is None:
            fix = "write @attribute NAME real|integer|{a, b}"
            self.fail(line, f"not an attribute: {rest[:100]!r}; {fix}")
        name, listed, limits = found
        if any(attribute.name == name for attribute in self.attributes):
            self.fail(line, f"attribute {name!r} occurs twice")
        if listed is not None:
            values = tuple(_unquote(value) for value in _split(listed))
            if "" in values or len(set(values)) < len(values):
                self.fail(line, f"attribute {name!r} lists an empty or repeated value")
            return _Attribute(name, values)
        if limits is not None:
            try:
                low, high = map(float, limits.split(","))
            except ValueError:
                fix = "write [low, high]"
                self.fail(line, f"attribute {name!r} has the range [{limits[:100]}]; {fix}")
            if low > high:
                self.fail(line, f"attribute {name!r} has an empty range, {low:g} > {high:g}")
        return _Attribute(name, None)

    def read_columns(self, start: int) -> list[list[str]]:
        """Return the fields after line `start` by column, and set `line_numbers` of the rows."""
        rows = [i for i in range(start, len(self.lines)) if self.lines[i].strip()]
        rows = [i for i in rows if self.lines[i][0] != "%"]
        body = [self.lines[i] for i in rows]
        self.line_numbers = [i + 1 for i in rows]
        if not body:
            self.fail(len(self.lines), "no data rows")
        # One flat list: the garbage collector would scan one list per row again and again.
        if any("'" in line or '"' in line for line in body):
            split = [_split(line) for line in body]
            counts, flat = [len(row) for row in split], [text for row in split for text in row]
        else:
            counts, flat = [line.count(",") + 1 for line in body], ",".join(body).split(",")
        expected = len(self.attributes) or counts[0]
        for number, count in zip(self.line_numbers, counts, strict=True):
            if count != expected:
                self.fail(number, f"{count} values, {expected} expected")
        return [flat[i::expected] for i in range(expected)]

    def assign_roles(self, n_columns: int) -> tuple[list[int], int]:
        """Return the columns of the features, and that of the class."""
        names = [attribute.name for attribute in self.attributes]

        def positions(role: str) -> list[int]:
            wanted, line = self.roles.get(role, ([], 0))
            for name in wanted:
                if name not in names:
                    self.fail(line, f"{name!r} is not an attribute")
            return [names.index(name) for name in wanted]

        inputs = positions("@input")
        if "@output" in self.roles:
            outputs, line = self.roles["@output"]
            if len(outputs) != 1:
                self.fail(line, f"{len(outputs)} outputs; one class is expected")
            (output,) = positions("@output")
        else:
            output = max(set(range(n_columns)) - set(inputs), default=n_columns - 1)
        if "@input" not in self.roles:
            return [i for i in range(n_columns) if i != output], output
        if output in inputs:
            self.fail(self.roles["@input"][1], f"{names[output]!r} is both input and output")
        return inputs, output

    def parse(self, column: list[str], attribute: _Attribute) -> Array:
        """Return a column as numbers, NaN where missing; each distinct text is parsed once."""
        parse = _parser(attribute)
        table = {
            text: math.nan if _unquote(text) in MISSING else parse(_unquote(text))
            for text in set(column)
        }
        bad = {text for text, value in table.items() if value is None}
        if bad:
            row = next(i for i, text in enumerate(column) if text in bad)
            problem = (
                "not a number" if attribute.values is None else "not one of its declared values"
            )
            found = _unquote(column[row])
            self.fail(self.line_numbers[row], f"{attribute.name!r} is {found!r}, {problem}")
        return np.fromiter(map(table.__getitem__, column), np.float64, len(column))


def _split_attribute(text: str) -> tuple[str, str | None, str | None] | None:
    """Return name, listed values and range of ``NAME {a, b}`` or ``NAME real [0, 1]``.

    ``None`` if it is neither. No regular expression searches for the end of the name, which would
    take quadratic time for some lines.
    """
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1) + 1
        rest = text[end:].lstrip()
        if end and rest.startswith("{") and rest.endswith("}"):
            return _unquote(text[:end]), rest[1:-1], None
        kind = _KIND.match(" " + rest) if end and text[end : end + 1].isspace() else None
        if kind and (kind.end() > len(rest) or rest.endswith("]")):
            return _named(text[:end], rest[kind.end() - 1 :])
    brace = text.find("{", 1) if text.endswith("}") else -1
    for kind in _KIND.finditer(text):
        if 0 <= brace < kind.start():
            break
        if kind.end() == len(text) or text.endswith("]"):
            name = text[: kind.start()].rstrip()
            return _named(name, text[kind.end() :]) if name else None
    if brace < 0:
        return None
    return _unquote(text[:brace]), text[brace + 1 : -1], None


def _named(name: str, limits: str) -> tuple[str, None, str | None]:
    """Return an attribute of numbers with its range, if it has one."""
    return _unquote(name), None, limits[1:-1] if limits else None


def _split(text: str) -> list[str]:
    """Split at commas that are not inside quotes."""
    if "'" not in text and '"' not in text:
        return text.split(",")
    parts: list[str] = []
    at = 0
    while True:
        start = _blank_end(text, at)
        if text[start : start + 1] in ("'", '"'):
            close = text.find(text[start], start + 1)
            after = _blank_end(text, close + 1)
            if close > 0 and text[after : after + 1] in ("", ","):
                parts.append(text[start : close + 1])
                at = after + 1
                if after == len(text):
                    return parts
                continue
        comma = text.find(",", at)
        if comma < 0:
            return [*parts, text[at:].strip()]
        parts.append(text[at:comma].strip())
        at = comma + 1


def _blank_end(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _unquote(text: str) -> str:
    """Return a name or value without surrounding blanks and quotes."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _infer(name: str, column: Iterable[str]) -> _Attribute:
    """Return the attribute of a column without a header."""
    values = {_unquote(text) for text in set(column)} - {*MISSING}
    if all(_number(value) is not None for value in values):
        return _Attribute(name, None)
    return _Attribute(name, tuple(sorted(values)))


def _parser(attribute: _Attribute) -> Callable[[str], float | None]:
    """Return a function that converts a value to a number, or an invalid one to None."""
    if attribute.values is None:
        return _number
    positions: dict[str | float | None, int] = {}
    # Headers write {1, 2} where rows write 1.0: equal numbers are the same value.
    for key in (lambda value: value, _number):
        for i, value in enumerate(attribute.values):
            positions.setdefault(key(value), i)
    positions.pop(None, None)
    return lambda text: positions.get(text, positions.get(_number(text)))
