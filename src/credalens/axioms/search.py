"""The search for a violation: draw, refine, confirm, shrink."""

from __future__ import annotations

import numpy as np

from credalens.axioms.laws import Law
from credalens.axioms.pool import Rng, Trial
from credalens.axioms.report import Counterexample, Verdict
from credalens.axioms.subject import Subject


def search(law: Law, subject: Subject, rng: Rng, n_sets: int, n_classes: int) -> Verdict:
    """Look for a violation of one axiom, on about `n_sets` random sets and on what they become."""
    before, worst = subject.n_sets, -np.inf
    sizes = sorted({*law.sizes, n_classes} if law.many else law.sizes)
    for size in sizes:
        trial = law.draw(rng, -(-n_sets // len(sizes)), size, n_classes)
        trial, violation = law.refined(subject, rng, trial)
        worst = max(worst, float(violation.max()))
        for i in np.flatnonzero(violation > law.limit(subject)):
            # Alone once more: the rest of a batch must not play a part in a counterexample.
            found = trial[i : i + 1]
            if law.violation(subject, found)[0] > law.limit(subject):
                example = _example(law, subject, _shrunk(law, subject, found))
                return Verdict(law.name, law.statement, False, subject.n_sets - before, example)
    last = law.last_resort(subject, n_classes)
    tried = subject.n_sets - before
    if worst == -np.inf and last is None:
        note = "no sets that it speaks of were found, or none with a finite value"
        return Verdict(law.name, law.statement, None, tried, note=note)
    return Verdict(law.name, law.statement, last is None, tried, last)


def _shrunk(law: Law, subject: Subject, trial: Trial) -> Trial:
    """Return the trial in as few and as round numbers as still break the axiom visibly."""
    start = float(law.violation(subject, trial)[0])
    enough = max(law.limit(subject), min(start / 2, 0.01))
    shorter = True
    while shorter:
        shorter = False
        for candidate in trial.simpler():
            if candidate.size() >= trial.size():
                continue
            if law.violation(subject, candidate)[0] > enough:
                trial, shorter = candidate, True
                break
    return trial


def _example(law: Law, subject: Subject, trial: Trial) -> Counterexample:
    values = {name: float(value[0]) for name, value in law.measured(subject, trial).items()}
    arrays = {name: array[0] for name, array in trial.arrays().items()}
    code = "\n".join([*subject.header(), *law.script(subject, trial)])
    return Counterexample(law.name, arrays, values, code)
