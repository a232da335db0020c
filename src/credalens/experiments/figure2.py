"""Figure 2 of the paper: accuracy-rejection curves of an ensemble of networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens import _validation
from credalens.experiments import output
from credalens.experiments.output import Cell, Table
from credalens.experiments.protocol import PAPER_FAMILIES, measure
from credalens.experiments.table2_summary import mean_sd
from credalens.io import Predictions

#: The ends of the aleatoric interval as separate scores.
LOWER, UPPER = "tv lower", "tv upper"
TITLES = {"TU": "(a) Total", "AU": "(b) Aleatoric", "EU": "(c) Epistemic"}
LABELS = {
    ("TU", "tv"): "TV",
    ("TU", "entropy"): "$S^*$",
    ("AU", "tv"): "TV interval",
    ("AU", LOWER): "TV lower end",
    ("AU", UPPER): "TV upper end",
    ("AU", "entropy"): "$S_*$",
    ("AU", "hartley"): "$S^* - GH$",
    ("EU", "tv"): "TV",
    ("EU", "entropy"): "$S^* - S_*$",
    ("EU", "hartley"): "$GH$",
}


@dataclass(frozen=True)
class Curves:
    """The curves of each (component, family), one per batch."""

    curves: dict[tuple[str, str], list[cl.RejectionCurve]]
    scores: dict[tuple[str, str], Any]
    oracle: list[cl.RejectionCurve]
    #: The expected curve of a random order: constant at the accuracy of the vote.
    random: cl.RejectionCurve
    accuracy: float
    seconds: dict[tuple[str, str], float]
    #: Largest standard error of the Hartley measure, in bits; 0 if it is exact.
    hartley_error: float

    def keys(self, component: str) -> list[tuple[str, str]]:
        """Return the keys of a component, families in a fixed order so that colours agree."""
        order = ("tv", "entropy", "hartley", LOWER, UPPER)
        keys = [key for key in self.curves if key[0] == component]
        return sorted(keys, key=lambda key: order.index(key[1]) if key[1] in order else len(order))

    def notes(self) -> list[str]:
        """Return the versions, and the standard error of a sampled Hartley measure."""
        if not self.hartley_error:
            return [output.versions()]
        sampled = f"Hartley is sampled: standard error at most {self.hartley_error:.2g} bits."
        return [output.versions(), sampled]


def curves(
    predictions: Predictions,
    *,
    batches: int = 10,
    bins: int = 30,
    families: Sequence[str] = PAPER_FAMILIES,
    seed: int = 0,
    ends: bool = False,
) -> Curves:
    """Return the rejection curves on consecutive batches of equal size.

    If the number of instances is not a multiple of `batches`, the last ones are not used. With
    `ends`, each end of the aleatoric interval under total variation is also a score, `LOWER` and
    `UPPER`.
    """
    if predictions.labels is None:
        _validation.raise_invalid("labels", "no file has labels", "pass --labels FILE")
    _validation.whole_number(batches, "batches", least=1)
    n = len(predictions.labels) // batches
    if n < 1:
        _validation.raise_invalid(
            "batches", f"is {batches}", f"pass at most {len(predictions.labels)}"
        )
    members, labels = predictions.members[: n * batches], predictions.labels[: n * batches]
    vote = cl.majority_vote(members)
    accuracy = float(np.mean(vote == labels))
    scores, seconds, error = measure(members, families, seed)
    if ends and ("AU", "tv") in scores:
        interval = scores["AU", "tv"]
        scores |= {("AU", LOWER): interval.lower, ("AU", UPPER): interval.upper}
        seconds |= {("AU", name): seconds["AU", "tv"] for name in (LOWER, UPPER)}

    def by_batch(score: Any) -> list[cl.RejectionCurve]:
        result = []
        for start in range(0, n * batches, n):
            part = slice(start, start + n)
            is_interval = isinstance(score, cl.Interval)
            values = cl.Interval(*(end[part] for end in score)) if is_interval else score[part]
            curve = cl.rejection_curve(labels[part], vote[part], values, bins, ties="first")
            result.append(curve)
        return result

    return Curves(
        {key: by_batch(score) for key, score in scores.items()},
        scores,
        by_batch(vote != labels),
        cl.RejectionCurve(np.arange(bins) / bins, np.full(bins, accuracy)),
        accuracy,
        seconds,
        error,
    )


def draw(result: Curves) -> Any:
    """Return the figure: one panel per component, mean and band over the batches."""
    figure = output.new_figure(13, 5.2)
    draw_curves(result, figure.subplots(1, 3, sharey=True))
    return figure


def draw_curves(result: Curves, axes: Any) -> None:
    """Draw the curves of each component into its panel."""
    reference: dict[str, Any] = {"oracle": result.oracle, "random": result.random}
    for ax, (component, title) in zip(axes, TITLES.items(), strict=True):
        shown = {LABELS.get(key, key[1]): result.curves[key] for key in result.keys(component)}
        cl.plots.rejection_curves(shown, reference=reference, ax=ax)
        ax.set_title(f"{title} uncertainty")
    for ax in axes[1:]:
        ax.set_ylabel("")


def run(predictions: Predictions, out: Path, *, name: str = "figure2", **options: Any) -> str:
    """Draw the figure, write it and its numbers to the folder `out`, and return the table."""
    result = curves(predictions, **options)
    output.save_figure(draw(result), out, name)
    table = Table(
        f"{predictions!r}, accuracy of the vote {result.accuracy:.4f}, "
        f"{len(result.oracle)} batches",
        ("", "measure", "AUC %", "MR %", "time s"),
    )
    rows = []
    for key in (key for component in TITLES for key in result.keys(component)):
        auc = mean_sd([100 * curve.auc for curve in result.curves[key]])
        ratio = mean_sd([100 * curve.monotonicity_ratio for curve in result.curves[key]])
        seconds = result.seconds[key]
        rows.append([*key, *auc, *ratio, seconds])
        table.add(
            *key,
            Cell.estimate(*auc, 2),
            Cell.estimate(*ratio, 1),
            f"{seconds:.4f}",
        )
    columns = ("component", "family", "auc_mean", "auc_sd", "mr_mean", "mr_sd", "time")
    output.write_csv(out / f"{name}.csv", columns, rows)
    notes = ["Mean ± standard deviation (ddof = 1) over batches; one core.", *result.notes()]
    unused = len(predictions.members) % len(result.oracle)
    if unused:
        notes.append(f"Not used: the last {unused}, since batches have equal size.")
    output.write_text(out / f"{name}.md", output.page(name, [table], notes))
    return "\n".join([table.text(), *notes])
