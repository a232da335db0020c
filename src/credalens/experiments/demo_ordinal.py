"""The demo with ordered classes: total variation and Wasserstein distance on grades."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._backend import Array
from credalens.experiments.demo import (
    N_MEMBERS,
    Track,
    no_tracking,
    predict_test_part,
    write_scores,
)
from credalens.experiments.output import new_figure, save_figure
from credalens.plots.style import COLOURS, QUIET
from credalens.predictors import random_forests

N_GRADES = 5
#: Shares of rejected patients in the table.
REJECTED = (0.0, 0.1, 0.3, 0.5)
DISTANCES = ("tv", "ordinal")


@dataclass(frozen=True)
class OrdinalDemo:
    """Mean error in grades after rejection, by component and distance, and the files written."""

    n_test: int
    errors: dict[tuple[str, str], list[float]]
    correlation: float
    files: list[Path]


def run(out: Path, seed: int = 0, track: Track = no_tracking) -> OrdinalDemo:
    """Divide scikit-learn's diabetes target into five grades and compare the distances."""
    out.mkdir(parents=True, exist_ok=True)
    members, y_test = train(seed, track)
    measured = {name: cl.quantify(members, cl.distances.as_distance(name, N_GRADES))
                for name in DISTANCES}  # fmt: skip
    # Under the ordinal cost the optimal decision is a median grade, not a majority vote.
    predicted = (members.mean(axis=1).cumsum(axis=1) < 0.5).sum(axis=1)
    error = np.abs(predicted - y_test)
    scores: dict[Any, Any] = {}
    errors = {}
    for name, u in measured.items():
        for component, score in (("TU", u.total), ("AU", u.aleatoric), ("EU", u.epistemic)):
            scores[component, name] = score
            curve = cl.selective_metrics(None, None, score, loss=error)
            errors[component, name] = [curve.risk_at(1 - share) for share in REJECTED]
    files = [out / "scores.csv", out / "ordinal.png"]
    write_scores(files[0], scores, predicted, y_test)
    draw(files[1], members, measured["tv"], measured["ordinal"])
    correlation = float(np.corrcoef(_ranks(*measured.values()))[0, 1])
    return OrdinalDemo(len(y_test), errors, correlation, files)


def _ranks(*measured: cl.Uncertainty) -> list[Array]:
    return [np.argsort(np.argsort(u.epistemic)) for u in measured]


def train(seed: int, track: Track) -> tuple[Array, Array]:
    """Return the predictions of the forests for the test patients, and their grades."""
    from sklearn.datasets import load_diabetes

    X, target = load_diabetes(return_X_y=True)
    y = np.digitize(target, np.quantile(target, np.arange(1, N_GRADES) / N_GRADES))
    forests = random_forests(N_MEMBERS, seed)
    return predict_test_part(X, y, forests, seed, track, "diabetes, graded")


def draw(path: Path, members: Array, tv: cl.Uncertainty, w1: cl.Uncertainty) -> None:
    """Draw EU under both distances, and the two patients on whom they differ most."""
    first, second = _ranks(tv, w1)
    near, far = int(np.argmax(first - second)), int(np.argmax(second - first))
    figure = new_figure(13, 4.4)
    left, *right = figure.subplots(1, 3, width_ratios=(1.3, 1, 1))
    left.plot(tv.epistemic, w1.epistemic, "o", ms=4, color=QUIET, alpha=0.7)
    selected = ((near, COLOURS[0], "neighbouring grades"), (far, COLOURS[1], "distant grades"))
    for (i, colour, label), ax in zip(selected, right, strict=True):
        left.plot(tv.epistemic[i], w1.epistemic[i], "o", ms=10, mfc="none", mec=colour, mew=2)
        _draw_widest_pair(ax, members[i], colour)
        ax.set_title(
            f"disagreement on {label}\nEU: TV {tv.epistemic[i]:.3f}, W1 {w1.epistemic[i]:.3f}"
        )
    left.set_xlabel("epistemic uncertainty, total variation")
    left.set_ylabel("epistemic uncertainty, Wasserstein (grades)")
    left.set_title("Two distances on the same forests")
    left.grid(alpha=0.25)
    save_figure(figure, path.parent, path.stem, ["png"], dpi=120)


def _draw_widest_pair(ax: Any, members: Array, colour: str) -> None:
    """Draw the two members that are farthest apart in Wasserstein distance as bars."""
    cumulative = members.cumsum(axis=1)
    gaps = np.abs(cumulative[:, None] - cumulative[None]).sum(axis=2)
    a, b = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    grades = np.arange(N_GRADES)
    ax.bar(grades - 0.2, members[a], 0.4, color=colour, label=f"forest {a}")
    ax.bar(grades + 0.2, members[b], 0.4, color=QUIET, hatch="//", ec="white", label=f"forest {b}")
    ax.set_xlabel("grade")
    ax.set_ylabel("probability")
    ax.legend(frameon=False)
