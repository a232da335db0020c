"""Figures 3 and 4: rejection curves, distributions of the scores, and their tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens.experiments.figure2 import LABELS, LOWER, TITLES, UPPER, Curves, draw_curves
from credalens.experiments.output import (
    Cell,
    Section,
    Table,
    new_figure,
    save_figure,
    sectioned_page,
    write_csv,
    write_text,
)
from credalens.experiments.relative_likelihood import TrainedEnsemble
from credalens.experiments.table2_summary import mean_sd

COLUMNS = ("component", "family", "auc_mean", "auc_sd", "mr_mean", "mr_sd", "median", "share",
           "time")  # fmt: skip


@dataclass(frozen=True)
class Row:
    """The numbers of one measure; AUC and MR in percent."""

    component: str
    family: str
    auc: tuple[float, float]
    mr: tuple[float, float]
    median: float
    #: The median divided by the largest possible value of the measure.
    share: float
    #: Equal for all images, so that the order of rejection is that of the file.
    constant: bool
    #: AUC below the accuracy of the vote, the expected AUC of a random order.
    worse_than_random: bool
    seconds: float

    @property
    def name(self) -> str:
        """Component and family."""
        return f"{self.component} {self.family}"


def largest(component: str, family: str, n_classes: int) -> float:
    """Return the largest possible value of a measure over `n_classes` classes."""
    if family in ("entropy", "hartley"):
        return math.log2(n_classes)
    return {"TU": 1.0, "AU": 1 - 1 / n_classes, "EU": 0.5}[component]


def rows(result: Curves, n_classes: int) -> Iterator[Row]:
    """Yield the numbers of each measure."""
    for component in TITLES:
        for key in result.keys(component):
            score, several = result.scores[key], result.curves[key]
            ends = tuple(score) if isinstance(score, cl.Interval) else (score,)
            # An interval is ordered by its lower end first; both ends have their own rows.
            median = float(np.median(ends[0]))
            constant = all(np.ptp(end) == 0 for end in ends)
            auc = mean_sd([100 * curve.auc for curve in several])
            yield Row(
                *key,
                auc,
                mean_sd([100 * curve.monotonicity_ratio for curve in several]),
                median,
                median / largest(*key, n_classes),
                constant,
                not constant and auc[0] < 100 * result.accuracy,
                result.seconds[key],
            )


def draw(result: Curves, n_classes: int, title: str) -> Any:
    """Return the figure: rejection curves above, distributions of the scores below."""
    figure = new_figure(12.5, 8.6)
    axes = figure.subplots(2, 3, sharey="row")
    draw_curves(result, axes[0])
    axes[0, 0].set_ylim(top=1.005)  # bands of one standard deviation may exceed 1
    for ax, component in zip(axes[1], TITLES, strict=True):
        scores = {
            LABELS.get(key, key[1]): _scaled(result.scores[key], largest(*key, n_classes))
            for key in result.keys(component)
            if key[1] not in (LOWER, UPPER)  # part of the interval
        }
        cl.plots.distributions(scores, ax=ax)
        ax.set_xlabel("score divided by its largest possible value")
        ax.set_xlim(-0.04, 1.04)
    for ax in axes[1, 1:]:
        ax.set_ylabel("")
    for ax in axes.flat:
        # The curves can fill a panel, so the legends are below the panels.
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=8.5,
                  ncols=2, columnspacing=1, handlelength=2.2)  # fmt: skip
    figure.suptitle(title)
    return figure


def _scaled(score: Any, by: float) -> Any:
    if isinstance(score, cl.Interval):
        return cl.Interval(score.lower / by, score.upper / by)
    return score / by


def members_table(trained: TrainedEnsemble) -> Table:
    """Return the table of the members."""
    table = Table("Members", ("level", "biased class", "R", "accuracy %"))
    for level, R, pushed, accuracy in zip(
        trained.levels,
        trained.relative_likelihoods,
        trained.pushed,
        trained.accuracies,
        strict=True,
    ):
        name = "none" if pushed < 0 else f"{pushed} ({trained.class_names[pushed]})"
        table.add(f"{level:g}", name, f"{R:.3f}", f"{100 * accuracy:.2f}")
    return table


def measures_table(title: str, rows: Sequence[Row]) -> Table:
    """Return the table of the measures; an AUC in bold is worse than a random order."""
    table = Table(title, ("", "measure", "AUC %", "MR %", "median", "median / maximum", "time s"))
    for row in rows:
        table.add(
            row.component, row.family,
            Cell.estimate(*row.auc, 2, row.worse_than_random), Cell.estimate(*row.mr, 1),
            f"{row.median:.4f}", f"{row.share:.3f}", f"{row.seconds:.4f}",
        )  # fmt: skip
    return table


def describe(trained: TrainedEnsemble) -> list[str]:
    """Return sentences on the training of the ensemble."""
    settings = trained.settings
    lines = [
        f"{settings.dataset}: {trained.n_train} training images, "
        f"{len(trained.predictions.members)} test images; network {settings.backbone}; "
        f"seed {settings.seed}; {settings.epochs} epochs for the maximum-likelihood model, at most "
        f"{settings.member_epochs} for any other, batches of {settings.batch_size}, Adam with "
        f"learning rate {settings.learning_rate:g}; TOBIAS with a bias of {settings.bias:g}.",
        "R: likelihood on the training images relative to the maximum-likelihood model's, as the "
        f"mean over instances; checked {settings.interval}.",
    ]
    if len(trained.unreached):
        lines.append(
            f"Levels not reached, without a member: {', '.join(map(str, trained.unreached))}."
        )
    if trained.relative_likelihoods.max() > 1:
        lines.append("R above 1: the maximum-likelihood model should have been trained longer.")
    if math.isnan(trained.seconds):
        lines.append("Training was interrupted and resumed; its time is not known.")
    else:
        lines.append(
            f"Training took {trained.seconds:.0f} s, {trained.processor_seconds:.0f} s of CPU time."
        )
    return lines


CONVENTIONS = (
    "AUC: area under the accuracy-rejection curve divided by the length of its interval, 1 is "
    "perfect; MR: share of steps in which the accuracy does not decrease; mean ± standard "
    "deviation (ddof = 1) over the batches.",
    "Bold, or a star: an AUC below the accuracy of the vote, the expected AUC of a random order; a "
    "score that is equal for all images is not marked, since its order is that of the file.",
    "Median: over all test images; for an interval, of its lower end. Maximum: the largest "
    "possible value of the measure.",
    "Time: seconds of one core for all test images.",
)


@dataclass(frozen=True)
class Part:
    """The results of one ensemble: its section of the page, and the rows of the tables."""

    trained: TrainedEnsemble
    section: Section
    rows: Sequence[Row]
    result: Curves


def make_part(
    out: Path,
    name: str,
    title: str,
    trained: TrainedEnsemble,
    result: Curves,
    rows: Sequence[Row],
    tables: Sequence[Table],
    notes: Sequence[str],
) -> Part:
    """Draw the figure of one ensemble into the folder `out`, and return its part of the page."""
    image = f"{name}-{trained.key}"
    save_figure(draw(result, len(trained.class_names), title), out, image)
    heading = f"{trained.settings.dataset}, likelihood checked {trained.settings.interval}"
    return Part(trained, Section(heading, tables, [*notes, *result.notes()], image), rows, result)


def write(
    out: Path, name: str, parts: Sequence[Part], summary: Sequence[str], command: str = ""
) -> str:
    """Write page, tables and curves to the folder `out`; return the text for the terminal."""
    lines, points = [], []
    for part in parts:
        key = [part.trained.settings.dataset, part.trained.settings.check_every]
        lines += [
            [*key, r.component, r.family, *r.auc, *r.mr, r.median, r.share, r.seconds]
            for r in part.rows
        ]
        curves = {row.name: part.result.curves[row.component, row.family] for row in part.rows}
        curves |= {"oracle": part.result.oracle, "random": [part.result.random]}
        for measure, several in curves.items():
            mean = np.mean([curve.accuracy for curve in several], axis=0)
            rejection = part.result.random.rejection
            points += [[*key, measure, *xy] for xy in zip(rejection, mean, strict=True)]
    write_csv(out / f"{name}.csv", ("dataset", "check_every", *COLUMNS), lines)
    columns = ("dataset", "check_every", "measure", "rejection", "accuracy")
    write_csv(out / f"{name}_curves.csv", columns, points)
    sections = [part.section for part in parts]
    page = sectioned_page(name, sections, CONVENTIONS, summary=summary, command=command)
    write_text(out / f"{name}.md", page)
    ending = "\n".join([*summary, *CONVENTIONS])
    return "\n\n".join([*(section.text() for section in sections), ending])


def aucs(rows: Sequence[Row], components: Sequence[str] = tuple(TITLES)) -> str:
    """Return the AUC of every measure, by component."""
    parts = []
    for component in components:
        own = [row for row in rows if row.component == component]
        parts.append(f"{component} " + ", ".join(f"{r.family} {r.auc[0]:.2f}" for r in own))
    return "; ".join(parts)
