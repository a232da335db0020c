"""Files of language models as records with one or several members each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from credalens._validation import counted
from credalens.io.chunk import DroppedRow
from credalens.io.language.answers import Tokens, Vocabulary, as_tokens, is_truncated
from credalens.io.language.choices import question_of
from credalens.io.language.entries import RecordError, has_ids, refuse
from credalens.io.language.lines import Line, body_of, id_of, read_lines, refuse_line
from credalens.io.language.shapes import Answer, answers_of, without_logprobs
from credalens.io.source import raise_file_error
from credalens.io.streams import ByteStream, file_stem

#: Which tokens of a response are used.
TOKENS = ("generated", "prompt")
#: Lines from which it is decided whether tokens are compared by their ids.
FIRST_LINES = 20


@dataclass
class Record:
    """What the members say about one prompt: an answer each, None if it is missing."""

    id: str
    members: list[Tokens | None]


@dataclass
class Records:
    """The records of all files, in the order of the first one."""

    #: One name per member.
    names: tuple[str, ...]
    records: list[Record]
    vocabulary: Vocabulary
    has_ids: bool
    dropped: list[DroppedRow] = field(default_factory=list)
    #: What was inferred, for the user.
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AnswerOptions:
    """How files of answers are read."""

    #: ``"generated"``, ``"prompt"``, or None for the generated tokens where there are some.
    tokens: str | None = None
    #: Field of the identifiers; None for a usual one, ``"none"`` to match records by position.
    id_name: str | None = None
    #: Whether members may lack records.
    missing: bool = False
    #: Whether invalid lines are left out.
    skip: bool = False


def read_records(
    paths: Sequence[str], options: AnswerOptions, stdin: IO[bytes] | None = None
) -> Records:
    """Read answers with lists of tokens.

    The members of a record are the answers of all lines with its identifier, file by file: the
    choices of a line, several lines of a file, and several files. Without identifiers, lines are
    matched by their position.
    """
    streams = [
        ByteStream("stdin", stdin) if path == "-" and stdin else ByteStream(path) for path in paths
    ]
    names = ["stdin" if path == "-" else path for path in paths]
    files = [_File(name, stream, options) for name, stream in zip(names, streams, strict=True)]
    vocabulary = Vocabulary(_compare_by_id(files))
    parts = [file.read(vocabulary) for file in files]
    by_id = _are_matched_by_id(files)
    dropped = [drop for file in files for drop in file.dropped]
    for part, file in zip(parts, files, strict=True):
        if not part:
            raise_file_error(file.path, "has no records", "write one JSON object per line")
    merged, incomplete = _match(files, parts, by_id, options.missing)
    dropped += incomplete
    found = Records(_member_names(files, parts), merged, vocabulary, by_id, dropped)
    found.notes += _notes(found, files)
    return found


class _File:
    """One file; its first lines are read twice if it is not a stream."""

    def __init__(self, path: str, stream: ByteStream, options: AnswerOptions) -> None:
        self.path, self.options = path, options
        self._lines = read_lines(path, stream)
        self.first = list(itertools.islice(self._lines, FIRST_LINES))
        self.has_ids = False
        self.dropped: list[DroppedRow] = []

    def read(self, vocabulary: Vocabulary) -> dict[str, list[Tokens]]:
        """Return the answers by identifier, or by position."""
        found: dict[str, list[Tokens]] = {}
        for position, line in enumerate(itertools.chain(self.first, self._lines)):
            try:
                key, answers = self._answers(line)
                tokens = [as_tokens(a, vocabulary, self.path, line.number) for a in answers]
            except RecordError as error:
                if not self.options.skip:
                    refuse_line(self.path, line.number, str(error))
                reason = f"line {line.number} {str(error).rpartition('; ')[0]}"
                self.dropped.append(DroppedRow(position, None, self.path, reason))
                continue
            self.has_ids |= key is not None
            found.setdefault(str(position) if key is None else key, []).extend(tokens)
        return found

    def _answers(self, line: Line) -> tuple[str | None, list[Answer]]:
        if line.problem:
            raise RecordError(line.problem)
        body = body_of(line.record)
        answers = answers_of(body)
        if not answers:
            if question_of(line.record) or question_of(body):
                refuse("has log-probabilities of choices, not of tokens", "pass --level choice")
            without_logprobs(body)
        key = id_of(line.record, self.options.id_name)
        return key, _chosen_tokens(answers, self.options.tokens)

    def answers_of_first_lines(self) -> Iterator[Answer]:
        """Yield the answers of the first lines that have some."""
        for line in self.first:
            try:
                yield from self._answers(line)[1]
            except RecordError:
                continue


def _chosen_tokens(answers: list[Answer], tokens: str | None) -> list[Answer]:
    """Return the generated answers, or the scored prompts; those that have lists at all."""
    listed = [own for own in answers if any(own.positions)]
    if not listed:
        refuse("lists no alternatives of its tokens", "request top_logprobs=20, not only logprobs")
    generated = [own for own in listed if not own.scored]
    scored = [own for own in listed if own.scored]
    if tokens is None:
        return generated or scored
    found = generated if tokens == "generated" else scored
    return found or refuse(f"has no {tokens} tokens with log-probabilities",
                           "leave out --tokens, or request them")  # fmt: skip


def _compare_by_id(files: Sequence[_File]) -> bool:
    """Return whether tokens are compared by id: if the first lines of all files have ids."""
    kinds = []
    for file in files:
        entries = [
            entry for answer in file.answers_of_first_lines() for position in answer.positions
            if position is not None for entry in position.listed
        ]  # fmt: skip
        kinds.append((has_ids(entries), all(entry.text is not None for entry in entries)))
    if all(ids for ids, _ in kinds):
        return True
    if not all(texts for _, texts in kinds):
        first = next(file.path for file, (_, texts) in zip(files, kinds, strict=True) if not texts)
        other = next(file.path for file, (ids, _) in zip(files, kinds, strict=True) if not ids)
        if first != other:
            raise_file_error(first, f"names tokens by ids only, {other} by texts only",
                             "write texts, or ids, of tokens in all files")  # fmt: skip
    return False


def _are_matched_by_id(files: Sequence[_File]) -> bool:
    with_ids = [file for file in files if file.has_ids]
    if with_ids and len(with_ids) < len(files):
        other = next(file for file in files if not file.has_ids)
        raise_file_error(other.path, f"has no ids, {with_ids[0].path} has",
                         "write ids in all files, or pass --id-column none")  # fmt: skip
    return bool(with_ids)


def _member_names(files: Sequence[_File], parts: Sequence[dict[str, list[Tokens]]]) -> (
    tuple[str, ...]
):  # fmt: skip
    names: list[str] = []
    for file, part in zip(files, parts, strict=True):
        stem, count = file_stem(Path(file.path).name), max(map(len, part.values()))
        names += [stem] if count == 1 else [f"{stem}[{i}]" for i in range(count)]
    return tuple(names)


def _match(
    files: Sequence[_File], parts: Sequence[dict[str, list[Tokens]]], by_id: bool, missing: bool
) -> tuple[list[Record], list[DroppedRow]]:
    """Return the records that all files have; with `missing`, those that some file has.

    Records that a file may lack because of an invalid line, which was left out, are dropped.
    """
    counts = [max(map(len, part.values())) for part in parts]
    keys = list(dict.fromkeys(itertools.chain.from_iterable(parts)))
    records, dropped = [], []
    for row, key in enumerate(keys):
        members: list[Tokens | None] = []
        for file, part, count in zip(files, parts, counts, strict=True):
            own: list[Any] = list(part.get(key, ()))
            if len(own) < count and not missing:
                if not file.dropped:
                    _raise_missing(files, parts, file, key, len(own), count, by_id)
                dropped.append(DroppedRow(row, key, file.path, "is not complete"))
                break
            members += own + [None] * (count - len(own))
        else:
            records.append(Record(key, members))
    return records, dropped


def _raise_missing(
    files: Sequence[_File],
    parts: Sequence[dict[str, list[Tokens]]],
    file: _File,
    key: str,
    count: int,
    most: int,
    by_id: bool,
) -> None:
    fix = "pass --missing allow if members lack records"
    if count:
        raise_file_error(file.path, f"has {counted(count, 'answer')} for {_called(key, by_id)}, "
                         f"{most} for others", fix)  # fmt: skip
    where = next((other.path, part[key][0].line) for other, part in zip(files, parts, strict=True)
                 if key in part)  # fmt: skip
    at = f"(line {where[1]} of {where[0]})"
    if not by_id:
        fix = "write ids, by which records are matched, or the same records in all files"
    raise_file_error(file.path, f"has no {_called(key, by_id)} {at}", fix)


def _called(key: str, by_id: bool) -> str:
    return f"record {key!r}" if by_id else f"record {int(key)} (zero-based)"


def _notes(found: Records, files: Iterable[_File]) -> list[str]:
    """Return what the user should know about the lists; raise if tokens cannot be compared."""
    vocabulary, notes = found.vocabulary, []
    if len(vocabulary.conflicts) > max(1, 0.01 * len(vocabulary)):
        number, (one, other) = next(iter(vocabulary.conflicts.items()))
        raise_file_error(
            next(iter(files)).path,
            f"and the other files have different tokens with the same id: {number} is {one!r:.40} "
            f"and {other!r:.40}",
            "pass answers of models with the same tokenizer",
        )
    if vocabulary.merged:
        notes.append(
            f"{counted(vocabulary.merged, 'list')} had several tokens with the same text, which "
            "are counted as one token; write token ids to distinguish them"
        )
    answers = [m for record in found.records for m in record.members if m is not None]
    if not is_truncated(answers):
        notes.append(
            "the listed probabilities of every token sum to 1, as after top_k or top_p: errors are "
            "0, and do not account for tokens that were cut off"
        )
    return notes
