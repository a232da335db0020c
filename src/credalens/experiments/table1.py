"""The paper's Table 1: how the time of each measure grows."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl
from credalens._arrays import Array
from credalens.experiments.figure1 import save
from credalens.experiments.protocol import one_thread
from credalens.experiments.table2 import write_csv
from credalens.experiments.tables import Cell, Table, heading, versions
from credalens.plots.style import COLOURS, LINES

#: Generators and classes, for measures that are polynomial in both.
MEMBERS, CLASSES = (8, 16, 32, 64, 128), (8, 16, 32, 64, 128)
#: Classes for the sum over all events.
FEW_CLASSES = (8, 10, 12, 14, 16, 18)
#: A timing takes the fastest of so many calls, each on instances worth so many seconds.
REPEATS, SECONDS = 5, 0.004


@dataclass(frozen=True)
class Measure:
    """A row of the table: what to time, on which sets, and what the paper says of it."""

    name: str
    function: Callable[[cl.ConvexHull], Any]
    paper: str
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
    """Exponents of M and K with their standard errors; for `base`, time grows as base^K."""

    members: float
    members_error: float
    classes: float
    classes_error: float
    exponential: bool
    #: Seconds an instance, for each ``(M, K)``.
    times: dict[tuple[int, int], float]


def sets(n: int, M: int, K: int, agreeing: bool, seed: int = 0) -> cl.ConvexHull:
    """Return random sets whose members all put class 0 first, or put different classes first.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.experiments.table1 import sets
    >>> np.unique(sets(3, 5, 4, agreeing=True).members.argmax(axis=-1)).tolist()
    [0]
    """
    rng = np.random.default_rng([seed, n, M, K])
    P = rng.dirichlet(np.ones(K), size=(n, M))
    if agreeing:
        # The largest probability changes places with the first.
        best = P.argmax(axis=-1)[..., None]
        first, top = P[..., :1].copy(), np.take_along_axis(P, best, axis=-1)
        np.put_along_axis(P, best, first, axis=-1)
        P[..., :1] = top
    return cl.ConvexHull(P, validate=False)


def seconds(measure: Measure, M: int, K: int, budget: float = SECONDS) -> float:
    """Return the time of one instance: the fastest of several calls on a batch worth `budget`."""
    n = 4
    while True:
        Q = sets(n, M, K, measure.agreeing)
        once = _clock(measure.function, Q)
        if once >= budget or n * M * K > 4_000_000:
            break
        n = math.ceil(n * min(10.0, max(1.5, 1.2 * budget / max(once, 1e-9))))
    return min(once, *(_clock(measure.function, Q) for _ in range(REPEATS - 1))) / n


def _clock(function: Callable[[Any], Any], Q: Any) -> float:
    start = time.thread_time()
    function(Q)
    return time.thread_time() - start


def fit(times: dict[tuple[int, int], float], exponential: bool) -> Fit:
    """Fit ``log t = a + b log M + c log K`` (or ``c K``) by least squares.

    Examples
    --------
    >>> from credalens.experiments.table1 import fit
    >>> found = fit({(M, K): M**2 * K for M in (2, 4, 8) for K in (3, 9, 27)}, False)
    >>> round(found.members, 6), round(found.classes, 6), found.members_error < 1e-9
    (2.0, 1.0, True)
    """
    M, K = np.array(list(times), float).T
    size = K * math.log(2) if exponential else np.log(K)
    X = np.column_stack([np.ones_like(M), np.log(M), size])
    y = np.log(list(times.values()))
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    variance = float(np.sum((y - X @ beta) ** 2)) / max(len(y) - 3, 1)
    error = np.sqrt(variance * np.diag(np.linalg.inv(X.T @ X)))
    b, c = float(beta[1]), float(beta[2])
    return Fit(b, float(error[1]), c, float(error[2]), exponential, times)


@one_thread()
def measure_all(
    measures: Sequence[Measure] = TIMED,
    *,
    members: Iterable[int] = MEMBERS,
    classes: Iterable[int] = CLASSES,
    few_classes: Iterable[int] = FEW_CLASSES,
    budget: float = SECONDS,
    advance: Callable[[str], None] = lambda name: None,
) -> dict[str, Fit]:
    """Time every measure on a grid of M and K, in one thread, and fit its exponents."""
    fits = {}
    for measure in measures:
        grid = itertools.product(members, few_classes if measure.exponential else classes)
        times = {(M, K): seconds(measure, M, K, budget) for M, K in grid}
        fits[measure.name] = fit(times, measure.exponential)
        advance(measure.name)
    return fits


def as_table(fits: dict[str, Fit], measures: Sequence[Measure] = TIMED) -> Table:
    """Return the exponents beside the paper's complexities."""
    table = Table(
        "Growth of the time for one instance",
        ("measure", "the paper: O(...)", "exponent of M", "of K", "base of K"),
    )
    for measure in measures:
        found = fits[measure.name]
        of_classes = Cell(f"{found.classes:.2f}", spread=f"{found.classes_error:.2f}")
        base, error = 2**found.classes, math.log(2) * 2**found.classes * found.classes_error
        table.rows.append(
            [
                Cell(measure.name),
                Cell(measure.paper),
                Cell(f"{found.members:.2f}", spread=f"{found.members_error:.2f}"),
                Cell("") if found.exponential else of_classes,
                Cell(f"{base:.2f}", spread=f"{error:.2f}") if found.exponential else Cell(""),
            ]
        )
    return table


