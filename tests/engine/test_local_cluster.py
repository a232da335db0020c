"""The cluster on this machine accepts its own processes only."""

import os
import socket
import ssl
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")
pytest.importorskip("cryptography")

from credalens.engine.client import connect  # noqa: E402

pytestmark = pytest.mark.slow


def ports():
    """Return the ports on which this process and its children listen."""
    own = psutil.Process(os.getpid())
    found = set()
    for process in (own, *own.children(recursive=True)):
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                found.add(connection.laddr)
    return found


def answer(stream, question):
    """Return what a server answers, nothing if it closes the connection."""
    try:
        stream.sendall(question)
        return stream.recv(100)
    except (OSError, ssl.SSLError):
        return b""


def test_no_port_without_authentication():
    before = ports()
    with connect(workers=2) as client:
        assert client.submit(np.sum, [1, 2]).result(timeout=120) == 3
        opened = ports() - before
        assert len(opened) >= 5  # the scheduler, two workers and their nannies
        for address in opened:
            assert address.ip == "127.0.0.1"
            for question in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", bytes(64)):
                with socket.create_connection(address, timeout=60) as plain:
                    got = answer(plain, question)
                    assert got[:1] in (b"", b"\x15"), (address, got)  # nothing, or a TLS alert
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with socket.create_connection(address, timeout=60) as raw:
                try:
                    with context.wrap_socket(raw) as encrypted:
                        assert answer(encrypted, bytes(64)) == b"", address
                except ssl.SSLError:
                    pass  # refused without a key
        assert client.submit(np.sum, [3, 4]).result(timeout=120) == 7
    assert ports() <= before


def test_fixed_ports_are_not_needed():
    """Another program may use the port of Dask's dashboard."""
    with socket.socket() as other:
        with suppress(OSError):  # it is in use indeed
            other.bind(("127.0.0.1", 8787))
        with connect(workers=1) as client:
            assert client.submit(np.sum, [1, 2]).result(timeout=120) == 3
