"""All checks of an ensemble at once, and their result in sentences."""

import numpy as np
import pytest

import credalens as cl
from credalens.validity.answers import advice, answers, listed


def draw(true, rng):
    return (true.cumsum(axis=1) < rng.random((len(true), 1))).sum(axis=1)


def tempered(true, *powers):
    members = np.stack([true**power for power in powers], axis=1)
    return members / members.sum(axis=2, keepdims=True)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(4, 0.5), 3000)
    return true, draw(true, rng)


def text(found):
    return " ".join(sentence for answer in answers(found) for sentence in answer.sentences)


@pytest.mark.slow
def test_members_on_both_sides_of_the_truth(data):
    true, y = data
    found = cl.validity.assess(tempered(true, 0.5, 2.0), y, names=["soft", "sharp"],
                               distributions=true)  # fmt: skip
    assert found.verdicts.tolist() == ["underconfident", "overconfident"]
    assert found.reliability.calibrated
    assert found.set_calibrated
    assert found.coverage.coverage == cl.validity.coverage(tempered(true, 0.5, 2.0), true).coverage
    assert "sharp is overconfident." in text(found)
    assert "compatible with the band in all" in text(found)
    assert [answer.question for answer in answers(found)][-1] == "What to do"
    # The members are given by their names in the table.
    assert found.to_pandas().index.tolist() == ["soft", "sharp"]
    assert found.to_pandas()["temperature"].to_numpy() == pytest.approx([0.5, 2.0], rel=0.1)


@pytest.mark.slow
def test_a_set_that_excludes_the_truth(data):
    true, y = data
    found = cl.validity.assess(tempered(true, 3.0, 4.0), y, distributions=true,
                               class_names=["a", "b", "c", "d"])  # fmt: skip
    assert not found.set_calibrated
    assert found.test.pvalue < 0.05
    assert found.classes_outside
    shown = text(found)
    assert "below the band" in shown
    assert "is rejected at the level 0.05" in shown
    assert f"{100 * found.coverage.coverage:.1f} % of the distributions" in shown
    steps = advice(found)
    assert any(step.startswith("Recalibrate member 0") for step in steps)
    # What is promised is measured: the repaired set is closer to the frequencies.
    assert found.repair.after["credal_ece"] < found.repair.before["credal_ece"]


@pytest.mark.slow
def test_calibrated_members_need_nothing(data):
    true, y = data
    rng = np.random.default_rng(1)
    noise = rng.dirichlet(np.ones(4), (len(true), 2))
    found = cl.validity.assess(0.99 * true[:, None] + 0.01 * noise, y)
    assert found.verdicts.tolist() == ["calibrated", "calibrated"]
    assert found.set_calibrated
    assert found.coverage is None
    assert "None was found." in text(found)


@pytest.mark.slow
def test_a_faulty_member_is_named(data):
    true, y = data
    members = tempered(true, 1.0, 1.1, 0.9)
    members[:, 2] = np.random.default_rng(2).dirichlet(np.full(4, 0.05), len(true))
    found = cl.validity.assess(members, y, names=["a", "b", "broken"])
    assert "broken distorts the uncertainty." in text(found)
    assert "Leave out broken." in text(found)


def test_lists_of_names():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 others"


def test_errors(data):
    true, y = data
    with pytest.raises(ValueError, match="level"):
        cl.validity.assess(tempered(true, 1, 2), y, level=2)
    with pytest.raises(ValueError, match="y: has"):
        cl.validity.assess(tempered(true, 1, 2), y[:-1])
