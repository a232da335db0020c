"""Requests that are refused: the status and the message."""

import asyncio
import json
import struct

import numpy as np
import pytest

pytest.importorskip("orjson")
pytest.importorskip("prometheus_client")

import pyarrow as pa
import pyarrow.ipc
from hypothesis import given
from hypothesis import strategies as st

from credalens.policy import Policy, ThresholdRule
from credalens.service.application import Application, Limits
from policy_cases import MEMBERS, K, M, members, policy
from service_requests import ARROW, NPY, answer, call, npy

APP = Application(policy())
P = members(3)


def arrow(columns, **options) -> bytes:
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, **options) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"[[0.1, NaN]]", "body: is not JSON"),
        (b"", "body: is not JSON"),
        ({"probs": []}, "body: has the key 'probs'; send predictions, "),
        ({}, "body: has no key 'predictions'"),
        ("abc", 'predictions: is "abc"; send nested lists of numbers'),
        ([[[0.5, 0.5], [0.5]]], "has a list of 1 entries at index (0, 1) (zero-based)"),
        ([[[0.5, None], [0.5, 0.5]]], "predictions: is null at index (0, 0, 1) (zero-based)"),
        ([[True, False], [False, True]], "predictions: is true at index (0, 0) (zero-based)"),
        ([0.5, [0.5]], "predictions: mixes lists and numbers"),
        ([0.5, 0.5], "predictions: has shape (2,); send (3, 4) for one row, or (n, 3, 4)"),
        (P[:, :2].tolist(), "predictions: has 2 members, the policy is for 3; pass the members"),
        (P[:, :, :2].tolist(), "predictions: has 2 classes, the policy is for 4; pass the classes"),
        ((P * 2).tolist(), "predictions: row (0, 0) (zero-based) sums to 2"),
        (np.log(P).tolist(), "predictions: entry at index (0, 0, 0) (zero-based) is negative"),
        ({"predictions": P.tolist(), "ids": ["a"]}, "ids: has 1 entries for 3 rows"),
        ({"predictions": P.tolist(), "ids": "a"}, "ids: has no list of entries for 3 rows"),
        ({"predictions": P[0].tolist(), "ids": ["a"]}, "ids: is a list, and predictions is one"),
        ({"predictions": P[0].tolist(), "ids": {}}, "ids: entry 0 is {}; send texts or integers"),
        (
            {"predictions": P.tolist(), "members": ["b", "a", "c"]},
            'members: is ["b","a","c"]; send those of the policy, in this order: a, b, c',
        ),
        ({"predictions": P.tolist(), "classes": 3}, "classes: is 3; send those of the policy"),
    ],
)
def test_invalid_json(document, message):
    assert message in answer(APP, document, 422)["error"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"abc", "body: is not a .npy file; send what numpy.save writes"),
        (npy(P)[:-1], "body: has 287 bytes of data, its header describes 288"),
        (npy(P)[:20], "body: has"),
        (npy(np.array([["a"]])), "predictions: has dtype <U1; send floats"),
        (npy(np.array([[None]], dtype=object)), "predictions: has dtype object; send floats"),
        (npy(P + 0j), "predictions: has dtype complex128; send floats"),
        (npy(np.full((M, K), np.nan)), "is NaN"),
        (npy(P[0, 0]), "predictions: has shape (4,)"),
        (b"\x93NUMPY\x09\x00\x00\x00", "body: has an invalid .npy header"),
        (npy(P).replace(b"(3, 3, 4)", b"(3, 3, 9)"), "its header describes 648"),
    ],
)
def test_invalid_npy(body, message):
    assert message in answer(APP, body, 422, kind=NPY)["error"]


def test_a_header_that_describes_a_huge_array_allocates_nothing():
    body = npy(P).replace(b"(3, 3, 4), }     ", b"(3, 3, 9999999), }")[: len(npy(P))]
    assert "its header describes" in answer(APP, body, 422, kind=NPY)["error"]


def columns(**other):
    return {name: pa.array(P[:, m].tolist()) for m, name in enumerate(MEMBERS)} | other


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"abc", "body: is not an Arrow stream ("),
        (arrow(columns())[:-100], "body: is not an Arrow stream ("),
        (arrow({"a": [[0.5] * 4]}), "body: has the columns a; send one column per member"),
        (arrow(columns(x=[1, 2, 3])), "body: has the columns a, b, c, x; send one column per"),
        (
            arrow(columns(b=[[0.5, 0.5]] * 3)),
            "b: has a list of 2 classes at entry 0 ",
        ),
        (arrow(columns(b=["x"] * 3)), "b: has entries of the type string; send lists of 4"),
        (arrow(columns(b=[["x"] * 4] * 3)), "b: has entries of the type string; send floats"),
        (arrow(columns(b=[None, [0.25] * 4, None])), "b: entry 0 (zero-based) is null"),
        (arrow(columns(b=[[0.5, 0.5, None, 0.0]] * 3)), "b: entry 2 (zero-based) is null"),
        (arrow({"predictions": P[:, :2].tolist()}), "predictions: has a list of 2 members at"),
        (
            arrow(columns(), options=pa.ipc.IpcWriteOptions(compression="zstd")),
            "body: has compressed record batches; send them without compression",
        ),
    ],
)
def test_invalid_arrow(body, message):
    assert message in answer(APP, body, 422, kind=ARROW)["error"]


