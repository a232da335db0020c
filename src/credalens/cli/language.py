"""Scores of tokens and answers of language models, for ``credalens score --format logprobs``."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import binary_stdout, note, print_table
from credalens.cli.options import (
    CommonOptions,
    EnsembleInputs,
    MeasureOptions,
    changed_options,
)
from credalens.cli.predictions import write_skipped
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.io.language.reading import Records
    from credalens.io.language.token_rows import TokenRows

#: What a row of the output is.
LEVELS = ("token", "sequence", "choice")
#: The options that apply to lists of tokens.
APPLY = ("files", "format", "id_column", "on_error", "missing", "aggregate")


@dataclass(frozen=True)
class LanguageOptions:
    """Options of responses of language models."""

    level: Annotated[
        str | None,
        typer.Option(
            help="With --format logprobs, what a row is: a token, a sequence (answer), or a "
            "question with choices.",
            show_default="choice if the lines have choices, else sequence",
        ),
    ] = None
    n_classes: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Size of the vocabulary. Needed for bounds of entropies; errors of tv, zero_one "
            "and confidence hold for any size.",
            show_default="unknown",
        ),
    ] = None
    tokens: Annotated[
        str | None,
        typer.Option(
            help="Which tokens are scored: generated, or those of the prompt (prompt_logprobs, "
            "echo).",
            show_default="generated, if there are any",
        ),
    ] = None

    def check(self, inputs: EnsembleInputs) -> None:
        """Raise ValueError if the options do not fit."""
        given = changed_options(self)
        if given and inputs.format != "logprobs":
            raise ValueError(f"{given[0]}: applies to language models; pass --format logprobs")
        if self.level not in (None, *LEVELS):
            raise ValueError(f"--level: is {self.level!r}; choose {', '.join(LEVELS)}")
        if self.tokens not in (None, "generated", "prompt"):
            raise ValueError(f"--tokens: is {self.tokens!r}; choose generated or prompt")

    def reads_tokens(self, inputs: EnsembleInputs) -> bool:
        """Return whether rows are tokens or answers, instead of questions with choices."""
        if inputs.format != "logprobs" or self.level == "choice" or inputs.choices is not None:
            if self.level in ("token", "sequence"):
                raise ValueError("--choices: applies to --level choice; omit one of them")
            return False
        if self.level is not None or "-" in inputs.files:
            return True
        from credalens.io.formats import expand
        from credalens.io.language.choice_source import has_choices

        return not has_choices(expand(inputs.files, inputs.other_files)[0])


def score_tokens(
    language: LanguageOptions,
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    summary: str,
) -> "TokenTask":
    """Read the files, and return the task of scoring their tokens."""
    from credalens.evaluation.scores import ScoreColumns
    from credalens.io.formats import STDIN, check_logprobs, expand
    from credalens.io.language.reading import AnswerOptions, read_records
    from credalens.io.language.scoring import TokenScores
    from credalens.io.language.token_rows import token_rows
    from credalens.io.streams import standard_input

    for name in changed_options(inputs):
        if name.removeprefix("--").replace("-", "_") not in APPLY:
            raise ValueError(f"{name}: does not apply to lists of tokens; leave it out")
    if measure_options.distance != "tv":
        raise ValueError("--distance: does not apply to lists of tokens; leave it out")
    names = measure_options.names
    scores = TokenScores(ScoreColumns(names, summary=summary))
    scores.check_classes(language.n_classes)
    files = expand(inputs.files)
    for name in files:
        if name != STDIN:
            check_logprobs(name, inputs.read_options)
    options = AnswerOptions(language.tokens, inputs.id_column, inputs.allows_missing, inputs.skip)
    records = read_records(files, options, standard_input())
    _describe(records, common)
    return TokenTask(token_rows(records, language.n_classes), scores, language, inputs, common)


def _describe(records: "Records", common: CommonOptions) -> None:
    from credalens._validation import counted

    if common.verbose:
        note(f"{counted(len(records.records), 'record')}, {counted(len(records.names), 'member')}: "
             f"{', '.join(records.names)}")  # fmt: skip
        by = "ids" if records.vocabulary.by_id else "texts"
        note(f"{counted(len(records.vocabulary), 'token')}, compared by their {by}")
    for text in records.notes:
        note(f"credalens: {text}", common.quiet)
    if len(records.names) == 1:
        note("credalens: warning: there is only one member, so epistemic uncertainty is 0; pass "
             "answers of several prompts or models", common.quiet)  # fmt: skip


@dataclass(frozen=True)
class TokenTask:
    """The scores of tokens or answers, to be written."""

    rows: "TokenRows"
    scores: Any
    language: LanguageOptions
    inputs: EnsembleInputs
    common: CommonOptions

    def columns(self) -> dict[str, Any]:
        """Compute all columns."""
        from credalens.io.language.scoring import (
            AGGREGATES,
            answer_columns,
            summary_of,
            token_columns,
        )

        for text in summary_of(self.rows):
            note(f"credalens: {text}", self.common.quiet)
        given = self.inputs.aggregate
        if self.language.level == "token":
            if given is not None:
                raise ValueError("--aggregate: applies to --level sequence; omit it")
            return token_columns(self.rows, self.scores)
        if given not in (None, *AGGREGATES):
            raise ValueError(f"--aggregate: is {given!r}; choose {', '.join(AGGREGATES)}")
        return answer_columns(self.rows, self.scores, given or "mean")

    def to_file(self, output: Path) -> None:
        """Write a file."""
        from credalens._files import atomic_write, locked
        from credalens._validation import counted
        from credalens.io.formats import DROPPED_COLUMNS
        from credalens.io.output import check_not_inputs, check_own_table
        from credalens.io.tables import WRITERS, as_batch

        check_not_inputs([output, skipped_path(output)], map(Path, self.inputs.files))
        if self.rows.records.dropped:
            check_own_table(skipped_path(output), DROPPED_COLUMNS)
        batch = as_batch(self.columns())
        with locked(output), atomic_write(output) as temporary:
            WRITERS[output.suffix.lower()](lambda: iter([batch]), temporary)
        note(f"wrote {counted(len(batch), 'row')} to {output}", self.common.quiet)
        write_skipped(self.rows.records.dropped, skipped_path(output))

    def to_pipe(self, to: str) -> None:
        """Write to standard output."""
        from credalens.io.tables import as_batch, write_csv, write_jsonl

        write: Callable[[Iterator[Any], Any], None] = write_csv if to == "csv" else write_jsonl
        stream = binary_stdout()
        write(iter([as_batch(self.columns())]), stream)
        stream.flush()
        write_skipped(self.rows.records.dropped, skipped_path(None))

    def to_terminal(self, top: int) -> None:
        """Print the most uncertain rows."""
        import numpy as np

        columns = self.columns()
        key = self.scores.columns.names[0]
        order = np.argsort(-np.asarray(columns[key]), kind="stable")[:top]
        what = "tokens" if self.language.level == "token" else "answers"
        title = f"The {len(order)} most uncertain of {len(columns[key])} {what}, by {key}"
        print_table(title, {name: values[order].tolist() for name, values in columns.items()})
        write_skipped(self.rows.records.dropped, skipped_path(None))
        note("Pass -o scores.csv to write all rows.", self.common.quiet)
