"""The columns of the most common policies, by one call of a kernel.

For one row, the general path takes ten times as long: it creates a set, and arrays for every step.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array
from credalens.evaluation.kinds import Rule
from credalens.policy.policy import Policy
from credalens.policy.rules import HAND_OVER, KEEP, ThresholdRule
from credalens.sets.hull import FUSED_CHECK_TOLERANCE

#: The columns of total variation, in the order of the kernel's outputs.
NAMES = ("tv_total", "tv_aleatoric_lower", "tv_aleatoric_upper", "tv_epistemic")
_FLOAT64 = np.dtype(np.float64)
_ACTIONS = {True: KEEP, False: HAND_OVER}


_Outputs = tuple[Array, tuple[Array, Array, Array, Array, Array], NDArray[np.int64]]


def _outputs(n: int) -> _Outputs:
    """Return the measures ``(4, n)``, the outputs of the kernel that they are part of, the vote."""
    found = np.empty((5, n))
    return found[:4], (found[0], found[1], found[2], found[3], found[4]), np.empty(n, np.int64)


class _Buffers(threading.local):
    """The outputs for one row, of each thread."""

    def __init__(self) -> None:
        self.one = _outputs(1)


class TotalVariationColumns:
    """Total variation, vote and thresholds of float64 arrays, without a repair or weights."""

    def __init__(self, policy: Policy, kinds: Rule) -> None:
        rule = policy.rule
        if not isinstance(rule, ThresholdRule):
            raise TypeError
        self._rule, self._kinds = rule, kinds
        self._buffers = _Buffers()
        self._shape = policy.n_members, policy.n_classes
        self._column = NAMES.index(policy.column)
        limits = np.broadcast_to(rule.threshold, (policy.n_classes,))
        self._limits: list[float] = limits.tolist()
        named = policy.class_names is not None
        self._labels: list[Any] = list(policy.labels if named else range(policy.n_classes))

    @staticmethod
    def apply_to(policy: Policy) -> bool:
        """Return whether these are the columns of a policy."""
        return (
            isinstance(policy.rule, ThresholdRule)
            and (policy.measure, policy.distance) == ("tv", "tv")
            and policy.repair is None
            and policy.weights is None
            and not policy.reading
        )

    def measures(self, values: Array) -> tuple[Array, NDArray[np.int64]] | None:
        """Return the four measures ``(4, n)`` and the vote; None unless all rows are exact.

        For one row they are in buffers of the thread, which the next call overwrites.
        """
        flags = values.flags
        if values.dtype != _FLOAT64 or values.shape[1:] != self._shape:
            return None
        n = len(values)
        if not n or not flags.c_contiguous or not flags.aligned:
            return None
        found, outputs, vote = self._buffers.one if n == 1 else _outputs(n)
        invalid = _kernels.tv_uncertainty(
            values, *outputs, DEFAULT_THREADS, FUSED_CHECK_TOLERANCE, vote
        )
        return None if invalid >= 0 else (found, vote)

    def one(self, found: Array, vote: NDArray[np.int64]) -> tuple[dict[str, Any], int]:
        """Return the columns of one row as numbers and texts, and the index of its kind."""
        values, predicted = found[:, 0].tolist(), vote.item()
        keep = values[self._column] <= self._limits[predicted]
        total, lower, upper, epistemic = values
        columns: dict[str, Any] = {
            "prediction": self._labels[predicted],
            "tv_total": total,
            "tv_aleatoric_lower": lower,
            "tv_aleatoric_upper": upper,
            "tv_epistemic": epistemic,
            "action": KEEP if keep else HAND_OVER,
            "keep": keep,
        }
        return columns, self._kinds.code(lower, epistemic)

    def several(self, found: Array, vote: NDArray[np.int64]) -> dict[str, Any]:
        """Return the columns of several rows as arrays and lists."""
        keep = self._rule.keep(found[self._column], vote)
        columns: dict[str, Any] = {"prediction": [self._labels[k] for k in vote.tolist()]}
        columns.update(zip(NAMES, found, strict=True))
        columns["action"] = [_ACTIONS[one] for one in keep.tolist()]
        columns["keep"] = keep
        return columns
