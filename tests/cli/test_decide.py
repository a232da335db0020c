"""`credalens decide`: columns, cost files, metrics, resumption and the Dask engine."""

import csv

import numpy as np
import pyarrow.parquet
import pytest

import credalens as cl
import credalens.decisions.columns as module
from prediction_files import NAMES, app, call, predictions, read, runner, write_csv, write_npz


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def table(text):
    """Return the metrics that were printed, by name."""
    lines = [line.split() for line in text.splitlines()]
    return {
        line[0]: list(map(float, line[1:])) for line in lines if line[1:2] and line[1][0] in "01"
    }


@pytest.fixture
def models(tmp_path):
    members, labels = predictions(n=300, K=3)
    (tmp_path / "models").mkdir()
    for m in range(3):
        write_npz(tmp_path / "models" / f"m{m}.npz", members[:, m], labels)
    return tmp_path / "models", members, labels


def test_columns_and_metrics(models, tmp_path):
    folder, members, labels = models
    out = tmp_path / "d.csv"
    done = call("decide", folder, "-o", out, "--chunk-rows", 37)
    rows = rows_of(out.read_text())
    assert list(rows[0]) == ["decision", "labels", "size", "risk_lower", "risk_upper", "reason",
                             "label", "covered", "cost"]  # fmt: skip
    mask = cl.admissible(members)
    assert [row["labels"].split() for row in rows] == [
        [str(k) for k in np.flatnonzero(one)] for one in mask
    ]
    assert [int(row["size"]) for row in rows] == mask.sum(axis=1).tolist()
    worst = np.where(mask, 1 - members.min(axis=1), np.inf)
    chosen = worst.argmin(axis=1)
    assert [int(row["decision"]) for row in rows] == chosen.tolist()
    each = np.arange(300)
    risk = np.array([[float(row["risk_lower"]), float(row["risk_upper"])] for row in rows])
    np.testing.assert_allclose(risk[:, 1], worst[each, chosen], atol=1e-12)
    np.testing.assert_allclose(risk[:, 0], 1 - members.max(axis=1)[each, chosen], atol=1e-12)
    assert [row["covered"] == "true" for row in rows] == mask[each, labels].tolist()
    assert [float(row["cost"]) for row in rows] == (chosen != labels).astype(float).tolist()
    assert {row["reason"] for row in rows if row["size"] == "2"} == {"2 labels remain"}
    printed = table(done.stdout)
    expected = cl.set_metrics(labels, mask)
    for name in ("determinacy", "coverage", "mean_size", "u65", "u80", "single_accuracy"):
        value, low, high = printed[name]
        assert value == pytest.approx(getattr(expected, name), abs=5.1e-5)
        assert low <= value <= high
    assert f"Mean cost of the decisions: {(chosen != labels).mean():.4f}" in done.stdout


@pytest.mark.parametrize("rule", ["e-admissible", "maximal", "interval-dominance"])
@pytest.mark.parametrize(
    "criterion", ["gamma-minimax", "gamma-minimin", "hurwicz", "minimax-regret"]
)
def test_rules_and_criteria(models, rule, criterion):
    folder, members, _ = models
    text = call("decide", folder, "--rule", rule, "--criterion", criterion, "--alpha", 0.3).stdout
    mask = cl.admissible(members, rule=rule.replace("-", "_"))
    E = 1 - members
    upper, lower = E.max(axis=1), E.min(axis=1)
    value = {
        "gamma-minimax": upper,
        "gamma-minimin": lower,
        "hurwicz": 0.3 * upper + 0.7 * lower,
        "minimax-regret": (E - E.min(axis=2, keepdims=True)).max(axis=1),
    }[criterion]
    chosen = np.where(mask, value, np.inf).argmin(axis=1)
    rows = rows_of(text)
    assert [int(row["decision"]) for row in rows] == chosen.tolist()
    assert [int(row["size"]) for row in rows] == mask.sum(axis=1).tolist()


COST = "action,wait,biopsy\ncat,0,1\nbird,5,2\ndog,20,2\n"


