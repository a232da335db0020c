"""Checks of the axioms for one or several measures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from credalens import _validation
from credalens.axioms.base import search
from credalens.axioms.candidates import draw
from credalens.axioms.definitions import AXIOMS
from credalens.axioms.report import Report, Verdict
from credalens.axioms.target import AxiomTarget, make_target
from credalens.measures.measure import Measure
from credalens.measures.table import MEASURES, imprecision
from credalens.sets import ConvexHull, CredalSet


def check(
    measure: str | Callable[[CredalSet], Any],
    axioms: str | Iterable[str] = "A1-A5",
    n_classes: int = 4,
    random_state: Any = 0,
    *,
    pointwise: Callable[[Any], Any] | None = None,
    total: str | Callable[[CredalSet], Any] | None = None,
    mmi: Callable[[CredalSet], Any] = imprecision,
    bound: float | None = None,
    sets: Any = None,
    n_sets: int = 600,
    tolerance: float = 1e-8,
) -> Report:
    """Search for violations of the axioms by a measure.

    Parameters
    ----------
    measure : str or callable
        A name in `credalens.axioms.MEASURES` (or that of a function, e.g. ``"total_uncertainty"``),
        or a function from a batch of n credal sets to n numbers.
    axioms : str or iterable of str, default="A1-A5"
        ``"A1-A5"``, ``"A1,A3"``, ``"all"``, or names: ``A1`` boundedness, ``A2`` continuity,
        ``A3`` monotonicity, ``A4`` probability consistency, ``A5`` extreme points, which consists
        of ``A5a`` (the value does not depend on the generators of the hull) and ``A5b`` (it is
        attained at the generators); ``dominance`` (no part exceeds the total), ``translation``,
        ``mmi`` (at most half of the maximum mean imprecision) and ``permutation``.
    n_classes : int, default=4
        Number of classes of the sets, at least 2.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the search.
    pointwise : callable, optional
        If the measure is the supremum or the infimum over the set of a functional of one
        distribution: that functional, from ``(n, K)`` to ``(n,)``. Required for A5b unless the
        measure is built in.
    total : str or callable, optional
        Measure that must not be smaller, for ``dominance``. Built-in measures have a default.
    mmi : callable, optional
        Maximum mean imprecision, for ``mmi`` and a function; by default for total variation.
    bound : float, optional
        The bound C of A1. Without it, a function must be finite and non-negative, and must not
        grow without bound with the number of extreme points.
    sets : class or callable, optional
        Representation of the sets: a class with ``from_members``, or a continuous function from
        members ``(n, M, K)`` to a batch of n sets. By default convex hulls. For other
        representations, sets that do not satisfy the premise of an axiom are skipped.
    n_sets : int, default=600
        Number of random sets for each axiom. The worst of each size are then refined.
    tolerance : float, default=1e-8
        Differences up to this, relative to the largest value if that is above 1, are considered
        rounding: entropies are certified to 1e-9. A jump must be a hundred times larger.

    Returns
    -------
    Report
        ``report.ok``; for each axiom ``report["A3"].held``, ``.n_sets``, ``.counterexample``.

    Notes
    -----
    The search draws sets of one to five members from several distributions, with the mixtures or
    targets that the axiom needs. The worst are refined by local search; for continuity, jumps are
    bracketed by bisection. A violation is confirmed in a batch of one and simplified as long as it
    persists: fewer members, fewer digits. Passing the search is evidence, not a proof.

    Examples
    --------
    The lower end of aleatoric uncertainty is smaller for a larger set:

    >>> import credalens as cl
    >>> from credalens import axioms
    >>> report = axioms.check("aleatoric_lower", "A1,A3", n_classes=2)
    >>> report["A1"].held, report["A3"].held
    (True, False)
    >>> print(report["A3"].counterexample.summary())
    inner 0.5, outer 0
    >>> print(report["A3"].counterexample)
    measure = cl.axioms.MEASURES["aleatoric_lower"]
    members = np.array([[...
    violated = inner > outer + 1e-08

    A user-defined measure, the mean entropy of the members, is not a function of the set:

    >>> def mean_entropy(Q):
    ...     return cl.upper_entropy(Q.members[..., None, :]).mean(axis=-1)
    >>> axioms.check(mean_entropy).failed
    ('A3', 'A5a', 'A5')
    """
    K = _validation.whole_number(n_classes, "n_classes", least=2)
    number = _validation.whole_number(n_sets, "n_sets", least=1)
    _validation.positive(tolerance, "tolerance")
    wanted, explicit = _names(axioms)
    if sets is ConvexHull:
        sets = None
    if sets is not None and not callable(sets):
        _validation.raise_invalid(
            "sets", f"is {sets!r}", "pass a class of sets, or a function of members"
        )
    target = make_target(measure, K, tolerance, pointwise, total, mmi, bound, sets)
    seed = _validation.seed(random_state)
    target.set_scale(draw(np.random.default_rng(seed), 90, 3, K))
    verdicts: dict[str, Verdict] = {}
    for name in wanted:
        missing = _missing(name, target)
        if missing and name in explicit:
            _validation.raise_invalid("axioms", f"names {name!r}", f"to check it, {missing}")
        if missing:
            verdicts[name] = Verdict(name, AXIOMS[name].statement, None, 0, note=missing)
        else:
            # One stream per axiom: results do not depend on which other axioms are checked.
            stream = np.random.default_rng([seed, list(AXIOMS).index(name)])
            verdicts[name] = search(AXIOMS[name], target, stream, number, K)
    claims = target.measure.claims if isinstance(target.measure, Measure) else ()
    return Report(target.name, K, _with_a5(verdicts), claims)


def table(
    measures: Iterable[str] | None = None,
    n_classes: int = 4,
    random_state: Any = 0,
    axioms: str | Iterable[str] = "A1-A5",
    **options: Any,
) -> list[Report]:
    """Return the reports of `check` for several measures.

    Parameters
    ----------
    measures : iterable of str, optional
        Names in `credalens.axioms.MEASURES`; by default all of them.
    n_classes : int, default=4
        Number of classes of the sets, at least 2.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the search for each measure.
    axioms : str or iterable of str, default="A1-A5"
        As in `check`.
    **options
        Further arguments of `check`.

    Returns
    -------
    list of Report
        One per measure; `render` formats them as a table.

    Examples
    --------
    >>> from credalens import axioms
    >>> [report.failed for report in axioms.table(["total", "lower_entropy"], n_classes=3)]
    [(), ('A3',)]
    """
    names = MEASURES if measures is None else measures
    if isinstance(names, str):
        _validation.raise_invalid("measures", f"is {names!r}", f"pass a list: [{names!r}]")
    return [check(name, axioms, n_classes, random_state, **options) for name in names]


def _names(axioms: str | Iterable[str]) -> tuple[list[str], set[str]]:
    """Return the names of the axioms in order, and those that were requested explicitly."""
    parts = re.split(r"[,\s]+", axioms.strip()) if isinstance(axioms, str) else list(axioms)
    chosen: set[str] = set()
    explicit: set[str] = set()
    for part in parts:
        span = re.fullmatch(r"A([1-5])-A([1-5])", part) if isinstance(part, str) else None
        if part == "all":
            chosen |= set(AXIOMS)
        elif span is not None:
            chosen |= {name for name in AXIOMS if span[1] <= name[1] <= span[2]}
        elif part == "A5":
            chosen |= {"A5a", "A5b"}
        else:
            name = _validation.one_of(part, "axioms", (*AXIOMS, "A5", "A1-A5", "all"))
            chosen.add(name)
            explicit.add(name)
    if not chosen:
        _validation.raise_invalid("axioms", f"is {axioms!r}, which names none", 'pass e.g. "A1-A5"')
    return [name for name in AXIOMS if name in chosen], explicit


def _missing(name: str, target: AxiomTarget) -> str:
    """Return the argument that is missing to check an axiom, or an empty string."""
    if name == "A5b" and isinstance(target.measure, Measure) and target.measure.second_order:
        return "choose a measure of the set; this one is no optimum over it"
    if name == "A5b" and target.pointwise is None and not isinstance(target.measure, Measure):
        return "pass pointwise="
    if name == "dominance" and not target.companions:
        return "pass total="
    if name == "mmi" and target.imprecision is None:
        return "pass a measure of epistemic uncertainty under total variation"
    return ""


def _with_a5(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts with A5 after A5b, if both of its parts are among them.

    A5 fails if one part fails, and holds only if both were checked.
    """
    if not {"A5a", "A5b"} <= set(verdicts):
        return verdicts
    a, b = verdicts["A5a"], verdicts["A5b"]
    found = (a.held, b.held)
    both = Verdict(
        "A5",
        "extreme points suffice: A5a and A5b",
        None if None in found and False not in found else all(found),
        a.n_sets + b.n_sets,
        a.counterexample or b.counterexample,
        " ".join(f"{verdict.axiom}: {verdict.note}" for verdict in (a, b) if verdict.note),
    )
    combined: dict[str, Verdict] = {}
    for name, verdict in verdicts.items():
        combined[name] = verdict
        if name == "A5b":
            combined["A5"] = both
    return combined
