"""Which columns of a table describe a distribution on the real line, found from their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credalens.io.columns import normalized
from credalens.io.source import raise_file_error

#: Names of the columns of a normal distribution.
MEAN_NAMES = ("mean", "mu", "loc", "pred_mean", "mean_prediction", "y_mean", "y_pred_mean")
STD_NAMES = (
    "std", "sd", "sigma", "stddev", "std_dev", "scale", "pred_std", "y_std", "uncertainty",
    "standard_deviation", "y_pred_std",
)  # fmt: skip
#: A level after a usual prefix of quantiles: q0.05, q_5, quantile_0.5, p95, 0.95.
_LEVEL = re.compile(r"(?:q|quantile|quantiles|p|pct|percentile|perc|pred_q)?_?(\d+(?:[._]\d+)?)%?")


@dataclass(frozen=True)
class RealLayout:
    """What the values of a file are: of columns, or along the last axis of an array."""

    #: ``"normal"``, ``"quantiles"`` or ``"samples"``.
    kind: str
    #: The columns, in the order of the parameters or levels; nothing for arrays.
    columns: tuple[str, ...] = ()
    #: Levels of the quantiles.
    levels: tuple[float, ...] = ()

    @property
    def described(self) -> str:
        """What the values are, for notes and errors."""
        if self.kind == "quantiles":
            return f"quantiles at {', '.join(f'{level:g}' for level in self.levels)}"
        return "mean and standard deviation" if self.kind == "normal" else "samples"


def parse_distribution(text: str) -> RealLayout:
    """Return the layout that the option ``--distribution`` names.

    Examples
    --------
    >>> parse_distribution("0.05,0.5,0.95")
    RealLayout(kind='quantiles', columns=(), levels=(0.05, 0.5, 0.95))
    """
    if text in ("normal", "samples"):
        return RealLayout(text)
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0 <= level <= 1 for level in levels) or np.any(np.diff(levels) <= 0):
        raise ValueError(
            f"--distribution: is {text!r}; choose normal, samples, or increasing levels of "
            "quantiles between 0 and 1, such as 0.05,0.5,0.95"
        )
    return RealLayout("quantiles", (), levels)


def quantile_levels(names: Sequence[str]) -> dict[str, float]:
    """Return the level of each name that is one of a quantile, in increasing order.

    Numbers are levels, or percentages if one of them is above 1.

    Examples
    --------
    >>> quantile_levels(["id", "q0.5", "q0.05"]), quantile_levels(["p5", "p50", "p95"])
    ({'q0.05': 0.05, 'q0.5': 0.5}, {'p5': 0.05, 'p50': 0.5, 'p95': 0.95})
    """
    found: dict[str, float] = {}
    for name in names:
        match = _LEVEL.fullmatch(name.strip().lower().replace("-", "_"))
        if match:
            found[name] = float(match[1].replace("_", "."))
    percent = any(level > 1 for level in found.values())
    found = {name: round(x / 100, 12) if percent else x for name, x in found.items()}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def are_levels(names: Sequence[str]) -> bool:
    """Return whether a first line of numbers has increasing levels, rather than values."""
    numbers = [float(name) for name in names]
    return (
        len(numbers) > 1 and all(0 < x < 1 for x in numbers) and bool(np.all(np.diff(numbers) > 0))
    )


def find_layout(path: str, names: Sequence[str]) -> RealLayout:
    """Return the layout of a table with columns of these names."""
    forms = {normalized(name): name for name in reversed(names)}
    mean = next((forms[known] for known in MEAN_NAMES if known in forms), None)
    std = next((forms[known] for known in STD_NAMES if known in forms), None)
    levels = quantile_levels(names)
    inside = {name: level for name, level in levels.items() if 0 <= level <= 1}
    if mean is not None and std is not None:
        if len(inside) > 1:
            fix = "pass --columns with the columns of one of them"
            raise_file_error(path, "has columns of a mean and of quantiles", fix)
        return RealLayout("normal", (mean, std))
    if len(inside) > 1 and len(set(inside.values())) == len(inside):
        return RealLayout("quantiles", tuple(inside), tuple(inside.values()))
    if not names:
        fix = "add a header, or pass --distribution normal, samples or levels"
        return raise_file_error(path, "has no header that says what its columns are", fix)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return raise_file_error(
        path,
        f"has neither columns mean and std nor quantiles such as q0.05 and q0.5, but {shown}",
        "rename the columns, or pass --columns and --distribution normal, samples or levels",
    )


def select_columns(path: str, columns: Sequence[str], given: RealLayout | None) -> RealLayout:
    """Return the layout of columns that were named by an option."""
    if given is None:
        found = find_layout(path, columns)
        if len(found.columns) < len(columns):
            left = ", ".join(name for name in columns if name not in found.columns)
            fix = "pass --distribution normal, samples or levels"
            raise_file_error(path, f"it is not known what {left} of --columns is", fix)
        return found
    check_size(path, given, len(columns))
    return RealLayout(given.kind, tuple(columns), given.levels)


def check_size(path: str, layout: RealLayout, size: int) -> None:
    """Raise if a file does not have as many values per row and model as its layout needs."""
    wanted = {"normal": 2, "quantiles": len(layout.levels)}.get(layout.kind, size)
    if wanted != size:
        what = f"{layout.described}: {wanted} values"
        raise_file_error(path, f"has {size} values per row, not {what}", "correct --distribution")
