"""Requests to the service: to an application without a server, and to a process."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import numpy as np

NPY, ARROW = "application/x-npy", "application/vnd.apache.arrow.stream"


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def call(app, method="POST", path="/score", body=b"", kind="application/json", query="", **headers):
    """Return status, headers and body of the answer of an ASGI application.

    `body` may be a list of parts, which arrive one after the other.
    """
    parts = body if isinstance(body, list) else [body]
    names = {b"content-type": kind.encode()} | {
        name.replace("_", "-").encode(): str(value).encode() for name, value in headers.items()
    }
    if not isinstance(body, list):
        names.setdefault(b"content-length", str(len(body)).encode())
    waiting, sent = list(parts), []

    async def receive():
        if not waiting:
            await asyncio.sleep(3600)
        part = waiting.pop(0)
        more = bool(waiting)
        return {"type": "http.request", "body": part, "more_body": more}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "query_string": query.encode(),
        "headers": list(names.items()),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message["body"] for message in sent[1:])


def answer(app, document, status=200, **options):
    """Return the JSON answer to a JSON document, to bytes, or to bytes in parts."""
    in_parts = isinstance(document, list) and document and isinstance(document[0], bytes)
    is_body = in_parts or isinstance(document, bytes)
    body = document if is_body else json.dumps(document).encode()
    found = call(app, body=body, **options)
    assert found[0] == status, found[2]
    return json.loads(found[2])


class Service:
    """A process of ``credalens serve``."""

    def __init__(self, process: subprocess.Popen, port: int) -> None:
        self.process, self.port = process, port
        self.opened: list[socket.socket] = []

    def open_socket(self) -> socket.socket:
        """Return a connection that is closed with the service."""
        self.opened.append(socket.create_connection(("127.0.0.1", self.port), timeout=60))
        return self.opened[-1]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method="GET", path="/health", body=None, headers=None):
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def stop(self, number=signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def service(*options, **environment):
    """Start ``credalens serve`` with options on a free port; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "credalens", "serve", "--port", "0", *map(str, options)],
        stderr=subprocess.PIPE, text=True, env=os.environ | environment,
    )  # fmt: skip
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if " on http://" in line:
                break
        assert " on http://" in "".join(lines[-1:]), lines
        running = Service(process, int(lines[-1].rpartition(":")[2]))
        yield running
        for connection in running.opened:
            connection.close()
    finally:
        process.kill()
        process.wait(60)
        process.stderr.close()
