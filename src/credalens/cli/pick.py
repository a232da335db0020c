"""``credalens pick``: the rows to hand to a person, with reasons."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note, print_table
from credalens.cli.options import (
    CommonOptions,
    EnsembleInputs,
    MeasureOptions,
    ReviewThreshold,
    examples,
)
from credalens.cli.predictions import OpenPredictions, open_predictions, write_skipped
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.distances import Distance
    from credalens.evaluation.kinds import Rule
    from credalens.evaluation.scores import ScoreColumns

#: Smallest total uncertainty from which the thresholds of the reasons are chosen, as a share of the
#: largest distance.
LEAST_THRESHOLD = 0.1

EXAMPLES = examples(
    "credalens pick 'runs/*.npz' --reject 0.1 -o for_review.csv",
    "credalens pick model_*.csv --id-column image --budget 500 -o for_review.csv",
    "credalens pick runs --budget 20 --by tv_epistemic",
)


def command(
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    reject: Annotated[
        float | None, typer.Option(help="Share of the rows to hand over, e.g. 0.1.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, help="Number of rows to hand over, e.g. 500.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", "--score", help="Score that ranks the rows.", show_default="the first, tv_total"
        ),
    ] = None,
    review_threshold: ReviewThreshold = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file: .csv, .parquet, .npz or .jsonl.",
            show_default="a table on a terminal, CSV in a pipe",
        ),
    ] = None,
) -> None:
    """List the rows to hand to a person, most uncertain first, with reasons.

    The columns are those of score, plus rank, row, kind, reason, the two models that are farthest
    apart (model_a, model_b) and the class that each of them predicts (class_a, class_b).

    ambiguous: every plausible model has a high risk, so that more training will hardly help.
    unknown: two models are far apart; the reason states their predictions, and more data or
    training will help. both: ambiguous and unknown. High and far apart mean 0.4 or, if less, half
    of the total uncertainty of the last row of the list, so that one of the reasons applies to
    every row; --review-threshold sets another total uncertainty. clear: neither, which happens if
    another score ranks the rows.
    """
    with common.context():
        if (reject is None) == (budget is None):
            raise ValueError("--reject: pass either --reject SHARE or --budget NUMBER")
        if reject is not None and not 0 < reject <= 1:
            raise ValueError(f"--reject: is {reject:g}; pass a share between 0 and 1, e.g. 0.1")
        if "-" in inputs.files:
            raise ValueError("stdin: the rows are read twice; write them to a file first")
        import numpy as np

        from credalens._files import check_folder
        from credalens._validation import number
        from credalens.evaluation import rejection_order
        from credalens.io.output import check_output

        if review_threshold is not None:
            number(review_threshold, "review_threshold", least=0)

        if output is not None:
            check_output(output)
            check_folder(output.parent)
        side = skipped_path(output)
        predictions = open_predictions(inputs, measure_options, common, output, side)
        columns = _with_baseline(predictions.columns, by)
        predictions.columns = columns
        key = columns.names[0] if by is None else by
        if key not in columns.names:
            raise ValueError(f"--by: is {by!r}; choose from {', '.join(columns.names)}")
        # The first pass computes one score, and holds it and the row numbers in memory.
        single = (replace(columns, measures=(name,)) for name in columns.measures)
        needed = next(one for one in single if key in one.names)
        passed = [(chunk.rows, scores[key]) for chunk, scores, _ in predictions.scored(needed)]
        rows, values = (np.concatenate(parts) for parts in zip(*passed, strict=True))
        write_skipped(predictions.skipped, side)
        if not len(values):
            raise ValueError("rows: no valid row is left; correct the files")
        count = _count(len(values), reject, budget)
        if not count:
            raise ValueError(f"--reject: {reject:g} of {len(values)} rows is 0 rows; pass more")
        first = rejection_order(values)[:count]
        if review_threshold is None and key == f"{columns.family}_total":
            review_threshold = float(values[first[-1]])
        table = _explained(predictions, rows[first], review_threshold)
        table[key] = values[first]  # a sampled estimate may differ in the second pass
        title = f"{count} of {len(values)} rows to review, by {key}"
        _write(table, predictions.ensemble.id_type, title, output, common.quiet)


def _count(n: int, reject: float | None, budget: int | None) -> int:
    if reject is None:
        return min(n, budget or 0)
    # In floating point, 0.29 * 100 is slightly below 29.
    return math.floor(reject * n + 1e-9)


def _with_baseline(columns: "ScoreColumns", by: str | None) -> "ScoreColumns":
    """Return the columns with the family of a baseline that ranks the rows."""
    from credalens.evaluation.baselines import BASELINES

    if by is None or by not in BASELINES or by in columns.names:
        return columns
    return replace(columns, measures=(*columns.measures, by.rpartition("_")[0]))


def _explained(
    predictions: OpenPredictions, selected: Any, review_threshold: float | None
) -> dict[str, Any]:
    """Read the files again; return scores and reasons of the `selected` rows, in their order."""
    import numpy as np

    from credalens.distances import as_distance
    from credalens.evaluation.reasons import reasons_by_rule
    from credalens.io.scoring import score_chunk

    ensemble, columns = predictions.ensemble, predictions.columns
    metric = as_distance(columns.distance, ensemble.n_classes)
    rule = _reason_rule(metric, ensemble.n_classes, review_threshold)
    blocks: list[dict[str, Any]] = []
    for chunk in predictions.chunks("explaining"):
        mask = np.isin(chunk.rows, selected)
        if not mask.any():
            continue
        part = chunk.take(mask)
        scores, _ = score_chunk(part, columns, ensemble.class_names)
        reasons = reasons_by_rule(part.hull(), metric, rule, ensemble.names, ensemble.class_names)
        models = [reason.members or ("", "") for reason in reasons]
        classes = [reason.classes or ("", "") for reason in reasons]
        blocks.append({
            "row": part.rows, **scores,
            "kind": [reason.kind for reason in reasons],
            "reason": [reason.text for reason in reasons],
            "model_a": [a for a, _ in models], "class_a": [a for a, _ in classes],
            "model_b": [b for _, b in models], "class_b": [b for _, b in classes],
        })  # fmt: skip
    # Labels are masked if they are missing.
    join: dict[bool, Any] = {True: np.ma.concatenate, False: np.concatenate}
    table = {
        name: join[isinstance(first, np.ma.MaskedArray)]([block[name] for block in blocks])
        for name, first in blocks[0].items()
    }
    order = np.searchsorted(table["row"], selected)
    return {
        "rank": np.arange(1, len(selected) + 1),
        **{name: values[order] for name, values in table.items()},
    }


def _reason_rule(metric: "Distance", n_classes: int, threshold: float | None) -> "Rule":
    """Return the rule of the reasons for rows with at least this total uncertainty."""
    from credalens.evaluation.kinds import REVIEW_THRESHOLD, Rule, make_rule

    default = make_rule(REVIEW_THRESHOLD, metric, n_classes)
    if threshold is None:
        return default
    least = LEAST_THRESHOLD * default.scale
    return Rule(min(max(threshold, least) / 2, default.aleatoric), default.scale)


def _write(
    table: dict[str, Any], id_type: Any, title: str, output: Path | None, quiet: bool
) -> None:
    from credalens._files import atomic_write
    from credalens.io.tables import WRITERS, as_batch, write_csv

    if output is None and sys.stdout.isatty():
        shown = ("rank", "id" if "id" in table else "row", "prediction", "kind", "reason")
        print_table(title, {name: table[name].tolist() for name in shown})
        return
    batch = as_batch(table, id_type)
    if output is None:
        write_csv([batch], sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with atomic_write(output) as path:
        WRITERS[output.suffix.lower()](lambda: iter([batch]), path)
    kinds = table["kind"].tolist()
    counts = ", ".join(
        f"{kinds.count(kind)} {kind}"
        for kind in ("ambiguous", "unknown", "both", "clear")
        if kind in kinds
    )
    note(f"wrote {title}, to {output}: {counts}", quiet)
