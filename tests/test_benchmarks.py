"""The benchmarks run, and their page hides nothing."""

import copy
import json

import numpy as np
import pytest
from benchmarks import cells, failures, grid, peers_lp, report
from benchmarks.cells import Case, Peer, Size, axes

BASE = Size(20, 3, 4)


def members(size):
    return (np.random.default_rng(0).dirichlet(np.ones(size.K), (size.N, size.M)),)


def _slow(P):
    return 1 - np.array([min(row) for row in P.max(axis=1)])


def _raises(_P):
    raise RuntimeError("no such thing\nand more")


@pytest.fixture(scope="module")
def ran():
    """The cases and the record of a grid of one case with peers of every kind."""
    total = grid.CASES["TU, hull"].ours
    made = Case(
        "TU + AU_lower + EU", "hull", members, total,
        (
            Peer("NumPy", lambda P: 1 - P.min(axis=1).max(axis=1)),
            Peer("free", lambda P: np.full(len(P), np.nan)),
            Peer("wrong", _slow),
            Peer("refuses", _raises),
            Peer("missing", _raises, loads=lambda: __import__("no_such_module")),
            Peer("large", _raises, most=lambda size: False, why_not="too large"),
            Peer("read limit", lambda P: P.sum(), limit=True),
        ),
        axes(BASE, N=(1,), K=(3,)),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "CASES", {made.name: made})
        return grid.CASES, grid.run(budget=0.01, memory=False, log=lambda line: None)


@pytest.fixture
def few(ran, monkeypatch):
    """A grid of one case with peers of every kind, and the row of all required ones."""
    cases, record = ran
    monkeypatch.setattr(grid, "CASES", cases)
    return copy.deepcopy(record)


@pytest.mark.slow
def test_a_cell_counts_what_went_wrong(few):
    cell = few["cells"][-1]
    numpy, free, wrong, refuses, missing, large, limit = cell["peers"]
    # On a busy machine a peer is given fewer instances.
    assert (numpy["nan"], numpy["wrong"]) == (0, 0)
    assert numpy["difference"] < 1e-15
    assert free["nan"] == free["instances"] > 0
    assert wrong["wrong"] == wrong["instances"] > 0
    assert refuses["refused"] == "RuntimeError: no such thing"
    assert missing["refused"].startswith("not installed")
    assert large["refused"] == "not run: too large"
    assert limit["difference"] is None
    assert cell["ours"]["us"] > 0
    assert cell["ours"]["rounds"] >= 1


def whole(record):
    """Return all pages as one text."""
    return "\n".join(report.pages(record).values())


def test_the_page_lists_every_cell_in_which_a_peer_is_faster(few):
    record = json.loads(json.dumps(few))  # as it is read from the file
    text = whole(record)
    assert text.startswith("# ")
    section = text.split("# All comparisons in which a peer is faster")[1].split("\n# ")[0]
    expected = [
        (cell, peer) for cell in record["cells"] for peer in cell["peers"]
        if peer["us"] is not None and peer["name"] != "read limit"
        and peer["us"] < cell["ours"]["us"]
    ]  # fmt: skip
    assert expected  # filling an array with NaN is faster than anything
    lines = [line for line in section.splitlines() if line.startswith("| TU")]
    assert len(lines) == len(expected)
    for cell, peer in expected:
        start = f"| {cell['case']} | {report.shown(cell['size'])} | {peer['name']} |"
        assert sum(line.startswith(start) for line in lines) == 1


def test_the_page_says_whether_what_is_required_is_met(few):
    (row,) = report.required(few)
    assert row["peer"] == "NumPy"
    assert not row["met"]  # the size at which it is judged is not there
    first, *others = few["cells"]
    first["size"] = row["at"]
    for there, elsewhere, met in ((15.5, 15.5, True), (14.5, 20, False), (20, 10, False)):
        for cell in few["cells"]:
            cell["peers"][0]["us"] = cell["ours"]["us"] * (there if cell is first else elsewhere)
        (row,) = report.required(few)
        assert row["met"] == met
        assert (row["at"] in [size for size, _ in row["short"]]) == (there < 15)
    for cell in others:
        cell["peers"][0]["us"] = 40 * cell["ours"]["us"]
    assert report.required(few)[0]["mean"] == pytest.approx((20 * 40 ** len(others)) ** (1 / 3))
    first["peers"][0]["us"] = 14.5 * first["ours"]["us"]
    assert "14.5x at (10000, 10, 100)" in whole(few)


@pytest.mark.slow
def test_cases_that_are_run_again_replace_the_earlier_ones(few):
    later = grid.run(budget=0.01, memory=False, log=lambda line: None)
    both = grid.merged(few, later)
    assert both["cells"] == later["cells"]
    assert both["facts"]["again"] == list(grid.CASES)
    assert "Run again afterwards: TU + AU_lower" in whole(both)


def test_exponents_are_slopes():
    sizes = [[N, 0, 3] for N in (1, 100, 1000)]
    cells_ = [{"case": "a", "size": size, "ours": {"us": 5.0}} for size in sizes]
    cells_ += [{"case": "a", "size": [10, 0, K], "ours": {"us": 2.0 * K**3}} for K in (3, 6, 12)]
    made = {"axes": {"a": {"N": sizes, "K": [[10, 0, K] for K in (3, 6, 12)]}}, "cells": cells_}
    slopes = report.exponents(made)["a"]
    assert slopes["N"] == pytest.approx(1)
    assert slopes["K"] == pytest.approx(3)


def test_every_measure_of_every_set_is_in_the_grid():
    names = set(grid.CASES)
    for of in ("intervals", "contamination", "TV ball", "lower probability", "belief function"):
        for measure in ("TU", "AU_lower", "AU_upper", "EU", "S*", "S_*", "GH", "imprecision bound"):
            assert f"{measure}, {of}" in names
    for case in grid.CASES.values():
        along = [sizes for axis, sizes in case.sizes.items() if axis in "NMK"]
        assert all(len(sizes) >= 3 for sizes in along), case.name


@pytest.mark.parametrize("name", ["AU_upper, TV ball", "S_*, belief function", "GH, hull",
                                  "EU, Kolmogorov, hull", "S*, intervals"])  # fmt: skip
def test_peers_agree_with_ours_on_a_tiny_cell(name):
    case = grid.CASES[name]
    size = Size(3, 4 * ("hull" in name), 4)
    cell = cells.measure(case, size, 0.01)
    ran = [peer for peer in cell.peers if peer.us is not None and "probly" not in peer.name]
    assert ran
    for peer in ran:
        assert (peer.nan, peer.wrong) == (0, 0), peer


def test_peak_memory_is_seen():
    assert 15 < cells.peak_megabytes(lambda: np.ones(20 << 17)) < 40


def test_what_differs_is_certified():
    pytest.importorskip("highspy")
    for found in failures.highs():
        low, high = failures.exact_game(found.given)
        assert low - 1e-15 <= found.ours <= high + 1e-15
        assert high - low < 1e-15
        assert abs(found.theirs - found.ours) > 1e-9
        assert "theirs" in found.as_text()


def test_highspy_solves_the_same_games():
    pytest.importorskip("highspy")
    (P,) = members(BASE)
    expected = [peers_lp.linprog_game(1 - p) for p in P]
    for keep in (True, False):
        np.testing.assert_allclose(peers_lp.highs_games(P, keep=keep), expected, atol=1e-9)
