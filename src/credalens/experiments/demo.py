"""The demo: uncertainty of random forests on handwritten digits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._backend import Array
from credalens._extras import require
from credalens._files import atomic_write
from credalens.experiments.output import new_figure, save_figure, write_csv

N_MEMBERS = 10
#: Few and shallow trees, so that the forests sometimes disagree.
N_TREES, MAX_DEPTH = 20, 8
N_RANDOM_ORDERS = 100
#: The class that the constant member predicts for every input, p0 in the paper.
CONSTANT = 3

Track = Callable[[Iterable[Any], str], Iterable[Any]]

#: Component, family, and the score as a function of the members ``(n, M, K)``.
SCORES: tuple[tuple[str, str, Callable[[Array], Any]], ...] = (
    ("TU", "tv", cl.total_uncertainty),
    ("TU", "entropy", cl.upper_entropy),
    ("AU", "tv", cl.aleatoric_uncertainty),
    ("AU", "entropy", cl.lower_entropy),
    ("AU", "hartley", lambda P: cl.quantify(P, "hartley").aleatoric),
    ("EU", "tv", cl.epistemic_uncertainty),
    ("EU", "entropy", lambda P: cl.quantify(P, "entropy").epistemic),
    ("EU", "hartley", cl.generalized_hartley),
)
COMPONENTS = {"TU": "total", "AU": "aleatoric", "EU": "epistemic"}


@dataclass(frozen=True)
class Row:
    """Rejection curve and computation time of one score."""

    component: str
    family: str
    curve: cl.RejectionCurve
    seconds: float


@dataclass(frozen=True)
class Demo:
    """The results of the demo, and the files it wrote."""

    accuracy: float
    n_test: int
    rows: list[Row]
    oracle: cl.RejectionCurve
    random: list[cl.RejectionCurve]
    diagnosis: cl.MemberDiagnosis
    #: Diagnosis of the ensemble with a member that predicts `CONSTANT` for every input.
    diagnosis_with_constant: cl.MemberDiagnosis
    files: list[Path]
    #: Why there is no report, if the extra is not installed.
    report_error: str = ""


def no_tracking(items: Iterable[Any], description: str) -> Iterable[Any]:
    """Return the items; replaces a progress bar."""
    return items


def run(out: Path, seed: int = 0, track: Track = no_tracking) -> Demo:
    """Train, measure, evaluate and write the files to the folder `out`.

    `track` iterates over items and shows the progress, with a description.
    """
    require("matplotlib", "plots")
    members, y_test = train("digits", seed, track)
    out.mkdir(parents=True, exist_ok=True)
    predicted = cl.majority_vote(members)
    scores, rows = {}, []
    for component, family, function in track(SCORES, "measuring"):
        start = time.perf_counter()
        score = function(members)
        seconds = time.perf_counter() - start
        scores[component, family] = score
        rows.append(Row(component, family, cl.rejection_curve(y_test, predicted, score), seconds))
    rng = np.random.default_rng(seed)
    oracle = cl.rejection_curve(y_test, predicted, predicted != y_test)
    random = [
        cl.rejection_curve(y_test, predicted, rng.random(len(y_test)))
        for _ in range(N_RANDOM_ORDERS)
    ]
    files = [out / name for name in ("scores.csv", "rejection_curves.png", "simplex.png")]
    write_scores(files[0], scores, predicted, y_test)
    draw_curves(files[1], rows, oracle, random)
    draw_simplex(files[2], seed, track)
    files.append(write_predictions(out / "predictions", members, y_test))
    report_error = ""
    try:
        files.append(write_report(out / "report.html", members, y_test))
    except ModuleNotFoundError as error:
        report_error = str(error)
    return Demo(
        accuracy=float(np.mean(predicted == y_test)),
        n_test=len(y_test),
        rows=rows,
        oracle=oracle,
        random=random,
        diagnosis=cl.diagnose_members(members, y_test),
        diagnosis_with_constant=cl.diagnose_members(with_constant(members), y_test),
        files=files,
        report_error=report_error,
    )


def train(name: str, seed: int, track: Track) -> tuple[Array, Array]:
    """Return the predictions of the forests on the test part of a dataset, and its labels."""
    datasets = require("sklearn.datasets", "sklearn")
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return predict_test_part(X, y, make_forests(N_MEMBERS, seed), seed, track, name)


def predict_test_part(
    X: Array, y: Array, forests: list[Any], seed: int, track: Track, name: str
) -> tuple[Array, Array]:
    """Split 70/30, train the forests, and return their test predictions and the labels."""
    from sklearn.model_selection import train_test_split

    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    predictions = [
        forest.fit(X_train, y_train).predict_proba(X_test)
        for forest in track(forests, f"training {len(forests)} forests on {name}")
    ]
    return np.stack(predictions, axis=1), y_test


def make_forests(n_members: int, seed: int) -> list[Any]:
    """Return forests of equal size that differ by their seeds.

    Shallow forests among deep ones would be less confident on every digit: their disagreement would
    be largest where the deep ones are confident and correct, and would find no errors.
    """
    from sklearn.ensemble import RandomForestClassifier

    seeds = np.random.default_rng(seed).integers(2**31, size=n_members)
    return [
        RandomForestClassifier(N_TREES, max_depth=MAX_DEPTH, random_state=int(i)) for i in seeds
    ]


def with_constant(members: Array) -> Array:
    """Return ``(n, M, K)`` with one more member, which predicts `CONSTANT` for every input."""
    n, _, K = members.shape
    row = np.broadcast_to(np.eye(K)[CONSTANT], (n, 1, K))
    return np.concatenate([members, row], axis=1)


def write_scores(path: Path, scores: dict[Any, Any], predicted: Array, y_test: Array) -> None:
    """Write one line per instance; floats with all digits."""
    columns: dict[str, Any] = {"prediction": predicted}
    for (component, family), score in scores.items():
        name = f"{family}_{COMPONENTS[component]}"
        if isinstance(score, cl.Interval):
            columns |= {f"{name}_lower": score.lower, f"{name}_upper": score.upper}
        else:
            columns[name] = score
    columns |= {"label": y_test, "correct": (predicted == y_test).astype(int)}
    values = (np.asarray(column).tolist() for column in columns.values())
    write_csv(path, columns, zip(*values, strict=True))


def write_predictions(folder: Path, members: Array, y_test: Array) -> Path:
    """Write one file per model and one of labels, for the other commands."""
    folder.mkdir(exist_ok=True)
    models = {f"model_{m}": members[:, m] for m in range(members.shape[1])}
    for name, values in {**models, "truth": y_test}.items():
        with atomic_write(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
            np.save(file, values)
    return folder


def write_report(path: Path, members: Array, y_test: Array) -> Path:
    """Write the report; raise ModuleNotFoundError if its extra is not installed."""
    from credalens.report import write

    names = [f"forest {m}" for m in range(members.shape[1])]
    title = f"Uncertainty of {len(names)} forests on handwritten digits"
    return write(path, members, y_test, names=names, title=title)


def draw_curves(
    path: Path, rows: list[Row], oracle: cl.RejectionCurve, random: list[cl.RejectionCurve]
) -> None:
    """Draw one panel for each of total, aleatoric and epistemic uncertainty."""
    figure = new_figure(13, 4.4)
    axes = figure.subplots(1, 3)
    for ax, (component, name) in zip(axes, COMPONENTS.items(), strict=True):
        curves = {row.family: row.curve for row in rows if row.component == component}
        cl.plots.rejection_curves(curves, reference={"oracle": oracle, "random": random}, ax=ax)
        ax.set_title(f"{name.capitalize()} uncertainty")
    for ax in axes[1:]:
        ax.set_ylabel("")
    save_figure(figure, path.parent, path.stem, ["png"], dpi=120)


def draw_simplex(path: Path, seed: int, track: Track) -> None:
    """Draw a confident, an ambiguous and a disputed prediction of forests on wine, 3 classes."""
    members, _ = train("wine", seed, track)
    u = cl.quantify(members)
    selected = {
        "confident": int(np.argmin(u.total + (u.epistemic == 0))),
        "ambiguous": int(np.argmax(u.aleatoric.lower - u.epistemic)),
        "disputed": int(np.argmax(u.epistemic)),
    }
    labels = [
        f"{name}: TU {u.total[i]:.2f}, AU [{u.aleatoric.lower[i]:.2f}, "
        f"{u.aleatoric.upper[i]:.2f}], EU {u.epistemic[i]:.2f}"
        for name, i in selected.items()
    ]
    figure = new_figure(6.4, 5.6)
    ax = figure.add_subplot()
    points = members[list(selected.values())]
    cl.plots.simplex(points, class_names=["class 0", "class 1", "class 2"], labels=labels, ax=ax)
    save_figure(figure, path.parent, path.stem, ["png"], dpi=120)
