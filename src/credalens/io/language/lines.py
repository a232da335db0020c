"""Records of language models: one JSON object per line, with its identifier."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any, NamedTuple, NoReturn

from credalens.io.language.entries import refuse, valid_text
from credalens.io.source import raise_file_error, read_errors
from credalens.io.streams import ByteStream, format_suffix

#: Names of identifiers, by preference. Responses have an ``id`` of their own, which is of no use.
ID_NAMES = ("custom_id", "doc_id", "question_id", "prompt_id", "id", "key", "uid")
#: Fields with objects, by which a record is a response itself: its ``id`` was made by the server.
RESPONSE = ("choices", "output", "candidates")
#: Largest ``.json`` file, which is held in memory.
MAX_JSON_BYTES = 1 << 30


class Line(NamedTuple):
    """A line of a file: a record, or what is wrong with it."""

    number: int
    record: dict[str, Any]
    problem: str = ""


def read_lines(path: str, stream: ByteStream) -> Iterator[Line]:
    """Yield the records of JSON lines; also of ``.json`` with one record or a list of these.

    Lines are numbered from 1. Empty lines are left out.
    """
    with ExitStack() as stack, read_errors(path):
        file = stream.open(stack)
        whole = _whole_file(path, file) if format_suffix(path) == ".json" else None
        for number, text in enumerate(file if whole is None else whole, start=1):
            if isinstance(text, dict):
                yield Line(number, text)
            elif not isinstance(text, bytes) or text.strip():
                yield _parsed(number, text)


def _whole_file(path: str, file: IO[bytes]) -> list[Any]:
    """Return the records of a ``.json`` file, or its lines if it has one record per line."""
    data = file.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise_file_error(path, f"has more than {MAX_JSON_BYTES} bytes", "write it as .jsonl")
    try:
        found = json.loads(data)
    except ValueError:
        return data.splitlines(keepends=True)
    return found if isinstance(found, list) else [found]


def _parsed(number: int, text: Any) -> Line:
    if not isinstance(text, bytes):
        return Line(number, {}, f"is a {type(text).__name__}; write one JSON object per record")
    try:
        record = json.loads(text.lstrip(b"\xef\xbb\xbf"))
    except RecursionError:
        return Line(number, {}, "is nested too deeply; write the responses unchanged")
    except ValueError as error:  # of json, or of UTF-8
        reason = getattr(error, "msg", "it is not UTF-8")
        return Line(number, {}, f"is not JSON ({reason}); write one JSON object per line")
    if not isinstance(record, dict):
        kind = type(record).__name__
        return Line(number, {}, f"is a {kind}, not an object; write one JSON object per line")
    return Line(number, record)


def body_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the response in a record: the record itself, or that of a batch or of a wrapper."""
    if record.get("error"):
        reason = record["error"]
        reason = reason.get("message", reason) if isinstance(reason, dict) else reason
        refuse(f"is the error {reason!r:.100}", "request it again, or leave the line out")
    if "response" not in record or isinstance(record["response"], str):
        return record
    response = record["response"]
    if not isinstance(response, dict):
        refuse("has no response", "request it again, or leave the line out")
    status = response.get("status_code", 200)
    if status != 200:
        refuse(f"is a response with status {status}", "request it again, or leave the line out")
    body = response.get("body", response)
    return body if isinstance(body, dict) else refuse("has no response", "write it unchanged")


def id_of(record: dict[str, Any], name: str | None) -> str | None:
    """Return the identifier of a record, None if it has none; `name` is that of its field."""
    if name == "none":
        return None
    if name is not None:
        if name not in record:
            refuse(f"has no field {name!r}", f"its fields are {', '.join(record)[:100]}")
        return valid_text(str(record[name]))
    parts = [record[name] for name in RESPONSE if isinstance(record.get(name), list)]
    is_response = "object" in record or any(isinstance(x, dict) for part in parts for x in part)
    for known in ID_NAMES:
        own = record.get(known)
        if isinstance(own, str | int) and not (is_response and known == "id"):
            return valid_text(str(own))
    return None


class BadLine(NamedTuple):
    """A line that is left out, and why."""

    number: int
    problem: str


def refuse_line(path: str, number: int, reason: str) -> NoReturn:
    """Raise the error for a line; `reason` is a problem and a fix."""
    problem, _, fix = reason.rpartition("; ")
    raise_file_error(path, f"line {number} {problem}", f"{fix}, or pass --on-error skip")
