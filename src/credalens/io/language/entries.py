"""Entries of lists of tokens: a token and its log-probability, as APIs and servers write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

#: Names of a token's text, identifier and log-probability, by preference.
TEXTS = ("token", "text", "tok_str", "decoded_token", "content")
IDS = ("id", "token_id", "tokenId")
LOGPROBS = ("logprob", "logProbability", "log_probability")
#: Values up to this stand for "very unlikely": OpenAI and vLLM write -9999, SGLang the smallest
#: single-precision number.
UNKNOWN = -9000.0
#: Log-probabilities above 0 that are rounding.
ROUNDING = 1e-3
#: Largest token id, plus one.
LARGEST_ID = 2**31 - 1
#: How vLLM writes the identifier of a token in place of its text.
ID_PREFIX = "token_id:"


class RecordError(ValueError):
    """A line that cannot be used; the message is a problem and a fix, separated by a semicolon."""


@contextmanager
def unexpected_types() -> Iterator[None]:
    """Raise `RecordError` for fields of other types than those of the shape of a response."""
    try:
        yield
    except RecordError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}".replace(";", ",")
        refuse(f"has fields of unexpected types ({reason:.80})", "write the response unchanged")


def refuse(problem: str, fix: str) -> NoReturn:
    """Raise `RecordError`."""
    raise RecordError(f"{problem}; {fix}")


class Entry(NamedTuple):
    """A token with its natural log-probability, -inf if it is only known to be unlikely."""

    id: int | None
    #: The bytes of its text.
    text: bytes | None
    logprob: float
    #: Its rank among all tokens, from 1 on, where it is known.
    rank: int | None = None


def entry_of(value: Any) -> Entry:
    """Return the entry of an object with a token, or of a list ``[logprob, id, text]``."""
    if isinstance(value, list | tuple):  # SGLang
        if len(value) < 2:
            refuse(f"has {value!r} in a list of tokens", "expected [logprob, token id, text]")
        text = value[2] if len(value) > 2 else None
        return Entry(_whole(value[1]), as_bytes(text), log_probability(value[0]))
    if not isinstance(value, dict):
        refuse(f"has {value!r:.80} in a list of tokens", "expected objects with token and logprob")
    text = text_of(value)
    number = None
    for name in IDS:
        number = value.get(name) if number is None else number
    if number is None and text is not None and text.startswith(ID_PREFIX.encode()):
        number, text = text.decode()[len(ID_PREFIX) :], None
    rank = value.get("rank")
    return Entry(_whole(number), text, _logprob_of(value), None if rank is None else int(rank))


def text_of(value: dict[str, Any]) -> bytes | None:
    """Return the bytes of the text of a token; None if the object names none."""
    data = value.get("bytes")
    if data and isinstance(data, list):
        try:
            return bytes(data)
        except (ValueError, TypeError):
            refuse(f"has the bytes {data!r:.80}", "bytes are whole numbers from 0 to 255")
    for name in TEXTS:
        text = value.get(name)
        if isinstance(text, str):
            return as_bytes(text)
    return None


def entries_of(value: Any, *, by_id: bool = False) -> list[Entry]:
    """Return the entries of a list of objects, or of an object with one token per key.

    With `by_id`, the keys of an object are token ids.
    """
    if isinstance(value, list):
        return [entry_of(item) for item in value]
    if not isinstance(value, dict):
        refuse(f"has {value!r:.80} in place of a list of tokens", "write the response unchanged")
    return [_keyed(key, item, by_id) for key, item in value.items()]


def _keyed(key: str, item: Any, by_id: bool) -> Entry:
    if isinstance(item, dict):
        found = entry_of(item)
        return found._replace(id=_whole(key)) if by_id else found._replace(text=as_bytes(key))
    if by_id:
        return Entry(_whole(key), None, log_probability(item))
    if key.startswith(ID_PREFIX):
        return Entry(_whole(key[len(ID_PREFIX) :]), None, log_probability(item))
    return Entry(None, as_bytes(key), log_probability(item))


def _logprob_of(value: dict[str, Any]) -> float:
    for name in LOGPROBS:
        if value.get(name) is not None:
            return log_probability(value[name])
    share = value.get("prob")
    if isinstance(share, int | float) and 0 <= share <= 1 + ROUNDING:
        return math.log(min(share, 1.0)) if share else -math.inf
    return refuse("has a token without a log-probability", "write the response unchanged")


def log_probability(value: Any) -> float:
    """Return a number, or its text, as a log-probability of at most 0."""
    if type(value) is float and UNKNOWN < value <= 0:
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        refuse(f"has the log-probability {value!r:.80}", "write numbers")
    if math.isnan(number) or isinstance(value, bool):
        refuse("has a log-probability that is not a number", "write the response unchanged")
    if number > ROUNDING:
        refuse(f"has the log-probability {number:g}, above 0", "write natural logarithms")
    return -math.inf if number <= UNKNOWN else min(number, 0.0)


def _whole(value: Any) -> int | None:
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if not 0 <= number < LARGEST_ID:
        refuse(f"has the token id {value!r:.80}", "token ids are whole numbers from 0 on")
    return number


def as_bytes(text: Any) -> bytes | None:
    """Return the bytes of a text, None for other values."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else None


def shown(text: bytes) -> str:
    """Return the text of a token for people."""
    return text.decode("utf-8", "replace")


def valid_text(text: str) -> str:
    """Return a text without lone surrogates, which JSON can hold and files cannot."""
    return text.encode("utf-8", "replace").decode()


def has_ids(entries: Iterable[Entry]) -> bool:
    """Return whether all entries have the identifier of their token."""
    return all(entry.id is not None for entry in entries)
