"""Every row of the measure table against its definition at the members, in plain NumPy.

The definition is the value where it is attained at a member (axiom A5b); elsewhere, what it takes
to look at the members is a yardstick for the time alone.
"""

from __future__ import annotations

import numpy as np

import credalens as cl
from benchmarks.harness import Row, seconds
from benchmarks.total_variation import dirichlet
from credalens.measures.table import MEASURES

SIZE = (2000, 10, 5)
#: Entropies are certified to 1e-9.
TOLERANCE = 1e-8


def rows():
    P = dirichlet(SIZE, seed=5)
    Q = cl.ConvexHull(P)
    for name, measure in MEASURES.items():
        yield _row(name, measure, P, Q)


def _row(name, measure, P, Q):
    value = measure(Q)
    attained = "A5b" in measure.claims
    difference = float(np.abs(value - measure.at_generators(P)).max())
    return Row(
        f"{name} {SIZE}",
        "its definition at the members, NumPy",
        1e6 * seconds(lambda: measure(Q)) / len(P),
        1e6 * seconds(lambda: measure.at_generators(P)) / len(P),
        "the same value" if attained else "finite values",
        bool(np.isfinite(value).all() and (not attained or difference <= TOLERANCE)),
        f"largest difference {difference:.1e}" if attained else "attained between members",
    )
