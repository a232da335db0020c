"""What Figures 3 and 4 share: rejection curves over distributions of scores, and their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._files import replacing
from credalens.experiments.figure2 import LOWER, TITLES, UPPER, WORDS, Curves, draw_curves, in_order
from credalens.experiments.relative_likelihood import Trained
from credalens.experiments.summary import mean_sd
from credalens.experiments.table2 import write_csv
from credalens.experiments.tables import Cell, Table, heading, versions

COLUMNS = (
    "component",
    "family",
    "auc_mean",
    "auc_sd",
    "mr_mean",
    "mr_sd",
    "median",
    "share",
    "time",
)


@dataclass(frozen=True)
class Row:
    """The numbers of one measure: percent, then scores, then seconds."""

    component: str
    family: str
    auc: tuple[float, float]
    mr: tuple[float, float]
    median: float
    #: The median over the largest value that the measure can take.
    share: float
    #: The same for every image, so that the order of rejection is that of the file.
    constant: bool
    #: Below the accuracy of the vote, which a random order has in expectation.
    worse_than_random: bool
    seconds: float

    @property
    def name(self) -> str:
        """Component and family."""
        return f"{self.component} {self.family}"


def largest(component: str, family: str, n_classes: int) -> float:
    """Return the largest value that a measure can take over so many classes.

    Examples
    --------
    >>> from credalens.experiments.selective import largest
    >>> largest("TU", "tv", 10), largest("EU", "tv", 10), largest("TU", "entropy", 8)
    (1.0, 0.5, 3.0)
    """
    if family in ("entropy", "hartley"):
        return math.log2(n_classes)
    return {"TU": 1.0, "AU": 1 - 1 / n_classes, "EU": 0.5}[component]


def rows(found: Curves, n_classes: int) -> Iterator[Row]:
    """Give the numbers of each measure."""
    for component in TITLES:
        for key in in_order(found, component):
            score, several = found.scores[key], found.curves[key]
            ends = (score.lower, score.upper) if isinstance(score, cl.Interval) else (score,)
            # An interval is ordered by its lower end first; the ends have rows of their own.
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
                not constant and auc[0] < 100 * found.accuracy,
                found.seconds[key],
            )


def draw(found: Curves, n_classes: int, title: str) -> Any:
    """Return the figure: rejection curves above, distributions of the scores below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 8.6), layout="constrained")
    axes = figure.subplots(2, 3, sharey="row")
    draw_curves(found, axes[0])
    axes[0, 0].set_ylim(top=1.005)  # bands of one deviation may reach beyond 1
    for ax, component in zip(axes[1], TITLES, strict=True):
        scores = {
            WORDS.get(key, key[1]): _scaled(found.scores[key], largest(*key, n_classes))
            for key in in_order(found, component)
            if key[1] not in (LOWER, UPPER)  # the interval is drawn with both
        }
        cl.plots.distributions(scores, ax=ax)
        ax.set_xlabel("score over its largest possible value")
        ax.set_xlim(-0.04, 1.04)
    for ax in axes[1, 1:]:
        ax.set_ylabel("")
    for ax in axes.flat:
        # Curves go everywhere when they are turned over; only below is there always room.
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=8.5,
                  ncols=2, columnspacing=1, handlelength=2.2)  # fmt: skip
    figure.suptitle(title)
    return figure


def _scaled(score: Any, by: float) -> Any:
    if isinstance(score, cl.Interval):
        return cl.Interval(score.lower / by, score.upper / by)
    return score / by


def members_table(trained: Trained) -> Table:
    """Return a line for each member."""
    table = Table("Members", ("level", "pushed to", "R", "accuracy %"))
    for level, R, pushed, accuracy in zip(
        trained.levels,
        trained.relative_likelihoods,
        trained.pushed,
        trained.accuracies,
        strict=True,
    ):
        word = "no class" if pushed < 0 else f"{pushed} ({trained.class_names[pushed]})"
        cells = (f"{level:g}", word, f"{R:.3f}", f"{100 * accuracy:.2f}")
        table.rows.append([Cell(text) for text in cells])
    return table


def measures_table(title: str, measured: Sequence[Row]) -> Table:
    """Return a line for each measure; in bold what is worse than a random order."""
    table = Table(title, ("", "measure", "AUC %", "MR %", "median", "share of largest", "time s"))
    for row in measured:
        table.rows.append(
            [
                Cell(row.component),
                Cell(row.family),
                Cell(f"{row.auc[0]:.2f}", row.worse_than_random, f"{row.auc[1]:.2f}"),
                Cell(f"{row.mr[0]:.1f}", spread=f"{row.mr[1]:.1f}"),
                Cell(f"{row.median:.4f}"),
                Cell(f"{row.share:.3f}"),
                Cell(f"{row.seconds:.4f}"),
            ]
        )
    return table


def describe(trained: Trained) -> list[str]:
    """Return how the ensemble was trained, in sentences."""
    settings = trained.settings
    size = settings.size
    every = size.check_every
    often = f"after every {every}" if isinstance(every, str) else f"every {every} batches"
    lines = [
        f"{settings.dataset}: {trained.n_train} training images, "
        f"{len(trained.predictions.members)} test images; network {settings.backbone}; seed "
        f"{settings.seed}; {size.epochs} epochs for the maximum-likelihood model, at most "
        f"{size.member_epochs} for any other, batches of {size.batch_size}, Adam with learning "
        f"rate {size.learning_rate:g}; TOBIAS with a bias of {size.bias:g}.",
        "R: likelihood on the training images relative to the maximum-likelihood model's, as the "
        f"mean over instances; looked at {often}.",
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
            f"Training took {trained.seconds:.0f} s, {trained.processor_seconds:.0f} s of the "
            "processor."
        )
    return lines


CONVENTIONS = (
    "AUC: area under accuracy against share rejected over its length, 1 is perfect; MR: share of "
    "steps that do not lose accuracy; mean ± standard deviation (ddof = 1) over the batches.",
    "Bold, or a star: an AUC below the accuracy of the vote, which a random order would reach; a "
    "score that is the same for all images is not marked, its order is that of the file.",
    "Medians over all test images; of an interval, that of the lower end. share of largest: the "
    "median over the largest value that the measure can take.",
    "Time: seconds of one core for all test images.",
)


def write(
    out: Path, name: str, found: Curves, measured: Sequence[Row], tables: Sequence[Table],
    notes: Sequence[str],
) -> str:  # fmt: skip
    """Write tables, numbers and curves to the folder `out`; return the text for the terminal."""
    write_csv(
        out / f"{name}.csv",
        COLUMNS,
        ([r.component, r.family, *r.auc, *r.mr, r.median, r.share, r.seconds] for r in measured),
    )
    named = {row.name: found.curves[row.component, row.family] for row in measured}
    named |= {"oracle": found.oracle, "random": [found.random]}
    means = {
        key: np.mean([curve.accuracy for curve in several], axis=0)
        for key, several in named.items()
    }
    write_csv(
        out / f"{name}_curves.csv",
        ("rejection", *means),
        zip(found.random.rejection.tolist(), *(m.tolist() for m in means.values()), strict=True),
    )
    notes = [*notes, *CONVENTIONS, versions()]
    if found.hartley_error:
        notes.append(f"Hartley is sampled: standard error at most {found.hartley_error:.2g} bits.")
    parts = [
        heading(name),
        *(table.markdown() for table in tables),
        "\n".join(f"- {note}" for note in notes),
    ]
    with replacing(out / f"{name}.md") as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return "\n\n".join([*(table.text() for table in tables), "\n".join(notes)])