@pytest.fixture
def named(tmp_path):
    members, labels = predictions(n=80)
    files = [tmp_path / f"{m}.csv" for m in range(3)]
    for m, path in enumerate(files):
        write_csv(path, members[:, m], labels)
    return files, members, labels


def test_costs_by_name_in_any_order(named, tmp_path):
    files, members, labels = named
    (tmp_path / "cost.csv").write_text(COST)
    (tmp_path / "semicolons.csv").write_text(COST.replace(",", ";"))
    done = call("decide", *files, "--cost", tmp_path / "cost.csv", "-o", tmp_path / "d.csv")
    text = (tmp_path / "d.csv").read_text()
    assert call("decide", *files, "--cost", tmp_path / "semicolons.csv").stdout == text
    assert NAMES == ("cat", "dog", "bird")
    cost = np.array([[0, 1], [20, 2], [5, 2]])
    rows = rows_of(text)
    mask = cl.admissible(members, cost)
    names = np.array(["wait", "biopsy"])
    assert [row["labels"] for row in rows] == [" ".join(names[one]) for one in mask]
    worst = np.where(mask, (members @ cost).max(axis=1), np.inf)
    chosen = worst.argmin(axis=1)
    assert [row["decision"] for row in rows] == names[chosen].tolist()
    assert "covered" not in rows[0]
    paid = cost[labels, chosen]
    assert [float(row["cost"]) for row in rows] == paid.tolist()
    assert f"Mean cost of the decisions: {paid.mean():.4f}" in done.stdout
    assert "determinacy" not in done.stdout


def test_costs_of_the_classes_in_another_order(named, tmp_path):
    files, members, _ = named
    (tmp_path / "cost.csv").write_text(",bird,cat,dog\ndog,3,1,0\ncat,1,0,4\nbird,0,2,1\n")
    rows = rows_of(call("decide", *files, "--cost", tmp_path / "cost.csv").stdout)
    cost = np.array([[0, 4, 1], [1, 0, 3], [2, 1, 0]])
    mask = cl.admissible(members, cost)
    assert [int(row["size"]) for row in rows] == mask.sum(axis=1).tolist()
    assert "covered" in rows[0]


def test_costs_without_names(models, tmp_path):
    folder, _, _ = models
    (tmp_path / "cost.csv").write_text("0,1\n3,1\n2,1\n")
    rows = rows_of(call("decide", folder, "--cost", tmp_path / "cost.csv").stdout)
    assert {row["decision"] for row in rows} == {"action 0", "action 1"}
    assert {row["labels"] for row in rows} <= {"action 0", "action 1", "action 0; action 1"}


def test_abstaining_is_a_decision_but_no_label(models):
    folder, members, labels = models
    rows = rows_of(call("decide", folder, "--abstain", 0.25).stdout)
    mask = cl.admissible(members)
    worst = np.where(mask, 1 - members.min(axis=1), np.inf).min(axis=1)
    abstains = np.array([row["decision"] == "abstain" for row in rows])
    assert (abstains == (worst > 0.25)).all()
    assert abstains.any()
    assert [int(row["size"]) for row in rows] == mask.sum(axis=1).tolist()
    assert {row["cost"] for row, one in zip(rows, abstains, strict=True) if one} == {"0.25"}
    reasons = {row["reason"] for row, one in zip(rows, abstains, strict=True) if one}
    assert "2 labels remain; abstaining costs less than the safest label" in reasons
    assert (labels >= 0).all()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".jsonl"])
def test_formats_and_resumption(models, tmp_path, suffix):
    folder, members, _ = models
    out = tmp_path / f"d{suffix}"
    first = call("decide", folder, "-o", out, "--chunk-rows", 50).stdout
    size = read(out)["size"]
    assert size.tolist() == cl.admissible(members).sum(axis=1).tolist()
    again = call("decide", folder, "-o", out, "--chunk-rows", 50, "--resume").stdout
    assert first == again


