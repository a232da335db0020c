"""Validation of JSON documents against the part of JSON Schema that policies use."""

from __future__ import annotations

import functools
import json
import operator
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, NoReturn

#: The JSON types, by name. `bool` is a subclass of `int`, but not an integer in JSON.
_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, ">="),
    "maximum": (operator.le, "<="),
    "exclusiveMinimum": (operator.gt, ">"),
    "exclusiveMaximum": (operator.lt, "<"),
}


@functools.cache
def policy_schema() -> Mapping[str, Any]:
    """Return the JSON schema of policies, ``policy.schema.json``."""
    text = resources.files(__package__).joinpath("policy.schema.json").read_text(encoding="utf-8")
    schema: Mapping[str, Any] = json.loads(text)
    return schema


def find_error(value: Any, schema: Mapping[str, Any] | None = None, at: str = "") -> str | None:
    """Return the first error of a JSON value, None if it is valid.

    Supports the keywords of `policy_schema`.

    Examples
    --------
    >>> find_error({"count": 0}, {"properties": {"count": {"type": "integer", "minimum": 1}}})
    'count is 0; write a number >= 1'
    """
    schema = policy_schema() if schema is None else schema
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        error = find_error(value, policy_schema()["$defs"][name], at)
        if error is not None:
            return error
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(_is(value, name) for name in types):
            return f"{at or 'the document'} is {_shown(value)}; write {' or '.join(types)}"
    if "const" in schema and not _equal(value, schema["const"]):
        return f"{at} is {_shown(value)}; write {_shown(schema['const'])}"
    if "enum" in schema and not any(_equal(value, one) for one in schema["enum"]):
        return f"{at} is {_shown(value)}; write {' or '.join(map(_shown, schema['enum']))}"
    if _is(value, "number"):
        for keyword, (holds, sign) in _BOUNDS.items():
            if keyword in schema and not holds(value, schema[keyword]):
                return f"{at} is {_shown(value)}; write a number {sign} {schema[keyword]}"
    if "anyOf" in schema:
        error = _alternatives(value, schema["anyOf"], at)
        if error is not None:
            return error
    if isinstance(value, list):
        return _items(value, schema, at)
    return _properties(value, schema, at) if isinstance(value, dict) else None


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name != "boolean":
        return False
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _equal(value: Any, other: Any) -> bool:
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _alternatives(value: Any, schemas: list[Mapping[str, Any]], at: str) -> str | None:
    """Return the error of the alternative that is closest: the one whose error is deepest."""
    errors: list[str] = []
    for schema in schemas:
        error = find_error(value, schema, at)
        if error is None:
            return None
        errors.append(error)
    deepest = max(errors, key=lambda error: _depth(error.partition(" ")[0]))
    if _depth(deepest.partition(" ")[0]) > _depth(at):
        return deepest
    expected = dict.fromkeys(error.partition("; write ")[2] for error in errors)
    return f"{at} is {_shown(value)}; write {' or '.join(expected)}"


def _depth(path: str) -> int:
    return path.count(".") + path.count("[") + bool(path)


def _items(value: list[Any], schema: Mapping[str, Any], at: str) -> str | None:
    if len(value) < schema.get("minItems", 0):
        return f"{at} has {len(value)} entries; write at least {schema['minItems']}"
    if "items" not in schema:
        return None
    errors = (find_error(one, schema["items"], f"{at}[{i}]") for i, one in enumerate(value))
    return next((error for error in errors if error is not None), None)


def _properties(value: dict[str, Any], schema: Mapping[str, Any], at: str) -> str | None:
    known, prefix = schema.get("properties", {}), f"{at}." if at else ""
    for name in schema.get("required", ()):
        if name not in value:
            return f"{prefix}{name} does not exist; add it"
    other = schema.get("additionalProperties", True)
    for name, one in value.items():
        if name in known:
            error = find_error(one, known[name], prefix + name)
        elif other is False:
            listed = ", ".join(known)
            error = f"{prefix}{name} is not a property; remove it, or write one of {listed}"
        else:
            error = None if other is True else find_error(one, other, prefix + name)
        if error is not None:
            return error
    return None


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_json(text: str) -> Any:
    """Return the value of a JSON text, whose numbers must be finite in double precision."""
    return json.loads(
        text,
        parse_constant=_reject,
        parse_float=lambda digits: _finite(digits, float(digits)),
        parse_int=lambda digits: _finite(digits, int(digits)),
    )


def _finite(digits: str, value: float) -> float:
    return value if abs(value) < sys.float_info.max else _reject(digits)


def _reject(number: str) -> NoReturn:
    raise ValueError(f"has the number {_shown(number)}, which is not finite")
