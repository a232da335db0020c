"""The server: sockets, limits of connections, signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

from credalens import _validation
from credalens._extras import require
from credalens.service.application import Application
from credalens.service.handler import collect_warnings

uvicorn = require("uvicorn", "serve")
require("httptools", "serve")
_protocol = require("uvicorn.protocols.http.httptools_impl", "serve")

#: Largest head of a request (its line and headers) in bytes.
HEAD_BYTES = 1 << 16
#: After a signal, requests that have arrived are read for this time before connections without a
#: request are closed.
DRAIN_SECONDS = 0.3
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Protocol(_protocol.HttpToolsProtocol):  # type: ignore[misc, name-defined]
    """HTTP, with a limit of the size of the head of a request and of the time until it arrives."""

    seconds = 30.0

    def connection_made(self, transport: Any) -> None:
        self._head, self._deadline = 0, None
        super().connection_made(transport)
        self._start_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is not None:
            self._head += len(data)
            # A part of the body may have arrived with the head.
            if self._head > HEAD_BYTES and b"\r\n\r\n" not in data:
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._start_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._cancel()
        super().on_headers_complete()

    def _start_head(self) -> None:
        if self._deadline is None:
            self._head = 0
            self._deadline = self.loop.call_later(self.seconds, self._expire)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):  # type: ignore[misc, name-defined]
    """A server that answers the requests that have arrived before it stops."""

    def __init__(self, config: Any, app: Application, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready, self.stopped_by = app, ready, 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.draining = True
        for server in self.servers:
            server.close()
        await asyncio.sleep(DRAIN_SECONDS)
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop after a signal, without raising it again as the base class does."""
        before = {number: signal.signal(number, self.handle_exit) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.stopped_by = sig
        super().handle_exit(sig, frame)


def is_loopback(host: str) -> bool:
    """Return whether all addresses of a host are those of this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    if not host:
        return False
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        _validation.raise_invalid("host", f"is {host!r} ({error.strerror})", "pass 127.0.0.1")
    addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
    return all(address.is_loopback for address in addresses)


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any that is free."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        _validation.raise_invalid(
            "port", f"{host}:{port} cannot be opened ({reason})",
            "pass another --port (0 is any that is free), or --host",
        )  # fmt: skip


def serve(
    app: Application, listening: socket.socket, ready: Callable[[], None] = lambda: None
) -> int:
    """Answer requests until SIGTERM or SIGINT; return the number of the signal.

    After the signal no connection is accepted, requests that have arrived are answered, and
    connections are closed. A second SIGINT stops at once. `ready` is called when the service
    accepts connections.
    """
    seconds = app.limits.seconds
    config = uvicorn.Config(
        app,
        loop="auto",
        http=type("Protocol", (_Protocol,), {"seconds": seconds}),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=app.limits.requests,
        timeout_graceful_shutdown=int(seconds) + 5,
    )
    collect_warnings()
    # Modules stay in memory anyway: the garbage collector need not look at them again.
    gc.collect()
    gc.freeze()
    server = _Server(config, app, ready)
    server.run(sockets=[listening])
    return int(server.stopped_by)
