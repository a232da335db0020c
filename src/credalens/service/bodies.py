"""Bodies of requests and responses: JSON, NumPy and Arrow."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._extras import require
from credalens.policy.policy import Policy

JSON, NUMPY = "application/json", "application/x-npy"
ARROW = "application/vnd.apache.arrow.stream"

orjson = require("orjson", "serve")


def read_json(body: bytes, policy: Policy) -> tuple[Array, Any]:
    """Return the predictions and identifiers of a JSON document."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"body: is not JSON ({error}); send predictions as JSON") from None
    ids = None
    if isinstance(document, dict):
        unknown = sorted(set(document) - {"predictions", "ids", "members", "classes"})
        if unknown or "predictions" not in document:
            _raise_keys(unknown)
        _check_names(document, "members", policy.member_names)
        _check_names(document, "classes", policy.labels)
        ids = document.get("ids")
        document = document["predictions"]
    values = _array(document)
    if values.size == 0 and values.ndim == 1:
        values = np.empty((0, policy.n_members, policy.n_classes))
    if ids is not None:
        _check_ids(ids, values)
    return values, ids


def _raise_keys(unknown: list[str]) -> NoReturn:
    problem = f"has the key {unknown[0]!r}" if unknown else "has no key 'predictions'"
    raise ValueError(f"body: {problem}; send predictions, and optionally ids, members, classes")


def _check_names(document: dict[str, Any], key: str, own: tuple[str, ...]) -> None:
    """Raise if names of members or classes are sent that are not those of the policy."""
    names = document.get(key)
    if names is not None and (not isinstance(names, list) or names != list(own)):
        shown = orjson.dumps(names).decode()
        _validation.raise_invalid(
            key, f"is {shown}", f"send those of the policy, in this order: {', '.join(own)}"
        )


def _check_ids(ids: Any, values: Array) -> None:
    several = ids if isinstance(ids, list) else [ids]
    if values.ndim == 2 and isinstance(ids, list):
        raise ValueError("ids: is a list, and predictions is one row; send one identifier")
    if values.ndim == 3 and (not isinstance(ids, list) or len(ids) != len(values)):
        found = len(ids) if isinstance(ids, list) else "no list of"
        rows = _validation.counted(len(values), "row")
        raise ValueError(f"ids: has {found} entries for {rows}; send one per row")
    for i, one in enumerate(several):
        if not isinstance(one, str | int) or isinstance(one, bool):
            raise ValueError(f"ids: entry {i} is {one!r}; send texts or integers")


def _array(document: Any) -> Array:
    try:
        values = np.array(document)
    except ValueError:  # rows of several lengths
        values = np.empty(0, object)
    if values.dtype.kind in "fiu" and isinstance(document, list):
        return values if values.dtype.kind == "f" else values.astype(np.float64)
    return _raise_element(document)


def _raise_element(document: Any) -> NoReturn:
    """Raise an error about the first entry that is not a number, or list of another length."""
    expected = "nested lists of numbers: (members, classes), or (rows, members, classes)"
    lengths: dict[int, int] = {}

    def check(value: Any, at: tuple[int, ...], depth: int) -> int:
        where = f" at index {_validation.format_index(at)} (zero-based)" if at else ""
        if isinstance(value, list):
            known = lengths.setdefault(len(at), len(value))
            if len(value) != known:
                raise ValueError(f"predictions: has a list of {len(value)} entries{where}, the "
                                 f"first has {known}; send {expected}")  # fmt: skip
            depths = {check(one, (*at, i), depth + 1) for i, one in enumerate(value)}
            if len(depths) > 1:
                raise ValueError(f"predictions: mixes lists and numbers{where}; send {expected}")
            return depths.pop() if depths else depth + 1
        if isinstance(value, bool) or not isinstance(value, int | float):
            shown = orjson.dumps(value).decode()[:60]
            raise ValueError(f"predictions: is {shown}{where}; send {expected}")
        return depth

    check(document, (), 0)
    raise ValueError(f"predictions: has no rows of numbers; send {expected}")


def read_npy(body: bytes, policy: Policy) -> tuple[Array, Any]:
    """Return the array of a ``.npy`` file without a copy."""
    start = 10 if body[6:7] == b"\x01" else 12
    if body[:6] != b"\x93NUMPY":
        raise ValueError("body: is not a .npy file; send what numpy.save writes")
    stop = start + int.from_bytes(body[8:start], "little")
    shape, fortran_order, dtype = _npy_header(body[:stop])
    count = math.prod(shape)
    if len(body) - stop != count * dtype.itemsize:
        raise ValueError(f"body: has {len(body) - stop} bytes of data, its header describes "
                         f"{count * dtype.itemsize}; send the whole file")  # fmt: skip
    values = np.frombuffer(body, dtype, offset=stop)
    return values.reshape(shape, order="F" if fortran_order else "C"), None


@lru_cache(maxsize=64)
def _npy_header(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype of a ``.npy`` file; clients send the same few headers."""
    file = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran_order, dtype = read(file)
    except (ValueError, KeyError) as error:
        raise ValueError(f"body: has an invalid .npy header ({error}); use numpy.save") from None
    if dtype.kind not in "fiu":
        raise ValueError(f"predictions: has dtype {dtype}; send floats")
    return shape, fortran_order, dtype.newbyteorder("=") if dtype.isnative else dtype


def read_arrow(body: bytes, policy: Policy) -> tuple[Array, Any]:
    """Return the predictions and identifiers of an Arrow stream."""
    from credalens.service import arrow

    return arrow.read(body, policy)


READERS: dict[str, Callable[[bytes, Policy], tuple[Array, Any]]] = {
    JSON: read_json,
    NUMPY: read_npy,
    "application/octet-stream": read_npy,
    ARROW: read_arrow,
}


def write_json(answer: dict[str, Any]) -> bytes:
    """Return an answer as JSON; infinite numbers and NaN become null."""
    encoded: bytes = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY, default=_listed)
    return encoded


def _listed(value: Any) -> Any:
    """Return arrays of texts, and of others that orjson does not know, as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(type(value).__name__)