def draw(fits: dict[str, Fit]) -> Any:
    """Return the picture: time against M at the middle K, and against K at the middle M."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for i, (name, found) in enumerate(fits.items()):
        Ms, Ks = (sorted({key[axis] for key in found.times}) for axis in (0, 1))
        M, K = Ms[len(Ms) // 2], Ks[len(Ks) // 2]
        family = next(j for j, word in enumerate(("TV", "entropy", "Hartley")) if word in name)
        style: dict[str, Any] = {
            "color": COLOURS[family],
            "ls": LINES[("TU", "AU", "EU").index(name[:2])],
            "marker": "osD^vPX<>*"[i % 10],
            "ms": 5,
        }
        axes[0].plot(Ms, _micro([found.times[m, K] for m in Ms]), **style)
        axes[1].plot(Ks, _micro([found.times[M, k] for k in Ks]), label=name, **style)
        axes[0].set_title("K in the middle of its range")
        axes[1].set_title("M in the middle of its range")
    for ax, word in zip(axes, ("generators M", "classes K"), strict=True):
        ax.set(yscale="log", xlabel=word)
        ax.set_xscale("log", base=2)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("microseconds an instance, one core")
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _micro(values: Sequence[float]) -> Array:
    return 1e6 * np.asarray(values)


def run(out: Path, **options: Any) -> str:
    """Time, fit, and write table and picture to the folder `out`; return the table as text."""
    fits = measure_all(**options)
    table = as_table(fits)
    save(draw(fits), out, "table1")
    write_csv(
        out / "table1_times.csv",
        ("measure", "members", "classes", "seconds"),
        [[name, *key, t] for name, found in fits.items() for key, t in found.times.items()],
    )
    notes = [
        "Least squares of log time on log M and log K (on K for the sum over all events), with "
        "standard errors; the constant cost of a call pulls exponents down at small sizes.",
        versions(),
    ]
    for name, text in (
        ("md", f"{heading('table1')}\n\n{table.markdown()}"),
        ("tex", table.latex()),
        ("txt", table.text()),
    ):
        lead = "% " if name == "tex" else ""
        content = "\n".join([text, "", *(lead + note for note in notes)]) + "\n"
        (out / f"table1.{name}").write_text(content, encoding="utf-8")
    return "\n".join([table.text(), *notes])
