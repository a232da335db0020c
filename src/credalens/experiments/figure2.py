"""The paper's Figure 2: accuracy-rejection curves of an ensemble of networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens import _validation
from credalens._files import replacing
from credalens.datasets import Predictions
from credalens.experiments.figure1 import save
from credalens.experiments.protocol import FAMILIES, measure
from credalens.experiments.summary import mean_sd
from credalens.experiments.table2 import write_csv
from credalens.experiments.tables import Cell, Table, heading, versions

#: The ends of the aleatoric interval, each as a score of its own.
LOWER, UPPER = "tv lower", "tv upper"
TITLES = {"TU": "(a) Total", "AU": "(b) Aleatoric", "EU": "(c) Epistemic"}
WORDS = {
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
    #: What a random order reaches in expectation: the accuracy of the vote throughout.
    random: cl.RejectionCurve
    accuracy: float
    seconds: dict[tuple[str, str], float]
    #: Largest standard error of the Hartley measure, in bits; 0 if it is exact.
    hartley_error: float


def curves(
    predictions: Predictions,
    *,
    batches: int = 10,
    bins: int = 30,
    families: Sequence[str] = FAMILIES,
    seed: int = 0,
    ends: bool = False,
) -> Curves:
    """Return the rejection curves on consecutive batches of equal size.

    What is left over when the instances do not divide evenly is not used. With `ends`, each end of
    the aleatoric interval under total variation is a score too, `LOWER` and `UPPER`.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.datasets import Predictions
    >>> from credalens.experiments.figure2 import curves
    >>> rng = np.random.default_rng(0)
    >>> members = rng.dirichlet(np.ones(3), size=(60, 4))
    >>> found = curves(Predictions(("a",) * 4, members, rng.integers(3, size=60)), batches=2)
    >>> len(found.curves["TU", "tv"])
    2
    """
    if predictions.labels is None:
        _validation.refuse("labels", "are in none of the files", "pass --labels FILE")
    _validation.whole_number(batches, "batches", least=1)
    n = len(predictions.labels) // batches
    if n < 1:
        _validation.refuse("batches", f"is {batches}", f"pass at most {len(predictions.labels)}")
    members, labels = predictions.members[: n * batches], predictions.labels[: n * batches]
    vote = cl.majority_vote(members)
    accuracy = float(np.mean(vote == labels))
    scores, seconds, error = measure(members, families, seed)
    if ends and ("AU", "tv") in scores:
        for name, end in ((LOWER, scores["AU", "tv"].lower), (UPPER, scores["AU", "tv"].upper)):
            scores["AU", name], seconds["AU", name] = end, seconds["AU", "tv"]
    parts = [slice(b * n, (b + 1) * n) for b in range(batches)]

    def cut(score: Any) -> list[cl.RejectionCurve]:
        if isinstance(score, cl.Interval):
            pieces: list[Any] = [cl.Interval(score.lower[p], score.upper[p]) for p in parts]
        else:
            pieces = [score[part] for part in parts]
        return [
            cl.rejection_curve(labels[part], vote[part], piece, n_bins=bins)
            for part, piece in zip(parts, pieces, strict=True)
        ]

    return Curves(
        {key: cut(score) for key, score in scores.items()},
        scores,
        cut(vote != labels),
        cl.RejectionCurve(np.arange(bins) / bins, np.full(bins, accuracy)),
        accuracy,
        seconds,
        error,
    )


def draw(found: Curves) -> Any:
    """Return the figure: a panel for each component, mean and band over the batches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    draw_curves(found, figure.subplots(1, 3, sharey=True))
    return figure


def draw_curves(found: Curves, axes: Any) -> None:
    """Draw the curves of each component into its panel."""
    for ax, (component, title) in zip(axes, TITLES.items(), strict=True):
        shown = {WORDS.get(key, key[1]): found.curves[key] for key in in_order(found, component)}
        reference: dict[str, Any] = {"oracle": found.oracle, "random": found.random}
        cl.plots.rejection_curves(shown, reference=reference, ax=ax)
        ax.legend(frameon=False, loc="center right")
        ax.set_title(f"{title} uncertainty")
    for ax in axes[1:]:
        ax.set_ylabel("")


def in_order(found: Curves, component: str) -> list[tuple[str, str]]:
    """Return the keys of a component, always with the families in the same order.

    Total variation comes first, so that a family has the same colour in every panel.
    """
    order = ("tv", "entropy", "hartley", LOWER, UPPER)
    keys = [key for key in found.curves if key[0] == component]
    return sorted(keys, key=lambda key: order.index(key[1]) if key[1] in order else len(order))


def run(predictions: Predictions, out: Path, *, name: str = "figure2", **options: Any) -> str:
    """Draw the figure, write it with its numbers to the folder `out`, and return the table."""
    found = curves(predictions, **options)
    save(draw(found), out, name)
    table = Table(
        f"{predictions!r}, accuracy of the vote {found.accuracy:.4f}, {len(found.oracle)} batches",
        ("", "measure", "AUC %", "MR %", "time s"),
    )
    rows = []
    for component in TITLES:
        for _, family in in_order(found, component):
            several = found.curves[component, family]
            auc = mean_sd([100 * curve.auc for curve in several])
            ratio = mean_sd([100 * curve.monotonicity_ratio for curve in several])
            seconds = found.seconds[component, family]
            rows.append([component, family, *auc, *ratio, seconds])
            table.rows.append(
                [
                    Cell(component),
                    Cell(family),
                    Cell(f"{auc[0]:.2f}", spread=f"{auc[1]:.2f}"),
                    Cell(f"{ratio[0]:.1f}", spread=f"{ratio[1]:.1f}"),
                    Cell(f"{seconds:.4f}"),
                ]
            )
    columns = ("component", "family", "auc_mean", "auc_sd", "mr_mean", "mr_sd", "time")
    write_csv(out / f"{name}.csv", columns, rows)
    notes = ["Mean ± standard deviation (ddof = 1) over batches; one core.", versions()]
    left = len(predictions.members) % len(found.oracle)
    if left:
        notes.append(f"Not used: the last {left}, as batches are of equal size.")
    if found.hartley_error:
        notes.append(f"Hartley is sampled: standard error at most {found.hartley_error:.2g} bits.")
    text = (
        "\n".join([heading(name), "", table.markdown(), "", *(f"- {note}" for note in notes)])
        + "\n"
    )
    with replacing(out / f"{name}.md") as temporary:
        temporary.write_text(text, encoding="utf-8")
    return "\n".join([table.text(), *notes])
