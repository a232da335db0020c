"""The answers of the service are those of the policy, in every format of bodies."""

import json

import jsonschema
import numpy as np
import pytest

pytest.importorskip("orjson")
pytest.importorskip("prometheus_client")

import pyarrow as pa
import pyarrow.ipc

import credalens as cl
from credalens.policy import DecisionRule, Policy, ThresholdRule
from credalens.policy.application import PreparedColumns
from credalens.service.application import Application
from credalens.service.request_schema import request_schema
from credalens.service.scorer import Scorer
from policy_cases import CLASSES, MEMBERS, POLICIES, K, M, members, policy
from service_requests import ARROW, NPY, answer, call, npy


def arrow(columns) -> bytes:
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_answer_is_that_of_the_policy(name, dtype):
    own, P = POLICIES[name], members(20, dtype=dtype)
    if own.reading:
        own = policy()
    found = answer(Application(own), npy(P), kind=NPY)
    expected = own.apply(P)
    assert found["action"] == expected.action.tolist()
    assert found["keep"] == expected.keep.tolist()
    np.testing.assert_allclose(found[own.column], expected.score, rtol=1e-6)
    table, _ = PreparedColumns(own, ("tv",)).rows(own.prepare(P), None, own.class_names)
    assert set(table) <= set(found)
    assert found["prediction"] == table["prediction"].tolist()
    Q = own.prepare(P)
    assert found["kind"] == cl.kinds(Q, own.distance).tolist()
    if not isinstance(own.rule, DecisionRule):
        kept = range(M) if own.repair is None else own.repair.kept
        reasons = cl.reasons(
            Q, own.distance, class_names=own.class_names, member_names=[MEMBERS[m] for m in kept]
        )
        texts = [None if k else r.text for k, r in zip(expected.keep, reasons, strict=True)]
        assert found["reason"] == texts


@pytest.mark.parametrize("name", POLICIES)
def test_one_row_is_the_first_of_several(name):
    scorer, P = Scorer(POLICIES[name]), members(6)
    every = scorer(P)
    for i in range(6):
        one = scorer(P[i])
        assert one.keys() == every.keys()
        for key, value in one.items():
            assert value == every[key][i], key


def test_all_formats_have_the_same_answer():
    app, P = Application(policy()), members(7)
    expected = answer(app, P.tolist())
    ids = [f"row {i}" for i in range(7)]
    assert answer(app, {"predictions": P.tolist(), "ids": None}) == expected
    named = answer(app, {"predictions": P.tolist(), "ids": ids, "members": list(MEMBERS)})
    assert named == {"id": ids, **expected}
    for array in (P, np.asfortranarray(P), P.astype(">f8")):
        assert answer(app, npy(array), kind=NPY) == expected
    assert answer(app, npy(P), kind="application/octet-stream") == expected
    lists = {name: pa.array(P[:, m].tolist()) for m, name in reversed([*enumerate(MEMBERS)])}
    assert answer(app, arrow(lists), kind=ARROW) == expected
    assert answer(app, arrow({"id": ids, **lists}), kind=ARROW) == {"id": ids, **expected}
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(P.ravel()), K)
    nested = pa.FixedSizeListArray.from_arrays(fixed, M)
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(P)
    for column in (nested, tensor, pa.array(P.tolist())):
        assert answer(app, arrow({"predictions": column}), kind=ARROW) == expected
    status, headers, body = call(app, body=npy(P), kind=NPY, accept=ARROW)
    assert (status, headers["content-type"]) == (200, ARROW)
    assert pa.ipc.open_stream(body).read_all().to_pydict() == expected


def test_parts_of_a_body_are_joined_and_large_bodies_are_scored_by_a_thread():
    app, P = Application(policy()), members(400)
    body = json.dumps(P.tolist()).encode()
    assert len(body) > 1 << 14
    parts = [body[:100], body[100:5000], b"", body[5000:]]
    found = answer(app, parts)
    assert found["action"] == policy().apply(P).action.tolist()
    assert found == answer(app, body)


def test_reasons_can_be_requested_for_all_rows_or_none():
    app, P = Application(policy()), members(20)
    kept = answer(app, P.tolist())["keep"]
    assert 0 < sum(kept) < 20
    texts = [r.text for r in cl.reasons(P, member_names=MEMBERS, class_names=CLASSES)]
    assert answer(app, P.tolist(), query="reasons=all")["reason"] == texts
    assert answer(app, P.tolist(), query="reasons=none")["reason"] == [None] * 20
    bad = answer(app, P.tolist(), 422, query="reasons=some")["error"]
    assert bad.startswith("reasons: is 'some'; ")


