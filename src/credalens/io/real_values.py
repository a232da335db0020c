"""Stored values as distributions on the real line, and what is wrong with invalid rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from credalens._backend import Array
from credalens.io.real_columns import RealLayout
from credalens.io.source import Block, Source
from credalens.io.values import FIX_ROW, MISSING_FIX, ValueOptions


@dataclass(frozen=True)
class RealValues(ValueOptions):
    """What stored values of real-valued targets are; there is nothing to convert."""

    layout: RealLayout = field(default_factory=lambda: RealLayout("samples"))

    def uniform(self, source: Source) -> float:
        """Return a value for models that lack the row, which is not used."""
        return 0.0

    def check(self, source: Source, values: Array) -> None:
        """Do nothing: no option contradicts the values."""

    def convert(self, source: Source, values: Array) -> tuple[Array, float]:
        """Return values ``(r, M, S)``, quantiles in increasing order, and 0."""
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
        if self._invalid(values).any():
            raise ValueError("some rows are invalid")
        return np.sort(values, axis=-1) if self.layout.kind == "quantiles" else values, 0.0

    def _invalid(self, values: Array) -> Array:
        """Return which rows are invalid."""
        bad = ~np.isfinite(values).all(axis=(1, 2))
        if self.layout.kind == "normal":
            bad |= (values[..., 1] < 0).any(axis=1)
        return np.asarray(bad)

    def row_errors(
        self,
        source: Source,
        block: Block,
        class_names: tuple[str, ...] | None,
        *,
        first: bool = False,
    ) -> dict[int, str]:
        """Return what is wrong with each invalid row of a block, or with the first one."""
        names = class_names or tuple(str(k) for k in range(block.values.shape[2]))
        values = block.values.astype(np.float64)
        found: dict[int, str] = {}
        for i in np.flatnonzero(self._invalid(values))[: 1 if first else None].tolist():
            found[i] = block.errors.get(i) or self._describe(values[i], names)
        return found

    def _describe(self, rows: Array, names: tuple[str, ...]) -> str:
        bad = ~np.isfinite(rows)
        if not bad.any():
            bad[:, 1] = rows[:, 1] < 0
        m, k = (int(i) for i in np.argwhere(bad)[0])
        at = f"{names[k]}" + (f" of member {m}" if len(rows) > 1 else "")
        if np.isnan(rows[m, k]):
            whole = self.suggest_missing and np.isnan(rows[m]).all()
            return f"{at} is missing or NaN; {FIX_ROW}{f', {MISSING_FIX}' if whole else ''}"
        if np.isinf(rows[m, k]):
            return f"{at} is infinite; {FIX_ROW}"
        return f"{at} is {rows[m, k]:.6g}, a negative standard deviation; {FIX_ROW}"
