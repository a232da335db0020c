"""Figure 2 of the paper: accuracy-rejection curves of an ensemble of networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens import _validation
from credalens.experiments import output
from credalens.experiments.ensemble_versions import versions
from credalens.experiments.output import Cell, Section, Table, sectioned_page
from credalens.experiments.protocol import PAPER_FAMILIES, measure
from credalens.experiments.table2_summary import mean_sd
from credalens.io import Predictions

#: Mean and standard deviation over the batches.
Estimate = tuple[float, float]
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

    def auc(self, key: tuple[str, str]) -> tuple[float, float]:
        """Return mean and standard deviation over the batches of the AUC, in percent."""
        return mean_sd([100 * curve.auc for curve in self.curves[key]])

    def notes(self) -> list[str]:
        """Return the standard error of a sampled Hartley measure."""
        if not self.hartley_error:
            return []
        return [f"Hartley is sampled: standard error at most {self.hartley_error:.2g} bits."]


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


def joined(parts: Sequence[Curves]) -> Curves:
    """Return the curves of all batches of several parts of the rows, of equal size each."""
    first = parts[0]
    if len(parts) == 1:
        return first
    n = [len(part.oracle) for part in parts]
    accuracy = float(np.average([part.accuracy for part in parts], weights=n))
    return Curves(
        {key: [curve for part in parts for curve in part.curves[key]] for key in first.curves},
        {key: _concatenated([part.scores[key] for part in parts]) for key in first.scores},
        [curve for part in parts for curve in part.oracle],
        cl.RejectionCurve(first.random.rejection, np.full(len(first.random.rejection), accuracy)),
        accuracy,
        {key: sum(part.seconds[key] for part in parts) for key in first.seconds},
        max(part.hartley_error for part in parts),
    )


def _concatenated(scores: Sequence[Any]) -> Any:
    if isinstance(scores[0], cl.Interval):
        ends = zip(*scores, strict=True)
        return cl.Interval(*(np.concatenate([np.asarray(x) for x in end]) for end in ends))
    return np.concatenate([np.asarray(score) for score in scores])


def draw(results: Mapping[str, Curves]) -> Any:
    """Return the figure: one row per version, one panel per component, bands over the batches."""
    figure = output.new_figure(13, 0.4 + 5 * len(results))
    rows = figure.subplots(len(results), 3, sharey="row", squeeze=False)
    for axes, (label, result) in zip(rows, results.items(), strict=True):
        draw_curves(result, axes)
        if len(results) > 1:
            axes[0].set_ylabel(f"{label}\naccuracy after rejection")
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


def as_table(title: str, result: Curves) -> Table:
    """Return the areas and monotonicity ratios of one version."""
    table = Table(title, ("", "measure", "AUC %", "MR %", "time s"))
    for _, key, auc, ratio in numbers(result):
        cells = Cell.estimate(*auc, 2), Cell.estimate(*ratio, 1), f"{result.seconds[key]:.4f}"
        table.add(*key, *cells)
    return table


def numbers(result: Curves) -> Iterator[tuple[str, tuple[str, str], Estimate, Estimate]]:
    """Yield component, key, AUC and MR in percent of each measure, by component."""
    for component in TITLES:
        for key in result.keys(component):
            ratio = mean_sd([100 * curve.monotonicity_ratio for curve in result.curves[key]])
            yield component, key, result.auc(key), ratio


def describe(label: str, result: Curves) -> str:
    """Return the AUC of each measure in a sentence, the best of each component first."""
    parts = []
    for component in TITLES:
        ranked = sorted(result.keys(component), key=lambda key: -result.auc(key)[0])
        names = ", ".join(f"{family} {result.auc((c, family))[0]:.2f}" for c, family in ranked)
        parts.append(f"{component} {names}")
    return f"{label}: accuracy of the vote {result.accuracy:.4f}; AUC in %: {'; '.join(parts)}."


def run(
    ensembles: Mapping[str, Predictions],
    out: Path,
    *,
    batches: int = 10,
    seed: int = 0,
    command: str = "",
    **options: Any,
) -> str:
    """Draw a figure per ensemble, write them and their numbers to the folder `out`.

    An ensemble with models that distort the uncertainty is shown without them and repaired, too.
    Returns the tables as text.
    """
    sections, summary, rows = [], [], []
    for name, predictions in ensembles.items():
        found: dict[str, Curves] = {}
        tables, notes = [], [f"{predictions!r}: {', '.join(predictions.names)}."]
        for version in versions(predictions, seed):
            share = max(batches // len(version.parts), 1)
            parts = [curves(one, batches=share, seed=seed, **options) for one in version.parts]
            result = found[version.label] = joined(parts)
            tables.append(
                as_table(
                    f"{version.label.capitalize()}: {version.n_members} members, accuracy of the "
                    f"vote {result.accuracy:.4f}, {len(result.oracle)} batches",
                    result,
                )
            )
            summary.append(describe(f"{name}, {version.label}", result))
            notes += [*version.notes, *(f"{version.label}: {note}" for note in result.notes())]
            rows += [[name, version.label, *key, *auc, *ratio, result.seconds[key]]
                     for _, key, auc, ratio in numbers(result)]  # fmt: skip
        unused = len(predictions.members) % batches
        if unused:
            notes.append(f"Not used: the last {unused}, since batches have equal size.")
        image = f"figure2-{name}"
        output.save_figure(draw(found), out, image)
        sections.append(Section(name, tables, notes, image))
    output.write_csv(out / "figure2.csv", COLUMNS, rows)
    page = sectioned_page("figure2", sections, NOTES, summary=summary, command=command)
    output.write_text(out / "figure2.md", page)
    return "\n\n".join([*(one.text() for one in sections), "\n".join([*summary, *NOTES])])


COLUMNS = ("ensemble", "version", "component", "family", "auc_mean", "auc_sd", "mr_mean", "mr_sd",
           "time")  # fmt: skip
NOTES = (
    "The networks are not those of the paper, which have to be downloaded (`credalens predict`), "
    "so that the protocol is that of the paper and the numbers are not: consecutive batches of "
    "equal size, 30 points on a curve, majority vote. The paper prints its areas in the legends of "
    "the figure.",
    "AUC: area under the accuracy-rejection curve divided by the length of its interval, 1 is "
    "perfect; MR: share of steps in which the accuracy does not decrease; mean ± standard "
    "deviation (ddof = 1) over the batches. Time: seconds of one core.",
    "Ensembles in which `diagnose_members` finds models that distort the uncertainty are also "
    "shown without them, and repaired: `validity.repair` is fitted to one half of the rows, drawn "
    "at random, and applied to the other half, for both halves.",
)
