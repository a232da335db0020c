"""Colours that colour-blind readers can tell apart, and line styles that survive grey printing."""

from __future__ import annotations

#: Okabe and Ito's palette, without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES = ("-", "--", "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), ":")
#: Reference curves, quiet behind the others.
QUIET = "#888888"
