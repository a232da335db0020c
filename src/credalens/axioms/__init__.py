"""The axioms of uncertainty measures, as checks to run on any measure.

`check` looks for violations by an adversarial search and prints what it finds so that it can be
pasted back; a measure that passes has survived the search, which is evidence and not a proof.
`MEASURES` lists the measures of the package with what is claimed of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from credalens import _validation
from credalens.axioms.desiderata import DESIDERATA
from credalens.axioms.pool import draw
from credalens.axioms.properties import PROPERTIES
from credalens.axioms.report import Counterexample, Report, Verdict, render
from credalens.axioms.search import search
from credalens.axioms.subject import Subject, of_builtin
from credalens.measures.table import MEASURES, Measure, imprecision
from credalens.sets import ConvexHull, CredalSet

__all__ = [
    "MEASURES",
    "Counterexample",
    "Measure",
    "Report",
    "Verdict",
    "check",
    "imprecision",
    "render",
    "table",
]

#: Every axiom by name, in the order of the reports.
LAWS = {law.name: law for law in (*DESIDERATA, *PROPERTIES)}


#: Names of functions that stand for a measure of the table.
ALIASES = {
    "total_uncertainty": "total",
    "epistemic_uncertainty": "epistemic",
    "maximum_mean_imprecision": "mmi",
}


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
    """Look for violations of the axioms by a measure.

    Parameters
    ----------
    measure : str or callable
        A name in `credalens.axioms.MEASURES` (or its function's, as ``"total_uncertainty"``), or a
        function from a batch of n credal sets to n numbers.
    axioms : str or iterable of str, default="A1-A5"
        ``"A1-A5"``, ``"A1,A3"``, ``"all"``, or names: ``A1`` boundedness, ``A2`` continuity,
        ``A3`` monotonicity, ``A4`` probability consistency, ``A5`` extreme points, of which ``A5a``
        (the value does not depend on how the hull is written) and ``A5b`` (it is attained at the
        generators); ``dominance`` (no part exceeds the total), ``translation``, ``mmi`` (at most
        half of the maximum mean imprecision) and ``permutation``.
    n_classes : int, default=4
        Number of classes of the sets, at least 2.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the search.
    pointwise : callable, optional
        For a measure that is the supremum or the infimum over the set of a functional of one
        distribution: that functional, from ``(n, K)`` to ``(n,)``. A5b is checked only if it is
        given; built-in measures know theirs.
    total : str or callable, optional
        Measure that must not be smaller, for ``dominance``. Built-in measures know theirs.
    mmi : callable, optional
        Maximum mean imprecision, for ``mmi`` and a function; by default for total variation.
    bound : float, optional
        The bound C of A1. Without it, a function must be finite, not negative, and must not grow
        without end as the number of corners does.
    sets : class or callable, optional
        Kind of sets: a class with ``from_members``, or a continuous function from members
        ``(n, M, K)`` to a batch of n sets. By default their convex hulls. For other kinds, pairs
        of sets that are not related as an axiom supposes are left out.
    n_sets : int, default=600
        Number of random sets for each axiom. Each size's worst are then improved.
    tolerance : float, default=1e-8
        Differences up to this, relative to the largest value if that is above 1, are put down to
        rounding: entropies are certified to 1e-9. A jump must be a hundred times larger.

    Returns
    -------
    Report
        ``report.ok``; for each axiom ``report["A3"].held``, ``.n_sets``, ``.counterexample``.

    Notes
    -----
    The search draws sets of one to five members from several families (Dirichlet, sparse, corners,
    near duplicates, collinear, disagreeing, stars, small fractions, nearly uniform) and, with them,
    what the axiom needs: mixtures for nested sets and redundant generators, targets for moves. The
    worst are improved by random local search; for continuity, jumps are bracketed by bisection.
    Whatever breaks the axiom, measured alone, is shrunk as long as it still does: fewer members,
    rounder numbers.

    Examples
    --------
    The lower end of aleatoric uncertainty shrinks when the set grows:

    >>> import credalens as cl
    >>> from credalens import axioms
    >>> report = axioms.check("aleatoric_lower", "A1,A3", n_classes=2)
    >>> report["A1"].held, report["A3"].held
    (True, False)
    >>> print(report["A3"].counterexample.summary())
    inner 0.5, outer 0
    >>> print(report["A3"].counterexample)
    measure = cl.axioms.MEASURES["aleatoric_lower"]
    outer = np.array([[...
    violated = smaller > larger + 1e-08

    A measure of one's own, the mean entropy of the members, is no function of the set:

    >>> def mean_entropy(Q):
    ...     return cl.upper_entropy(Q.members[..., None, :]).mean(axis=-1)
    >>> axioms.check(mean_entropy).failed
    ('A3', 'A5a', 'A5')
    """
    K = _validation.whole_number(n_classes, "n_classes", least=2)
    number = _validation.whole_number(n_sets, "n_sets", least=1)
    _validation.positive(tolerance, "tolerance")
    wanted, insisted = _names(axioms)
    if sets is ConvexHull:
        sets = None
    if sets is not None and not callable(sets):
        _validation.refuse("sets", f"is {sets!r}", "pass a class of sets, or a function of members")
    subject = _subject(measure, K, tolerance, pointwise, total, mmi, bound, sets)
    seed = _validation.seed(random_state)
    _set_scale(subject, np.random.default_rng(seed), K)
    verdicts: dict[str, Verdict] = {}
    for name in wanted:
        lacking = _lacking(name, subject)
        if lacking and name in insisted:
            _validation.refuse("axioms", f"names {name!r}", f"to check it, {lacking}")
        if lacking:
            verdicts[name] = Verdict(name, LAWS[name].statement, None, 0, note=lacking)
        else:
            # Each axiom has its own stream: what is found does not depend on the other axioms.
            stream = np.random.default_rng([seed, list(LAWS).index(name)])
            verdicts[name] = search(LAWS[name], subject, stream, number, K)
    claims = subject.measure.claims if isinstance(subject.measure, Measure) else ()
    return Report(subject.name, K, _with_a5(verdicts), claims)


def table(
    measures: Iterable[str] | None = None,
    n_classes: int = 4,
    random_state: Any = 0,
    axioms: str | Iterable[str] = "A1-A5",
    **options: Any,
) -> list[Report]:
    """Return the reports of `check` for several measures, by default all of `MEASURES`.

    Parameters
    ----------
    measures : iterable of str, optional
        Names in `credalens.axioms.MEASURES`; by default all of them.
    n_classes : int, default=4
        Number of classes of the sets, at least 2.
    random_state : int, RandomState, Generator or None, default=0
        Seeds the search, for each measure anew.
    axioms : str or iterable of str, default="A1-A5"
        As in `check`.
    **options
        Further arguments of `check`.

    Returns
    -------
    list of Report
        One per measure; `render` prints them as a table.

    Examples
    --------
    >>> from credalens import axioms
    >>> [report.failed for report in axioms.table(["total", "lower_entropy"], n_classes=3)]
    [(), ('A3',)]
    """
    names = MEASURES if measures is None else measures
    if isinstance(names, str):
        _validation.refuse("measures", f"is {names!r}", f"pass a list: [{names!r}]")
    return [check(name, axioms, n_classes, random_state, **options) for name in names]


def _names(axioms: str | Iterable[str]) -> tuple[list[str], set[str]]:
    """Return the names of the axioms in order, and those that were asked for by their own name."""
    parts = re.split(r"[,\s]+", axioms.strip()) if isinstance(axioms, str) else list(axioms)
    chosen: set[str] = set()
    insisted: set[str] = set()
    for part in parts:
        span = re.fullmatch(r"A([1-5])-A([1-5])", part) if isinstance(part, str) else None
        if part == "all":
            chosen |= set(LAWS)
        elif span is not None:
            low, high = int(span[1]), int(span[2])
            chosen |= {law.name for law in DESIDERATA if low <= int(law.name[1]) <= high}
        elif part == "A5":
            chosen |= {"A5a", "A5b"}
        else:
            name = _validation.one_of(part, "axioms", (*LAWS, "A5", "A1-A5", "all"))
            chosen.add(name)
            insisted.add(name)
    if not chosen:
        _validation.refuse("axioms", f"is {axioms!r}, none at all", 'pass "A1-A5", say')
    return [name for name in LAWS if name in chosen], insisted


def _subject(
    measure: Any,
    n_classes: int,
    tolerance: float,
    pointwise: Any,
    total: Any,
    mmi: Any,
    bound: float | None,
    sets: Any,
) -> Subject:
    if bound is not None and not 0 <= bound < np.inf:
        _validation.refuse("bound", f"is {bound!r}", "pass a number >= 0")
    if isinstance(measure, Measure):
        measure = measure.name
    if isinstance(measure, str):
        subject = of_builtin(
            _validation.one_of(ALIASES.get(measure, measure), "measure", MEASURES),
            n_classes,
            tolerance,
            sets,
        )
        subject.bound = subject.bound if bound is None else bound
    elif callable(measure):
        name = getattr(measure, "__name__", type(measure).__name__)
        subject = Subject(name, measure, tolerance, bound, pointwise, imprecision=mmi, sets=sets)
        if mmi is not imprecision:
            subject.imprecision_text = None
    else:
        _validation.refuse("measure", f"is {measure!r}", "pass a name, or a function of sets")
    if total is not None:
        if isinstance(total, str):
            total = MEASURES[_validation.one_of(total, "total", MEASURES)]
        subject.companions, subject.is_total = {"total": total}, False
    return subject


def _set_scale(subject: Subject, rng: np.random.Generator, n_classes: int) -> None:
    """Make the tolerance relative to the largest value on a few sets, if that is above 1."""
    values = np.abs(subject.value(draw(rng, 90, 3, n_classes)))
    subject.tolerance *= max(1.0, float(values[np.isfinite(values)].max(initial=0.0)))


def _lacking(name: str, subject: Subject) -> str:
    """Return what is missing to check an axiom, or nothing."""
    if name == "A5b" and not subject.has_generator_form:
        return "pass pointwise="
    if name == "dominance" and not subject.companions:
        return "pass total="
    if name == "mmi" and subject.imprecision is None:
        return "pass a measure of epistemic uncertainty under total variation"
    return ""


def _with_a5(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts with A5, both of its senses, after them where they are there.

    One sense that fails is enough for A5 to fail; it holds only if both were checked.
    """
    if not {"A5a", "A5b"} <= set(verdicts):
        return verdicts
    a, b = verdicts["A5a"], verdicts["A5b"]
    found = (a.held, b.held)
    note = " ".join(f"{verdict.axiom}: {verdict.note}" for verdict in (a, b) if verdict.note)
    both = Verdict(
        "A5",
        "extreme points suffice: A5a and A5b",
        None if None in found and False not in found else all(found),
        a.n_sets + b.n_sets,
        a.counterexample or b.counterexample,
        note,
    )
    combined: dict[str, Verdict] = {}
    for name, verdict in verdicts.items():
        combined[name] = verdict
        if name == "A5b":
            combined["A5"] = both
    return combined
