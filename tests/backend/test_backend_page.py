"""The page of backends lists every primitive, with what the dispatch does."""

import sys
from pathlib import Path

import numpy as np
import pytest

import credalens as cl
from credalens._backend import PRIMITIVES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import primitive_table
    finally:
        sys.path.remove(str(DOCS / "_ext"))
    return primitive_table.tables()


def test_the_page_includes_the_table():
    assert "\n.. primitives::\n" in (DOCS / "backends.md").read_text(encoding="utf-8")


def test_the_table_lists_every_primitive(tables):
    listed = [f"{name}.{row.primitive}" for name, _, rows in tables for row in rows]
    assert len(listed) == len(set(listed))
    assert sorted(listed) == sorted(entry.name for entry in PRIMITIVES)


def test_every_representation_inherits_listed_primitives(tables):
    names = {name for name, _, _ in tables}
    assert {"ConvexHull", "ProbabilityIntervals", "Contamination", "TotalVariationBall",
            "LowerProbability", "BeliefFunction"} <= names  # fmt: skip
    bases = {name: inherited for name, inherited, _ in tables}
    assert bases["ConvexHull"] == [
        "HullCosts", "HullDecisions", "HullScoring", "HullQueries", "CredalSet", "ArraySet",
    ]  # fmt: skip


def test_rows_state_what_the_dispatch_does(tables):
    rows = {f"{name}.{row.primitive}": row for name, _, found in tables for row in found}
    assert rows["ConvexHull.lower"][2:] == (
        "yes", "native", "automatic", "native", "yes",
    )  # fmt: skip
    assert rows["ConvexHull.maximin"][2:] == (
        "yes", "through the host", "VJP", "host callback", "yes",
    )  # fmt: skip
    assert rows["HullQueries.contains"][4:6] == ("raises", "raises")
    assert rows["HullQueries.extreme_points"].dask == "raises"
    da = pytest.importorskip("dask.array")
    Q = cl.ConvexHull(da.from_array(np.full((4, 2, 3), 1 / 3), chunks=(2, 2, 3)))
    with pytest.raises(ValueError, match="depends on the data"):
        Q.extreme_points()


def test_rows_state_which_gradients_raise(tables):
    torch = pytest.importorskip("torch")
    rows = {f"{name}.{row.primitive}": row for name, _, found in tables for row in found}
    Q = cl.ConvexHull(torch.full((4, 2, 3), 1 / 3, dtype=torch.float64, requires_grad=True))
    assert rows["HullQueries.extreme_points"].torch_gradient == "raises"
    with pytest.raises(ValueError, match="has no gradient"):
        Q.extreme_points()
    assert rows["ConvexHull.maximin"].torch_gradient == "VJP"
    Q.maximin()[0].sum().backward()
