"""``credalens pick``: which rows to hand to a person, and why."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import conduct, note, progress
from credalens.cli.inputs import Inputs, Manners, Measuring, command
from credalens.cli.score import describe, show_table

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
    app.command(epilog=EXAMPLES)(command(pick))


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
        str | None, typer.Option(help="Score to go by.", show_default="the first, tv_total")
    ] = None,
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

    ambiguous: every plausible model finds it hard (the lower aleatoric end is at least 2/3 of the
    total), so that no training will help. unknown: the models disagree (at most 1/3), and the
    reason says which two disagree most, and on which classes; data or training would help. both:
    in between.
    """  # fmt: skip
    with conduct(debug=manners.debug, quiet=manners.quiet, threads=manners.threads):
        if (reject is None) == (budget is None):
            raise ValueError("--reject: say either --reject SHARE or --budget NUMBER")
        if reject is not None and not 0 < reject <= 1:
            raise ValueError(f"--reject: is {reject:g}; pass a share between 0 and 1, e.g. 0.1")
        if "-" in inputs.files:
            raise ValueError("stdin: the rows are read twice; write them to a file first")
        if output is not None:
            from credalens.datasets.files.output import check_output

            check_output(output)
        ensemble = inputs.open()
        columns = measuring.scores(ensemble.n_classes)
        key = _key(by, columns.names)
        describe(ensemble, manners)
        rows, scores, n = _most_uncertain(ensemble, columns, key, reject, budget, (inputs, manners))
        table = _explained(ensemble, columns, rows, inputs, manners)
        table = {"rank": list(range(1, len(rows) + 1)), **table, key: scores.tolist()}
        order = [k for k in table if k not in (key, "kind", "reason")]
        table = {k: table[k] for k in (*order, key, "kind", "reason")}
        _give(table, f"{len(rows)} of {n} rows to look at, by {key}", output, manners)


def _key(by: str | None, names: tuple[str, ...]) -> str:
    if by is None:
        return names[0]
    if by not in names:
        raise ValueError(f"--by: is {by!r}; choose of {', '.join(names)}")
    return by


def _most_uncertain(
    ensemble: "Ensemble",
    columns: "ScoreColumns",
    key: str,
    reject: float | None,
    budget: int | None,
    how: tuple[Inputs, Manners],
) -> tuple[Any, Any, int]:
    """Read all rows once; return the rows to pick in order, their scores, and how many there are.

    Only one score a row is kept in memory.
    """
    import numpy as np

    from credalens.datasets.files.scoring import scored_chunks
    from credalens.evaluation import rejection_order

    inputs, manners = how
    scores, rows, dropped = [], [], 0
    with progress("scoring", manners.quiet) as show:
        for chunk, found in scored_chunks(ensemble, columns, inputs.chunk_rows, 0, inputs.skip):
            scores.append(found[key])
            rows.append(chunk.rows)
            dropped += len(chunk.dropped)
            show(chunk.stop, ensemble.expected_rows)
    values, places = np.concatenate(scores), np.concatenate(rows)
    if dropped:
        note(f"credalens: left out {dropped} bad rows; `credalens score` writes them down")
    # The product of a share such as 0.29 and 100 is a hair below 29.
    share = math.floor((reject or 0) * len(values) + 1e-9)
    count = share if budget is None else min(len(values), budget)
    first = rejection_order(values)[:count]
    return places[first], values[first], len(values)


def _explained(
    ensemble: "Ensemble", columns: "ScoreColumns", rows: Any, inputs: Inputs, manners: Manners
) -> dict[str, list[Any]]:
    """Read the files again, and say why the picked rows are uncertain, in the order of `rows`."""
    import numpy as np

    from credalens.datasets.files.scoring import named
    from credalens.evaluation import majority_vote
    from credalens.evaluation.reasons import explain
    from credalens.sets import ConvexHull

    found: dict[int, dict[str, Any]] = {}
    with progress("explaining", manners.quiet) as show:
        for chunk in ensemble.chunks(inputs.chunk_rows, skip=inputs.skip):
            show(chunk.stop, ensemble.expected_rows)
            chosen = np.flatnonzero(np.isin(chunk.rows, rows))
            if not len(chosen):
                continue
            hull = ConvexHull(chunk.members[chosen], validate=False)
            predicted = named(np.asarray(majority_vote(hull)), ensemble.class_names).tolist()
            reasons = explain(
                hull, columns.distance, models=ensemble.names, classes=ensemble.class_names
            )
            for i, place in enumerate(chosen.tolist()):
                row: dict[str, Any] = {"row": int(chunk.rows[place])}
                if chunk.ids is not None:
                    row["id"] = chunk.ids[place]
                models = reasons[i].models or ("", "")
                classes = reasons[i].classes or ("", "")
                row.update(
                    prediction=predicted[i], model_a=models[0], class_a=classes[0],
                    model_b=models[1], class_b=classes[1],
                    kind=reasons[i].kind, reason=reasons[i].text,
                )  # fmt: skip
                found[row["row"]] = row
    ordered = [found[int(row)] for row in rows]
    return {key: [row[key] for row in ordered] for key in (ordered[0] if ordered else {"row": 0})}


def _give(table: dict[str, list[Any]], title: str, output: Path | None, manners: Manners) -> None:
    from credalens._files import replacing
    from credalens.datasets.files.output import WRITERS, as_batch, write_csv

    if output is None and sys.stdout.isatty():
        shown = ("rank", "id" if "id" in table else "row", "prediction", "kind", "reason")
        show_table(title, {name: table[name] for name in shown if name in table})
        return
    batch = as_batch(table)
    if output is None:
        write_csv([batch], sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with replacing(output) as path:
        WRITERS[output.suffix.lower()](lambda: iter([batch]), path)
    kinds = ", ".join(
        f"{table['kind'].count(kind)} {kind}"
        for kind in ("ambiguous", "unknown", "both", "certain")
        if kind in table.get("kind", [])
    )
    note(f"wrote {title}, to {output}: {kinds}", manners.quiet)
