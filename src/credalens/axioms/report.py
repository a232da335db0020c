"""Results of the axiom checks, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult


@dataclass(frozen=True, eq=False, repr=False)
class Counterexample:
    """The simplest violation that was found.

    Its ``repr`` and `code` are Python code that measures the sets again and sets ``violated``. The
    code needs ``numpy as np``, ``credalens as cl``, `measure` if it is not built in, and `sets` if
    it is a function.

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
    #: The arrays by name: ``members`` is ``(M, K)``.
    arrays: Mapping[str, Array]
    #: The values that were compared.
    values: Mapping[str, float]
    #: Python code that measures the sets again.
    code: str

    def __repr__(self) -> str:
        return self.code

    def summary(self) -> str:
        """Return the values in one line."""
        # Adding 0.0 removes the sign of a negative zero.
        return ", ".join(f"{name} {value + 0.0:.6g}" for name, value in self.values.items())


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result of the check of one axiom.

    Examples
    --------
    >>> from credalens import axioms
    >>> print(axioms.check("aleatoric_lower", "A3", n_classes=2)["A3"])
    FAILS: inner 0.5, outer 0
    """

    #: Name of the axiom.
    axiom: str
    #: Statement of the axiom.
    statement: str
    #: Whether no violation was found; None if the axiom could not be checked.
    held: bool | None
    #: Number of sets that were measured.
    n_sets: int
    #: The simplest violation, if one was found.
    counterexample: Counterexample | None = None
    #: Why the axiom was not checked, or only in part.
    note: str = ""

    def __str__(self) -> str:
        if self.held is None:
            return f"not checked: {self.note}"
        if self.counterexample is None:
            return f"held on {self.n_sets} sets" + (f" ({self.note})" if self.note else "")
        return f"FAILS: {self.counterexample.summary()}"


@dataclass(frozen=True, eq=False, repr=False)
class Report(TableResult):
    """The results of the checks of one measure, a mapping from the names of axioms to verdicts.

    ``str(report)`` includes the code of the counterexamples.

    Examples
    --------
    >>> from credalens import axioms
    >>> report = axioms.check("aleatoric_lower", "A1,A3", n_classes=2)
    >>> report.ok, report.failed
    (False, ('A3',))
    >>> report["A3"].held
    False
    """

    #: Name of the measure, or of the function.
    measure: str
    #: Number of classes of the sets.
    n_classes: int
    #: Result for each axiom, by name.
    verdicts: Mapping[str, Verdict]
    #: Axioms that a built-in measure is documented to satisfy.
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

    def _columns(self) -> dict[str, list[Any]]:
        verdicts = self.verdicts.values()
        return {
            "held": [verdict.held for verdict in verdicts],
            "n_sets": [verdict.n_sets for verdict in verdicts],
            "result": [str(verdict) for verdict in verdicts],
        }

    def _index(self) -> tuple[str, list[str]]:
        return "axiom", list(self.verdicts)

    def _summary(self) -> str:
        return f"{self.measure}, {self.n_classes} classes"

    def __str__(self) -> str:
        width = max(map(len, self.verdicts), default=0)
        lines = [self._summary()]
        for name, verdict in self.verdicts.items():
            lines.append(f"  {name:<{width}}  {verdict.statement}")
            lines.append(f"  {'':<{width}}  {verdict}")
            if verdict.counterexample is not None and name != "A5":
                code = verdict.counterexample.code.split("\n")
                lines += [f"  {'':<{width}}    {line}" for line in code]
        return "\n".join(lines)


def render(reports: Iterable[Report]) -> str:
    """Return a table, one row per measure and one column per axiom, and the values of failures.

    Parameters
    ----------
    reports : iterable of Report
        Results of `check`, or the result of `table`.

    Returns
    -------
    str
        ``yes`` if no violation was found, ``NO`` if one was (``NO!`` if the axiom is claimed of the
        measure), ``-`` if the axiom was not checked. A line per failure has the values that were
        compared.

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
    held = report.verdicts[name].held if name in report.verdicts else None
    if held is False and name in report.claims:
        return "NO!"
    return {None: "-", True: "yes", False: "NO"}[held]
