"""``credalens pick``: which rows to hand to a person, and why."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import conduct, note, progress
from credalens.cli.inputs import Inputs, Manners, Measuring, SecondLook, command
from credalens.cli.score import describe, show_table, skipped_path, write_dropped
from credalens.evaluation.kinds import SECOND_LOOK, make_rule

if TYPE_CHECKING:
    from credalens.datasets.files import Ensemble
    from credalens.evaluation.scores import ScoreColumns

EXAMPLES = """\
Examples:

credalens pick 'runs/*.npz' --reject 0.1 -o for_review.csv

credalens pick model_*.csv --id-column image --budget 500 -o for_review.csv

credalens pick runs --budget 20 --by tv_epistemic
"""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog=EXAMPLES, short_help="List the rows to hand to a person, and why.")(
        command(pick)
    )


def pick(
    inputs: Inputs,
    measuring: Measuring,
    manners: Manners,
    reject: Annotated[
        float | None, typer.Option(help="Share of the rows to hand over, e.g. 0.1.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Number of rows to hand over, e.g. 500.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", "--score", help="Score to go by.", show_default="the first, tv_total"),
    ] = None,
    second_look: SecondLook = SECOND_LOOK,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write: .csv, .parquet, .npz or .jsonl.",
            show_default="a table on a terminal, CSV in a pipe",
        ),
    ] = None,
) -> None:
    """List the rows to hand to a person, most uncertain first, with the reason in words.

    The columns are those of score, and rank, row, kind, reason, and which two models are farthest
    apart (model_a, model_b), with the class that each puts first (class_a, class_b).

    ambiguous: the plausible models see a risk of about 0.4 or more (midpoint of the aleatoric
    interval), so that more training will hardly help. unknown: two models are 0.4 or more apart,
    and the reason says what they say; more data or training will help. Or both, or clear, which is
    neither. The report goes by the same rule; --second-look changes the level.
    """  # fmt: skip
    with conduct(debug=manners.debug, quiet=manners.quiet, threads=manners.threads):
        if (reject is None) == (budget is None):
            raise ValueError("--reject: say either --reject SHARE or --budget NUMBER")
        if reject is not None and not 0 < reject <= 1:
            raise ValueError(f"--reject: is {reject:g}; pass a share between 0 and 1, e.g. 0.1")
        if "-" in inputs.files:
            raise ValueError("stdin: the rows are read twice; write them to a file first")
        from credalens._files import check_folder
        from credalens.datasets.files.output import check_output
        from credalens.distances import as_distance
        from credalens.evaluation import rejection_order

        if output is not None:
            check_output(output)
            check_folder(output.parent)
        ensemble = inputs.open(measuring)
        columns = measuring.scores(ensemble.n_classes)
        make_rule(
            second_look, as_distance(columns.distance, ensemble.n_classes), ensemble.n_classes
        )
        key = _key(by, columns.names)
        side = skipped_path(output)
        inputs.keep(ensemble, measuring, output, side)
        describe(ensemble, manners)
        alone = (replace(columns, measures=(name,)) for name in columns.measures)
        needed = next(one for one in alone if key in one.names)
        places, values = _scored(ensemble, needed, key, inputs, manners, side)
        if not len(values):
            raise ValueError("rows: none is left; mend the files")
        count = _count(len(values), reject, budget)
        if not count:
            raise ValueError(f"--reject: {reject:g} of {len(values)} rows is none; pass more")
        first = rejection_order(values)[:count]
        table = _explained(ensemble, columns, places[first], second_look, inputs, manners)
        table[key] = values[first]  # an estimate may differ when it is drawn again
        title = f"{count} of {len(values)} rows to look at, by {key}"
        _give(table, ensemble.id_type, title, output, manners)


def _key(by: str | None, names: tuple[str, ...]) -> str:
    if by is None:
        return names[0]
    if by not in names:
        raise ValueError(f"--by: is {by!r}; choose of {', '.join(names)}")
    return by


def _count(n: int, reject: float | None, budget: int | None) -> int:
    if reject is None:
        return min(n, budget or 0)
    # The product of a share such as 0.29 and 100 is a hair below 29.
    return math.floor(reject * n + 1e-9)


def _scored(
    ensemble: "Ensemble",
    columns: "ScoreColumns",
    key: str,
    inputs: Inputs,
    manners: Manners,
    side: Path,
) -> tuple[Any, Any]:
    """Read all rows once; return their numbers and one score each, all that is kept in memory."""
    import numpy as np

    from credalens.datasets.files.scoring import scored_chunks

    scores, rows = [], []
    dropped: list[Any] = []
    with progress("scoring", manners.quiet) as show:
        for chunk, found, _ in scored_chunks(ensemble, columns, inputs.chunk_rows, 0, inputs.skip):
            scores.append(found[key])
            rows.append(chunk.rows)
            dropped.extend(chunk.dropped)
            show(chunk.stop, ensemble.expected_rows)
    write_dropped(dropped, side)
    return np.concatenate(rows), np.concatenate(scores)


def _explained(
    ensemble: "Ensemble",
    columns: "ScoreColumns",
    wanted: Any,
    second_look: float,
    inputs: Inputs,
    manners: Manners,
) -> dict[str, Any]:
    """Read the files again; say why the wanted rows are uncertain, in the order of `wanted`."""
    import numpy as np

    from credalens.datasets.files.scoring import score_chunk
    from credalens.evaluation.reasons import explain

    pieces: list[dict[str, Any]] = []
    with progress("explaining", manners.quiet) as show:
        for chunk in ensemble.chunks(inputs.chunk_rows, skip=inputs.skip):
            show(chunk.stop, ensemble.expected_rows)
            chosen = np.isin(chunk.rows, wanted)
            if not chosen.any():
                continue
            few = replace(
                chunk,
                rows=chunk.rows[chosen],
                members=chunk.members[chosen],
                labels=None if chunk.labels is None else chunk.labels[chosen],
                ids=None if chunk.ids is None else chunk.ids[chosen],
            )
            scores, _ = score_chunk(few, columns, ensemble.class_names)
            reasons = explain(
                few.members,
                columns.distance,
                models=ensemble.names,
                classes=ensemble.class_names,
                second_look=second_look,
            )
            models = [reason.models or ("", "") for reason in reasons]
            classes = [reason.classes or ("", "") for reason in reasons]
            pieces.append({
                "row": few.rows, **scores,
                "kind": [reason.kind for reason in reasons],
                "reason": [reason.text for reason in reasons],
                "model_a": [a for a, _ in models], "class_a": [a for a, _ in classes],
                "model_b": [b for _, b in models], "class_b": [b for _, b in classes],
            })  # fmt: skip
    table = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    order = np.searchsorted(table["row"], wanted)
    return {
        "rank": np.arange(1, len(wanted) + 1),
        **{name: values[order] for name, values in table.items()},
    }


def _give(
    table: dict[str, Any], id_type: Any, title: str, output: Path | None, manners: Manners
) -> None:
    from credalens._files import replacing
    from credalens.datasets.files.output import WRITERS, as_batch, write_csv

    if output is None and sys.stdout.isatty():
        shown = ("rank", "id" if "id" in table else "row", "prediction", "kind", "reason")
        show_table(title, {name: table[name].tolist() for name in shown})
        return
    batch = as_batch(table, id_type)
    if output is None:
        write_csv([batch], sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with replacing(output) as path:
        WRITERS[output.suffix.lower()](lambda: iter([batch]), path)
    kinds = table["kind"].tolist()
    told = ", ".join(
        f"{kinds.count(kind)} {kind}"
        for kind in ("ambiguous", "unknown", "both", "clear")
        if kind in kinds
    )
    note(f"wrote {title}, to {output}: {told}", manners.quiet)
