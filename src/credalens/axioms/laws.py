"""What an axiom is to the search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from credalens._arrays import Array
from credalens.axioms.pool import Rng, Trial, draw
from credalens.axioms.report import Counterexample
from credalens.axioms.subject import Subject

#: Values by what they are of, ``(n,)`` each.
Values = dict[str, Array]
#: Trials that are improved at once, neighbours that each one tries, and how often.
PARENTS, CHILDREN, ROUNDS = 6, 4, 15


class Law(ABC):
    """An axiom as a search problem: trials are drawn, measured and compared.

    The code of a counterexample gives `violated`; it uses no function or comprehension of its own,
    so that it runs wherever names are looked up.
    """

    name: ClassVar[str]
    statement: ClassVar[str]
    #: Numbers of members to draw, smallest first: the first violation found is then a small one.
    sizes: ClassVar[tuple[int, ...]] = (1, 2, 3, 5)
    #: Whether sets of as many members as classes are drawn too.
    many: ClassVar[bool] = False
    #: Excess that counts as a violation, in tolerances.
    strictness: ClassVar[float] = 1.0

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Trial:
        """Return n trials of M members."""
        return Trial(draw(rng, n, M, K))

    @abstractmethod
    def measured(self, subject: Subject, trial: Trial) -> Values:
        """Return the values that the axiom compares, ``(n,)`` each."""

    @abstractmethod
    def excess(self, subject: Subject, values: Values) -> Array:
        """Return by how much the values break the axiom, ``(n,)``; at most 0 where they keep it."""

    @abstractmethod
    def script(self, subject: Subject, trial: Trial) -> list[str]:
        """Return lines that measure the one trial again and set `violated`."""

    def limit(self, subject: Subject) -> float:
        """Return the excess above which the axiom counts as broken."""
        return self.strictness * subject.tolerance

    def violation(self, subject: Subject, trial: Trial) -> Array:
        """Return the excess; ``-inf`` where the axiom does not speak of the trial."""
        applies = self.applies(subject, trial)
        with np.errstate(invalid="ignore"):  # infinite values are the business of A1
            excess = self.excess(subject, self.measured(subject, trial))
        return np.where(applies & ~np.isnan(excess), excess, -np.inf)

    def applies(self, subject: Subject, trial: Trial) -> Array:
        """Say where the sets are related as the axiom supposes."""
        return np.ones(len(trial), bool)

    def refined(self, subject: Subject, rng: Rng, trial: Trial) -> tuple[Trial, Array]:
        """Return the trials nearest to a violation, brought nearer, and their violations.

        A local search from several places: each of the first trials competes with neighbours of
        its own only.
        """
        violation = self.violation(subject, trial)
        first = np.argsort(-violation, kind="stable")[:PARENTS]
        trial, violation = trial[first], violation[first]
        parents = np.arange(len(trial))
        family = np.concatenate([parents, np.repeat(parents, CHILDREN)])
        for turn in range(ROUNDS):
            if violation.max() > 1e3 * self.limit(subject):
                break  # no doubt is left
            children = trial[np.repeat(parents, CHILDREN)].jittered(rng, 0.5 * 0.7**turn)
            scores = np.concatenate([violation, self.violation(subject, children)])
            order = np.lexsort((-scores, family))
            best = order[np.unique(family[order], return_index=True)[1]]
            trial, violation = trial.joined(children)[best], scores[best]
        return trial, violation

    def last_resort(self, subject: Subject, n_classes: int) -> Counterexample | None:
        """Look for a violation in a way of the axiom's own, after the search found none."""
        return None
