"""The paper's axioms A1 to A5 (section 3)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from credalens._arrays import Array
from credalens.axioms.laws import PARENTS, Law, Values
from credalens.axioms.pool import Rng, Trial, draw, draw_weights
from credalens.axioms.report import Counterexample
from credalens.axioms.subject import Subject

#: Trials of each size whose way to the target is bisected for a jump.
BISECTED = 32
#: Corners of the regular polygons on which an unknown bound is tested.
CORNERS = (8, 16, 32, 64, 128)


class _Boundedness(Law):
    """A1."""

    name = "A1"
    statement = "bounded: the value is in [0, C]"
    many = True  # stars with an arm for each class have made S* - GH negative

    def measured(self, subject: Subject, trial: Trial) -> Values:
        return {"value": subject.value(trial.members)}

    def excess(self, subject: Subject, values: Values) -> Array:
        value = values["value"]
        top = np.inf if subject.bound is None else subject.bound
        return np.where(np.isfinite(value), np.maximum(-value, value - top), np.inf)

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        top = "np.inf" if subject.bound is None else repr(float(subject.bound))
        limit = self.limit(subject)
        return [
            subject.array("members", trial.members),
            subject.measure_line("value", "members"),
            f'print("A1: the value is", value, "and should be in [0, {top}]")',
            f"violated = not (np.isfinite(value) and -{limit:g} <= value <= {top} + {limit:g})",
        ]

    def last_resort(self, subject: Subject, n_classes: int) -> Counterexample | None:
        return _growth(self, subject, n_classes) if subject.bound is None else None


class _Continuity(Law):
    """A2.

    The generators move by a share of the way towards others; the Hausdorff distance is then at
    most that share of the diameter of the simplex. A generator may start inside the hull and
    leave it. The number of generators does not change: that they are counted breaks A5a, not A2.
    """

    name = "A2"
    statement = "continuous: sets that are close in Hausdorff distance have close values"
    # A jump must stand out from entropy's eps log(1/eps), 1e-7 for the smallest step.
    strictness = 100.0
    steps: ClassVar[tuple[float, ...]] = (1e-3, 1e-6, 1e-9)

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Trial:
        members = draw(rng, n, M, K)
        inside = rng.random((n, M, 1)) < 0.3
        inside[:, 0] = False
        members = np.where(inside, draw_weights(rng, n, M, M) @ members, members)
        toward = rng.permutation(draw(rng, n, M, K))
        alone = rng.random((n, 1, 1)) < 0.5  # only one generator moves
        return Trial(members, toward=np.where(alone & (np.arange(M)[:, None] < M - 1),
                                              members, toward))  # fmt: skip

    def measured(self, subject: Subject, trial: Trial) -> Values:
        values = {"value": subject.value(trial.members)}
        for step in self.steps:
            near = (1 - step) * trial.members + step * trial.target()
            values[f"moved by {step:g}"] = subject.value(near)
        return values

    def excess(self, subject: Subject, values: Values) -> Array:
        start, _, middle, last = values.values()
        jump = np.abs(last - start)
        # The change of a continuous measure shrinks with the step: even 1/log(1/eps) by a third.
        return np.where(jump > 0.9 * np.abs(middle - start), jump, 0.0)

    def refined(self, subject: Subject, rng: Rng, trial: Trial) -> tuple[Trial, Array]:
        # The size of a jump has no slope to climb: look for jumps on the way to the targets.
        violation = self.violation(subject, trial)
        best = trial[np.argsort(-violation, kind="stable")[:PARENTS]]
        some = trial[rng.permutation(len(trial))[:BISECTED]]
        trial = best.joined(self.bisected(subject, some))
        return trial, self.violation(subject, trial)

    def bisected(self, subject: Subject, trial: Trial) -> Trial:
        """Return the trials started where the value changes most on the way to the target."""
        low, high = np.zeros((len(trial), 1, 1)), np.ones((len(trial), 1, 1))

        def at(share: Array) -> Array:
            return np.asarray((1 - share) * trial.members + share * trial.target())

        first, last = subject.value(at(low)), subject.value(at(high))
        for _ in range(36):  # to 1.5e-11, well below the smallest step
            half = (low + high) / 2
            middle = subject.value(at(half))
            with np.errstate(invalid="ignore"):
                left = np.abs(middle - first) >= np.abs(last - middle)
            where = left[:, None, None]
            low, high = np.where(where, low, half), np.where(where, half, high)
            first, last = np.where(left, first, middle), np.where(left, middle, last)
        return Trial(at(low), toward=trial.target())

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        return [
            subject.array("members", trial.members),
            subject.array("toward", trial.target()),
            f"near = (1 - {self.steps[-1]:g}) * members + {self.steps[-1]:g} * toward",
            subject.measure_line("value", "members"),
            subject.measure_line("moved", "near"),
            'print("A2: a step of", np.abs(near - members).max(), "changes", value, "to", moved)',
            f"violated = abs(moved - value) > {self.limit(subject):g}",
        ]


class _Monotonicity(Law):
    """A3."""

    name = "A3"
    statement = "monotone: a subset is not more uncertain"
    sizes = (2, 3, 5)

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Trial:
        # More points than the set around them: a square fits into a triangle.
        return Trial(draw(rng, n, M, K), weights=draw_weights(rng, n, M + 2, M))

    def applies(self, subject: Subject, trial: Trial) -> Array:
        return subject.nested(trial.mixtures(), trial.members)

    def measured(self, subject: Subject, trial: Trial) -> Values:
        return {"inner": subject.value(trial.mixtures()), "outer": subject.value(trial.members)}

    def excess(self, subject: Subject, values: Values) -> Array:
        return values["inner"] - values["outer"]

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        return [
            subject.array("outer", trial.members),
            subject.array("weights", trial.weights),
            "inner = weights @ outer  # mixtures of the generators of the outer set",
            subject.measure_line("smaller", "inner"),
            subject.measure_line("larger", "outer"),
            'print("A3: the subset has", smaller, "and the set around it has", larger)',
            f"violated = smaller > larger + {self.limit(subject):g}",
        ]


class _Consistency(Law):
    """A4."""

    name = "A4"
    statement = "probability consistent: the value of {p} depends on p alone"
    sizes = (1,)
    copies: ClassVar[int] = 3
    #: Trials measured one by one, to see whether the rest of the batch plays a part.
    companies: ClassVar[int] = 40

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Trial:
        return Trial(draw(rng, n, 1, K), toward=rng.permutation(draw(rng, n, 1, K)))

    def applies(self, subject: Subject, trial: Trial) -> Array:
        return subject.precise(trial.members)

    def measured(self, subject: Subject, trial: Trial) -> Values:
        alone = subject.value(trial.members)
        company, single = alone.copy(), alone.copy()
        for i in range(0, len(trial), max(1, len(trial) // self.companies)):
            pair = np.concatenate([trial.members[i : i + 1], trial.target()[i : i + 1]])
            company[i], single[i] = subject.value(pair)[0], subject.value(pair[:1])[0]
        copies = subject.value(np.repeat(trial.members, self.copies, axis=1))
        # Compared with the value in the same batch: batches are the business of `company`.
        return {"alone": single, "copies": copies - alone + single, "with another": company}

    def excess(self, subject: Subject, values: Values) -> Array:
        alone, copies, company = values.values()
        return np.asarray(np.maximum(np.abs(copies - alone), np.abs(company - alone)))

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        return [
            subject.array("p", trial.members),
            subject.array("other", trial.target()),
            f"copies = np.repeat(p, {self.copies}, axis=0)",
            subject.measure_line("alone", "p"),
            subject.measure_line("copied", "copies"),
            f"company = float(measure({subject.text('np.stack([p, other])')})[0])",
            'print("A4: alone", alone, "as copies", copied, "with another set", company)',
            f"violated = max(abs(copied - alone), abs(company - alone)) > {self.limit(subject):g}",
        ]


class _Representation(Law):
    """A5 (a)."""

    name = "A5a"
    statement = "a function of the hull: points of it may be added, redundant generators removed"

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Trial:
        return Trial(draw(rng, n, M, K), weights=draw_weights(rng, n, 3, M))

    def applies(self, subject: Subject, trial: Trial) -> Array:
        more = np.concatenate([trial.members, trial.mixtures()], axis=1)
        return subject.nested(more, trial.members) & subject.nested(trial.members, more)

    def measured(self, subject: Subject, trial: Trial) -> Values:
        P, extra = trial.members, trial.mixtures()
        return {
            "without": subject.value(P),
            "appended": subject.value(np.concatenate([P, extra], axis=1)),
            "in front": subject.value(np.concatenate([extra, P], axis=1)),
        }

    def excess(self, subject: Subject, values: Values) -> Array:
        without, appended, front = values.values()
        return np.asarray(np.maximum(np.abs(appended - without), np.abs(front - without)))

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        return [
            subject.array("members", trial.members),
            subject.array("weights", trial.weights),
            "mixtures = weights @ members  # points of the hull",
            "more, turned = np.vstack([members, mixtures]), np.vstack([mixtures, members])",
            subject.measure_line("without", "members"),
            subject.measure_line("appended", "more"),
            subject.measure_line("front", "turned"),
            'print("A5a:", without, "with mixtures appended", appended, "or in front", front)',
            "violated = max(abs(appended - without), abs(front - without)) > "
            f"{self.limit(subject):g}",
        ]


class _Attainment(Law):
    """A5 (b)."""

    name = "A5b"
    statement = "attained: optimising over the generators alone gives the value"

    def measured(self, subject: Subject, trial: Trial) -> Values:
        value = subject.value(trial.members)
        return {"value": value, "at the generators": subject.attained(trial.members, value)}

    def excess(self, subject: Subject, values: Values) -> Array:
        return np.asarray(np.abs(values["value"] - values["at the generators"]))

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        attained = self.measured(subject, trial)["at the generators"]
        return [
            subject.array("members", trial.members),
            f"Q = {subject.text('members[None]')}",
            "value = float(measure(Q)[0])",
            "attained = float(measure.at_generators(np.asarray(Q.to_hull().members))[0])"
            if subject.is_builtin
            else f"attained = {float(attained[0])!r}  # pointwise= at its best generator",
            'print("A5b: the value is", value, "and the generators attain", attained)',
            f"violated = abs(value - attained) > {self.limit(subject):g}",
        ]


def _growth(law: Law, subject: Subject, n_classes: int) -> Counterexample | None:
    """Look for growth without end on regular polygons, which come ever closer to a disc.

    No finite search can show that there is no bound, but a bounded measure must grow by less and
    less; one that gains as much from the last doubling of the corners as from the first does not.
    """
    if n_classes < 3:
        return None
    u, v = np.zeros((2, n_classes))
    u[:2], v[:3] = (1, -1), (1, 1, -2)
    values = []
    for corners in CORNERS:
        angle = 2 * np.pi * np.arange(corners)[:, None] / corners
        polygon = (1 + 0.4 * (np.cos(angle) * u + np.sin(angle) * v / np.sqrt(3))) / n_classes
        values.append(float(subject.value(polygon[None])[0]))
    gains = np.diff(values)
    if not (gains > law.limit(subject)).all() or gains[-1] < 0.9 * gains[0]:
        return None
    code = [
        *subject.header(),
        f"u, v = np.zeros((2, {n_classes}))",
        "u[:2], v[:3] = (1, -1), (1, 1, -2)",
        "values = []",
        f"for corners in {CORNERS}:",
        "    angle = 2 * np.pi * np.arange(corners)[:, None] / corners",
        "    polygon = (1 + 0.4 * (np.cos(angle) * u + np.sin(angle) * v / np.sqrt(3))) / "
        f"{n_classes}",
        f"    {subject.measure_line('value', 'polygon')}",
        "    values.append(value)",
        'print("A1: twice as many corners, no end of growth:", values)',
        "gains = np.diff(values)",
        f"violated = gains.min() > {law.limit(subject):g} and gains[-1] >= 0.9 * gains[0]",
    ]
    labels = (f"{corners} corners" for corners in CORNERS)
    return Counterexample(
        law.name, {"members": polygon}, dict(zip(labels, values, strict=True)), "\n".join(code)
    )


DESIDERATA: tuple[Law, ...] = (
    _Boundedness(),
    _Continuity(),
    _Monotonicity(),
    _Consistency(),
    _Representation(),
    _Attainment(),
)
