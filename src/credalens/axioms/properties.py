"""Further properties: dominance, translations, imprecision, permutations."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from credalens._arrays import Array
from credalens.axioms.laws import Law, Values
from credalens.axioms.pool import Rng, Trial, draw
from credalens.axioms.subject import Subject
from credalens.measures.table import Measure


class _Ceiling(Law):
    """A value that must not exceed, or be exceeded by, others."""

    @abstractmethod
    def others(self, subject: Subject) -> list[str | None]:
        """Return the code of each of the others, ``None`` where only its number is known."""

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        values = self.measured(subject, trial)
        less = "other > value" if subject.is_total else "value > other"
        lines = [
            subject.array("members", trial.members),
            subject.measure_line("value", "members"),
            "violated = False",
        ]
        for (label, number), text in zip(
            list(values.items())[1:], self.others(subject), strict=True
        ):
            lines += [
                f"other = {text or repr(float(number[0]))}  # {label}",
                f'print("{self.name}: the value is", value, "and {label} is", other)',
                f"violated = violated or {less} + {self.limit(subject):g}",
            ]
        return lines


class _Dominance(_Ceiling):
    """González-García et al. (2026), Proposition 4.4."""

    name = "dominance"
    statement = "no part exceeds the total"
    many = True

    def measured(self, subject: Subject, trial: Trial) -> Values:
        others = {
            label: subject.value(trial.members, other)
            for label, other in subject.companions.items()
        }
        return {"value": subject.value(trial.members), **others}

    def excess(self, subject: Subject, values: Values) -> Array:
        value, *others = values.values()
        sign = -1 if subject.is_total else 1
        return np.asarray(np.max([sign * (value - other) for other in others], axis=0))

    def others(self, subject: Subject) -> list[str | None]:
        sets = subject.text("members[None]")
        return [
            f'float(cl.axioms.MEASURES["{other.name}"]({sets})[0])'
            if isinstance(other, Measure)
            else None
            for other in subject.companions.values()
        ]


class _ImpreciseBound(_Ceiling):
    """González-García et al. (2026), Proposition 4.6."""

    name = "mmi"
    statement = "at most half of the maximum mean imprecision"

    def measured(self, subject: Subject, trial: Trial) -> Values:
        return {
            "value": subject.value(trial.members),
            "half the imprecision": subject.value(trial.members, subject.imprecision) / 2,
        }

    def excess(self, subject: Subject, values: Values) -> Array:
        return values["value"] - values["half the imprecision"]

    def others(self, subject: Subject) -> list[str | None]:
        if subject.imprecision_text is None:
            return [None]
        return [f"float({subject.imprecision_text}({subject.text('members[None]')})[0]) / 2"]


class _Translation(Law):
    """González-García et al. (2026), Proposition 4.5."""

    name = "translation"
    statement = "translation invariant: moving the set within the simplex changes nothing"

    def draw(self, rng: Rng, n: int, M: int, K: int) -> Trial:
        return Trial(draw(rng, n, M, K), toward=rng.permutation(draw(rng, n, 1, K)))

    def moved(self, subject: Subject, trial: Trial) -> Array:
        """Return the sets moved towards the target as far as the simplex lets them."""
        way = trial.target() - trial.members.mean(axis=1, keepdims=True)
        room = subject.lower(trial.members)[:, None, :]
        share = np.divide(room, -way, out=np.ones_like(way), where=way < 0)
        step = np.clip(share.min(axis=2, keepdims=True), 0, 1)
        return np.asarray(np.maximum(trial.members + step * way, 0))

    def applies(self, subject: Subject, trial: Trial) -> Array:
        return subject.translates(trial.members, self.moved(subject, trial))

    def measured(self, subject: Subject, trial: Trial) -> Values:
        return {
            "value": subject.value(trial.members),
            "moved": subject.value(self.moved(subject, trial)),
        }

    def excess(self, subject: Subject, values: Values) -> Array:
        return np.asarray(np.abs(values["moved"] - values["value"]))

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        shift = self.moved(subject, trial) - trial.members
        return [
            subject.array("members", trial.members),
            subject.array("shift", shift[:, 0]),
            "moved = np.maximum(members + shift, 0)",
            subject.measure_line("value", "members"),
            subject.measure_line("after", "moved"),
            'print("translation: the value is", value, "and, moved,", after)',
            f"violated = abs(after - value) > {self.limit(subject):g}",
        ]


class _Permutation(Law):
    """Classes and members have no order. A rotation and a swap generate all permutations."""

    name = "permutation"
    statement = "permutation invariant: the order of classes and of members plays no part"

    @staticmethod
    def swapped(P: Array) -> Array:
        """Return the sets with their first two classes exchanged."""
        return np.concatenate([P[..., 1::-1], P[..., 2:]], axis=-1)

    def measured(self, subject: Subject, trial: Trial) -> Values:
        P = trial.members
        return {
            "value": subject.value(P),
            "members reversed": subject.value(P[:, ::-1]),
            "members rotated": subject.value(np.roll(P, 1, axis=1)),
            "classes swapped": subject.value(self.swapped(P)),
            "classes rotated": subject.value(np.roll(P, 1, axis=2)),
        }

    def excess(self, subject: Subject, values: Values) -> Array:
        value, *others = values.values()
        return np.asarray(np.max([np.abs(other - value) for other in others], axis=0))

    def script(self, subject: Subject, trial: Trial) -> list[str]:
        K = trial.members.shape[2]
        order = [1, 0, *range(2, K)]
        return [
            subject.array("members", trial.members),
            subject.measure_line("value", "members"),
            subject.measure_line("turned", "members[::-1]"),
            subject.measure_line("rolled", "np.roll(members, 1, axis=0)"),
            subject.measure_line("swapped", f"members[:, {order}]"),
            subject.measure_line("rotated", "np.roll(members, 1, axis=1)"),
            "others = np.array([turned, rolled, swapped, rotated])",
            'print("permutation: the value is", value, "and, reordered,", others)',
            f"violated = np.abs(others - value).max() > {self.limit(subject):g}",
        ]


PROPERTIES: tuple[Law, ...] = (_Dominance(), _Translation(), _ImpreciseBound(), _Permutation())
