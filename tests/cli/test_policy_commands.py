"""`--policy`: files that evaluate, decide and validate write, and score applies."""

import csv
import hashlib
import json

import numpy as np
import pytest

import credalens as cl
from credalens.policy import DecisionRule, Policy
from prediction_files import call, predictions

CLASSES = ("cat", "dog", "red fox")
P, Y = predictions(n=1500, M=3, K=3)
OLD, NEW = slice(0, 1000), slice(1000, 1500)


def write(path, rows, classes=CLASSES):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", *classes])
        table.writerows([i, *row] for i, row in enumerate(rows.tolist()))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    old = [write(folder / f"m{m}.csv", P[OLD, m]) for m in range(3)]
    (folder / "new").mkdir()
    new = [write(folder / "new" / f"m{m}.csv", P[NEW, m]) for m in range(3)]
    names = [CLASSES[k] for k in Y[OLD]]
    truth = folder / "truth.csv"
    truth.write_text("\n".join(["id,label", *(f"{i},{y}" for i, y in enumerate(names))]))
    return old, new, truth


def table(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def evaluate(files, tmp_path, *options):
    old, _, truth = files
    out = tmp_path / "policy.json"
    done = call("evaluate", *old, "--labels", truth, "--bootstrap", 0, "--policy", out, *options)
    return Policy.load(out), out, done


def applied(files, policy, tmp_path, *options):
    out = tmp_path / "actions.csv"
    call("score", *files[1], "--policy", policy, "-o", out, *options)
    return table(out)


def test_a_threshold_is_written_and_applied(files, tmp_path):
    policy, path, done = evaluate(files, tmp_path, "--target-accuracy", 0.8)
    assert policy.class_names == CLASSES
    assert policy.member_names == ("m0", "m1", "m2")
    (one,) = policy.guarantees
    assert one.bound >= 0.8
    assert f"tv_total <= {float(policy.thresholds)!r}" in done.stdout
    digests = dict(policy.calibration.files)
    assert digests == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (*files[0], files[2])
    }
    found, expected = applied(files, path, tmp_path), policy.apply(P[NEW])
    assert found["action"] == expected.action.tolist()
    assert set(found["action"]) == {"keep", "hand over"}
    np.testing.assert_allclose([float(x) for x in found["tv_total"]], expected.score)
    kept = policy.apply(P[OLD]).keep
    assert policy.calibration.kept == kept.sum()
    assert policy.calibration.kept_correct == (cl.majority_vote(P[OLD]) == Y[OLD])[kept].sum()


def test_targets_by_class_and_another_score(files, tmp_path):
    policy, path, done = evaluate(
        files, tmp_path, "--target-precision", "cat=0.8,red fox=0.75", "--score", "entropy_total",
        "--measures", "tv,entropy",
    )  # fmt: skip
    assert [(g.quantity, g.class_index) for g in policy.guarantees] == [
        ("precision", 0), ("precision", 2)]  # fmt: skip
    assert (policy.column, policy.measure) == ("entropy_total", "entropy")
    assert policy.thresholds[1] == np.inf
    assert "precision of red fox >= 0.75 (bound 0.7" in done.stdout
    found = applied(files, path, tmp_path, "--measures", "mmi")
    assert found["action"] == policy.apply(P[NEW]).action.tolist()
    assert "mmi" in found
    policy, path, done = evaluate(
        files, tmp_path, "--target-sensitivity", 0.9, "--score", "confidence_total")  # fmt: skip
    assert len(policy.guarantees) == 3
    assert "sensitivity of dog >= 0.9" in done.stdout
    assert applied(files, path, tmp_path)["action"] == policy.apply(P[NEW]).action.tolist()


