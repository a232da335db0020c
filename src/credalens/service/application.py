"""The ASGI application: routes, limits, authorization and metrics.

It is written for ASGI itself: a framework costs more time than the measures of one row.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import credalens
from credalens._backend import get_num_threads
from credalens.policy.policy import Policy
from credalens.service.bodies import JSON, READERS, write_json
from credalens.service.counters import Counters
from credalens.service.handler import Handler, Reply
from credalens.service.request_schema import request_schema
from credalens.service.scorer import Scorer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: Bodies of at most this many bytes are scored by the event loop: a thread would cost more time.
INLINE_BYTES = 1 << 14
#: After a body that is too large was refused, this much more is read and discarded, for at most
#: this time, so that clients that send all before they read see the response.
DISCARDED_BYTES, DISCARD_SECONDS = 1 << 28, 2.0
PATHS = {"/score": "POST", "/health": "GET", "/version": "GET", "/metrics": "GET", "/schema": "GET"}


@dataclass(frozen=True)
class Limits:
    """Limits of requests: bytes of a body, seconds until the answer, requests under way at once."""

    body: int = 16 << 20
    seconds: float = 30.0
    requests: int = 256


class RefusedError(Exception):
    """A request that is answered with an error; `unread` if its body has not been read."""

    def __init__(
        self, status: int, message: str, *headers: tuple[bytes, bytes], unread: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.headers, self.unread = status, headers, unread


class DisconnectedError(Exception):
    """The client closed the connection before its request was complete."""


class Application:
    """An ASGI application that applies a policy to the predictions of ``POST /score``.

    It keeps no state but its counters. `handler` makes the reply to a body, by default that of the
    policy. With a `token`, all paths but ``/health`` require the header
    ``Authorization: Bearer TOKEN``.
    """

    def __init__(
        self,
        policy: Policy,
        limits: Limits | None = None,
        token: str | None = None,
        handler: Callable[[bytes, str, str, str], Reply] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._handle = handler or Handler(Scorer(policy))
        self._token = None if token is None else token.encode()
        text = json.dumps(policy.as_dict(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        self._version = {
            "credalens": credalens.__version__,
            "policy": {
                "sha256": digest,
                "created_by": policy.created_by,
                "members": list(policy.member_names),
                "classes": list(policy.labels),
                "rule": None
                if policy.rule is None
                else policy.rule.describe(policy.column, policy.labels),
                "guarantees": [one.describe(policy.labels) for one in policy.guarantees],
            },
        }
        self._schema = request_schema(policy)
        self.counters = Counters({"sha256": digest, "version": credalens.__version__})
        self._threads = ThreadPoolExecutor(get_num_threads(), "credalens")
        #: Whether the service is about to stop: responses then close their connections.
        self.draining = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        start = time.perf_counter()
        path = scope["path"] if scope["path"] in PATHS else "other"
        self.counters.in_progress.inc()
        headers, unread = [], False
        try:
            try:
                status, body, kind = await self._respond(scope, receive)
            except RefusedError as error:
                status, body, kind = error.status, write_json({"error": str(error)}), b""
                headers, unread = list(error.headers), error.unread
            except DisconnectedError:
                return
            except Exception:
                traceback.print_exc(file=sys.stderr)
                status, body, kind = 500, write_json({"error": "internal error"}), b""
            headers += [
                (b"content-type", kind or JSON.encode()),
                (b"content-length", str(len(body)).encode()),
            ]
            if self.draining or unread or status == 408:
                headers.append((b"connection", b"close"))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            if unread:
                await send({"type": "http.response.body", "body": body, "more_body": True})
                await self._discard(receive)
                body = b""
            await send({"type": "http.response.body", "body": body})
        finally:
            self.counters.in_progress.dec()
        seconds = time.perf_counter() - start if path == "/score" else None
        self.counters.answered(path, status, seconds)

    async def _respond(self, scope: Message, receive: Receive) -> tuple[int, bytes, bytes]:
        """Return status, body and content type."""
        path, method = scope["path"], scope["method"]
        headers = dict(scope["headers"])
        if path not in PATHS:
            raise RefusedError(404, f"path: {path} does not exist; use {', '.join(PATHS)}")
        allowed = PATHS[path]
        if method != allowed and not (method == "HEAD" and allowed == "GET"):
            raise RefusedError(
                405, f"method: is {method}; use {allowed}", (b"allow", allowed.encode())
            )
        if path == "/health":
            return 200, write_json({"status": "stopping" if self.draining else "ok"}), b""
        if self._token is not None:
            self._authorize(headers.get(b"authorization", b""))
        if path == "/score":
            reply = await self._score(headers, scope["query_string"], receive)
            return 200, reply.body, reply.content_type
        if path == "/metrics":
            text, kind = self.counters.text()
            return 200, text, kind.encode()
        return 200, write_json(self._version if path == "/version" else self._schema), b""

    def _authorize(self, header: bytes) -> None:
        scheme, _, given = header.partition(b" ")
        same = hmac.compare_digest(given.strip(), self._token or b"")
        if scheme.lower() != b"bearer" or not same:
            raise RefusedError(
                401, "authorization: no valid token; send the header Authorization: Bearer TOKEN",
                (b"www-authenticate", b"Bearer"), unread=True,
            )  # fmt: skip

    async def _score(self, headers: dict[bytes, bytes], query: bytes, receive: Receive) -> Reply:
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin1")
        if kind not in READERS:
            raise RefusedError(
                415, f"content-type: is {kind!r}; send {' or '.join(READERS)}", unread=True
            )
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise RefusedError(415, "content-encoding: send the body uncompressed", unread=True)
        deadline = asyncio.get_running_loop().time() + self.limits.seconds
        body = await self._body(headers, receive, deadline)
        request = (
            body, kind, headers.get(b"accept", b"").decode("latin1"), query.decode("latin1")
        )  # fmt: skip
        try:
            if len(body) <= INLINE_BYTES:
                reply = self._handle(*request)
            else:
                reply = await self._in_thread(request, deadline)
        except ValueError as error:
            raise RefusedError(422, str(error)) from None
        except MemoryError:
            raise RefusedError(503, "predictions: not enough memory; send fewer rows") from None
        self.counters.scored(reply.kept, reply.handed_over)
        return reply

    async def _in_thread(self, request: tuple[bytes, str, str, str], deadline: float) -> Reply:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(deadline):
                return await loop.run_in_executor(self._threads, self._handle, *request)
        except TimeoutError:
            raise RefusedError(
                503, f"time: the answer takes more than {self.limits.seconds:g} seconds; send "
                "fewer rows, or raise --time-limit"
            ) from None  # fmt: skip

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, deadline: float) -> bytes:
        limit = self.limits.body
        # The server has validated the header.
        if int(headers.get(b"content-length", b"0")) > limit:
            raise _too_large(limit)
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
                parts, size = [message.get("body", b"")], len(message.get("body", b""))
                while message.get("more_body") and size <= limit:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
        except TimeoutError:
            raise RefusedError(
                408, f"time: the body did not arrive in {self.limits.seconds:g} seconds; send it "
                "faster, or raise --time-limit"
            ) from None  # fmt: skip
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        if size > limit:
            raise _too_large(limit, message.get("more_body", False))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _discard(self, receive: Receive) -> None:
        """Read and discard the rest of the body of a request that was refused."""
        size = 0
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while size < DISCARDED_BYTES:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body"):
                        return
        except TimeoutError:
            return


def _too_large(limit: int, unread: bool = True) -> RefusedError:
    return RefusedError(
        413, f"body: has more than {limit} bytes; send fewer rows at once, or raise --max-body",
        unread=unread,
    )  # fmt: skip
