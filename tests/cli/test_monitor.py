"""`credalens monitor`: exit codes, states, tables and the page."""

import csv

import numpy as np
import pytest

from credalens.io.tables import WRITERS, as_batch
from credalens.policy import PolicyGuarantee, ThresholdRule
from policy_cases import policy
from prediction_files import app, runner


def write(path, n=800, seed=0, shift=1.0, accuracy=0.95):
    rng = np.random.default_rng(seed)
    total = (rng.random(n) ** shift).astype(np.float32)
    votes = np.array(["cat", "dog"])[rng.integers(0, 2, n)]
    right = rng.random(n) < accuracy
    batch = as_batch({
        "prediction": votes, "tv_total": total, "tv_epistemic": total / 2,
        "label": np.where(right, votes, "bird"), "correct": right,
    })  # fmt: skip
    WRITERS[path.suffix](lambda: iter([batch]), path)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "reference.parquet")
    write(tmp_path / "same.csv", seed=1)
    write(tmp_path / "other.parquet", seed=2, shift=0.5)
    write(tmp_path / "wrong.parquet", seed=3, accuracy=0.7)
    guarantee = PolicyGuarantee("accuracy", None, 0.9, 0.95, 0.95, 0.93, 0.95, 400)
    policy(ThresholdRule(0.9), guarantees=[guarantee]).save(tmp_path / "policy.json")
    return tmp_path


def run(*arguments, code=0):
    done = runner.invoke(app, ["monitor", *arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_exit_codes(files):
    text = run("reference.parquet", "same.csv")
    assert "No alarm is raised." in text
    assert "800 rows of same.csv against 800 rows of reference.parquet" in text
    text = run("reference.parquet", "other.parquet", code=3)
    assert "ALARM: tv_total is higher: mean 0.6" in text
    assert "An alarm is raised." in text
    assert "pass a reference and at least one new file" in run("reference.parquet", code=2)
    assert "--window: is the number of parts" in run("a.csv", "b.csv", "--window", "2", code=2)


def test_table_and_page(files):
    run("reference.parquet", "other.parquet", "--by", "prediction", "--policy", "policy.json",
        "-o", "tests.csv", "--report", "page.html", code=3)  # fmt: skip
    rows = list(csv.DictReader((files / "tests.csv").read_text().splitlines()))
    assert len(rows) == 3 * 3 + 1 + 1  # the prediction is constant in each group
    by_name = {(row["test"], row["group"]): row for row in rows}
    assert by_name["tv_total", ""]["alarm"] == "true"
    assert by_name["tv_total", "cat"]["direction"] == "higher"
    assert float(by_name["keep rate", ""]["new"]) < float(by_name["keep rate", ""]["reference"])
    assert by_name["accuracy >= 0.9", ""]["alarm"] == "false"
    page = (files / "page.html").read_text()
    assert "An alarm is raised" in page
    assert page.count("<svg") == 2
    assert "http:" not in page.replace("http://www.w3.org", "")


@pytest.mark.slow
def test_a_state(files):
    text = run("reference.parquet", "--state", "state", "--policy", "policy.json")
    assert "has a reference and no new rows yet" in text
    assert "No alarm is raised." in run("same.csv", "--state", "state")
    assert "is counted already" in run("same.csv", "--state", "state")
    text = run("wrong.parquet", "--state", "state", "--report", "page.html", code=3)
    assert "ALARM: accuracy >= 0.9: is violated" in text
    page = (files / "page.html").read_text()
    assert page.count("<svg") == 3  # with the evidence
    assert "wrong.parquet" in page
    assert "same.csv" in page
    # The alarm of a guarantee stays, and the last result is printed again.
    assert run("--state", "state", code=3).startswith("800 rows of wrong.parquet")
    text = run("--late", "other.parquet", "--state", "state", "--window", "2", code=3)
    assert "1600 rows of same.csv, wrong.parquet" in text
    text = run("--state", "state", "--level", "0.01", code=2)
    assert "--level: the state in state has 0.05" in text
    assert "--state: has no reference" in run("--state", "empty", code=2)


def test_refusals(files):
    assert "has no column 'site'" in run("reference.parquet", "same.csv", "--by", "site", code=2)
    text = run("reference.parquet", "same.csv", "--late", "other.parquet", code=2)
    assert "--late: there is no guarantee to test" in text
    write(files / "policy.csv")
    text = run("reference.parquet", "same.csv", "--policy", "policy.csv", code=2)
    assert "policy.csv: is not JSON" in text
    text = run("reference.parquet", "same.csv", "-o", "same.csv", code=2)
    assert "is also an input" in text
    assert "--level: " in run("reference.parquet", "same.csv", "--level", "2", code=2)
