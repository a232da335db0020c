"""Versions of an ensemble: as given, without models that distort the uncertainty, repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import credalens as cl
from credalens import _validation
from credalens.io import Predictions

GIVEN, REPAIRED = "as given", "repaired"


@dataclass(frozen=True)
class Version:
    """A version of an ensemble, in parts with possibly different members."""

    #: `GIVEN`, `REPAIRED`, or which models are left out.
    label: str
    parts: tuple[Predictions, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_members(self) -> str:
        """Number of members, or the numbers of the parts."""
        return ", ".join(str(n) for n in sorted({part.members.shape[1] for part in self.parts}))


def versions(predictions: Predictions, seed: int = 0) -> list[Version]:
    """Return an ensemble as given and, if a model distorts it, without such models and repaired.

    Models that distort the uncertainty are found by `diagnose_members` with the labels. The repair
    is fitted to one half of the rows and applied to the other half, for both halves.
    """
    if predictions.labels is None:
        _validation.raise_invalid("labels", "no file has labels", "pass --labels FILE")
    members, labels = predictions.members, predictions.labels
    found = [Version(GIVEN, (predictions,))]
    faulty = cl.diagnose_members(members, labels, predictions.names).spoilers
    if not faulty:
        return found
    others = [m for m in range(len(predictions.names)) if m not in faulty]
    names = ", ".join(predictions.names[m] for m in faulty)
    if others:
        found.append(Version(f"without {names}", (selected(predictions, others),)))
    return [*found, repaired(predictions, seed)]


def selected(predictions: Predictions, members: Sequence[int]) -> Predictions:
    """Return the predictions of some members."""
    names = tuple(predictions.names[m] for m in members)
    return replace(predictions, names=names, members=predictions.members[:, list(members)])


def repaired(predictions: Predictions, seed: int = 0) -> Version:
    """Return the two halves of the rows, each repaired by `validity.repair` fitted to the other."""
    labels = np.asarray(predictions.labels)
    order = np.random.default_rng(seed).permutation(len(labels))
    first, second = (np.sort(half) for half in np.array_split(order, 2))
    parts, notes = [], []
    for fit, apply in ((first, second), (second, first)):
        repair = cl.validity.repair(predictions.members[fit], labels[fit], names=predictions.names)
        members = np.asarray(repair(predictions.members[apply]))
        names = tuple(predictions.names[m] for m in repair.kept)
        parts.append(replace(predictions, names=names, members=members, labels=labels[apply]))
        notes.append(
            f"Repair fitted to {len(fit)} rows: keeps {', '.join(names)}; level of the alpha-cut "
            f"{repair.alpha:.3g}; common temperature {repair.common_temperature:.3g}."
        )
    return Version(REPAIRED, tuple(parts), tuple(notes))
