"""New axes, colours that colour-blind readers can tell apart, lines that survive grey printing."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito's palette, without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES = ("-", "--", "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), ":")
#: Reference curves, quiet behind the others.
QUIET = "#888888"


def new_axes(width: float, height: float, columns: int = 1) -> Any:
    """Return axes, or an array of them, in a new figure that ``pyplot.show`` and notebooks show."""
    from matplotlib import pyplot

    return pyplot.subplots(1, columns, figsize=(width, height), layout="constrained")[1]


def line(i: int) -> dict[str, Any]:
    """Return colour and dashes of curve `i`; the first 49 differ."""
    return {"color": COLOURS[i % len(COLOURS)], "ls": LINES[(i + i // len(COLOURS)) % len(LINES)]}