VALID = {NPY: npy(P), ARROW: arrow(columns()), "application/json": json.dumps(P.tolist()).encode()}


@given(st.sampled_from(sorted(VALID)), st.data())
def test_damaged_bodies_are_refused_or_read(kind, data):
    body = bytearray(VALID[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del body[data.draw(st.integers(0, len(body) - 1)) :]
    status, _, text = call(APP, body=bytes(body), kind=kind)
    assert status in (200, 422), text
    assert ("error" in json.loads(text)) == (status == 422)


def test_methods_paths_and_types():
    assert call(APP, "GET")[:2][0] == 405
    assert call(APP, "GET")[1]["allow"] == "POST"
    assert call(APP, "POST", "/health")[0] == 405
    assert call(APP, "HEAD", "/health")[0] == 200
    status, _, body = call(APP, "GET", "/")
    assert (status, b"/score" in body) == (404, True)
    for kind in ("", "text/plain", "application/jsonp"):
        assert "send application/json or" in answer(APP, [], 415, kind=kind)["error"]
    assert "uncompressed" in answer(APP, [], 415, content_encoding="gzip")["error"]
    assert answer(APP, [], kind="Application/JSON; charset=utf-8")["action"] == []


def test_the_size_limit():
    app = Application(policy(), Limits(body=1000))
    body = json.dumps(P[0].tolist()).encode().ljust(1000)
    answer(app, body)
    for sent in (body + b" ", [body[:600], body[:401], b""], [b"x" * 2000]):
        status, headers, text = call(app, body=sent)
        assert status == 413
        assert ("connection" in headers) == (sent != [b"x" * 2000])
        assert b"body: has more than 1000 bytes; send fewer rows at once" in text


def test_the_time_limit_of_a_body_that_does_not_arrive():
    app = Application(policy(), Limits(seconds=0.05))

    async def never():
        await asyncio.sleep(3600)

    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", b"10")]
    scope = {"type": "http", "method": "POST", "path": "/score", "query_string": b"",
             "headers": headers}  # fmt: skip
    asyncio.run(app(scope, never, send))
    assert sent[0]["status"] == 408
    assert b"did not arrive in 0.05 seconds" in sent[1]["body"]


def test_the_time_limit_of_a_computation():
    # The Hartley measure takes the sum over all events of 16 classes.
    own = Policy(n_classes=16, member_names=["a", "b"], rule=ThresholdRule(1.0),
                 measure="hartley", column="hartley_total")  # fmt: skip
    rows = np.random.default_rng(0).dirichlet(np.ones(16), (4000, 2))
    app = Application(own, Limits(seconds=0.02))
    found = answer(app, npy(rows), 503, kind=NPY)
    assert "the answer takes more than 0.02 seconds; send fewer rows" in found["error"]


def test_tokens():
    app = Application(policy(), token="s3cret")
    body = json.dumps(P[0].tolist()).encode()
    for given_token in ("", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret"):
        status, headers, text = call(app, body=body, authorization=given_token)
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert b"s3cret" not in text
    assert call(app, body=body, authorization="Bearer s3cret")[0] == 200
    assert call(app, body=body, authorization="bearer s3cret")[0] == 200
    assert call(app, "GET", "/health")[0] == 200
    for path in ("/metrics", "/version", "/schema"):
        assert call(app, "GET", path)[0] == 401
        assert call(app, "GET", path, authorization="Bearer s3cret")[0] == 200


def test_errors_of_the_program_are_not_shown_to_clients(capsys):
    def fail(*_):
        raise RuntimeError("a detail")

    app = Application(policy(), handler=fail)
    assert answer(app, [], 500) == {"error": "internal error"}
    assert "RuntimeError: a detail" in capsys.readouterr().err


def test_metrics():
    app = Application(policy())
    rows = members(20)
    found = answer(app, rows.tolist())
    answer(app, rows[0].tolist())
    answer(app, "x", 422)
    call(app, "GET", "/no")
    status, headers, body = call(app, "GET", "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=")
    lines = dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if line[0] != "#")
    assert lines['credalens_requests_total{path="/score",status="200"}'] == "2.0"
    assert lines['credalens_requests_total{path="/score",status="422"}'] == "1.0"
    assert lines['credalens_requests_total{path="other",status="404"}'] == "1.0"
    kept = sum(found["keep"]) + found["keep"][0]
    assert float(lines['credalens_rows_total{keep="true"}']) == kept
    assert float(lines['credalens_rows_total{keep="false"}']) == 21 - kept
    assert lines["credalens_request_seconds_count"] == "3.0"
    assert lines["credalens_requests_in_progress"] == "1.0"
    version = json.loads(call(app, "GET", "/version")[2])
    assert version["policy"]["members"] == list(MEMBERS)
    assert f'sha256="{version["policy"]["sha256"]}"' in body.decode()


def test_compression_is_detected_from_the_flatbuffer():
    from credalens.service.arrow import _is_compressed

    def metadata(body):
        for message in pa.ipc.MessageReader.open_stream(body):
            if message.type == "record batch":
                return message.metadata.to_pybytes()
        raise AssertionError

    for compression in ("zstd", "lz4"):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        assert _is_compressed(metadata(arrow(columns(), options=options)))
    assert not _is_compressed(metadata(arrow(columns())))
    with pytest.raises(struct.error):
        _is_compressed(b"")
