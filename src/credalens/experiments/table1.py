"""Table 1 of the paper: how the computation time of each measure grows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._backend import Array, limit_threads
from credalens.experiments import output
from credalens.experiments.output import Cell, Table
from credalens.experiments.protocol import timed
from credalens.plots.style import COLOURS, LINES

#: Numbers of members and classes, for measures that are polynomial in both.
MEMBERS, CLASSES = (8, 16, 32, 64, 128), (8, 16, 32, 64, 128)
#: Numbers of classes, for measures that sum over all events.
FEW_CLASSES = (8, 10, 12, 14, 16, 18)
#: Number of calls, of which the fastest is used, and the minimal seconds of a call.
REPEATS, SECONDS = 5, 0.004


@dataclass(frozen=True)
class Measure:
    """A row of the table: the measure, the sets to time it on, and the complexity in the paper."""

    name: str
    function: Callable[[cl.ConvexHull], Any]
    paper: str
    #: Whether all members have the same most probable class.
    agreeing: bool = True
    #: Whether the time is exponential in the number of classes.
    exponential: bool = False


TIMED = (
    Measure("TU, TV", cl.total_uncertainty, "M K"),
    Measure("TU, entropy", cl.upper_entropy, "T_conv M K", agreeing=False),
    Measure("AU upper, TV, members agree", lambda Q: Q.maximin(), "M K at least"),
    Measure("AU upper, TV, members disagree", lambda Q: Q.maximin(), "T_lp M K at most", False),
    Measure("AU lower, TV", lambda Q: 1 - Q.upper().max(axis=-1), "M K"),
    Measure("AU, entropy", cl.lower_entropy, "M K"),
    Measure("AU, Hartley", lambda Q: cl.upper_entropy(Q) - _hartley(Q), "T_conv M K + 3^K",
            False, True),
    Measure("EU, TV", cl.epistemic_uncertainty, "M^2 K"),
    Measure("EU, entropy", lambda Q: cl.upper_entropy(Q) - cl.lower_entropy(Q), "T_conv M K",
            agreeing=False),
    Measure("EU, Hartley", lambda Q: _hartley(Q), "3^K", False, True),
)  # fmt: skip


def _hartley(Q: cl.ConvexHull) -> Any:
    return cl.generalized_hartley(Q, method="exact")


@dataclass(frozen=True)
class Fit:
    """Fitted exponents of M and K with their standard errors.

    If `exponential`, the time grows as ``2 ** (classes * K)``.
    """

    members: float
    members_error: float
    classes: float
    classes_error: float
    exponential: bool
    #: Seconds per instance, for each ``(M, K)``.
    times: dict[tuple[int, int], float]


def sets(n: int, M: int, K: int, agreeing: bool, seed: int = 0) -> cl.ConvexHull:
    """Return random sets; if `agreeing`, class 0 is the most probable class of all members."""
    rng = np.random.default_rng([seed, n, M, K])
    P = rng.dirichlet(np.ones(K), size=(n, M))
    if agreeing:
        # Swap the largest probability with the first.
        best = P.argmax(axis=-1)[..., None]
        first, top = P[..., :1].copy(), np.take_along_axis(P, best, axis=-1)
        np.put_along_axis(P, best, first, axis=-1)
        P[..., :1] = top
    return cl.ConvexHull(P, validate=False)


def seconds(measure: Measure, M: int, K: int, budget: float = SECONDS) -> float:
    """Return the time per instance: the fastest of several calls of at least `budget` seconds."""
    n = 4
    while True:
        Q = sets(n, M, K, measure.agreeing)
        first = timed(measure.function, Q)[1]
        if first >= budget or n * M * K > 4_000_000:
            break
        n = math.ceil(n * min(10.0, max(1.5, 1.2 * budget / max(first, 1e-9))))
    return min(first, *(timed(measure.function, Q)[1] for _ in range(REPEATS - 1))) / n


def fit(times: dict[tuple[int, int], float], exponential: bool) -> Fit:
    """Fit ``log t = a + b log M + c log K`` (or ``c K``) by least squares."""
    M, K = np.array(list(times), float).T
    size = K * math.log(2) if exponential else np.log(K)
    X = np.column_stack([np.ones_like(M), np.log(M), size])
    y = np.log(list(times.values()))
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    variance = float(np.sum((y - X @ beta) ** 2)) / max(len(y) - 3, 1)
    error = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    b, c = float(beta[1]), float(beta[2])
    return Fit(b, float(error[1]), c, float(error[2]), exponential, times)


@limit_threads(1)
def measure_all(
    measures: Sequence[Measure] = TIMED,
    *,
    members: Iterable[int] = MEMBERS,
    classes: Iterable[int] = CLASSES,
    few_classes: Iterable[int] = FEW_CLASSES,
    budget: float = SECONDS,
    advance: Callable[[str], None] = lambda name: None,
) -> dict[str, Fit]:
    """Time every measure on a grid of M and K with one thread, and fit its exponents."""
    fits = {}
    for measure in measures:
        grid = itertools.product(members, few_classes if measure.exponential else classes)
        times = {(M, K): seconds(measure, M, K, budget) for M, K in grid}
        fits[measure.name] = fit(times, measure.exponential)
        advance(measure.name)
    return fits


def as_table(fits: dict[str, Fit], measures: Sequence[Measure] = TIMED) -> Table:
    """Return the exponents and the complexities of the paper."""
    table = Table(
        "Growth of the time per instance",
        ("measure", "paper: O(...)", "exponent of M", "of K", "base of K"),
    )
    for measure in measures:
        fitted = fits[measure.name]
        of_classes = Cell.estimate(fitted.classes, fitted.classes_error, 2)
        base, error = 2**fitted.classes, math.log(2) * 2**fitted.classes * fitted.classes_error
        table.add(
            measure.name,
            measure.paper,
            Cell.estimate(fitted.members, fitted.members_error, 2),
            "" if fitted.exponential else of_classes,
            Cell.estimate(base, error, 2) if fitted.exponential else "",
        )
    return table


def draw(fits: dict[str, Fit]) -> Any:
    """Return the figure: time against M at the middle K, and against K at the middle M."""
    figure = output.new_figure(12.5, 5)
    axes = figure.subplots(1, 2, sharey=True)
    for i, (name, fitted) in enumerate(fits.items()):
        Ms, Ks = (sorted({key[axis] for key in fitted.times}) for axis in (0, 1))
        M, K = Ms[len(Ms) // 2], Ks[len(Ks) // 2]
        family = next(j for j, word in enumerate(("TV", "entropy", "Hartley")) if word in name)
        style: dict[str, Any] = {
            "color": COLOURS[family],
            "ls": LINES[("TU", "AU", "EU").index(name[:2])],
            "marker": "osD^vPX<>*"[i % 10],
            "ms": 5,
        }
        axes[0].plot(Ms, _micro([fitted.times[m, K] for m in Ms]), **style)
        axes[1].plot(Ks, _micro([fitted.times[M, k] for k in Ks]), label=name, **style)
        axes[0].set_title("K in the middle of its range")
        axes[1].set_title("M in the middle of its range")
    for ax, word in zip(axes, ("members M", "classes K"), strict=True):
        ax.set(yscale="log", xlabel=word)
        ax.set_xscale("log", base=2)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("microseconds per instance, one core")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _micro(values: Sequence[float]) -> Array:
    return 1e6 * np.asarray(values)


def run(out: Path, *, command: str = "", **options: Any) -> str:
    """Time, fit, and write table and figure to the folder `out`; return the table as text."""
    fits = measure_all(**options)
    table = as_table(fits)
    output.save_figure(draw(fits), out, "table1")
    output.write_csv(
        out / "table1_times.csv",
        ("measure", "members", "classes", "seconds"),
        [[name, *key, t] for name, fitted in fits.items() for key, t in fitted.times.items()],
    )
    summary = remarks(fits)
    ending = [*summary, CONVENTION, *output.provenance(command)]
    latex = [table.latex(), "", *(f"% {note}" for note in ending)]
    text = "\n".join([table.text(), *ending])
    page = output.page("table1", [table], [CONVENTION], summary=summary, command=command)
    output.write_text(out / "table1.md", page)
    output.write_text(out / "table1.tex", "\n".join(latex) + "\n")
    output.write_text(out / "table1.txt", text + "\n")
    return text


CONVENTION = (
    "Least squares of log time on log M and log K (on K for the sum over all events), with "
    "standard errors; the constant cost of a call lowers the exponents at small sizes, and "
    "classes are processed with SIMD instructions, which lowers the exponent of K. The exponents "
    "of the paper are asymptotic upper bounds."
)


def remarks(fits: dict[str, Fit]) -> list[str]:
    """Return the exponents next to those of the paper, as sentences."""

    def span(names: Sequence[str], attribute: str) -> str:
        values = sorted(getattr(fits[name], attribute) for name in names)
        return f"{values[0]:.2f} to {values[-1]:.2f}"

    linear = ("TU, TV", "AU lower, TV", "AU, entropy")
    agree, disagree = (fits[f"AU upper, TV, members {word}"] for word in ("agree", "disagree"))
    hartley = 2 ** fits["EU, Hartley"].classes
    return [
        "Total uncertainty, the lower aleatoric end and the lower entropy: exponents of M "
        f"{span(linear, 'members')}, of K {span(linear, 'classes')} (paper: 1 and 1).",
        f"Upper aleatoric end: exponent of M {agree.members:.2f} if all members have the same most "
        f"probable class, {disagree.members:.2f} if not; the paper has a lower bound of 1 and an "
        "upper bound that depends on the number of iterations of a solver.",
        "Epistemic uncertainty under total variation: exponent of M "
        f"{fits['EU, TV'].members:.2f} (paper: 2).",
        f"Hartley measure: a factor of {hartley:.2f} per class (paper: 3). It is computed as a sum "
        "over 2^K events with known weights, without a Moebius transform.",
    ]
