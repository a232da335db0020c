"""``credalens decide``: decisions and sets of labels for every row of prediction files."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import echo, print_table
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions, examples
from credalens.cli.policies import calibration_files, check_policy_file, policy_base, save_policy
from credalens.cli.predictions import OpenPredictions, open_predictions
from credalens.cli.reading import skipped_path
from credalens.cli.score import ScoreTask
from credalens.cli.score_dask import EngineOptions, score_partitions

if TYPE_CHECKING:
    from credalens.decisions.columns import DecisionColumns
    from credalens.decisions.set_metrics import OutcomeCounts
    from credalens.io import Ensemble

EXAMPLES = examples(
    "credalens decide model_*.npy -o decisions.csv",
    "credalens decide 'runs/*.npz' --cost cost.csv --abstain 0.2 -o decisions.parquet",
    "credalens decide model_*.csv --cost cost.csv --abstain 0.2 --policy policy.json -o d.csv",
    "credalens decide model_*.csv --labels truth.csv --rule maximal",
)


def command(
    inputs: EnsembleInputs,
    common: CommonOptions,
    engine: EngineOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file: .csv, .parquet, .npz or .jsonl; a folder with --engine dask.",
            show_default="a table on a terminal, CSV in a pipe",
        ),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of costs: rows are classes, columns are actions, both named.",
            show_default="an error costs 1",
        ),
    ] = None,
    abstain: Annotated[
        float | None,
        typer.Option(help="Price of abstaining, which becomes an action.", show_default=False),
    ] = None,
    rule: Annotated[
        str,
        typer.Option(help="Which labels remain: e-admissible, maximal or interval-dominance."),
    ] = "e-admissible",
    criterion: Annotated[
        str,
        typer.Option(
            help="Which decision is taken: gamma-minimax, gamma-minimin, hurwicz or minimax-regret."
        ),
    ] = "gamma-minimax",
    alpha: Annotated[
        float,
        typer.Option(min=0, max=1, help="Weight of the largest expected cost in hurwicz."),
    ] = 0.5,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Rows of the table on a terminal.", show_default="20"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run after its finished rows.")
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Write the costs and rules to this file, for score and serve.", show_default=False
        ),
    ] = None,
) -> None:
    """Decide for every row: the safest action, and the labels that remain possible.

    The columns are: row (with --on-error skip or --engine dask), id (if the files have ids),
    decision, labels (the labels or actions that --rule does not exclude, separated by spaces), size
    (their number), risk_lower and risk_upper (the smallest and the largest expected cost of the
    decision over all plausible models), reason, and, with labels, label, covered (whether the set
    contains the label) and cost (of the decision). The decision is that of these actions, or
    abstaining, with the smallest --criterion, by default the largest expected cost. With labels,
    metrics of the sets and the mean cost are printed.

    e-admissible: optimal for some mixture of the models, decided by a certificate. maximal: no
    other action is better for every model. interval-dominance: its smallest expected cost is not
    above the largest of another.
    """
    with common.context():
        from credalens.decisions.set_metrics import OutcomeCounts
        from credalens.io.output import check_output

        columns = _columns_for(cost, abstain, rule, criterion, alpha)
        if top is not None and output is not None:
            raise ValueError("--top: applies to standard output; omit it, or -o")
        measure_options = MeasureOptions()
        read = [] if cost is None else [cost]
        check_policy_file(policy, inputs, read)
        if policy is not None and engine.is_dask:
            raise ValueError("--policy: does not support --engine dask; omit one of them")
        if engine.is_dask:
            score_partitions(engine, inputs, measure_options, common, output, columns=columns,
                             read=read)  # fmt: skip
            if output is not None:
                _print_metrics(_counts_of_folder(output))
            return
        if output is not None:
            check_output(output)
        predictions = open_predictions(
            inputs, measure_options, common, output, skipped_path(output), columns=columns,
            read=read,
        )  # fmt: skip
        counts = OutcomeCounts()
        kept = _KeptCounts(abstain is not None or cost is not None)

        def merge(summary: dict[str, Any]) -> None:
            counts.merge(summary["outcomes"])
            kept.merge(summary["kept"])

        task = ScoreTask(
            predictions,
            summarize=lambda batch: {"outcomes": _summary(batch), "kept": kept.of(batch)},
            merge=merge,
        )
        if output is not None:
            task.to_file(output, resume, engine.checksum)
        elif resume:
            raise ValueError("--resume: needs an output file; pass -o FILE")
        elif sys.stdout.isatty():
            task.to_terminal(top or 20, "decisions.csv")
        else:
            task.to_pipe("csv")
        if output is not None or sys.stdout.isatty():
            _print_metrics(counts)
        if policy is not None:
            _write_policy(policy, predictions, kept)


def _columns_for(
    cost: Path | None, abstain: float | None, rule: str, criterion: str, alpha: float
) -> Callable[["Ensemble"], "DecisionColumns"]:
    """Return a function that makes the columns for the classes of an ensemble."""
    from credalens.decisions import ADMISSIBILITY_RULES, DECISION_RULES
    from credalens.decisions.columns import ABSTAIN, DecisionColumns
    from credalens.io.cost_file import read_cost

    names = {}
    for option, value, known in (("--rule", rule, ADMISSIBILITY_RULES),
                                 ("--criterion", criterion, DECISION_RULES)):  # fmt: skip
        name = value.lower().replace("-", "_")
        if name not in known:
            listed = ", ".join(one.replace("_", "-") for one in known)
            raise ValueError(f"{option}: is {value!r}; choose from {listed}")
        names[option] = name

    def columns(ensemble: "Ensemble") -> DecisionColumns:
        classes, matrix, actions = ensemble.class_names, None, None
        if cost is not None:
            matrix, actions = read_cost(cost, classes, ensemble.n_classes)
        if abstain is not None and ABSTAIN in (*(actions or ()), *(classes or ())):
            raise ValueError(f"--abstain: there is already an action {ABSTAIN!r}; omit the option")
        joined = any(" " in name for name in (*(actions or ()), *(classes or ())))
        return DecisionColumns(
            ensemble.n_classes, matrix, actions, abstain, names["--rule"], names["--criterion"],
            alpha, separator="; " if joined else " ",
        )  # fmt: skip

    return columns


class _KeptCounts:
    """How many rows a policy with these decisions keeps."""

    def __init__(self, decides: bool) -> None:
        self.decides = decides
        #: Rows, kept rows, kept rows with a label, and those whose decision is the label.
        self.counts = [0, 0, 0, 0]

    def of(self, batch: Any) -> list[int]:
        """Return the counts of a record batch."""
        import numpy as np

        from credalens.decisions.columns import ABSTAIN

        values = {
            name: batch.column(name).to_numpy(zero_copy_only=False)
            for name in ("decision", "size", "labels", "label")
            if name in batch.schema.names
        }
        keep = values["decision"] != ABSTAIN if self.decides else values["size"] == 1
        if "label" not in values:
            return [len(keep), int(keep.sum()), 0, 0]
        labelled = keep & batch.column("label").is_valid().to_numpy(zero_copy_only=False)
        reported = values["decision" if self.decides else "labels"][labelled].astype(str)
        correct = int(np.sum(reported == values["label"][labelled].astype(str)))
        return [len(keep), int(keep.sum()), int(labelled.sum()), correct]

    def merge(self, counts: list[int]) -> None:
        """Add the counts of a record batch."""
        self.counts = [a + b for a, b in zip(self.counts, counts, strict=True)]


def _write_policy(path: Path, predictions: OpenPredictions, kept: _KeptCounts) -> None:
    from credalens.policy import CalibrationData, DecisionRule, Policy

    ensemble, inputs, columns = predictions.ensemble, predictions.inputs, predictions.columns
    rule = DecisionRule(
        ensemble.n_classes, columns.cost, columns.actions, columns.abstain, columns.rule,
        columns.criterion, columns.alpha,
    )  # fmt: skip
    rows, n_kept, labelled, correct = kept.counts
    files = calibration_files(inputs, ensemble)
    data = CalibrationData(rows, n_kept, labelled, correct, files)
    policy = Policy(rule=rule, calibration=data, **policy_base(inputs, ensemble))
    save_policy(policy, path, predictions.common.quiet)


def _print_metrics(counts: "OutcomeCounts") -> None:
    """Print the metrics of the sets and the mean cost, if there are labels."""
    if not counts.n:
        return
    found = counts.metrics(n_resamples=2000, random_state=0)
    if found is not None:
        table = {"metric": found._index()[1], **found._columns()}
        print_table(f"Sets of labels of {found.n} rows, 95% bootstrap intervals", table)
    echo(f"Mean cost of the decisions: {counts.mean_cost:.4f}")


def _summary(batch: Any) -> dict[str, Any]:
    """Return the outcomes of a record batch as a JSON value."""
    from credalens.decisions.set_metrics import OutcomeCounts

    counts = OutcomeCounts()
    _count(counts, batch)
    return counts.as_dict()


def _count(counts: "OutcomeCounts", batch: Any) -> None:
    """Add the rows of a record batch that have a label."""
    names = batch.schema.names
    if "cost" not in names:
        return
    known = batch.column("cost").is_valid().to_numpy(zero_copy_only=False)
    part = {
        name: batch.column(name).to_numpy(zero_copy_only=False)[known]
        for name in ("size", "covered", "cost")
        if name in names
    }
    hit = part.get("covered")
    counts.add(part["size"], None if hit is None else hit.astype(bool), part["cost"])


def _counts_of_folder(folder: Path) -> "OutcomeCounts":
    """Return the outcomes in a folder of decisions."""
    from credalens.decisions.set_metrics import OutcomeCounts
    from credalens.io.parquet import open_parquet

    counts = OutcomeCounts()
    for path in sorted(folder.glob("part-*.parquet")):
        with open_parquet(str(path)) as file:
            names = [n for n in ("size", "covered", "cost") if n in file.schema_arrow.names]
            for batch in file.iter_batches(1 << 18, columns=names):
                _count(counts, batch)
    return counts
