"""A file of multiple-choice questions as predictions: the choices are the classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._validation import counted
from credalens.io.language.choices import (
    LENGTHS,
    Question,
    label_of,
    probabilities,
    question_of,
)
from credalens.io.language.entries import RecordError, refuse, shown
from credalens.io.language.lines import body_of, id_of, read_lines, refuse_line
from credalens.io.language.positions import Position
from credalens.io.language.shapes import answers_of
from credalens.io.source import Block, ReadOptions, Source, raise_file_error, slice_blocks
from credalens.io.streams import ByteStream

#: The name of identifiers in outputs.
ID = "id"


class ChoiceSource(Source):
    """Questions with a log-probability for each choice, or whose first token is the choice.

    Lines with the same identifier are several members, such as prompts. A question with fewer
    choices than others has probability 0 for the last classes.
    """

    options = ("--id-column", "--format")

    def __init__(self, path: str, options: ReadOptions, stream: ByteStream | None = None) -> None:
        self.path = path
        if options.aggregate not in (None, *LENGTHS):
            raise_file_error(
                "--aggregate",
                f"is {options.aggregate!r}, and {path} has choices",
                f"choose {', '.join(LENGTHS)}",
            )
        self._choices = options.choices
        rows = self._read(options, ByteStream(path) if stream is None else stream)
        self.n_members = max(len(questions) for questions in rows.values())
        for key, questions in rows.items():
            if len(questions) < self.n_members:
                raise_file_error(
                    path,
                    f"has {counted(len(questions), 'line')} with the id {key!r}, "
                    f"{self.n_members} with others",
                    "write a line per question and member, or a file per member",
                )
        self.n_rows = self.expected_rows = len(rows)
        self.n_classes = max(len(one[0].logprobs) for one in rows.values())
        self.class_names = _common_names(list(rows.values()), self.n_classes)
        self._fill(rows, options.aggregate or "sum")

    def _fill(self, rows: dict[str, list[Question]], aggregate: str) -> None:
        """Compute the arrays of all rows."""
        self._values = np.zeros((len(rows), self.n_members, self.n_classes))
        labels = np.full(len(rows), -1)
        for i, (key, questions) in enumerate(rows.items()):
            for m, question in enumerate(questions):
                try:
                    shares = probabilities(question, aggregate)
                except RecordError as error:
                    problem, _, fix = str(error).rpartition("; ")
                    raise_file_error(self.path, f"question {key!r} {problem}", fix)
                self._values[i, m, : len(shares)] = shares
            labels[i] = max(question.label for question in questions)
        self.has_labels = bool((labels >= 0).any())
        self._labels = self._named(labels) if self.has_labels else None
        self._ids = np.array(list(rows), dtype=object) if self.id_name is not None else None

    def _named(self, labels: Array) -> Array:
        names: Sequence[Any] = self.class_names or range(self.n_classes)
        return np.array([None if y < 0 else names[y] for y in labels.tolist()], dtype=object)

    def _read(self, options: ReadOptions, stream: ByteStream) -> dict[str, list[Question]]:
        """Return the questions by identifier, or by position."""
        found: dict[str, list[Question]] = {}
        left_out: list[str] = []
        self._unlisted = 0.0
        for position, line in enumerate(read_lines(self.path, stream)):
            try:
                if line.problem:
                    raise RecordError(line.problem)
                key = id_of(line.record, options.id)
                question = self._question(line.record, body_of(line.record))
            except RecordError as error:
                if not options.skip:
                    refuse_line(self.path, line.number, str(error))
                left_out.append(f"line {line.number} {str(error).rpartition('; ')[0]}")
                continue
            if key is not None:
                self.id_name = ID
            found.setdefault(str(position) if key is None else key, []).append(question)
        if not found:
            raise_file_error(self.path, "has no questions", "write one JSON object per line")
        if left_out:
            self.notes += (f"{counted(len(left_out), 'line')} left out: {left_out[0]}",)
        if self._unlisted > 0:
            self.notes += (
                f"choices that are not among the listed tokens have a probability of at most "
                f"{self._unlisted:.2g} each, and count as 0",
            )
        return found

    def _question(self, record: dict[str, Any], body: dict[str, Any]) -> Question:
        if self._choices is None:
            question = question_of(record) or question_of(body)
            if question is None and answers_of(body):
                refuse(
                    "has lists of tokens, not a log-probability for each choice",
                    "pass --choices A,B,C,D if the first token is the answer, or score tokens with "
                    "credalens score --level token",
                )
            if question is None:
                refuse("has no log-probability for each choice", "write the field choice_logprobs")
            return question
        answers = [own for own in answers_of(body) if any(own.positions)]
        if not answers:
            refuse("has no lists of tokens", "request top_logprobs=20, or leave out --choices")
        first = next(position for position in answers[0].positions if position is not None)
        logprobs, unlisted = _first_token(first, self._choices)
        self._unlisted = max(self._unlisted, unlisted)
        label = label_of(record, self._choices, len(self._choices))
        return Question(logprobs, self._choices, None, label)

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield all rows, which are in memory."""
        yield from slice_blocks([Block(self._values, self._labels, self._ids)], start, stop)

    def rows_at(self, rows: Array) -> Block | None:
        """Return rows in any order."""
        labels, ids = (None if a is None else a[rows] for a in (self._labels, self._ids))
        return Block(self._values[rows], labels, ids)


def has_choices(path: str) -> bool:
    """Return whether the first record of a file has a log-probability for each choice."""
    for line in read_lines(path, ByteStream(path)):
        try:
            found = question_of(line.record) or question_of(body_of(line.record))
        except RecordError:
            found = None
        return found is not None
    return False


def _first_token(position: Position, choices: tuple[str, ...]) -> tuple[Array, float]:
    """Return the log-probabilities of choices that are tokens, and the largest one of others.

    Tokens with the text of a choice, without spaces around it, are that choice.
    """
    shares = np.zeros(len(choices))
    for entry in position.listed:
        if entry.text is None:
            refuse("has token ids without texts", "write the texts of tokens")
        text = shown(entry.text).strip().strip("\u2581\u0120")  # spaces in vocabularies
        if text in choices:
            shares[choices.index(text)] += math.exp(entry.logprob)
    if not shares.any():
        refuse(f"lists none of the choices {', '.join(choices)} at its first token",
               "let the answer start with it, and request more log-probabilities")  # fmt: skip
    rest = max(0.0, 1.0 - sum(math.exp(entry.logprob) for entry in position.listed))
    least = min(math.exp(entry.logprob) for entry in position.listed)
    unlisted = min(rest, least) if (shares == 0).any() else 0.0
    with np.errstate(divide="ignore"):
        return np.log(shares), unlisted


def _common_names(rows: list[list[Question]], n_classes: int) -> tuple[str, ...] | None:
    """Return the texts of the choices if they are the same for all questions."""
    texts = {question.texts for questions in rows for question in questions}
    (first, *others) = texts
    if others or first is None or len(set(first)) < n_classes:
        return None
    return first