def test_logits_weights_and_percentages_are_read_as_the_policy_says():
    P = members(9)
    expected = Scorer(policy())(P)["tv_total"]
    given = {
        "logits": (np.log(P) * 2 + 1, {"logits": "True", "temperature": "2.0"}),
        "normalize": (P * 7, {"normalize": "True"}),
        "percent": (P * 100, {"percent": "True"}),
    }
    for values, reading in given.values():
        np.testing.assert_allclose(Scorer(policy(reading=reading))(values)["tv_total"], expected)


def test_a_policy_without_a_rule_only_scores():
    own = Policy(n_classes=K, member_names=MEMBERS, rule=None)
    found = answer(Application(own), members(3).tolist())
    assert "action" not in found
    assert "keep" not in found
    assert all(found["reason"])


def test_no_rows_and_one_member():
    assert answer(Application(policy()), [])["action"] == []
    assert answer(Application(policy()), npy(np.empty((0, M, K))), kind=NPY)["reason"] == []
    own = Policy(n_classes=2, member_names=["a"], rule=ThresholdRule(0.3))
    assert answer(Application(own), [[0.9, 0.1]])["action"] == "keep"


def test_rounding_is_noted_in_the_answer():
    import warnings

    from credalens.service.handler import collect_warnings

    P = members(3)
    with warnings.catch_warnings():
        collect_warnings()
        found = answer(Application(policy()), (P * 1.0005).tolist())
        assert "divided by their sums" in found["notes"][0]
        assert "notes" not in answer(Application(policy()), P.tolist())


def test_requests_agree_with_the_schema():
    own, P = policy(), members(2).tolist()
    check = jsonschema.Draft202012Validator(request_schema(own))
    jsonschema.Draft202012Validator.check_schema(check.schema)
    app = Application(own)
    assert json.loads(call(app, "GET", "/schema")[2]) == check.schema
    documents = [
        P, P[0], [], {"predictions": P}, {"predictions": P[0], "ids": 3},
        {"predictions": P, "ids": ["a", 4], "members": list(MEMBERS), "classes": list(CLASSES)},
        {"predictions": P, "classes": None},
    ]  # fmt: skip
    for document in documents:
        check.validate(document)
        answer(app, document)
    wrong = [
        3, None, "a", {}, {"predictions": "a"}, {"predictions": P, "other": 1}, [P[0][0]], [[P]],
        [P[0][:2]], [[row[:3] for row in P[0]]], {"predictions": P, "members": ["a"]},
        {"predictions": P, "classes": CLASSES[::-1]}, {"predictions": P, "ids": [1.5, 2]},
        [[["x"] * K] * M], [[[None] * K] * M],
    ]  # fmt: skip
    for document in wrong:
        assert not check.is_valid(document), document
        answer(app, document, 422)


@pytest.mark.parametrize("rule", [ThresholdRule(0.45), ThresholdRule([0.2, 0.7, np.inf, -np.inf])])
@pytest.mark.parametrize("names", [CLASSES, None])
def test_one_call_of_the_kernel_has_the_results_of_the_general_path(rule, names):
    rng = np.random.default_rng(0)
    tied = rng.integers(0, 3, (40, M, K)) + np.eye(K)[:M]  # votes and probabilities are tied
    P = np.concatenate([members(40), tied / tied.sum(axis=-1, keepdims=True)])
    own = policy(rule, class_names=names)
    fast, general = Scorer(own), Scorer(own)
    assert fast._fast is not None
    general._fast = None
    readonly = P.copy()
    readonly.flags.writeable = False
    for which in ("handed_over", "all", "none"):
        for rows in (P, readonly, P[:1], *P[::2], P[:, :, ::-1][:, :, ::-1]):
            first, second = fast(rows, which), general(rows, which)
            assert list(first) == list(second)
            for key, value in second.items():
                assert np.array_equal(np.asarray(first[key]), np.asarray(value)), key
    inexact = P * (1 + 1e-5)
    assert fast._fast.measures(inexact) is None
    np.testing.assert_allclose(fast(inexact)["tv_total"], general(P)["tv_total"])
    for other in ("repair vector", "weights", "mmi", "ordinal", "labels", "abstain", "reading"):
        assert Scorer(POLICIES[other])._fast is None
