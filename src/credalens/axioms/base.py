"""An axiom as a search problem: draw candidates, refine the worst, confirm, simplify."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from credalens._backend import Array
from credalens.axioms.candidates import Candidates, Rng, draw
from credalens.axioms.report import Counterexample, Verdict
from credalens.axioms.target import AxiomTarget

#: Compared values by label, ``(n,)`` each.
Values = dict[str, Array]
#: Compared sets by label: a function from candidates to members ``(n, M, K)``, and its code for
#: the arrays of one candidate.
Compared = dict[str, tuple[Callable[[Candidates], Array], str]]
#: Local search: candidates that are refined, neighbours of each, and number of rounds.
PARENTS, CHILDREN, ROUNDS = 6, 4, 15


class Axiom:
    """An axiom that requires the values of the compared sets to be equal.

    Subclasses override `excess` and `condition` for other relations, `values` and `code` if they
    compare with other measures.

    The code of a counterexample sets `violated`. It contains no function or comprehension, so that
    `exec` can run it with separate globals and locals.
    """

    name: ClassVar[str]
    statement: ClassVar[str]
    #: Numbers of members to draw, in increasing order, so that small violations are found first.
    sizes: ClassVar[tuple[int, ...]] = (1, 2, 3, 5)
    #: Whether sets with as many members as classes are drawn too.
    many: ClassVar[bool] = False
    #: Excess that counts as a violation, in tolerances.
    strictness: ClassVar[float] = 1.0
    compared: ClassVar[Compared] = {"value": (lambda c: c.members, "members[None]")}

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Candidates:
        """Return n candidates of M members."""
        return Candidates(draw(rng, n, M, K))

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        """Return the values that the axiom compares, ``(n,)`` each."""
        return {label: target.value(sets(c)) for label, (sets, _) in self.compared.items()}

    def excess(self, target: AxiomTarget, values: Values) -> Array:
        """Return by how much the values violate the axiom, ``(n,)``."""
        first, *others = values.values()
        return np.asarray(np.max([np.abs(other - first) for other in others], axis=0))

    def applies(self, target: AxiomTarget, c: Candidates) -> Array:
        """Return for which candidates the premise of the axiom holds."""
        return np.ones(len(c), bool)

    def code(self, target: AxiomTarget, c: Candidates) -> dict[str, str]:
        """Return the code of the compared values of one candidate, by variable name."""
        labels = self.compared.items()
        return {label.replace(" ", "_"): target.value_code(code) for label, (_, code) in labels}

    def condition(self, target: AxiomTarget, names: list[str]) -> str:
        """Return the code of the condition for a violation."""
        gaps = [f"abs({name} - {names[0]})" for name in names[1:]]
        largest = gaps[0] if len(gaps) == 1 else f"max({', '.join(gaps)})"
        return f"{largest} > {self.limit(target):g}"

    def arrays(self, target: AxiomTarget, c: Candidates) -> dict[str, Array]:
        """Return the arrays that the code starts with."""
        return c.arrays()

    def limit(self, target: AxiomTarget) -> float:
        """Return the excess above which the axiom is violated."""
        return self.strictness * target.tolerance

    def violation(self, target: AxiomTarget, c: Candidates) -> Array:
        """Return the excess; ``-inf`` where the axiom does not apply."""
        applies = self.applies(target, c)
        with np.errstate(invalid="ignore"):  # A1 reports infinite values
            excess = self.excess(target, self.values(target, c))
        return np.where(applies & ~np.isnan(excess), excess, -np.inf)

    def refine(self, target: AxiomTarget, rng: Rng, c: Candidates) -> tuple[Candidates, Array]:
        """Improve the worst candidates by local search; return them and their violations.

        Each candidate competes only with its own neighbours.
        """
        violation = self.violation(target, c)
        first = np.argsort(-violation, kind="stable")[:PARENTS]
        c, violation = c[first], violation[first]
        parents = np.arange(len(c))
        family = np.concatenate([parents, np.repeat(parents, CHILDREN)])
        for turn in range(ROUNDS):
            if violation.max() > 1e3 * self.limit(target):
                break
            children = c[np.repeat(parents, CHILDREN)].perturbed(rng, 0.5 * 0.7**turn)
            scores = np.concatenate([violation, self.violation(target, children)])
            order = np.lexsort((-scores, family))
            best = order[np.unique(family[order], return_index=True)[1]]
            c, violation = c.concatenate(children)[best], scores[best]
        return c, violation

    def extra_search(self, target: AxiomTarget, n_classes: int) -> Counterexample | None:
        """Search for a violation by other means, after the random search found none."""
        return None

    def counterexample(self, target: AxiomTarget, c: Candidates) -> Counterexample:
        """Return a single candidate with its values and code."""
        lines = target.header()
        for name, batch in self.arrays(target, c).items():
            next_row = "],\n" + " " * len(f"{name} = np.array([")
            rows = str(batch[0].tolist()).replace("], ", next_row)
            lines.append(f"{name} = np.array({rows})")
        code = self.code(target, c)
        lines += [f"{name} = {expression}" for name, expression in code.items()]
        shown = ", ".join(f'"{name}", {name}' for name in code)
        lines.append(f'print("{self.name}:", {shown})')
        lines.append(f"violated = {self.condition(target, list(code))}")
        values = {name: float(value[0]) for name, value in self.values(target, c).items()}
        arrays = {name: array[0] for name, array in c.arrays().items()}
        return Counterexample(self.name, arrays, values, "\n".join(lines))


def search(axiom: Axiom, target: AxiomTarget, rng: Rng, n_sets: int, n_classes: int) -> Verdict:
    """Search for a violation of one axiom, on about `n_sets` random sets and their refinements."""
    before, worst = target.n_sets, -np.inf
    sizes = sorted({*axiom.sizes, n_classes} if axiom.many else axiom.sizes)
    limit = axiom.limit(target)
    for size in sizes:
        c = axiom.draw(rng, -(-n_sets // len(sizes)), size, n_classes)
        c, violation = axiom.refine(target, rng, c)
        worst = max(worst, float(violation.max()))
        for i in np.flatnonzero(violation > limit):
            # Confirmed in a batch of one: a counterexample must not depend on the rest of a batch.
            found = c[i : i + 1]
            if axiom.violation(target, found)[0] > limit:
                example = axiom.counterexample(target, _simplified(axiom, target, found))
                return Verdict(axiom.name, axiom.statement, False, target.n_sets - before, example)
    last = axiom.extra_search(target, n_classes)
    tried = target.n_sets - before
    if worst == -np.inf and last is None:
        note = "the axiom applies to none of the sets, or none has a finite value"
        return Verdict(axiom.name, axiom.statement, None, tried, note=note)
    return Verdict(axiom.name, axiom.statement, last is None, tried, last)


def _simplified(axiom: Axiom, target: AxiomTarget, c: Candidates) -> Candidates:
    """Return the candidate with as few members and digits as still violate the axiom clearly."""
    start = float(axiom.violation(target, c)[0])
    enough = max(axiom.limit(target), min(start / 2, 0.01))
    shorter: Candidates | None = c
    while shorter is not None:
        c, shorter = shorter, None
        for simpler in c.simplifications():
            if simpler.size() < c.size() and axiom.violation(target, simpler)[0] > enough:
                shorter = simpler
                break
    return c
