"""Multiple-choice questions: a log-probability for each choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from credalens._backend import Array
from credalens.io.language.entries import (
    log_probability,
    refuse,
    unexpected_types,
    valid_text,
)

#: Fields with one log-probability, or one list of those of its tokens, per choice.
FIELDS = ("choice_logprobs", "loglikelihoods", "logprobs")
#: Fields with the texts of the choices.
TEXTS = ("choices", "options", "answers")
#: Fields with the right answer.
LABELS = ("label", "answer", "target", "gold", "answerKey", "answer_idx")


class Question(NamedTuple):
    """The choices of a question, as one member sees them."""

    #: Log-probabilities of the choices, ``(C,)``.
    logprobs: Array
    texts: tuple[str, ...] | None
    #: Numbers of tokens of the choices, ``(C,)``, if they are known.
    n_tokens: Array | None
    #: The index of the right choice, -1 if it is not known.
    label: int


def question_of(record: Mapping[str, Any]) -> Question | None:
    """Return the question of a record; None if it has no log-probability per choice."""
    with unexpected_types():
        return _find_question(record)


def _find_question(record: Mapping[str, Any]) -> Question | None:
    if "resps" in record or "filtered_resps" in record:
        return _harness(record)
    for name in FIELDS:
        values = record.get(name)
        if isinstance(values, dict) and values and all(map(_is_scored, values.values())):
            return _question(list(values.values()), tuple(map(valid_text, values)), record)
        if isinstance(values, list) and len(values) > 1 and all(map(_is_scored, values)):
            texts = _texts(record, len(values))
            # Without choices these are the log-probabilities of the tokens of an answer.
            if texts is not None or name != "logprobs":
                return _question(values, texts, record)
    return None


def _is_scored(value: Any) -> bool:
    """Return whether a value is a log-probability, or a list of those of tokens."""
    if isinstance(value, list):
        return bool(value) and all(_is_number(x) for x in value)
    return _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(record: Mapping[str, Any], count: int) -> tuple[str, ...] | None:
    for name in TEXTS:
        texts = record.get(name)
        if (
            isinstance(texts, list)
            and len(texts) == count
            and all(isinstance(text, str) for text in texts)
        ):
            return tuple(map(valid_text, texts))
    return None


def _question(
    values: Sequence[Any], texts: tuple[str, ...] | None, record: Mapping[str, Any]
) -> Question:
    lists = [value if isinstance(value, list) else [value] for value in values]
    logprobs = np.array([sum(map(log_probability, one)) for one in lists])
    spelled = all(isinstance(value, list) for value in values)
    n_tokens = np.array([len(one) for one in lists]) if spelled else None
    return Question(logprobs, texts, n_tokens, label_of(record, texts, len(values)))


def label_of(record: Mapping[str, Any], texts: tuple[str, ...] | None, count: int) -> int:
    """Return the index of the right answer that a record states, -1 if it does not."""
    known = (record[name] for name in LABELS if record.get(name) is not None)
    return next((i for i in (_index_of(one, texts, count) for one in known) if i >= 0), -1)


def _index_of(label: Any, texts: tuple[str, ...] | None, count: int) -> int:
    """Return the index of a label: an index, a text of a choice, or its letter; -1 if none."""
    if isinstance(label, list):
        label = label[0] if len(label) == 1 else None
    if isinstance(label, str):
        known = [text.strip() for text in texts or ()]
        if known.count(label.strip()) == 1:
            return known.index(label.strip())
        letter = label.strip().upper()
        if len(letter) == 1 and letter.isalpha() and letter.isascii():
            label = ord(letter) - ord("A")
    try:
        index = int(label)
    except (TypeError, ValueError):
        return -1
    return index if 0 <= index < count else -1


def _harness(record: Mapping[str, Any]) -> Question:
    """Return the question of a line of lm-evaluation-harness, written with ``--log_samples``."""
    answers = record.get("filtered_resps") or record.get("resps")
    if not isinstance(answers, list) or len(answers) < 2:
        refuse("is not a question with several choices", "pass samples of multiple-choice tasks")
    logprobs = []
    for answer in answers:
        while isinstance(answer, list) and answer:
            answer = answer[0]
        try:
            logprobs.append(float(answer))
        except (TypeError, ValueError):
            refuse("is not a multiple-choice task: its responses are texts",
                   "pass samples of multiple-choice tasks")  # fmt: skip
    texts = _continuations(record.get("arguments"))
    half = len(logprobs) // 2
    if texts is not None and len(texts) == 2 * half and texts[:half] == texts[half:]:
        # The same choices without their question, for the mutual information.
        logprobs, texts = logprobs[:half], texts[:half]
    if texts is not None and len(texts) != len(logprobs):
        texts = None
    known = None if texts is None else tuple(valid_text(text.lstrip()) for text in texts)
    values = np.array([log_probability(value) for value in logprobs])
    return Question(values, known, None, label_of(record, known, len(values)))


def _continuations(arguments: Any) -> list[str] | None:
    """Return the texts that were scored, the second argument of each request."""
    if isinstance(arguments, dict):
        arguments = [list(one.values()) if isinstance(one, dict) else one
                     for one in arguments.values()]  # fmt: skip
    if not isinstance(arguments, list):
        return None
    pairs = [one for one in arguments if isinstance(one, list | tuple) and len(one) > 1]
    texts = [one[1] for one in pairs if isinstance(one[1], str)]
    return texts if len(texts) == len(arguments) else None


def _by_length(count: Callable[[str], int]) -> Callable[[Question], Array]:
    def lengths(question: Question) -> Array:
        if question.texts is None:
            refuse("has no texts of its choices", "pass --aggregate sum, or write the texts")
        return np.array([max(count(text), 1) for text in question.texts])

    return lengths


def _tokens(question: Question) -> Array:
    if question.n_tokens is None:
        refuse("has no numbers of tokens", "write a list of log-probabilities per choice, or pass "
               "--aggregate characters")  # fmt: skip
    return question.n_tokens


#: What the log-probability of a choice is divided by.
LENGTHS: dict[str, Callable[[Question], Array]] = {
    "sum": lambda question: np.ones(len(question.logprobs)),
    "mean": _tokens,
    "characters": _by_length(len),
    "bytes": _by_length(lambda text: len(text.encode())),
}


def probabilities(question: Question, aggregate: str) -> Array:
    """Return the probabilities of the choices: the softmax of their log-probabilities."""
    values = question.logprobs / LENGTHS[aggregate](question)
    if not np.isfinite(values.max()):
        refuse("has no choice with a probability above 0", "write finite log-probabilities")
    shares = np.exp(values - values.max())
    return np.asarray(shares / shares.sum())