def test_a_resumed_run_counts_all_rows(models, tmp_path, monkeypatch):
    folder, _, _ = models
    whole = call("decide", folder, "-o", tmp_path / "whole.csv").stdout
    rows, counted = module.DecisionColumns.rows, []

    def interrupted(self, *arguments):
        counted.append(1)
        if len(counted) > 4:
            raise KeyboardInterrupt
        return rows(self, *arguments)

    monkeypatch.setattr(module.DecisionColumns, "rows", interrupted)
    out = tmp_path / "d.csv"
    options = (folder, "-o", out, "--chunk-rows", 30, "--threads", 1)
    assert runner.invoke(app, ["decide", *map(str, options)]).exit_code == 130
    monkeypatch.setattr(module.DecisionColumns, "rows", rows)
    done = call("decide", *options, "--resume")
    assert "continuing after" in done.stderr
    assert done.stdout == whole
    assert out.read_text() == (tmp_path / "whole.csv").read_text()
    other = call("decide", *options, "--rule", "maximal")  # starts again
    assert "continuing" not in other.stderr


@pytest.mark.slow
def test_the_dask_engine(models, tmp_path):
    _, members, labels = models
    np.save(tmp_path / "all.npy", members)
    np.save(tmp_path / "y.npy", labels)
    options = ("--labels", tmp_path / "y.npy", "--abstain", 0.3)
    here = call("decide", tmp_path / "all.npy", *options, "-o", tmp_path / "here.parquet")
    there = call("decide", tmp_path / "all.npy", *options, "-o", tmp_path / "there",
                 "--engine", "dask", "--workers", 1)  # fmt: skip
    assert here.stdout == there.stdout
    parts = pyarrow.parquet.read_table(tmp_path / "there").drop_columns(["row"])
    assert parts.equals(pyarrow.parquet.read_table(tmp_path / "here.parquet"))


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("", "is empty; write one row per class"),
        (
            "a,wait\ncat,1\ndog,2\n",
            "lacks rows for bird; name its rows by the classes cat, dog",
        ),
        (
            "a,wait\ncat,1\ndog,2\nfox,3\n",
            "lacks rows for bird and has rows for fox; name",
        ),
        ("a,wait,wait\ncat,1,2\ndog,2,2\nbird,3,2\n", "names the actions wait, wait; use distinct"),
        ("a,wait\ncat,1\ndog,x\nbird,3\n", "row dog has 'x'; write finite numbers"),
        ("a,wait\ncat,1\ndog,2,3\nbird,3\n", "has rows of [2, 3] cells"),
        ("1,2\n3,4\n", "has 2 rows and no names; write 3, one per class"),
        ("a,wait\ncat,1\ncat,2\ndog,2\nbird,3\n", "has a class twice"),
    ],
)
def test_invalid_cost_files(named, tmp_path, cost, message):
    files, _, _ = named
    (tmp_path / "cost.csv").write_text(cost)
    out = tmp_path / "d.csv"
    done = call("decide", *files, "--cost", tmp_path / "cost.csv", "-o", out, code=2)
    assert message in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--rule", "minimax"],
            "--rule: is 'minimax'; choose from e-admissible, maximal",
        ),
        (["--criterion", "x"], "--criterion: is 'x'; choose from gamma-minimax, gamma-minimin"),
        (["--cost", "nowhere.csv"], "nowhere.csv"),
        (["-o", "d.csv", "--top", "3"], "--top: applies to standard output"),
        (["--resume"], "--resume: needs an output file"),
    ],
)
def test_invalid_options(models, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in call("decide", models[0], *options, code=2).stderr


def test_an_output_that_is_the_cost_file(named, tmp_path):
    files, _, _ = named
    (tmp_path / "cost.csv").write_text(COST)
    done = call(
        "decide", *files, "--cost", tmp_path / "cost.csv", "-o", tmp_path / "cost.csv", code=2
    )
    assert "is also an input" in done.stderr
    assert (tmp_path / "cost.csv").read_text() == COST
    # A folder does not take it for a model.
    call("decide", tmp_path, "--cost", tmp_path / "cost.csv")
