"""Policy files and arguments that are refused, with the place and the correction."""

import json

import numpy as np
import pytest

import credalens as cl
from credalens.policy import DecisionRule, Policy, ThresholdRule
from policy_cases import POLICIES, members, policy


def changed(path, value, name="threshold"):
    """Return the text of a policy file with another value at a path."""
    document = POLICIES[name].as_dict()
    *parents, last = path.split(".")
    own = document
    for key in parents:
        own = own[key]
    own[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.json: is not JSON"),
        ("[" * 100_000, "p.json: is not JSON"),
        ("{}", "p.json: is not a policy; pass a file that evaluate, decide or validate wrote"),
        ("[1]", "p.json: is not a policy"),
        (changed("version", 2), r"p.json: has version 2, this credalens reads 1; install the "
                                r"version of credalens that wrote it \(credalens "),
        (changed("rule.threshold", np.nan), 'p.json: has the number "NaN", which is not finite'),
        (changed("rule.threshold", 0).replace('d": 0', 'd": 1e999'), 'has the number "1e999", wh'),
        (changed("rule.threshold", 10**400), 'the number "1000000.*, which is not finite'),
        (changed("rule.threshold", "most"), 'p.json: rule.threshold is "most"; write number'),
        (changed("rule.kind", "code"), 'p.json: rule.kind is "code"; write "threshold"'),
        (changed("classes.count", 0), "p.json: classes.count is 0; write a number >= 1"),
        (changed("classes.names", ["a"]), r"p.json: classes.names: has 1 entries; write 4"),
        (changed("extra", 1), "p.json: extra is not a property; remove it, or write one of format"),
        (changed("score.column", "x"), "p.json: score.column: is 'x'; choose a column of tv: tv_t"),
        (changed("score.measure", "x"), "p.json: measures: is 'x'"),
        (changed("members.weights", [1, 2, -1]), r"p.json: members.weights\[2\] is -1; write a n"),
        (changed("members.weights", [0, 0, 0]), "p.json: members.weights: is"),
        (changed("rule.threshold", [1.0]), "p.json: rule.threshold: has 1 numbers; write 4"),
        (changed("repair.kept", [0, 7], "repair vector"), "p.json: repair.kept: is"),
        (changed("repair.recalibrated", [True], "repair vector"), "repair.recalibrated: has 1"),
        (changed("repair.scaling.bias", [[1.0]], "repair vector"), "repair.scaling.bias: has 1 r"),
        (changed("rule.actions", ["a"], "costs"), "p.json: rule.actions: has 1 names; write 3"),
        (changed("rule.actions", None, "costs"), "p.json: rule.actions: is null, rule.cost has 3"),
        (changed("rule.cost", [[1.0]], "costs"), r"p.json: rule.cost: has 1 rows"),
        (changed("score.distance", {"mmd": [[1.0]]}, "mmd"), "score.distance.mmd: has 1 rows of"),
    ],
)  # fmt: skip
def test_invalid_files(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        Policy.load("p.json")


def test_a_missing_file_and_bytes_that_are_no_text(tmp_path):
    with pytest.raises(FileNotFoundError):
        Policy.load(tmp_path / "nowhere.json")
    (tmp_path / "p.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not JSON"):
        Policy.load(tmp_path / "p.json")


def test_arguments():
    own, P = policy(), members()
    with pytest.raises(ValueError, match=r"has 2 members, the policy is for 3; pass .*: a, b, c"):
        own.apply(P[:, :2])
    with pytest.raises(ValueError, match=r"has 3 classes, the policy is for 4; .*cat, dog, red"):
        own.apply(np.full((2, 3, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"has shape \(3, 4\); pass \(n, M, K\)"):
        own.apply(P[0])
    with pytest.raises(ValueError, match="is a Contamination"):
        own.apply(cl.Contamination(np.full((1, 4), 0.25), [0.1]))
    with pytest.raises(ValueError, match="only repairs predictions"):
        Policy(n_classes=2, member_names="ab", rule=None).apply(np.full((1, 2, 2), 0.5))
    with pytest.raises(ValueError, match="has no 'tv_total'; write the scores with score --policy"):
        own.keep_from_scores({})
    each = policy(ThresholdRule([0.1, 0.2, 0.3, 0.4]))
    with pytest.raises(ValueError, match="prediction: is cow at index 1"):
        each.keep_from_scores({"tv_total": [0.1, 0.2], "prediction": ["cat", "cow"]})
    with pytest.raises(ValueError, match="prediction: is missing"):
        each.rule.keep([0.1])
    with pytest.raises(ValueError, match="pass one number, or one per class"):
        ThresholdRule([[0.1]])
    with pytest.raises(ValueError, match="rule: is for 3 classes; pass one for 4"):
        policy(DecisionRule(3))
    with pytest.raises(ValueError, match="is a TestFunctions, which a policy file cannot contain"):
        policy(distance=cl.TestFunctions(np.eye(4)), column="testfunctions_total").as_dict()
