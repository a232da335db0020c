"""Policies: files, rules by their definitions, and keep sets from tables of scores."""

import copy
import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credalens as cl
from credalens.policy import DecisionRule, Policy, ThresholdRule
from credalens.policy.application import PreparedColumns
from credalens.policy.schema import find_error, policy_schema
from policy_cases import CLASSES, POLICIES, K, M, members, policy, repairs


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_saved_policy_does_the_same(name, dtype, tmp_path):
    own = POLICIES[name]
    own.save(tmp_path / "p.json")
    read = Policy.load(tmp_path / "p.json")
    assert read.as_dict() == own.as_dict()
    P = members(dtype=dtype)
    first, second = own.apply(P), read.apply(P)
    np.testing.assert_array_equal(first.score, second.score)
    assert first.action.tolist() == second.action.tolist()
    assert first.keep.tolist() == second.keep.tolist()
    jsonschema.Draft202012Validator(policy_schema()).validate(
        json.loads((tmp_path / "p.json").read_text())
    )


@pytest.mark.parametrize("name", POLICIES)
def test_the_columns_of_a_table_are_those_of_apply(name):
    own, P = POLICIES[name], members(dtype=np.float32)
    found = own.apply(P)
    table, _ = PreparedColumns(own, ["entropy"]).rows(own.prepare(P), None, own.class_names)
    assert table["action"].tolist() == found.action.tolist()
    np.testing.assert_array_equal(table[own.column], found.score)
    assert own.keep_from_scores(table).tolist() == found.keep.tolist()
    assert {"prediction", "entropy_total"} <= set(table)
    texts = {key: [str(x) for x in values] for key, values in table.items()}
    numbers = {key: np.asarray(table[key]) for key in own.needed_columns if key != "prediction"}
    assert own.keep_from_scores(texts | numbers).tolist() == found.keep.tolist()


def test_the_threshold_by_its_definition():
    P = members()
    total = np.asarray(cl.total_uncertainty(P))
    found = policy(ThresholdRule(0.5)).apply(P)
    assert 5 < found.keep.sum() < 55
    assert found.keep.tolist() == [bool(t <= 0.5) for t in total]
    assert found.action.tolist() == ["keep" if k else "hand over" for k in found.keep]
    vote = cl.majority_vote(P)
    assert found.prediction.tolist() == vote.tolist()
    limits = [0.3, 0.6, np.inf, -np.inf]
    each = policy(ThresholdRule(limits)).apply(P)
    assert each.keep.tolist() == [t <= limits[y] for t, y in zip(total, vote, strict=True)]


def test_a_score_equal_to_the_threshold_is_kept_in_single_precision():
    P = members(dtype=np.float32)
    score = policy().apply(P).score
    assert score.dtype == np.float32
    limit = float(score[7])
    assert policy(ThresholdRule(limit)).apply(P).keep[7]
    below = np.nextafter(limit, 0)  # rounds to the score in single precision
    assert np.float32(below) == score[7]
    assert not policy(ThresholdRule(below)).apply(P).keep[7]


def test_decisions_by_their_definitions():
    P = members()
    mask, total = cl.admissible(P), np.asarray(cl.total_uncertainty(P))
    found = policy(DecisionRule(K)).apply(P)
    assert found.action.tolist() == ["; ".join(np.array(CLASSES)[row]) for row in mask]
    assert found.keep.tolist() == (mask.sum(axis=1) == 1).tolist()
    found = policy(DecisionRule(K, abstain=0.4)).apply(P)
    assert found.keep.tolist() == (total <= 0.4).tolist()
    chosen = np.array(CLASSES)[cl.decide(P)]
    assert found.action[found.keep].tolist() == chosen[found.keep].tolist()
    assert set(found.action[~found.keep]) == {"hand over"}
    own = POLICIES["costs"].rule
    actions = np.array(own.actions)[cl.decide(P, own.cost, "hurwicz", alpha=0.3)]
    assert POLICIES["costs"].apply(P).action.tolist() == actions.tolist()


@pytest.mark.parametrize("kind", repairs())
def test_a_repair_comes_first(kind):
    repair, P = repairs()[kind], members()
    found = policy(repair=repair).apply(P)
    expected = policy(member_names=("a", "b", "c")[: len(repair.kept)]).apply(repair(P))
    np.testing.assert_array_equal(found.score, expected.score)
    assert found.prediction.tolist() == expected.prediction.tolist()


def test_weights_and_missing_members():
    P, mask = members(), np.ones((60, M), bool)
    mask[::3, 1] = False
    own = POLICIES["weights"]
    hull = cl.ConvexHull(P, weights=[1, 0, 2])
    expected = cl.quantify(hull, "information").total
    np.testing.assert_array_equal(own.apply(P).score, expected)
    np.testing.assert_array_equal(own.apply(hull).score, expected)
    repair = repairs()["vector"]
    part = policy(repair=repair).apply(cl.ConvexHull(P, mask=mask))
    full = policy(repair=repair).apply(P)
    # Member 1 is not kept, so that it does not matter whether it is missing.
    np.testing.assert_array_equal(part.score, full.score)


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, one in items:
        yield from _paths(one, (*path, key))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(-2, 2),
    st.sampled_from(["all", "", "tv", [], {}, [1.0], [[0.0, 1.0]], {"mmd": [[1]]}]),
).map(copy.deepcopy)  # fmt: skip


@given(st.data())
def test_the_check_agrees_with_jsonschema(data):
    document = copy.deepcopy(POLICIES[data.draw(st.sampled_from(sorted(POLICIES)))].as_dict())
    for _ in range(data.draw(st.integers(1, 2))):
        *path, last = data.draw(st.sampled_from([p for p in _paths(document) if p]))
        parent = document
        for key in path:
            parent = parent[key]
        how = data.draw(st.sampled_from(["set", "delete", "add"]))
        if how == "delete":
            del parent[last]
        elif how == "add" and isinstance(parent, dict):
            parent["other"] = data.draw(VALUES)
        else:
            parent[last] = data.draw(VALUES)
    valid = jsonschema.Draft202012Validator(policy_schema()).is_valid(document)
    assert (find_error(document) is None) == valid
    try:
        Policy.from_dict(document)
    except ValueError:
        pass
    else:
        assert valid