@pytest.mark.parametrize("options", [[], ["--abstain", 0.3], ["--cost"]])
def test_decisions(files, tmp_path, options):
    cost = tmp_path / "cost.csv"
    cost.write_text("class,wait,treat\ncat,0,1\ndog,3,1\nred fox,5,2\n")
    options = ["--cost", cost] if options == ["--cost"] else options
    path, out = tmp_path / "policy.json", tmp_path / "d.csv"
    call("decide", *files[0], "--labels", files[2], "-o", out, "--policy", path, *options)
    policy = Policy.load(path)
    assert isinstance(policy.rule, DecisionRule)
    found, expected = applied(files, path, tmp_path), policy.apply(P[NEW])
    assert found["action"] == expected.action.tolist()
    old, decided = policy.apply(P[OLD]), table(out)
    assert policy.calibration.kept == old.keep.sum()
    column = "decision" if options else "labels"
    agree = [a == CLASSES[y] for a, y in zip(decided[column], Y[OLD], strict=True)]
    assert policy.calibration.kept_correct == np.array(agree)[old.keep].sum()


def test_a_repair(files, tmp_path):
    path = tmp_path / "repair.json"
    call("validate", *files[0], "--labels", files[2], "--fix", "temperature", "--policy", path,
         "--resamples", 100)  # fmt: skip
    policy = Policy.load(path)
    repair = cl.validity.repair(P[OLD], Y[OLD])
    found = applied(files, path, tmp_path)
    assert "action" not in found
    expected = cl.total_uncertainty(repair(P[NEW]))
    np.testing.assert_allclose([float(x) for x in found["tv_total"]], expected, rtol=1e-6)
    assert policy.calibration.rows == 1000


def test_classes_in_another_order_are_matched_by_name(files, tmp_path):
    policy, path, _ = evaluate(files, tmp_path, "--target-accuracy", 0.8)
    order = [2, 0, 1]
    other = [write(tmp_path / f"o{m}.csv", P[NEW, m][:, order], [CLASSES[k] for k in order])
             for m in range(3)]  # fmt: skip
    out = tmp_path / "actions.csv"
    call("score", *other, "--policy", path, "-o", out)
    assert table(out)["action"] == policy.apply(P[NEW]).action.tolist()
    assert {"cat", "dog", "red fox"} == set(table(out)["prediction"])


def test_logits_are_read_as_they_were(files, tmp_path):
    old = [write(tmp_path / f"l{m}.csv", 2 * np.log(P[OLD, m] + 1e-9)) for m in range(3)]
    new = [write(tmp_path / f"n{m}.csv", 2 * np.log(P[NEW, m] + 1e-9)) for m in range(3)]
    path = tmp_path / "p.json"
    call("evaluate", *old, "--labels", files[2], "--bootstrap", 0, "--target-accuracy", 0.8,
         "--logits", "--temperature", 2, "--policy", path)  # fmt: skip
    policy = Policy.load(path)
    assert policy.reading == {"logits": "True", "temperature": "2.0"}
    found = applied((old, new), path, tmp_path)
    assert found["action"] == policy.apply(P[NEW]).action.tolist()
    found = call("score", *new, "--policy", path, "--logits", "--temperature", 3, code=2).stderr
    assert "--temperature: the policy was chosen temperature = 2.0; leave the option out" in found


def test_files_that_do_not_match(files, tmp_path):
    _, path, _ = evaluate(files, tmp_path, "--target-accuracy", 0.8)
    wolf = [write(tmp_path / f"w{m}.csv", P[NEW, m], ("cat", "dog", "wolf")) for m in range(3)]
    two = [write(tmp_path / f"t{m}.csv", P[NEW, m][:, :2] + P[NEW, m][:, 2:] / 2, CLASSES[:2])
           for m in range(3)]  # fmt: skip
    out = tmp_path / "no.csv"
    cases = {
        "is a policy for the classes cat, dog, red fox; the files lack red fox and have wolf": wolf,
        "is a policy for 3 classes (cat, dog, red fox), the files have 2 classes (cat, dog)": two,
        "is a policy for 3 models (m0, m1, m2), the files have 2 models (m0, m1)": files[1][:2],
    }
    for message, given in cases.items():
        assert message in call("score", *given, "--policy", path, "-o", out, code=2).stderr
    assert not out.exists()
    text = json.loads(path.read_text())
    text["classes"]["count"] = 5
    path.write_text(json.dumps(text))
    assert f"{path}: " in call("score", *files[1], "--policy", path, "-o", out, code=2).stderr


