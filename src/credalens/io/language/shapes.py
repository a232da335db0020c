"""The shapes of responses: where APIs and servers write the log-probabilities of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from credalens.io.language.entries import (
    ID_PREFIX,
    IDS,
    TEXTS,
    Entry,
    as_bytes,
    entries_of,
    entry_of,
    log_probability,
    refuse,
    text_of,
    unexpected_types,
)
from credalens.io.language.positions import Position, position_of

#: Names of the alternatives of a token.
LISTS = ("top_logprobs", "top_probs", "probs")
#: Names that an object of a token has, unlike one with a token per key.
ITEM = frozenset((*LISTS, *TEXTS, *IDS))


class Answer(NamedTuple):
    """The tokens of one answer, or of one text that was given."""

    positions: list[Position | None]
    #: Whether the tokens were given, as those of a prompt, instead of generated.
    scored: bool = False
    shape: str = ""


def answers_of(body: dict[str, Any]) -> list[Answer]:
    """Return the answers of a response, and the scored prompts; nothing if it has none."""
    with unexpected_types():
        for find in SHAPES:
            found = [own for own in find(body) if own.positions]
            if found:
                return found
    return []


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _listed_tokens(items: Any, shape: str) -> Iterator[Answer]:
    """Yield the answer of objects with a token and its alternatives, such as OpenAI writes."""
    yield Answer([_listed_token(item) for item in items or ()], shape=shape)


def _listed_token(item: Any) -> Position | None:
    """Return the position of a token with its alternatives, or of a list of these alone."""
    if not isinstance(item, dict) or not {*item} & ITEM:
        return position_of(None, entries_of(item))
    lists = [item.get(name) for name in LISTS]
    listed = next((entries_of(one) for one in lists if one), [])
    if any(item.get(name) is not None for name in ("logprob", "prob")):
        return position_of(entry_of(item), listed)
    text = text_of(item)  # older versions of llama.cpp
    return position_of(next((e for e in listed if text and e.text == text), None), listed)


def _keyed_tokens(
    lists: Sequence[Any],
    tokens: Sequence[Any] | None,
    logprobs: Sequence[Any] | None,
    shape: str,
    *,
    by_id: bool,
    scored: bool = False,
) -> Iterator[Answer]:
    """Yield the answer of objects with one token per key; null where there is none."""
    found: list[Position | None] = []
    for one, token, own in zip_longest(lists, tokens or (), logprobs or ()):
        listed = [] if one is None else entries_of(one, by_id=by_id)
        found.append(position_of(_chosen(listed, token, own, by_id), listed))
    # The first token of a text has no predecessors, so it has no probability.
    first = bool(lists) and lists[0] is None
    yield Answer(found[1:] if first else found, scored or first, shape)


def _chosen(listed: list[Entry], token: Any, logprob: Any, by_id: bool) -> Entry | None:
    if token is None:
        return listed[0] if by_id and listed else None  # vLLM writes the chosen token first
    if by_id:
        return next((entry for entry in listed if entry.id == token), None)
    own = float("-inf") if logprob is None else log_probability(logprob)
    if isinstance(token, str) and token.startswith(ID_PREFIX):
        return entry_of({"token": token, "logprob": own})
    return Entry(None, as_bytes(token), own)


def _of_logprobs(value: Any, shape: str) -> Iterator[Answer]:
    """Yield the answer of the field ``logprobs``, of chats or of completions."""
    if isinstance(value, list):
        if all(isinstance(item, dict | list) for item in value):
            yield from _listed_tokens(value, shape)
        return
    if not isinstance(value, dict):
        return
    for name in ("content", "refusal"):
        if value.get(name):
            yield from _listed_tokens(value[name], shape)
            return
    if isinstance(value.get("top_logprobs"), list):
        yield from _keyed_tokens(
            value["top_logprobs"], value.get("tokens"), value.get("token_logprobs"), shape,
            by_id=False,
        )  # fmt: skip


def _of_prompt(value: Any, tokens: Any, shape: str) -> Iterator[Answer]:
    if isinstance(value, list) and value:
        yield from _keyed_tokens(value, tokens, None, shape, by_id=True, scored=True)


def _choices(body: dict[str, Any]) -> Iterator[Answer]:
    for choice in _objects(body.get("choices")):
        yield from _of_logprobs(choice.get("logprobs"), "choices")
        yield from _of_prompt(choice.get("prompt_logprobs"), None, "choices")
    if _objects(body.get("choices")):
        yield from _of_prompt(body.get("prompt_logprobs"), None, "choices")


def _vllm(body: dict[str, Any]) -> Iterator[Answer]:
    for output in _objects(body.get("outputs")):
        lists = output.get("logprobs")
        if isinstance(lists, list):
            yield from _keyed_tokens(lists, output.get("token_ids"), None, "vLLM", by_id=True)
    yield from _of_prompt(body.get("prompt_logprobs"), body.get("prompt_token_ids"), "vLLM")


def _llama_cpp(body: dict[str, Any]) -> Iterator[Answer]:
    for name in ("completion_probabilities", "probs"):
        yield from _listed_tokens(_objects(body.get(name)), "llama.cpp")


def _responses(body: dict[str, Any]) -> Iterator[Answer]:
    parts = [
        part for item in _objects(body.get("output")) for part in _objects(item.get("content"))
    ]
    tokens = [token for part in parts for token in part.get("logprobs") or ()]
    yield from _listed_tokens(tokens, "responses")


def _sglang(body: dict[str, Any]) -> Iterator[Answer]:
    about = body.get("meta_info")
    if not isinstance(about, dict):
        return
    for kind, scored in (("output", False), ("input", True)):
        lists, own = about.get(f"{kind}_top_logprobs"), about.get(f"{kind}_token_logprobs") or ()
        if lists:
            found = [
                position_of(None if not token or token[0] is None else entry_of(token),
                            entries_of(one or []))
                for one, token in zip_longest(lists, own)
            ]  # fmt: skip
            yield Answer(found, scored, "SGLang")


def _tgi(body: dict[str, Any]) -> Iterator[Answer]:
    about = body.get("details")
    if isinstance(about, dict) and about.get("top_tokens"):
        pairs = zip_longest(about.get("tokens") or (), about["top_tokens"])
        found = [position_of(entry_of(token) if token else None, entries_of(one or []))
                 for token, one in pairs]  # fmt: skip
        yield Answer(found, shape="TGI")


def _gemini(body: dict[str, Any]) -> Iterator[Answer]:
    for candidate in _objects(body.get("candidates")):
        about = candidate.get("logprobsResult")
        if isinstance(about, dict):
            tops = _objects(about.get("topCandidates"))
            pairs = zip_longest(_objects(about.get("chosenCandidates")), tops)
            found = [position_of(entry_of(token) if token else None,
                                 entries_of((one or {}).get("candidates") or []))
                     for token, one in pairs]  # fmt: skip
            yield Answer(found, shape="Gemini")


def _bare(body: dict[str, Any]) -> Iterator[Answer]:
    value = body.get("logprobs")
    yield from _of_logprobs(body if "top_logprobs" in body else value, "logprobs")


#: Functions that yield the answers of a response of their shape.
SHAPES: tuple[Callable[[dict[str, Any]], Iterator[Answer]], ...] = (
    _choices, _vllm, _llama_cpp, _responses, _sglang, _tgi, _gemini, _bare,
)  # fmt: skip


def without_logprobs(body: dict[str, Any]) -> None:
    """Raise the error for a response without log-probabilities."""
    fix = "request them: logprobs=True and top_logprobs=20, or n_probs for llama.cpp"
    if any(name in body for name in ("choices", "outputs", "content", "output", "candidates")):
        refuse("is a response without lists of log-probabilities", fix)
    refuse("has no log-probabilities of tokens", f"write the responses unchanged, and {fix}")
