"""The axioms A1 to A5 of the paper (section 3), and further properties."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from credalens._backend import Array
from credalens.axioms.base import PARENTS, Axiom, Compared, Values
from credalens.axioms.candidates import Candidates, Rng, draw, draw_weights
from credalens.axioms.report import Counterexample
from credalens.axioms.target import AxiomTarget
from credalens.measures.measure import Measure
from credalens.measures.table import imprecision

#: Candidates of each size whose segments to the target are bisected for a jump.
BISECTED = 32
#: Numbers of vertices of the regular polygons on which an unknown bound is tested.
VERTICES = (8, 16, 32, 64, 128)


class _Boundedness(Axiom):
    name = "A1"
    statement = "bounded: the value is in [0, C]"
    many = True  # S* - GH is negative on stars with one ray per class

    def excess(self, target: AxiomTarget, values: Values) -> Array:
        value = values["value"]
        top = np.inf if target.bound is None else target.bound
        return np.where(np.isfinite(value), np.maximum(-value, value - top), np.inf)

    def condition(self, target: AxiomTarget, names: list[str]) -> str:
        top = "np.inf" if target.bound is None else repr(float(target.bound))
        limit = self.limit(target)
        return f"not (np.isfinite(value) and -{limit:g} <= value <= {top} + {limit:g})"

    def extra_search(self, target: AxiomTarget, n_classes: int) -> Counterexample | None:
        """Test whether the value grows without bound on polygons that approach a disc.

        A finite search cannot show that there is no bound. But the gains of a bounded measure must
        decrease; the measure fails if the last doubling of the vertices gains as much as the first.
        """
        if target.bound is not None or n_classes < 3:
            return None
        u, v = np.zeros((2, n_classes))
        u[:2], v[:3] = (1, -1), (1, 1, -2)
        values = {}
        for n in VERTICES:
            angle = 2 * np.pi * np.arange(n)[:, None] / n
            polygon = (1 + 0.4 * (np.cos(angle) * u + np.sin(angle) * v / np.sqrt(3))) / n_classes
            values[f"{n} vertices"] = float(target.value(polygon[None])[0])
        gains, limit = np.diff(list(values.values())), self.limit(target)
        if not (gains > limit).all() or gains[-1] < 0.9 * gains[0]:
            return None
        code = [
            *target.header(),
            f"u, v = np.zeros((2, {n_classes}))",
            "u[:2], v[:3] = (1, -1), (1, 1, -2)",
            "values = []",
            f"for n in {VERTICES}:",
            "    angle = 2 * np.pi * np.arange(n)[:, None] / n",
            "    polygon = 1 + 0.4 * (np.cos(angle) * u + np.sin(angle) * v / np.sqrt(3))",
            f"    values.append({target.value_code(f'polygon[None] / {n_classes}')})",
            'print("A1: values for twice as many vertices each:", values)',
            "gains = np.diff(values)",
            f"violated = gains.min() > {limit:g} and gains[-1] >= 0.9 * gains[0]",
        ]
        return Counterexample(self.name, {"members": polygon}, values, "\n".join(code))


class _Continuity(Axiom):
    """A2.

    The generators move by a fraction of the way to their targets; the Hausdorff distance is at most
    that fraction of the diameter of the simplex. A generator may start inside the hull and leave
    it. The number of generators is constant: a measure that counts them violates A5a, not A2.
    """

    name = "A2"
    statement = "continuous: sets that are close in Hausdorff distance have close values"
    # Above the eps log(1/eps) of entropy, which is 1e-7 for the smallest step.
    strictness = 100.0
    steps: ClassVar[tuple[float, ...]] = (1e-3, 1e-6, 1e-9)
    compared: ClassVar[Compared] = {
        "value": (lambda c: c.members, "members[None]"),
        "moved": (lambda c: _between(c, 1e-9), "((1 - 1e-9) * members + 1e-9 * toward)[None]"),
    }

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Candidates:
        members = draw(rng, n, M, K)
        inside = rng.random((n, M, 1)) < 0.3
        inside[:, 0] = False
        members = np.where(inside, draw_weights(rng, n, M, M) @ members, members)
        toward = rng.permutation(draw(rng, n, M, K))
        alone = rng.random((n, 1, 1)) < 0.5  # only one generator moves
        return Candidates(members, toward=np.where(alone & (np.arange(M)[:, None] < M - 1),
                                                   members, toward))  # fmt: skip

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        values = {"value": target.value(c.members)}
        for step in self.steps:
            values[f"moved by {step:g}"] = target.value(_between(c, step))
        return values

    def excess(self, target: AxiomTarget, values: Values) -> Array:
        start, _, middle, last = values.values()
        jump = np.abs(last - start)
        # The change of a continuous measure decreases with the step, 1/log(1/eps) by a third.
        return np.where(jump > 0.9 * np.abs(middle - start), jump, 0.0)

    def refine(self, target: AxiomTarget, rng: Rng, c: Candidates) -> tuple[Candidates, Array]:
        # Local search cannot find a jump; bisection along the segments to the targets can.
        violation = self.violation(target, c)
        best = c[np.argsort(-violation, kind="stable")[:PARENTS]]
        some = c[rng.permutation(len(c))[:BISECTED]]
        c = best.concatenate(self.bisected(target, some))
        return c, self.violation(target, c)

    def bisected(self, target: AxiomTarget, c: Candidates) -> Candidates:
        """Return the candidates moved to where the value changes most towards the target."""
        low, high = np.zeros((len(c), 1, 1)), np.ones((len(c), 1, 1))
        first, last = target.value(_between(c, low)), target.value(_between(c, high))
        for _ in range(36):  # to 1.5e-11, well below the smallest step
            half = (low + high) / 2
            middle = target.value(_between(c, half))
            with np.errstate(invalid="ignore"):
                left = np.abs(middle - first) >= np.abs(last - middle)
            where = left[:, None, None]
            low, high = np.where(where, low, half), np.where(where, half, high)
            first, last = np.where(left, first, middle), np.where(left, middle, last)
        return Candidates(_between(c, low), toward=c.target())


def _between(c: Candidates, share: float | Array) -> Array:
    return np.asarray((1 - share) * c.members + share * c.target())


class _Monotonicity(Axiom):
    name = "A3"
    statement = "monotone: a subset is not more uncertain"
    sizes = (2, 3, 5)
    compared: ClassVar[Compared] = {
        "inner": (Candidates.mixtures, "(weights @ members)[None]"),
        "outer": (lambda c: c.members, "members[None]"),
    }

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Candidates:
        # The inner set can have more generators: a square is a subset of a triangle.
        return Candidates(draw(rng, n, M, K), weights=draw_weights(rng, n, M + 2, M))

    def applies(self, target: AxiomTarget, c: Candidates) -> Array:
        return target.nested(c.mixtures(), c.members)

    def excess(self, target: AxiomTarget, values: Values) -> Array:
        return values["inner"] - values["outer"]

    def condition(self, target: AxiomTarget, names: list[str]) -> str:
        return f"inner > outer + {self.limit(target):g}"


class _Consistency(Axiom):
    name = "A4"
    statement = "probability consistent: the value of {p} depends on p alone"
    sizes = (1,)
    #: Number of candidates that are measured one by one, to detect dependence on the batch.
    n_single: ClassVar[int] = 40
    compared: ClassVar[Compared] = {
        "alone": (lambda c: c.members, "members[None]"),
        "copies": (
            lambda c: np.repeat(c.members, 3, axis=1),
            "np.repeat(members[None], 3, axis=1)",
        ),
        "with another": (lambda c: c.members, "np.stack([members, toward])"),
    }

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Candidates:
        return Candidates(draw(rng, n, 1, K), toward=rng.permutation(draw(rng, n, 1, K)))

    def applies(self, target: AxiomTarget, c: Candidates) -> Array:
        return target.precise(c.members)

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        in_batch, copies, _ = super().values(target, c).values()
        paired, alone = in_batch.copy(), in_batch.copy()
        for i in range(0, len(c), max(1, len(c) // self.n_single)):
            pair = np.concatenate([c.members[i : i + 1], c.target()[i : i + 1]])
            paired[i], alone[i] = target.value(pair)[0], target.value(pair[:1])[0]
        # Relative to the value in the same batch; `paired` detects dependence on the batch.
        return {"alone": alone, "copies": copies - in_batch + alone, "with another": paired}


class _Representation(Axiom):
    name = "A5a"
    statement = "a function of the hull: points of it may be added, redundant generators removed"
    compared: ClassVar[Compared] = {
        "without": (lambda c: c.members, "members[None]"),
        "appended": (
            lambda c: np.concatenate([c.members, c.mixtures()], axis=1),
            "np.vstack([members, weights @ members])[None]",
        ),
        "in front": (
            lambda c: np.concatenate([c.mixtures(), c.members], axis=1),
            "np.vstack([weights @ members, members])[None]",
        ),
    }

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Candidates:
        return Candidates(draw(rng, n, M, K), weights=draw_weights(rng, n, 3, M))

    def applies(self, target: AxiomTarget, c: Candidates) -> Array:
        more = np.concatenate([c.members, c.mixtures()], axis=1)
        return target.nested(more, c.members) & target.nested(c.members, more)


class _Attainment(Axiom):
    name = "A5b"
    statement = "attained: optimising over the generators alone gives the value"

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        value = target.value(c.members)
        return {"value": value, "at the generators": target.attained(c.members, value)}

    def code(self, target: AxiomTarget, c: Candidates) -> dict[str, str]:
        points = f"np.asarray({target.sets_code('members[None]')}.to_hull().members)"
        attained = f"float(measure.at_generators({points})[0])"
        if not isinstance(target.measure, Measure):
            number = float(self.values(target, c)["at the generators"][0])
            attained = f"{number!r}  # pointwise= at its best generator"
        return {**super().code(target, c), "attained": attained}


class _Dominance(Axiom):
    """Proposition 4.4."""

    name = "dominance"
    statement = "no part exceeds the total"
    many = True

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        others = {name: target.value(c.members, f) for name, f in target.companions.items()}
        return {"value": target.value(c.members), **others}

    def excess(self, target: AxiomTarget, values: Values) -> Array:
        value, *others = values.values()
        sign = -1 if target.is_total else 1
        return np.asarray(np.max([sign * (value - other) for other in others], axis=0))

    def code(self, target: AxiomTarget, c: Candidates) -> dict[str, str]:
        code = super().code(target, c)
        for name, other in target.companions.items():
            text = repr(float(target.value(c.members, other)[0]))
            if isinstance(other, Measure):
                text = target.value_code("members[None]", f'cl.axioms.MEASURES["{other.name}"]')
            code[re.sub(r"\W", "_", name)] = text
        return code

    def condition(self, target: AxiomTarget, names: list[str]) -> str:
        others, limit = f"np.array([{', '.join(names[1:])}])", f"{self.limit(target):g}"
        if target.is_total:
            return f"{others}.max() > value + {limit}"
        return f"value > {others}.min() + {limit}"


class _Translation(Axiom):
    """Proposition 4.5."""

    name = "translation"
    statement = "translation invariant: a translation of the set does not change the value"
    compared: ClassVar[Compared] = {
        "value": (lambda c: c.members, "members[None]"),
        "moved": (lambda c: c.members, "np.maximum(members + shift, 0)[None]"),
    }

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Candidates:
        return Candidates(draw(rng, n, M, K), toward=rng.permutation(draw(rng, n, 1, K)))

    def moved(self, target: AxiomTarget, c: Candidates) -> Array:
        """Return the sets moved towards the target as far as the simplex permits."""
        way = c.target() - c.members.mean(axis=1, keepdims=True)
        room = target.lower(c.members)[:, None, :]
        share = np.divide(room, -way, out=np.ones_like(way), where=way < 0)
        step = np.clip(share.min(axis=2, keepdims=True), 0, 1)
        return np.asarray(np.maximum(c.members + step * way, 0))

    def applies(self, target: AxiomTarget, c: Candidates) -> Array:
        return target.translates(c.members, self.moved(target, c))

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        moved = target.value(self.moved(target, c))
        return {"value": target.value(c.members), "moved": moved}

    def arrays(self, target: AxiomTarget, c: Candidates) -> dict[str, Array]:
        return {"members": c.members, "shift": (self.moved(target, c) - c.members)[:, 0]}


class _ImprecisionBound(Axiom):
    """Proposition 4.6."""

    name = "mmi"
    statement = "at most half of the maximum mean imprecision"

    def values(self, target: AxiomTarget, c: Candidates) -> Values:
        half = target.value(c.members, target.imprecision) / 2
        return {"value": target.value(c.members), "half the imprecision": half}

    def excess(self, target: AxiomTarget, values: Values) -> Array:
        return values["value"] - values["half the imprecision"]

    def code(self, target: AxiomTarget, c: Candidates) -> dict[str, str]:
        text = repr(2 * float(self.values(target, c)["half the imprecision"][0]))
        if target.imprecision is imprecision:
            text = target.value_code("members[None]", "cl.axioms.imprecision")
        return {**super().code(target, c), "mmi": text}

    def condition(self, target: AxiomTarget, names: list[str]) -> str:
        return f"value > mmi / 2 + {self.limit(target):g}"


class _Permutation(Axiom):
    """Classes and members are unordered. A rotation and a swap generate all permutations."""

    name = "permutation"
    statement = "permutation invariant: the order of classes and members does not change the value"
    compared: ClassVar[Compared] = {
        "value": (lambda c: c.members, "members[None]"),
        "members reversed": (lambda c: c.members[:, ::-1], "members[None, ::-1]"),
        "members rotated": (lambda c: np.roll(c.members, 1, 1), "np.roll(members, 1, 0)[None]"),
        "classes swapped": (
            lambda c: np.concatenate([c.members[..., 1::-1], c.members[..., 2:]], axis=-1),
            "np.hstack([members[:, 1::-1], members[:, 2:]])[None]",
        ),
        "classes rotated": (lambda c: np.roll(c.members, 1, 2), "np.roll(members, 1, 1)[None]"),
    }


#: Every axiom by name, in the order of the reports.
AXIOMS: dict[str, Axiom] = {
    axiom.name: axiom
    for axiom in (_Boundedness(), _Continuity(), _Monotonicity(), _Consistency(), _Representation(),
                  _Attainment(), _Dominance(), _Translation(), _ImprecisionBound(), _Permutation())
}  # fmt: skip