def test_options_that_contradict_each_other(files, tmp_path):
    old, new, truth = files
    out = tmp_path / "p.json"
    base = ["evaluate", *old, "--labels", truth, "--bootstrap", 0, "--policy", out]
    wrong = {
        "--policy: needs a target; pass": [],
        "--score: is 'tv_total,mmi'; pass the one": ["--target-accuracy", 0.8, "--score",
                                                     "tv_total,mmi"],
        "--target-precision: has one threshold per class": ["--target-accuracy", 0.8,
                                                            "--target-precision", 0.9],
        "--target-precision: 'wolf' is not a class; choose from cat": ["--target-precision",
                                                                      "wolf=0.9"],
        "--target-sensitivity: is '2'; pass a number": ["--target-sensitivity", 2],
    }  # fmt: skip
    for message, options in wrong.items():
        assert message in call(*base, *options, code=2).stderr
    assert not out.exists()
    before = truth.read_text()
    for given in (truth, old[0]):
        call(
            "evaluate", *old, "--labels", truth, "--policy", given, "--target-accuracy", 0.8, code=2
        )
    assert truth.read_text() == before
    call("evaluate", *old, "--labels", truth, "--bootstrap", 0, "--target-accuracy", 0.8,
         "--policy", out)  # fmt: skip
    assert (
        "--distance: the policy has its own"
        in call(
            "score", *new, "--policy", out, "--distance", "ordinal", "--measures", "tv", code=2
        ).stderr
    )
    assert (
        "--report: does not support --policy"
        in call("score", *new, "--policy", out, "--report", tmp_path / "r.html", code=2).stderr
    )


@pytest.mark.slow
def test_the_dask_engine(files, tmp_path):
    _, path, _ = evaluate(files, tmp_path, "--target-accuracy", 0.8)
    policy, array = Policy.load(path), tmp_path / "new.npy"
    np.save(array, P[NEW])
    folder = tmp_path / "actions"
    call("score", array, "--policy", path, "--engine", "dask", "-o", folder, "--workers", 1)
    import pyarrow.parquet

    parts = sorted(folder.glob("part-*.parquet"))
    actions = [a for p in parts for a in pyarrow.parquet.read_table(p)["action"].to_pylist()]
    assert actions == policy.apply(P[NEW]).action.tolist()


def test_a_threshold_for_repaired_predictions(files, tmp_path):
    old, new, truth = files
    first, path = tmp_path / "repair.json", tmp_path / "policy.json"
    call("validate", *new, "--labels", _labels(tmp_path, Y[NEW]), "--fix", "temperature",
         "--policy", first, "--resamples", 100)  # fmt: skip
    done = call("evaluate", *old, "--labels", truth, "--bootstrap", 0, "--repair", first,
                "--target-accuracy", 0.8, "--policy", path)  # fmt: skip
    policy, repair = Policy.load(path), Policy.load(first).repair
    expected = cl.guaranteed_threshold(
        cl.majority_vote(repair(P[OLD])) == Y[OLD],
        cl.total_uncertainty(repair(P[OLD])),
        0.8,
        0.95,
        0,
    )
    assert float(policy.thresholds) == pytest.approx(expected.threshold)
    assert f"{expected.kept:.1%}" in done.stdout
    scores = cl.total_uncertainty(repair(P[NEW]))
    found = applied(files, path, tmp_path)
    np.testing.assert_allclose([float(x) for x in found["tv_total"]], scores, rtol=1e-6)
    assert found["action"] == policy.apply(P[NEW]).action.tolist()
    said = call("evaluate", *old, "--labels", truth, "--repair", path, "--target-accuracy", 0.8,
                "--logits", code=2).stderr  # fmt: skip
    assert "--logits" in said
    plain = tmp_path / "plain.json"
    call("evaluate", *old, "--labels", truth, "--bootstrap", 0, "--target-accuracy", 0.8,
         "--policy", plain)  # fmt: skip
    words = ("evaluate", *old, "--labels", truth, "--repair")
    assert "plain.json: has no repair; pass one" in call(*words, plain, code=2).stderr


def _labels(tmp_path, y):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["id,label", *(f"{i},{CLASSES[k]}" for i, k in enumerate(y))]))
    return path
