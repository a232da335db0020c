"""Display, slicing and conversion of result objects."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl
from credalens._results import MAX_ROWS, TableResult


class Rows(TableResult):
    def __init__(self, n, names=None):
        self.n, self.names = n, names

    def _columns(self):
        return {"value": np.arange(self.n) / 3, "<b>": [f"<{i}>" for i in range(self.n)]}

    def _index(self):
        return ("name", self.names) if self.names else super()._index()


def rejection(n_bins=30):
    rng = np.random.default_rng(0)
    correct, score = rng.random(200) < 0.7, rng.random(200)
    return cl.rejection_curve(np.ones(200, bool), correct, score, n_bins)


def diagnosis():
    members = np.random.default_rng(0).dirichlet(np.ones(3), (50, 12))
    return cl.diagnose_members(members, np.zeros(50, int), [f"<m{i}>" for i in range(12)])


def active():
    rng = np.random.default_rng(0)
    return cl.ActiveLearning(
        np.arange(10, 210, 10), {k: rng.random((3, 20)) for k in ("a", "random")}
    )


def comparison():
    correct, score = np.arange(60) % 3 > 0, np.arange(60.0)
    return cl.compare_scores(correct, None, {"<a>": score, "b": -score}, random_state=0)


RESULTS = {
    "rejection": rejection,
    "selective": lambda: cl.selective_metrics([True, False], None, [1, 2]),
    "groups": lambda: cl.selective_metrics(
        np.arange(60) % 3 > 0, None, np.arange(60), groups=np.arange(60) // 4
    ),
    "comparison": comparison,
    "bootstrap": lambda: cl.bootstrap([True, False] * 30, np.arange(60), random_state=0),
    "diagnosis": diagnosis,
    "ood": lambda: cl.ood_scores(np.arange(50), np.arange(30, 90)),
    "active": active,
    "axioms": lambda: cl.axioms.check("lower_entropy", n_classes=2, n_sets=40),
}


@pytest.mark.parametrize("n", [1, MAX_ROWS, MAX_ROWS + 1, 1000])
def test_repr_and_html_have_at_most_ten_rows(n):
    rows = Rows(n)
    lines, page = repr(rows).split("\n"), rows._repr_html_()
    assert len(rows) == n
    assert lines[0] == f"Rows: {n} row{'s' * (n > 1)}"
    assert len(lines) == 2 + min(n, MAX_ROWS) + (n > MAX_ROWS)
    assert page.count("<tr>") == 1 + min(n, MAX_ROWS) + (n > MAX_ROWS)
    assert ("..." in lines) == (n > MAX_ROWS)
    assert lines[-1].split() == [str(n - 1), f"{(n - 1) / 3:.4g}", f"<{n - 1}>"]
    assert f"{n} row" in page


def test_html_is_escaped():
    page = Rows(2, ["<script>", "b"])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page
    assert "&lt;1&gt;" in page


def test_data_frame_has_the_index_of_the_result_or_the_given_one():
    frame = Rows(2, ["a", "b"]).to_pandas()
    assert frame.index.name == "name"
    assert list(frame.index) == ["a", "b"]
    assert list(Rows(2).to_pandas(index=["x", "y"]).index) == ["x", "y"]
    with pytest.raises(ValueError, match="index: has 1 labels; pass one per row, 2"):
        Rows(2).to_pandas(index=["x"])


def test_missing_pandas_raises_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_pandas\(\) needs pandas: pip install pandas$"):
        Rows(2).to_pandas()


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_short_and_converts(name):
    result = RESULTS[name]()
    assert len(repr(result).split("\n")) <= 12
    assert repr(result).startswith((type(result).__name__, "lower_entropy, 2 classes"))
    assert len(result.to_pandas()) == len(result)
    page = result._repr_html_()
    assert page.startswith("<div>")
    assert page.count("<tr>") <= MAX_ROWS + 2
    assert "<m0>" not in page


def test_slices_are_parts_of_a_curve():
    curve = rejection()
    part = curve[5:11]
    assert isinstance(part, cl.RejectionCurve)
    assert len(part) == 6
    assert_array_equal(part.accuracy, curve.accuracy[5:11])
    assert part.area == pytest.approx(np.trapezoid(part.accuracy, part.rejection))
    assert curve[:].area == curve.area
    assert curve[3:4].auc == curve.accuracy[3]
    learned = active()
    assert_array_equal(learned[4:].accuracy["a"], learned.accuracy["a"][:, 4:])
    assert learned[4:].auc("a") == pytest.approx(
        np.trapezoid(learned.mean("a")[4:], dx=1) / (len(learned) - 5)
    )
    for result in (curve, learned):
        with pytest.raises(TypeError, match="indices must be slices, not int"):
            result[0]
        with pytest.raises(ValueError, match="slice: selects none of"):
            result[40:]


def test_columns_of_a_diagnosis():
    found = diagnosis()
    frame = found.to_pandas()
    assert frame.index.name == "member"
    assert_array_equal(frame["accuracy"], found.accuracy)
    assert_array_equal(np.flatnonzero(frame["spoiler"]), found.spoilers)
    unlabelled = cl.diagnose_members(np.random.default_rng(0).dirichlet(np.ones(3), (9, 2)))
    assert "accuracy" not in unlabelled.to_pandas()
