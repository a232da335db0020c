"""Credal reliability diagrams and calibration errors, bin by bin and row by row."""

import itertools
import math

import numpy as np
import pytest

import credalens as cl


def data(n=400, M=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(K), (n, 1)) * 0.6 + 0.4 * rng.dirichlet(np.ones(K), (n, M))
    return members, rng.integers(K, size=n)


def literal_bins(points, lows, highs, hits, edges):
    """Rows of (start, stop, n, centre, lower, upper, frequency), one by one."""
    rows = []
    for b, (start, stop) in enumerate(itertools.pairwise(edges)):
        last = b == len(edges) - 2
        inside = [i for i, p in enumerate(points) if start <= p and (p < stop or last)]
        if inside:
            means = [sum(float(x[i]) for i in inside) / len(inside)
                     for x in (points, lows, highs, hits)]  # fmt: skip
            rows.append((start, stop, len(inside), *means))
    return rows


def literal_ece(points, hits, edges):
    rows = literal_bins(points, points, points, hits, edges)
    return sum(n * abs(p - frequency) for _, _, n, p, _, _, frequency in rows) / len(points)


def binomial_tail(hits, trials, q):
    """The probability of `hits` or more."""
    return sum(math.comb(trials, j) * q**j * (1 - q) ** (trials - j)
               for j in range(hits, trials + 1))  # fmt: skip


def check(diagram, rows, n_tests, confidence=0.95):
    names = ("start", "stop", "n", "center", "band_lower", "band_upper", "observed")
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(getattr(diagram, name), column, atol=1e-12, err_msg=name)
    tail = (1 - confidence) / n_tests / 2
    for i, row in enumerate(rows):
        n, hits = row[2], round(row[2] * row[6])
        if hits:
            assert binomial_tail(hits, n, diagram.lower[i]) == pytest.approx(tail, rel=1e-6)
        if hits < n:
            upper = binomial_tail(hits + 1, n, diagram.upper[i])
            assert 1 - upper == pytest.approx(tail, rel=1e-5)
        low, high = row[4], row[5]
        outside = {"below": diagram.upper[i] < low, "above": diagram.lower[i] > high}
        expected = next((name for name, is_so in outside.items() if is_so), "inside")
        assert diagram.verdict[i] == expected
    total = sum(row[2] for row in rows)
    gaps = [max(row[4] - row[6], row[6] - row[5], 0) * row[2] for row in rows]
    assert diagram.credal_ece == pytest.approx(sum(gaps) / total, abs=1e-12)


def edges_of(values, n_bins, binning):
    if binning == "width":
        return [b / n_bins for b in range(n_bins + 1)]
    return [0.0, *(float(np.quantile(values, b / n_bins)) for b in range(1, n_bins)), 1.0]


@pytest.mark.parametrize("binning", ["width", "frequency"])
@pytest.mark.parametrize("n_bins", [1, 5, 12])
def test_diagrams_and_errors_by_their_definitions(n_bins, binning):
    members, y = data()
    found = cl.validity.reliability(members, y, n_bins=n_bins, binning=binning)
    mean, low, high = members.mean(axis=1), members.min(axis=1), members.max(axis=1)
    each = []
    for k in range(3):
        edges = edges_of(mean[:, k], n_bins, binning)
        each.append(literal_bins(mean[:, k], low[:, k], high[:, k], y == k, edges))
    for diagram, rows in zip(found.classes, each, strict=True):
        check(diagram, rows, sum(map(len, each)))
    top = mean.argmax(axis=1)
    picked = [x[np.arange(len(y)), top] for x in (mean, low, high)]
    edges = edges_of(picked[0], n_bins, binning)
    rows = literal_bins(*picked, top == y, edges)
    check(found.top, rows, len(rows))
    assert found.ece == pytest.approx(literal_ece(picked[0], top == y, edges), abs=1e-12)
    assert found.credal_ece == found.top.credal_ece < found.ece
    for m in range(4):
        own = members[:, m]
        top = own.argmax(axis=1)
        edges = edges_of(own.max(axis=1), n_bins, binning)
        expected = literal_ece(own.max(axis=1), top == y, edges)
        assert found.ece_members[m] == pytest.approx(expected, abs=1e-12)
        classwise = [literal_ece(own[:, k], y == k, edges_of(own[:, k], n_bins, binning))
                     for k in range(3)]  # fmt: skip
        assert found.classwise_members[m] == pytest.approx(np.mean(classwise), abs=1e-12)
    classwise = [literal_ece(mean[:, k], y == k, edges_of(mean[:, k], n_bins, binning))
                 for k in range(3)]  # fmt: skip
    assert found.classwise_ece == pytest.approx(np.mean(classwise), abs=1e-12)


def draw(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


def test_simultaneous_intervals_seldom_reject_calibrated_sets():
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(200):
        true = rng.dirichlet(np.ones(3), 300)
        y = draw(true, rng)
        rejected += not cl.validity.reliability(true[:, None], y, confidence=0.9).top.calibrated
    assert rejected <= 200 * 0.1 + 3 * math.sqrt(200 * 0.1 * 0.9)


def test_sharp_members_are_found_overconfident():
    rng = np.random.default_rng(2)
    true = rng.dirichlet(np.ones(3), 4000)
    y = draw(true, rng)
    sharp = true**3 / (true**3).sum(axis=1, keepdims=True)
    found = cl.validity.reliability(np.stack([sharp, sharp**1.1], axis=1) / np.stack(
        [np.ones(4000), (sharp**1.1).sum(axis=1)], axis=1)[..., None], y)  # fmt: skip
    assert not found.calibrated
    assert found.top.verdict[-1] == "below"
    assert found.credal_ece > 0.1


def test_every_representation_of_one_box_agrees():
    members, y = data()
    box = cl.ProbabilityIntervals.from_members(members)
    found = cl.validity.reliability(box, y)
    assert found.ece_members is None
    assert found.classwise_members is None
    assert found.credal_ece <= found.ece
    vacuous = cl.TotalVariationBall(np.full((400, 3), 1 / 3), np.ones(400))
    everything = cl.validity.reliability(vacuous, y)
    assert everything.credal_ece == everything.classwise_credal_ece == 0
    assert everything.calibrated


def test_tables():
    members, y = data()
    found = cl.validity.reliability(members, y)
    table = found.to_pandas()
    assert set(table["class"]) == {-1, 0, 1, 2}
    assert len(table) == len(found) == len(found.top) + sum(map(len, found.classes))
    assert (table.query("`class` == -1")["observed"] == found.top.observed).all()
    assert repr(found).startswith("Reliability(n=400, ece=")
    assert "verdict" in found._repr_html_()


def test_invalid_arguments():
    members, y = data(10)
    for changed, text in [
        ({"y": y[:5]}, r"y: has shape \(5,\); pass labels of shape \(10,\)"),
        ({"y": y + 3}, r"y: is \d at index 0 \(zero-based\); classes are 0 to 2"),
        ({"Q": members[0], "y": 0}, r"Q: has batch shape \(\)"),
        ({"n_bins": 0}, "n_bins: is 0; pass a whole number >= 1"),
        ({"binning": "area"}, "binning: is 'area'; choose one of 'frequency', 'width'"),
        ({"confidence": 95}, r"confidence: is 95; pass a number in \(0, 1\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            cl.validity.reliability(**({"Q": members, "y": y} | changed))
