"""Load test of ``credalens serve`` on the loopback interface: ``python -m benchmarks.service``.

Two processes run the same server. The first applies a policy; the other reads each body and answers
with the bytes of an answer that it has computed before, so that it does everything else: sockets,
HTTP, limits, counters. Requests to both alternate in short blocks, so that other load on the
machine affects both. The whole test takes about half a minute.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import socket
import statistics
import threading
import time
from contextlib import contextmanager

import numpy as np

from benchmarks.harness import Row

MEMBERS, CLASSES = 5, 10
#: Seconds of each load, and of a block of requests to one service.
SECONDS, BLOCK = 4.0, 0.1
MAX_RATIO, MIN_ROWS = 1.3, 200_000


def policy():
    from credalens.policy import Policy, ThresholdRule

    return Policy(
        n_classes=CLASSES,
        member_names=[f"model_{m}" for m in range(MEMBERS)],
        class_names=[f"class {k}" for k in range(CLASSES)],
        rule=ThresholdRule(0.3),
    )


def predictions(n):
    """Predictions of an ensemble that agrees mostly: about one row in seven is handed over."""
    rng = np.random.default_rng(0)
    center = rng.dirichlet(np.full(CLASSES, 0.03), n)[:, None]
    points = 0.95 * center + 0.05 * rng.dirichlet(np.ones(CLASSES), (n, MEMBERS))
    return points / points.sum(axis=-1, keepdims=True)


def run(port, empty, bodies):
    """Serve in this process; with `empty`, answers are computed before."""
    from credalens.service import Application, serve
    from credalens.service.handler import Handler
    from credalens.service.scorer import Scorer
    from credalens.service.server import open_socket

    handler = None
    if empty:
        own = Handler(Scorer(policy()))
        known = {len(body): own(body, kind, "", "") for kind, body in bodies}

        def handler(body, kind, accept, query):
            return known[len(body)]

    listening = open_socket("127.0.0.1", 0)
    app = Application(policy(), handler=handler)
    serve(app, listening, lambda: port.send(listening.getsockname()[1]))


@contextmanager
def service(empty, bodies):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=run, args=(there, empty, bodies), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


class Client:
    """One connection that is kept open."""

    def __init__(self, port, kind, body):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: "
        self.request = f"{head}{len(body)}\r\n\r\n".encode() + body

    def __call__(self):
        """Return the seconds of one request."""
        start = time.perf_counter()
        self.socket.sendall(self.request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(1 << 20)
        head, _, body = answer.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        missing = length - len(body)
        while missing:
            missing -= len(self.socket.recv(1 << 20))
        spent = time.perf_counter() - start
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(answer)
        return spent


def load(ports, kind, body, clients=1):
    """Return the sorted times of requests to each service, and requests per second."""
    times = [[] for _ in ports]
    busy = [0.0 for _ in ports]
    connections = [[Client(port, kind, body) for _ in range(clients)] for port in ports]
    for group in connections:
        for client in group:
            for _ in range(20):
                client()
    stop = time.perf_counter() + SECONDS * len(ports)
    while time.perf_counter() < stop:
        for which, group in enumerate(connections):
            start = time.perf_counter()
            found = [[] for _ in group]

            def work(client, out, end=start + BLOCK):
                while time.perf_counter() < end:
                    out.append(client())

            threads = [threading.Thread(target=work, args=pair)
                       for pair in zip(group[1:], found[1:], strict=True)]  # fmt: skip
            for thread in threads:
                thread.start()
            work(group[0], found[0])
            for thread in threads:
                thread.join()
            busy[which] += time.perf_counter() - start
            times[which] += [one for part in found for one in part]
    for group in connections:
        for client in group:
            client.socket.close()
    return [sorted(part) for part in times], [
        len(part) / spent for part, spent in zip(times, busy, strict=True)
    ]


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def cases():
    """Yield name, rows, content type, body and number of clients."""
    many = predictions(1000)
    kept, handed_over = (many[i] for i in _first_of_each(many))
    as_json, as_npy = "application/json", "application/x-npy"
    yield "1 row, JSON, kept", 1, as_json, json.dumps(kept.tolist()).encode(), 1
    yield "1 row, JSON, handed over", 1, as_json, json.dumps(handed_over.tolist()).encode(), 1
    yield "1 row, NumPy, kept", 1, as_npy, npy(kept), 1
    yield "1000 rows, NumPy", 1000, as_npy, npy(many), 2
    yield "1000 rows, JSON", 1000, as_json, json.dumps(many.round(6).tolist()).encode(), 2


def _first_of_each(many):
    keep = policy().apply(many).keep
    return int(np.argmax(keep)), int(np.argmin(keep))


def measure():
    """Yield a dict per case."""
    every = list(cases())
    bodies = [(kind, body) for _, _, kind, body, _ in every]
    with service(False, bodies) as own, service(True, bodies) as empty:
        for name, rows, kind, body, clients in every:
            (times, nothing), (rate, most) = load((own, empty), kind, body, clients)
            yield {
                "case": name,
                "rows": rows,
                "median_us": 1e6 * statistics.median(times),
                "empty_median_us": 1e6 * statistics.median(nothing),
                "p99_us": 1e6 * times[int(0.99 * len(times))],
                "empty_p99_us": 1e6 * nothing[int(0.99 * len(nothing))],
                "requests_per_second": rate,
                "empty_requests_per_second": most,
                "rows_per_second": rate * rows,
            }


def rows():
    """Yield the rows of the table of benchmarks."""
    for case in measure():
        one = case["rows"] == 1
        ratio = case["median_us"] / case["empty_median_us"]
        met = ratio <= MAX_RATIO if one else case["rows_per_second"] >= MIN_ROWS
        required = f"<= {MAX_RATIO}x the empty service" if one else f">= {MIN_ROWS} rows/s"
        note = (
            f"{case['requests_per_second']:.0f} requests/s (empty "
            f"{case['empty_requests_per_second']:.0f}), {case['rows_per_second']:.0f} rows/s, "
            f"p99 {case['p99_us']:.0f} us (empty {case['empty_p99_us']:.0f})"
        )
        yield Row(case["case"], "the same service that does nothing", case["median_us"],
                  case["empty_median_us"], required, met, note)  # fmt: skip


if __name__ == "__main__":
    for row in rows():
        print(f"{row.what}: median {row.ours_us:.0f} us, empty {row.other_us:.0f} us, "
              f"{row.ours_us / row.other_us:.2f}x; required {row.required}: "
              f"{'met' if row.met else 'MISSED'}; {row.agreement}", flush=True)  # fmt: skip
