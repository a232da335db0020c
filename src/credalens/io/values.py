"""Stored values as probabilities, and what is wrong with rows that are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._row_kinds import (
    EXACT,
    NEAR,
    RowKind,
    distribution_axis,
    distribution_groups,
    row_kind,
)
from credalens.io.source import Block, Source, raise_file_error
from credalens.sets import ConvexHull

FIX_ROW = "fix the row, or drop it by --on-error skip"
MISSING_FIX = "or pass --missing allow if models lack rows"
#: What to do about rows that are not distributions, by their kind.
FIXES: dict[RowKind, str] = {
    "distributions": FIX_ROW,
    "rounded below 0": "write numpy.clip(x, 0, None) of the probabilities",
    "log-probabilities": "these are log-probabilities: pass --logits",
    "logits": "pass --logits if these are logits",
    "percentages": "these look like percentages: pass --percent",
    "counts": "pass --normalize if these are counts",
    "nearly distributions": "pass --normalize to rescale",
    "several distributions": "each row consists of several distributions: save one file per model",
    "equal sums": "pass --normalize to rescale",
    "scores": "these are scores in [0, 1] that do not sum to 1, such as sigmoid outputs: save "
    "softmax outputs",
    "unclear": "pass --logits for logits, --normalize for weights, or --on-error skip",
}


@dataclass(frozen=True)
class ValueOptions:
    """How stored values become probabilities."""

    logits: bool = False
    #: Take the softmax even if the rows are distributions.
    force_logits: bool = False
    #: Divides the logits.
    temperature: float = 1.0
    normalize: bool = False
    percent: bool = False
    #: Whether errors suggest ``--missing allow``.
    suggest_missing: bool = False

    def is_logits(self, source: Source) -> bool:
        """Return whether a file contains logits."""
        return self.logits or self.force_logits or source.content == "logits"

    def uniform(self, source: Source) -> float:
        """Return the value that every class of a uniform row has in a file."""
        if self.is_logits(source):
            return 0.0
        share = 1 / max(source.n_classes, 2)
        if source.content == "logprobs":
            return float(np.log(share))
        return 100 * share if self.percent else share

    def convert(self, source: Source, values: Array) -> tuple[Array, float]:
        """Return values ``(r, M, K)`` as probabilities, and the largest deviation of their sums.

        The deviation is 0 for rows that are exact in single precision.
        """
        values = self._rescaled(source, values)
        if self.is_logits(source):
            if source.n_classes == 1:
                values = np.concatenate([np.zeros_like(values), values], axis=2)
            return np.asarray(ConvexHull.from_logits(values, self.temperature).members), 0.0
        if source.n_classes == 1:
            inside = np.clip(values, 0, 1)
            values = np.where(np.abs(values - inside) <= EXACT, inside, values)
            values = np.concatenate([1 - values, values], axis=2)
        deviations = [0.0]
        found = _validation.probabilities(
            values,
            source.path,
            normalize=self.normalize,
            rounding=source.rounding,
            report=lambda _, deviation: deviations.append(deviation),
        )
        return found, max(deviations)

    def _rescaled(self, source: Source, values: Array) -> Array:
        if source.content == "logprobs" and not self.is_logits(source):
            with np.errstate(over="ignore"):
                return np.exp(values)
        return values / values.dtype.type(100) if self.percent else values

    def check(self, source: Source, values: Array) -> None:
        """Raise if an option contradicts the first rows of a file.

        The softmax is not taken of rows that already are distributions, nor are these divided by
        100.
        """
        if source.n_classes == 1 or not (self.percent or (self.logits and not self.force_logits)):
            return
        kind = row_kind(values.reshape(-1, values.shape[-1]))
        if self.percent and kind == "distributions":
            problem = "--percent was passed, but its rows sum to 1"
            raise_file_error(source.path, problem, "leave out --percent")
        instead = {"distributions": "", "percentages": " and pass --percent"}
        instead |= dict.fromkeys(("nearly distributions", "equal sums"), " and pass --normalize")
        instead["several distributions"] = ", and save one file per model"
        instead["rounded below 0"] = ", and write numpy.clip(x, 0, None)"
        if self.logits and kind in instead:
            what = {"equal sums": "have equal sums", "rounded below 0": "sum to about 1"}
            raise_file_error(
                source.path,
                f"--logits was passed, but its rows {what.get(kind, f'are {kind}')}",
                f"leave out --logits{instead[kind]}, or pass --force-logits to take their softmax",
            )

    def row_errors(
        self,
        source: Source,
        block: Block,
        class_names: tuple[str, ...] | None,
        *,
        first: bool = False,
    ) -> dict[int, str]:
        """Return what is wrong with each invalid row of a block, or with the first one."""
        values = self._rescaled(source, block.values).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            suspect = ~np.isfinite(values).all(axis=(1, 2))
            if not self.is_logits(source):
                suspect |= (values < 0).any(axis=(1, 2))
                suspect |= (values > 1).any(axis=(1, 2))
                off = np.abs(values.sum(axis=2) - 1).max(axis=1)
                suspect |= ~(off <= source.rounding / 2)
        describe = _Description(self, source, values, class_names)
        found: dict[int, str] = {}
        for i in np.flatnonzero(suspect).tolist():
            try:
                self.convert(source, block.values[i : i + 1])
            except ValueError:
                found[i] = block.errors.get(i) or describe.row(i)
                if first:
                    break
        return found


class _Description:
    """What is wrong with single rows, and what to do in view of all rows of the block."""

    def __init__(
        self,
        options: ValueOptions,
        source: Source,
        values: Array,
        class_names: tuple[str, ...] | None,
    ) -> None:
        self.options, self.source, self.values = options, source, values
        n_classes = values.shape[2]
        self.names = class_names or tuple(str(k) for k in range(n_classes))
        self.kind = row_kind(values.reshape(-1, n_classes))
        self.fix = FIXES[self.kind]
        axis = distribution_axis(values)
        as_axes = getattr(source, "axes_option", None)
        if source.content == "logprobs" and self.kind != "distributions":
            self.fix = ("the exponentials of log-probabilities of all classes sum to 1: save all, "
                        "or pass --logits to rescale those of some")  # fmt: skip
        elif axis is not None and as_axes is not None and self.kind != "distributions":
            self.fix = f"its classes seem to be on another axis: pass {as_axes(axis)}"
        elif self.kind == "several distributions" and source.n_members == 1:
            self.fix = _regrouped(values)
        elif self.kind == "scores" and getattr(source, "axes", ()) == ("rows", "classes"):
            self.fix += ", or pass --axes rows,models if these are of class 1 by several models"

    def row(self, i: int) -> str:
        """Return problem and fix of row `i`, separated by a semicolon."""
        rows = self.values[i]
        is_logits = self.options.is_logits(self.source)
        missing = "missing or NaN" if "--columns" in self.source.options else "NaN"
        tests = {missing: np.isnan(rows), "infinite": np.isposinf(rows), "-inf": np.isneginf(rows)}
        if not is_logits:
            tests["negative"] = rows < 0
        for word, bad in tests.items():
            if bad.any():
                m, k = (int(i) for i in np.argwhere(bad)[0])
                at = f"class {self.names[k]}" + (f" of member {m}" if len(rows) > 1 else "")
                fix = FIX_ROW
                if self.options.suggest_missing and np.isnan(rows[m]).all():
                    fix += f", {MISSING_FIX}"
                if word == "negative" or (np.isneginf(rows[m, k]) and not is_logits):
                    fix = self._fix(rows[m])
                return f"{at} is {word}; {fix}"
        if self.source.n_classes == 1:
            m = int(np.argmax(rows[:, 0] > 1))
            problem = f"the probability {rows[m, 0]:.6g} is above 1"
            return f"{problem}; {self._single_fix()}"
        sums = rows.sum(axis=1)
        m = int(np.argmin(sums) if self.options.normalize else np.argmax(np.abs(sums - 1)))
        problem = f"{f'member {m} ' if len(rows) > 1 else ''}sums to {sums[m]:.10g}"
        if self.options.normalize:
            return f"{problem} and cannot be rescaled; {FIX_ROW}"
        return f"{problem}; {self._fix(rows[m])}"

    def _fix(self, row: Array) -> str:
        source = self.source
        headerless = "--header" in source.options and source.class_names is None
        integers = bool((row == np.rint(row)).all())
        header = "pass --header if these are names of classes, or " if (
            headerless and integers) else ""  # fmt: skip
        return header + (self._fix_one(row) if self.kind == "distributions" else self.fix)

    def _fix_one(self, row: Array) -> str:
        """Return the fix for one of few invalid rows."""
        total = float(row.sum())
        if (row >= 0).all() and abs(total - 1) <= NEAR:
            return f"pass --normalize to rescale, {FIX_ROW}"
        # Without one column, the row may be a distribution.
        over = np.flatnonzero(np.abs(total - row - 1) <= self.source.rounding)
        if len(over) == 1 and "--columns" in self.source.options and len(row) > 2:
            column = self.names[int(over[0])]
            kept = [name for name in self.names if name != column]
            which = f"--columns {','.join(kept)}" if len(kept) <= 10 else "--columns without it"
            return f"without {column} it sums to 1: pass {which}, or {FIX_ROW}"
        return FIX_ROW

    def _single_fix(self) -> str:
        finite = self.values[np.isfinite(self.values)]
        integers, large = bool((finite == np.rint(finite)).all()), float(finite.max()) > 10
        if integers and large:
            return "pass --percent if these are percentages, not predicted classes"
        if integers:
            return "these are integers, like predicted classes: save one probability per class"
        if large:
            return "pass --percent for percentages, or --logits for logits"
        return "pass --logits for logits, or save one column per class"


def _regrouped(values: Array) -> str:
    """Return the fix for rows that consist of the distributions of several models."""
    n_classes = values.shape[2]
    groups, adjacent = distribution_groups(values[:, 0]) or (1, True)
    size = n_classes // groups
    array = f"x.reshape(-1, {groups}, {size})"
    if not adjacent:
        array = f"x.reshape(-1, {size}, {groups}).swapaxes(1, 2)"
    return f"each row consists of {groups} distributions: save {array}, or one file per model"


#: The note for a file with the probability of one of two classes.
SIGMOID_NOTE = "its only column is read as the probability of class 1 of the two classes 0 and 1"
