"""What an ensemble of forests knows of handwritten digits, in a minute."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._arrays import Array
from credalens._files import replacing

N_MEMBERS = 10
#: Few and short enough that the forests disagree now and then.
N_TREES, MAX_DEPTH = 20, 8
N_RANDOM_ORDERS = 100
#: What the member that is added as a warning predicts for every input: the paper's p0.
CONSTANT = 3

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


@dataclass(frozen=True)
class Row:
    """One score: its curve and the time it took."""

    component: str
    family: str
    curve: cl.RejectionCurve
    seconds: float


@dataclass(frozen=True)
class Demo:
    """What the demo found, and the files it wrote."""

    accuracy: float
    n_test: int
    rows: list[Row]
    oracle: cl.RejectionCurve
    random: list[cl.RejectionCurve]
    diagnosis: cl.MemberDiagnosis
    #: The same with one more member, which predicts `CONSTANT` for every input.
    spoilt: cl.MemberDiagnosis
    files: list[Path]


def run(
    out: Path, seed: int = 0, progress: Callable[[Iterable[Any], str], Iterable[Any]] | None = None
) -> Demo:
    """Train, quantify, evaluate and write the files to the folder `out`."""
    track = progress or (lambda items, _: items)
    out.mkdir(parents=True, exist_ok=True)
    members, y_test = train("digits", seed, track)
    predicted = cl.majority_vote(members)
    scores, rows = {}, []
    for component, family, function in track(SCORES, "measuring"):
        start = time.perf_counter()
        score = function(members)
        seconds = time.perf_counter() - start
        scores[component, family] = score
        curve = cl.rejection_curve(y_test, predicted, score)
        rows.append(Row(component, family, curve, seconds))
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
    files += write_report(out / "report.html", members, y_test)
    return Demo(
        accuracy=float(np.mean(predicted == y_test)),
        n_test=len(y_test),
        rows=rows,
        oracle=oracle,
        random=random,
        diagnosis=cl.diagnose_members(members, y_test),
        spoilt=cl.diagnose_members(with_constant(members), y_test),
        files=files,
    )


def train(
    name: str, seed: int, track: Callable[[Iterable[Any], str], Iterable[Any]]
) -> tuple[Array, Array]:
    """Return the forests' predictions on the test part of a bundled dataset, and its labels."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    forests = same_forests(N_MEMBERS, seed)
    predictions = [
        forest.fit(X_train, y_train).predict_proba(X_test)
        for forest in track(forests, f"training {len(forests)} forests on {name}")
    ]
    return np.stack(predictions, axis=1), y_test


def same_forests(n_members: int, seed: int) -> list[Any]:
    """Return forests of one kind, which differ by their seeds.

    Shallow ones among deep ones would be less sure of every digit: their disagreement is then
    largest where the deep ones are sure and right, and finds no errors.
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
    """Write one line per instance; floats read back to the same bits."""
    columns: dict[str, Any] = {"prediction": predicted}
    words = {"TU": "total", "AU": "aleatoric", "EU": "epistemic"}
    for (component, family), score in scores.items():
        name = f"{family}_{words[component]}"
        if isinstance(score, cl.Interval):
            columns |= {f"{name}_lower": score.lower, f"{name}_upper": score.upper}
        else:
            columns[name] = score
    columns |= {"label": y_test, "correct": (predicted == y_test).astype(int)}
    with replacing(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True))


def write_predictions(folder: Path, members: Array, y_test: Array) -> Path:
    """Write one file per model and the labels, as the other commands read them."""
    folder.mkdir(exist_ok=True)
    models = {f"model_{m}": members[:, m] for m in range(members.shape[1])}
    for name, values in {**models, "truth": y_test}.items():
        with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
            np.save(file, values)
    return folder


def write_report(path: Path, members: Array, y_test: Array) -> list[Path]:
    """Write the report; nothing, if what draws its charts is not installed."""
    from credalens.report import library, write

    try:
        library.require()
    except ImportError:
        return []
    names = [f"forest {m}" for m in range(members.shape[1])]
    title = f"What {len(names)} forests know of handwritten digits"
    return [write(path, members, y_test, names=names, title=title)]


def draw_curves(
    path: Path, rows: list[Row], oracle: cl.RejectionCurve, random: list[cl.RejectionCurve]
) -> None:
    """Draw one panel for each of total, aleatoric and epistemic uncertainty."""
    from matplotlib.figure import Figure

    titles = {"TU": "Total", "AU": "Aleatoric", "EU": "Epistemic"}
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, (component, title) in zip(axes, titles.items(), strict=True):
        curves = {row.family: row.curve for row in rows if row.component == component}
        cl.plots.rejection_curves(curves, reference={"oracle": oracle, "random": random}, ax=ax)
        ax.set_title(f"{title} uncertainty")
    for ax in axes[1:]:
        ax.set_ylabel("")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")


def draw_simplex(
    path: Path, seed: int, track: Callable[[Iterable[Any], str], Iterable[Any]]
) -> None:
    """Draw a sure, an ambiguous and a disputed prediction of forests on wine, three classes."""
    from matplotlib.figure import Figure

    members, _ = train("wine", seed, track)
    u = cl.quantify(members)
    disputed = int(np.argmax(u.epistemic))
    ambiguous = int(np.argmax(u.aleatoric.lower - u.epistemic))
    sure = int(np.argmin(u.total + (u.epistemic == 0)))
    chosen = [sure, ambiguous, disputed]
    labels = [
        f"{word}: TU {u.total[i]:.2f}, AU [{u.aleatoric.lower[i]:.2f}, "
        f"{u.aleatoric.upper[i]:.2f}], EU {u.epistemic[i]:.2f}"
        for word, i in zip(("sure", "ambiguous", "disputed"), chosen, strict=True)
    ]
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    ax = figure.add_subplot()
    cl.plots.simplex(
        members[chosen], class_names=["class 0", "class 1", "class 2"], labels=labels, ax=ax
    )
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
