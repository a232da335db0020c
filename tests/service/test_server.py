"""The process: signals, limits of connections, and what clients see."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("orjson")
pytest.importorskip("prometheus_client")
pytest.importorskip("uvicorn")

from credalens.policy import Policy, ThresholdRule
from policy_cases import members, policy
from service_requests import NPY, npy, service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]
ROW = json.dumps(members(1)[0].tolist()).encode()
JSON = {"Content-Type": "application/json"}
HEAD = (
    b"POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
REQUEST = HEAD % len(ROW) + ROW


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("policy") / "policy.json"
    policy().save(file)
    return file


def read_all(connection) -> bytes:
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def test_requests_limits_and_sigterm(path):
    with service("--policy", path, "--max-body", 0.01, "--time-limit", 60) as running:
        expected = policy().apply(members(1)).action.tolist()
        connection = running.connect()
        running.opened.append(connection)
        for _ in range(3):  # one connection
            connection.request("POST", "/score", ROW, JSON)
            assert [json.loads(connection.getresponse().read())["action"]] == expected
        for body in (npy(np.full((20000, 3, 4), 0.25)), iter([b"x" * 5000] * 100)):
            status, text = running.request("POST", "/score", body, {"Content-Type": NPY})
            assert (status, b"body: has more than 10485 bytes" in text) == (413, True)
        status, text = running.request("POST", "/score", b"[1]", JSON)
        assert (status, b"predictions: has shape (1,)" in text) == (422, True)

        idle = running.open_socket()
        # The head of a request that never ends.
        endless = running.open_socket()
        with pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012
            endless.sendall(b"GET /health HTTP/1.1\r\n")
            for _ in range(20):
                endless.sendall(b"x: " + b"y" * 10000 + b"\r\n")
                time.sleep(0.05)
        assert running.request()[0] == 200
        assert running.stop() == 0
        assert idle.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            running.request()


def test_a_head_or_a_body_that_does_not_arrive_in_time(path):
    with service("--policy", path, "--time-limit", 1) as running:
        opened = [running.open_socket() for _ in "abc"]
        opened[1].sendall(b"GET /health HTTP/1.1\r\nHost:")
        opened[2].sendall(REQUEST[:-5])
        assert read_all(opened[0]) == read_all(opened[1]) == b""
        assert read_all(opened[2]).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_that_have_arrived_are_answered_before_the_service_stops(tmp_path, number):
    # The Hartley measure of 14 classes takes a while.
    own = Policy(n_classes=14, member_names=["a", "b"], rule=ThresholdRule(1.0),
                 measure="hartley", column="hartley_total")  # fmt: skip
    own.save(tmp_path / "p.json")
    rows = npy(np.random.default_rng(0).dirichlet(np.ones(14), (3000, 2)))
    head = HEAD.replace(b"application/json", NPY.encode()) % len(rows)
    with service("--policy", tmp_path / "p.json", "--threads", 1) as running:
        opened = [running.open_socket() for _ in range(6)]
        for connection in opened[:4]:
            connection.sendall(head + rows)
        opened[4].sendall(head + rows[:1000])  # the rest arrives after the signal
        # Connections are accepted in their order.
        text = running.request(path="/metrics")[1].decode()
        assert float(re.search(r"in_progress ([0-9.]+)", text)[1]) >= 2
        running.process.send_signal(number)
        with suppress(OSError):  # the service may have closed a connection without a request
            opened[5].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_all(opened[5])[:13] in (b"", b"HTTP/1.1 200 ")
        time.sleep(1)  # longer than connections without a request are kept
        opened[4].sendall(rows[1000:])
        for connection in opened[:5]:
            head_of_answer, _, body = read_all(connection).partition(b"\r\n\r\n")
            assert head_of_answer.startswith(b"HTTP/1.1 200 ")
            assert len(json.loads(body)["action"]) == 3000
        assert running.process.wait(60) == (0 if number == signal.SIGTERM else 130)
        assert running.process.stderr.read().endswith("were answered\n")


def test_every_request_is_answered_while_the_service_stops(path):
    """Clients that connect again and again see an answer, or a refused connection."""
    with service("--policy", path) as running:
        lost, answered = [], [0] * 3

        def client(index):
            while True:
                try:
                    status, _ = running.request("POST", "/score", ROW, JSON)
                except ConnectionRefusedError:
                    return
                except OSError as error:
                    lost.append(error)
                    return
                answered[index] += status == 200

        threads = [threading.Thread(target=client, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        while min(answered) < 20:
            time.sleep(0.01)
        assert running.stop() == 0
        for thread in threads:
            thread.join(60)
        # A connection that the kernel accepted and the service did not is reset.
        assert all(isinstance(error, ConnectionResetError) for error in lost), lost


def test_a_killed_service_has_lost_nothing(path):
    with service("--policy", path) as running:
        before = running.request("POST", "/score", ROW, JSON)
        running.process.kill()
        running.process.wait(60)
    with service("--policy", path) as running:
        assert running.request("POST", "/score", ROW, JSON) == before


def refused(*words, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "credalens", "serve", *map(str, words)],
        capture_output=True, text=True, timeout=120, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 2
    return done.stderr.splitlines()[-1]


def test_tokens_and_addresses(path):
    said = refused("--policy", path, "--host", "0.0.0.0", "--port", 0)
    assert said == (
        "credalens: --host: 0.0.0.0 can be reached from other machines; set CREDALENS_TOKEN, or "
        "pass --allow-anonymous"
    )
    with service("--policy", path, "--host", "0.0.0.0", CREDALENS_TOKEN="abc") as running:
        assert running.request()[0] == 200
        assert running.request(path="/version")[0] == 401
        found = running.request(path="/version", headers={"Authorization": "Bearer abc"})
        assert json.loads(found[1])["policy"]["members"] == ["a", "b", "c"]
        said = refused("--policy", path, "--port", running.port)
        assert said.startswith(f"credalens: --port: 127.0.0.1:{running.port} cannot be opened (")


def test_invalid_options(path, tmp_path):
    assert "--token: " in refused("--policy", path, "--token", " a")
    assert "--time-limit: is 0; pass" in refused("--policy", path, "--time-limit", 0)
    (tmp_path / "x.json").write_text("{}")
    assert "is not a policy" in refused("--policy", tmp_path / "x.json")
    assert "--host" in refused("--policy", path, "--host", "no.such.host.invalid")
