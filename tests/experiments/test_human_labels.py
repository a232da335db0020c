"""The aleatoric interval against annotators: containment by its definition, and the page."""

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

import credalens as cl
from credalens import cli
from credalens.experiments import human_labels


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(4, 0.4), 400)
    labels = (true.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    counts = rng.multinomial(50, true)
    logits = np.log(true + 1e-3)[:, None] * [[1.5], [2.0], [3.0]]
    members = np.exp(logits + 0.5 * rng.normal(size=logits.shape))
    return members / members.sum(axis=2, keepdims=True), labels, counts


@pytest.mark.slow
def test_containment_one_image_at_a_time(data):
    members, _, counts = data
    humans = human_labels.Humans.of(counts)
    found = human_labels.compare(members, humans, counts, seed=0).set
    inside, compatible, above, distance = 0, 0, 0, 0.0
    for P, row in zip(members, counts, strict=True):
        au = cl.aleatoric_uncertainty(P)
        risk = 1 - row.max() / row.sum()
        inside += bool(au.lower <= risk <= au.upper)
        above += bool(risk > au.upper)
        distance += max(au.lower - risk, risk - au.upper, 0)
        interval = binomtest(int(row.max()), int(row.sum())).proportion_ci(method="exact")
        compatible += bool(au.lower <= 1 - interval.low and au.upper >= 1 - interval.high)
    n = len(members)
    assert (found.inside, found.compatible, found.above) == (inside / n, compatible / n, above / n)
    assert found.inside + found.above + found.below == pytest.approx(1)
    assert found.distance == pytest.approx(distance / n)


def test_annotators_drawn_from_the_mean_of_equal_members(data):
    members, _, counts = data
    humans = human_labels.Humans.of(counts)
    # A vacuous interval contains every risk, a point almost none.
    all_risks = cl.Interval(np.zeros(len(members)), np.ones(len(members)))
    assert human_labels.ceiling(members, humans, all_risks, 0) == 1
    points = cl.Interval(*2 * (np.full(len(members), 0.123456),))
    assert human_labels.ceiling(members, humans, points, 0) == 0


def test_temperatures_come_from_the_other_half(data):
    members, labels, _ = data
    found = human_labels.cross_calibrated(members, labels, seed=3)
    first, second = np.array_split(np.random.default_rng(3).permutation(len(labels)), 2)
    expected = cl.validity.calibrate(members[second], labels[second])(members[first])
    np.testing.assert_allclose(found[first], expected)


@pytest.mark.slow
def test_the_command(data, tmp_path):
    members, labels, counts = data
    for m in range(3):
        np.savez(tmp_path / f"net_{m}.npz", probs=members[:, m], labels=labels)
    np.savez(tmp_path / "people.npz", counts=counts)
    options = {"--predictions": "net_*.npz", "--annotators": "people.npz", "--out": "out"}
    words = [word for name, value in options.items() for word in (name, str(tmp_path / value))]
    done = CliRunner().invoke(cli.app, ["reproduce", "human-labels", *words])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "human-labels.md").read_text()
    assert "| as published | credal set |" in page
    assert "| recalibrated | net_2 |" in page
    assert "| kl | KLBall |" in page
    risk = human_labels.Humans.of(counts).risk.mean()
    assert f"the relative frequency of the most frequent answer, is {risk:.4f}" in page
    assert (tmp_path / "out" / "human-labels.png").stat().st_size > 10_000


def test_counts_that_do_not_fit(data, tmp_path):
    members, labels, counts = data
    predictions = cl.io.Predictions(("a", "b", "c"), members, labels)
    with pytest.raises(ValueError, match=r"annotators: has shape \(400, 3\)"):
        human_labels.run(predictions, counts[:, :3], tmp_path)
    with pytest.raises(ValueError, match="annotators: has rows that are not counts"):
        human_labels.run(predictions, counts / 2, tmp_path)
