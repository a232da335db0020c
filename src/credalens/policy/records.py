"""What a policy was chosen from, and what it guarantees."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._backend import Array


@dataclass(frozen=True)
class PolicyGuarantee:
    """A property of kept predictions that holds with a confidence level.

    Examples
    --------
    >>> from credalens.policy import PolicyGuarantee
    >>> g = PolicyGuarantee("accuracy", None, 0.99, 0.95, 0.95, bound=0.991, observed=0.996,
    ...                     n_tested=812)
    >>> g.describe(("cat", "dog"))
    'accuracy of the kept predictions >= 0.99 (bound 0.9910, observed 0.9960, 812 tested)'
    """

    #: ``"accuracy"`` or ``"precision"`` of the kept predictions, or ``"sensitivity"``: the share of
    #: the instances of a class that are not kept as another class.
    quantity: str
    #: Index of the class; None for all.
    class_index: int | None
    target: float
    #: Probability, over the calibration data, that all guarantees of the policy hold.
    confidence: float
    #: Confidence level of the test of this one.
    level: float
    #: Exact (Clopper-Pearson) lower bound, and the value in the test part; NaN if nothing is kept.
    bound: float
    observed: float
    #: Number of instances that the bound is computed from.
    n_tested: int

    def describe(self, class_names: Sequence[str]) -> str:
        """Return the guarantee as a sentence."""
        if self.quantity == "accuracy":
            what = "accuracy of the kept predictions"
        else:
            name = "" if self.class_index is None else class_names[self.class_index]
            what = f"{self.quantity} of {name}"
        if math.isnan(self.bound):
            return f"{what} >= {self.target:g} (no prediction is kept)"
        return (
            f"{what} >= {self.target:g} (bound {self.bound:.4f}, observed {self.observed:.4f}, "
            f"{self.n_tested} tested)"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON value."""
        return {
            "quantity": self.quantity,
            "class": self.class_index,
            "target": self.target,
            "confidence": self.confidence,
            "level": self.level,
            "bound": None if math.isnan(self.bound) else self.bound,
            "observed": None if math.isnan(self.observed) else self.observed,
            "tested": self.n_tested,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> PolicyGuarantee:
        """Return the guarantee of a JSON value that is valid by the schema."""
        bound, observed = (
            math.nan if value[name] is None else float(value[name])
            for name in ("bound", "observed")
        )
        return cls(
            value["quantity"], value["class"], float(value["target"]), float(value["confidence"]),
            float(value["level"]), bound, observed, int(value["tested"]),
        )  # fmt: skip


@dataclass(frozen=True)
class CalibrationData:
    """The data from which a policy was chosen: how much it keeps there, and its digests.

    Examples
    --------
    >>> from credalens.policy import CalibrationData
    >>> data = CalibrationData(rows=1000, kept=800, kept_labelled=800, kept_correct=796)
    >>> data.keep_rate, data.accuracy
    (0.8, 0.995)
    """

    #: Number of instances, of those that are kept, of the kept ones with a label, and of those
    #: whose prediction is the label.
    rows: int
    kept: int
    kept_labelled: int = 0
    kept_correct: int = 0
    #: Names of files or arrays with their SHA-256 digests, None for a pipe.
    files: tuple[tuple[str, str | None], ...] = ()

    @property
    def keep_rate(self) -> float:
        """Share of the instances that are kept; NaN without instances."""
        return self.kept / self.rows if self.rows else math.nan

    @property
    def accuracy(self) -> float:
        """Share of the kept, labelled instances that are correct; NaN if there are none."""
        return self.kept_correct / self.kept_labelled if self.kept_labelled else math.nan

    @property
    def fingerprint(self) -> str:
        """One digest of all `files`."""
        text = "\n".join(f"{name} {digest}" for name, digest in self.files)
        return hashlib.sha256(text.encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON value."""
        return {
            "rows": self.rows,
            "kept": self.kept,
            "kept_labelled": self.kept_labelled,
            "kept_correct": self.kept_correct,
            "files": [{"name": name, "sha256": digest} for name, digest in self.files],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> CalibrationData:
        """Return the data of a JSON value that is valid by the schema."""
        counts = {k: int(value[k]) for k in ("rows", "kept", "kept_labelled", "kept_correct")}
        files = tuple((file["name"], file["sha256"]) for file in value["files"])
        return cls(**counts, files=files)


def array_digest(array: Any) -> str:
    """Return the SHA-256 digest of the dtype, shape and values of an array."""
    values: Array = np.ascontiguousarray(array)
    head = f"{values.dtype.str} {values.shape}".encode()
    return hashlib.sha256(head + b"\n" + values.tobytes()).hexdigest()
