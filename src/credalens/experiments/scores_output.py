"""The page and the tables of the comparison of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from credalens._validation import counted
from credalens.evaluation.compare import verdict_of
from credalens.experiments import scores_notes as notes
from credalens.experiments.output import (
    Cell,
    Section,
    Table,
    provenance,
    sectioned_page,
    write_csv,
    write_text,
)
from credalens.experiments.scores_compare import (
    BASELINE,
    FIELDS,
    FORESTS,
    METRICS,
    SCORES,
    Comparison,
)
from credalens.experiments.scores_summary import (
    GroupRow,
    Report,
    TaskRow,
    group_rows,
    mean_over_splits,
)
from credalens.experiments.scores_tasks import TASKS
from credalens.experiments.table2_summary import by_dataset

#: Names and decimals of the metrics, in percent.
LABELS = {"auc": "AUC", "aurc": "AURC", "augrc": "AUGRC", "auroc": "AUROC"}
DIGITS = {"auc": 2, "aurc": 3, "augrc": 3, "auroc": 2}
#: Decimals in the CSV file.
CSV_DIGITS = 6
COLUMNS = ("group", "dataset", "n", "classes", "accuracy", "score", "metric", *FIELDS, "verdict")


def write(report: Report, out: Path) -> tuple[str, list[Path]]:
    """Write ``scores.md`` and ``scores.csv``; return the text for the terminal, and the files."""
    splits, tasks = report.splits(), report.tasks()
    groups = {kind: group_rows(found, report.config.seed) for kind, found in splits.items()}
    sections = [
        Section("Overview", [overview(report.comparisons, groups, tasks)], notes.OVERVIEW),
        *(Section(one.name, [ensemble_table(one)], notes.of_ensemble(one))
          for one in report.comparisons),
    ]  # fmt: skip
    for kind, rows in groups.items():
        number = counted(len(by_dataset(splits[kind])), "KEEL dataset")
        tables = [group_table(rows, metric) for metric in METRICS]
        lines = notes.of_group(report.config, kind, splits[kind])
        sections.append(Section(f"Forests {FORESTS[kind]} on {number}", tables, lines))
    sections += [Section(TASKS[task].capitalize(), [task_table(task, rows)], notes.of_task(task))
                 for task, rows in tasks.items()]  # fmt: skip
    summary = notes.summary(report, groups)
    lines = [*report.notes, *notes.conventions(), *notes.problems(report.outcome)]
    out.mkdir(parents=True, exist_ok=True)
    files = [out / "scores.md", out / "scores.csv"]
    page = sectioned_page("scores", sections, lines, summary=summary, command=report.command)
    write_text(files[0], page)
    write_csv(files[1], COLUMNS, csv_rows(report, tasks))
    text = "\n\n".join(table.text() for section in sections for table in section.tables)
    ending = [*summary, *lines, *provenance(report.command)]
    return "\n".join([text, "", *ending, ""]).replace("`", ""), files


def percent(value: float, digits: int, sign: str = "") -> str:
    """Return a number in percent, empty if it is undefined."""
    return "" if math.isnan(value) else f"{100 * value:{sign}.{digits}f}"


def difference_cell(metric: str, middle: float, low: float, high: float) -> Cell:
    """Return a difference with its interval, bold if the interval does not contain 0."""
    digits = DIGITS.get(metric, 2)
    if math.isnan(middle):
        return Cell("")
    text = percent(middle, digits, "+")
    if low == high == 0:
        return Cell("0")
    if not math.isnan(low):
        text += f" [{percent(low, digits, '+')}, {percent(high, digits, '+')}]"
    return Cell(text, bool(low > 0 or high < 0))


def verdicts(comparison: Comparison, score: str) -> str:
    """Return a phrase on the metrics in which a score is clearly better or worse."""
    found: dict[str, list[str]] = {"better": [], "worse": []}
    for metric in METRICS:
        word = verdict_of(metric, *comparison.measures[score][metric][4:])
        if word:
            found[word].append(metric)
    phrases = []
    for word, metrics in found.items():
        names = ", ".join(LABELS[metric] for metric in metrics)
        if metrics:
            phrases.append(word if len(metrics) == len(METRICS) else f"{word} ({names})")
    return "; ".join(phrases) or ("" if score == BASELINE else "no clear difference")


def ensemble_table(comparison: Comparison) -> Table:
    """Return the table of one ensemble: a row for each score."""
    header = ["score", "verdict"]
    for label in LABELS.values():
        header += [f"{label} %", "difference"]
    table = Table(comparison.name, header)
    for score in SCORES:
        cells: list[Cell | str] = [f"`{score}`", verdicts(comparison, score)]
        for metric in METRICS:
            value, _, _, *difference = comparison.measures[score][metric]
            cells += [percent(value, DIGITS[metric]), difference_cell(metric, *difference)]
        table.add(*cells)
    return table


def group_table(rows: Sequence[GroupRow], metric: str) -> Table:
    """Return the table of one metric over the datasets."""
    direction = "larger" if metric in ("auc", "auroc") else "smaller"
    table = Table(
        f"{LABELS[metric]}, {direction} is better",
        ("score", "difference", f"mean {LABELS[metric]} %", "better on", "worse on", "of"),
        n_text=1,
    )
    for row in rows:
        if row.metric == metric:
            table.add(
                f"`{row.score}`",
                difference_cell(
                    metric, row.difference, row.difference_lower, row.difference_upper
                ),
                percent(row.value, DIGITS[metric]),
                str(row.n_better), str(row.n_worse), str(row.n_datasets),
            )  # fmt: skip
    return table


def task_table(task: str, rows: Sequence[TaskRow]) -> Table:
    """Return the table of a task."""
    quantity = "mean accuracy %" if task == "active" else "AUROC %"
    table = Table(TASKS[task].capitalize(), ("score", "difference", quantity), n_text=1)
    for row in rows:
        name = row.score if row.score == "random" else f"`{row.score}`"
        table.add(name, _difference_of(row), percent(row.value, 2))
    return table


def overview(
    comparisons: Sequence[Comparison],
    groups: dict[str, list[GroupRow]],
    tasks: dict[str, list[TaskRow]],
) -> Table:
    """Return the differences in AUROC on every ensemble and task, in one table."""
    columns: dict[str, dict[str, Cell]] = {}
    for one in comparisons:
        columns[one.name] = {
            score: difference_cell("auroc", *one.measures[score]["auroc"][3:]) for score in SCORES
        }
    for kind, group in groups.items():
        columns[f"{kind}KEEL"] = {
            row.score: _difference_of(row) for row in group if row.metric == "auroc"
        }
    for task, rows in tasks.items():
        columns[task] = {row.score: _difference_of(row) for row in rows}
    table = Table("Difference to tv_total in percentage points", ("score", *columns), n_text=1)
    for score in SCORES:
        table.add(f"`{score}`", *(_short(column[score]) for column in columns.values()))
    return table


def _difference_of(row: GroupRow | TaskRow, metric: str = "auroc") -> Cell:
    return difference_cell(metric, row.difference, row.difference_lower, row.difference_upper)


def _short(cell: Cell) -> Cell:
    """Return the difference without its interval."""
    return Cell(cell.text.split(" [")[0], cell.bold)


def csv_rows(report: Report, tasks: dict[str, list[TaskRow]]) -> list[list[Any]]:
    """Return a line for each dataset, score and metric."""
    lines: list[list[Any]] = []

    def add(described: list[Any], score: str, metric: str, numbers: Sequence[float]) -> None:
        rounded = ["" if math.isnan(x) else round(x, CSV_DIGITS) for x in numbers]
        lines.append([*described, score, metric, *rounded, verdict_of(metric, *numbers[-2:])])

    for one in report.comparisons:
        described = ["ensemble", one.name, one.n, one.n_classes, one.accuracy]
        for score in SCORES:
            for metric in METRICS:
                add(described, score, metric, one.measures[score][metric])
    for kind, results in report.splits().items():
        for name, splits in by_dataset(results).items():
            described = [f"{kind}KEEL", name, *_sizes(splits)]
            for score in SCORES:
                for metric in METRICS:
                    add(described, score, metric, mean_over_splits(splits, score, metric))
    for task, found in tasks.items():
        for row in found:
            # A larger accuracy is better, as is a larger AUROC.
            value, *difference = astuple(row)[1:]
            numbers = [value, math.nan, math.nan, *difference]
            add(["task", task, "", "", ""], row.score, "auroc", numbers)
            if task == "active":
                lines[-1][COLUMNS.index("metric")] = "accuracy"
    return lines


def _sizes(splits: Sequence[Any]) -> list[Any]:
    """Return the rows, the classes and the mean accuracy of a dataset."""
    first = splits[0]
    accuracy = sum(split["accuracy"] for split in splits) / len(splits)
    return [first["n_train"] + first["n_test"], first["n_classes"], round(accuracy, CSV_DIGITS)]
