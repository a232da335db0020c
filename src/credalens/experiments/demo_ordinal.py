"""Where the order of the classes matters: total variation against Wasserstein on grades."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._arrays import Array
from credalens._files import replacing
from credalens.experiments.demo import N_MEMBERS, write_scores
from credalens.plots.style import COLOURS, QUIET
from credalens.predictors import random_forests

N_GRADES = 5
#: Shares of patients handed to a person, for the table.
REJECTED = (0.0, 0.1, 0.3, 0.5)
DISTANCES = ("tv", "ordinal")


@dataclass(frozen=True)
class OrdinalDemo:
    """Mean error in grades on what is kept, by distance and component, and the files written."""

    n_test: int
    errors: dict[tuple[str, str], list[float]]
    correlation: float
    files: list[Path]


def run(
    out: Path, seed: int = 0, progress: Callable[[Iterable[Any], str], Iterable[Any]] | None = None
) -> OrdinalDemo:
    """Grade scikit-learn's diabetes target in five, train forests and compare the distances."""
    track = progress or (lambda items, _: items)
    out.mkdir(parents=True, exist_ok=True)
    members, y_test = train(seed, track)
    measured = {name: cl.quantify(members, cl.distances.as_distance(name, N_GRADES))
                for name in DISTANCES}  # fmt: skip
    # Under the ordinal cost the best decision is a median grade, not a majority vote.
    mean = members.mean(axis=1)
    predicted = (mean.cumsum(axis=1) < 0.5).sum(axis=1)
    wrong = np.abs(predicted - y_test)
    scores: dict[Any, Any] = {}
    errors = {}
    for name, u in measured.items():
        for component, score in (("TU", u.total), ("AU", u.aleatoric), ("EU", u.epistemic)):
            scores[component, name] = score
            order = cl.rejection_order(score)
            errors[component, name] = [
                float(wrong[order[int(share * len(wrong)) :]].mean()) for share in REJECTED
            ]
    files = [out / "scores.csv", out / "ordinal.png"]
    write_scores(files[0], scores, predicted, y_test)
    draw(files[1], members, measured["tv"], measured["ordinal"])
    ranks = [np.argsort(np.argsort(u.epistemic)) for u in measured.values()]
    return OrdinalDemo(len(y_test), errors, float(np.corrcoef(ranks[0], ranks[1])[0, 1]), files)


def train(seed: int, track: Callable[[Iterable[Any], str], Iterable[Any]]) -> tuple[Array, Array]:
    """Return the forests' predictions of the grade of the test patients, and the grades."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    X, target = load_diabetes(return_X_y=True)
    y = np.digitize(target, np.quantile(target, np.arange(1, N_GRADES) / N_GRADES))
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    forests = random_forests(N_MEMBERS, seed)
    predictions = [
        forest.fit(X_train, y_train).predict_proba(X_test)
        for forest in track(forests, f"training {len(forests)} forests on diabetes, graded")
    ]
    return np.stack(predictions, axis=1), y_test


def draw(path: Path, members: Array, tv: cl.Uncertainty, w1: cl.Uncertainty) -> None:
    """Draw EU under both distances, and the two patients on whom they differ most."""
    from matplotlib.figure import Figure

    ranks = [np.argsort(np.argsort(u.epistemic)) for u in (tv, w1)]
    near, far = int(np.argmax(ranks[0] - ranks[1])), int(np.argmax(ranks[1] - ranks[0]))
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, *right = figure.subplots(1, 3, width_ratios=(1.3, 1, 1))
    left.plot(tv.epistemic, w1.epistemic, "o", ms=4, color=QUIET, alpha=0.7)
    chosen = ((near, COLOURS[0], "neighbouring grades"), (far, COLOURS[1], "distant grades"))
    for (i, colour, words), ax in zip(chosen, right, strict=True):
        left.plot(tv.epistemic[i], w1.epistemic[i], "o", ms=10, mfc="none", mec=colour, mew=2)
        _widest(ax, members[i], colour)
        ax.set_title(
            f"dispute over {words}\nEU: TV {tv.epistemic[i]:.3f}, W1 {w1.epistemic[i]:.3f}"
        )
    left.set_xlabel("epistemic uncertainty, total variation")
    left.set_ylabel("epistemic uncertainty, Wasserstein (grades)")
    left.set_title("Same forests, two geometries")
    left.grid(alpha=0.25)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")


def _widest(ax: Any, members: Array, colour: str) -> None:
    """Draw the two members that are furthest apart in Wasserstein distance as bars."""
    cumulative = members.cumsum(axis=1)
    gaps = np.abs(cumulative[:, None] - cumulative[None]).sum(axis=2)
    a, b = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    grades = np.arange(N_GRADES)
    ax.bar(grades - 0.2, members[a], 0.4, color=colour, label=f"forest {a}")
    ax.bar(grades + 0.2, members[b], 0.4, color=QUIET, hatch="//", ec="white", label=f"forest {b}")
    ax.set_xlabel("grade")
    ax.set_ylabel("probability")
    ax.legend(frameon=False)
