"""What a check found, and how it is printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from credalens import _validation
from credalens._arrays import Array


@dataclass(frozen=True, eq=False, repr=False)
class Counterexample:
    """The smallest violation that was found.

    Its ``repr`` and `code` are Python that, with ``numpy as np``, ``credalens as cl`` and `measure`
    (and `sets`, if it was a function) at hand, measures the sets again and sets ``violated``.

    Examples
    --------
    >>> from credalens import axioms
    >>> found = axioms.check("aleatoric_lower", "A3", n_classes=2)["A3"].counterexample
    >>> found.summary()
    'inner 0.5, outer 0'
    >>> sorted(found.arrays)
    ['members', 'weights']
    """

    #: Name of the axiom.
    axiom: str
    #: The arrays, by the names that they have in the code: ``members`` is ``(M, K)``.
    arrays: Mapping[str, Array]
    #: The values that were compared.
    values: Mapping[str, float]
    #: Python that measures the sets again.
    code: str

    def __repr__(self) -> str:
        return self.code

    def summary(self) -> str:
        """Return the values in one line."""
        # A zero has no sign here.
        return ", ".join(f"{name} {value + 0.0:.6g}" for name, value in self.values.items())


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was found about one axiom.

    Examples
    --------
    >>> from credalens import axioms
    >>> print(axioms.check("aleatoric_lower", "A3", n_classes=2)["A3"])
    FAILS: inner 0.5, outer 0
    """

    #: Name of the axiom.
    axiom: str
    #: What it says, in words.
    statement: str
    #: Whether no violation was found; ``None`` if the axiom could not be checked.
    held: bool | None
    #: Number of sets that were measured.
    n_sets: int
    #: The smallest violation, if one was found.
    counterexample: Counterexample | None = None
    #: Why the axiom could not be checked, or was only in part.
    note: str = ""

    def __str__(self) -> str:
        if self.held is None:
            return f"not checked: {self.note}"
        if self.counterexample is None:
            return f"held on {self.n_sets} sets" + (f" ({self.note})" if self.note else "")
        return f"FAILS: {self.counterexample.summary()}"


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What was found about a measure: ``report["A3"].held``, ``report["A3"].counterexample``.

    Examples
    --------
    >>> from credalens import axioms
    >>> report = axioms.check("aleatoric_lower", "A1,A3", n_classes=2)
    >>> report.ok, report.failed
    (False, ('A3',))
    """

    #: Name of the measure, or of the function.
    measure: str
    #: Number of classes of the sets.
    n_classes: int
    #: What was found about each axiom, by its name.
    verdicts: Mapping[str, Verdict]
    #: Axioms that are claimed of a built-in measure.
    claims: tuple[str, ...] = ()

    def __getitem__(self, axiom: str) -> Verdict:
        if axiom not in self.verdicts:
            _validation.one_of(axiom, "axiom", self.verdicts)
        return self.verdicts[axiom]

    def __iter__(self) -> Iterator[str]:
        return iter(self.verdicts)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the axioms that fail."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict.held is False)

    @property
    def ok(self) -> bool:
        """Whether no axiom fails."""
        return not self.failed

    @property
    def broken_claims(self) -> tuple[str, ...]:
        """Names of the axioms that fail although they are claimed."""
        return tuple(name for name in self.failed if name in self.claims)

    def __str__(self) -> str:
        width = max(map(len, self.verdicts), default=0)
        lines = [f"{self.measure}, {self.n_classes} classes"]
        for name, verdict in self.verdicts.items():
            lines.append(f"  {name:<{width}}  {verdict.statement}")
            lines.append(f"  {'':<{width}}  {verdict}")
            if verdict.counterexample is not None and name != "A5":
                lines += [
                    f"  {'':<{width}}    {x}" for x in verdict.counterexample.code.split("\n")
                ]
        return "\n".join(lines)

    __repr__ = __str__


def render(reports: Iterable[Report]) -> str:
    """Return a table, one row per measure and one column per axiom, and the values of what fails.

    Parameters
    ----------
    reports : iterable of Report
        What `check` returned for each measure, or `table` for several.

    Returns
    -------
    str
        ``yes`` where no violation was found, ``NO`` where one was (``NO!`` if the axiom is claimed
        of the measure), ``-`` where the axiom was not checked. A line below for each failure has
        the values that were compared.

    Examples
    --------
    >>> from credalens import axioms
    >>> print(axioms.render([axioms.check("aleatoric_lower", "A1,A3", n_classes=2)]))
    measure          A1   A3
    aleatoric_lower  yes  NO
    ...
    """
    reports = list(reports)
    axioms = list(dict.fromkeys(name for r in reports for name in r if name != "A5"))
    rows = [["measure", *axioms]]
    for report in reports:
        rows.append([report.measure, *(_cell(report, name) for name in axioms)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)) for row in rows]
    lines = [line.rstrip() for line in lines]
    for report in reports:
        for name in report.failed:
            example = report[name].counterexample
            if name != "A5" and example is not None:
                lines.append(f"{report.measure} fails {name}: {example.summary()}")
    return "\n".join(lines)


def _cell(report: Report, name: str) -> str:
    verdict = report.verdicts.get(name)
    if verdict is None or verdict.held is None:
        return "-"
    if verdict.held:
        return "yes"
    return "NO!" if name in report.claims else "NO"
