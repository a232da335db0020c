"""Figure 1 of the paper: the three uncertainties as distances on the simplex."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from credalens.experiments.output import new_figure, save_figure
from credalens.plots import decomposition

#: Five members with different most probable classes.
EXAMPLE = (
    (0.66, 0.22, 0.12),
    (0.50, 0.44, 0.06),
    (0.32, 0.58, 0.10),
    (0.28, 0.46, 0.26),
    (0.50, 0.20, 0.30),
)


def run(out: Path, Q: Any = EXAMPLE) -> list[Path]:
    """Draw the figure for a credal set over three classes, as PNG and PDF."""
    figure = new_figure(12.6, 4.4)
    decomposition(Q, axes=figure.subplots(1, 3))
    return save_figure(figure, out, "figure1")
