"""The paper's Figure 1: the three uncertainties as distances on the simplex."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from credalens._files import replacing
from credalens.plots import decomposition

#: A set of five members that do not all put the same class first.
EXAMPLE = (
    (0.66, 0.22, 0.12),
    (0.50, 0.44, 0.06),
    (0.32, 0.58, 0.10),
    (0.28, 0.46, 0.26),
    (0.50, 0.20, 0.30),
)


def run(out: Path, Q: Any = EXAMPLE) -> list[Path]:
    """Draw the figure for any credal set over three classes, as PNG and PDF.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from credalens.experiments import figure1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in figure1.run(pathlib.Path(folder))]
    ['figure1.png', 'figure1.pdf']
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.6, 4.4), layout="constrained")
    decomposition(Q, axes=figure.subplots(1, 3))
    return save(figure, out, "figure1")


def save(figure: Any, out: Path, name: str) -> list[Path]:
    """Write a figure as PNG and PDF, each whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}.{kind}" for kind in ("png", "pdf")]
    for path in paths:
        with replacing(path) as temporary:
            # Without the date, the same figure is the same file.
            metadata = {"CreationDate": None} if path.suffix == ".pdf" else None
            figure.savefig(temporary, dpi=150, format=path.suffix[1:], metadata=metadata)
    return paths
