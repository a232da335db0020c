"""Every row of the measure table compared with its definition at the members in NumPy.

If the measure is attained at the members (axiom A5b), the values must agree. Otherwise only the
times are compared.
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
    # Measures of the members as a sample are what is computed at the members.
    attained = "A5b" in measure.claims or measure.second_order
    expected = measure.at_generators(P)
    difference = float(np.where(value == expected, 0.0, np.abs(value - expected)).max())
    return Row(
        f"{name} {SIZE}",
        "definition at the members, NumPy",
        1e6 * seconds(lambda: measure(Q)) / len(P),
        1e6 * seconds(lambda: measure.at_generators(P)) / len(P),
        "equal values" if attained else "finite values",
        bool(np.isfinite(value).all() and (not attained or difference <= TOLERANCE)),
        f"largest difference {difference:.1e}" if attained else "attained between members",
    )
