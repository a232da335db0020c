"""``credalens serve``: an HTTP service that applies a policy."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note
from credalens.cli.options import examples

EXAMPLES = examples(
    "credalens serve --policy policy.json",
    "credalens serve --policy policy.json --port 9000 --time-limit 5 --max-body 2",
    "CREDALENS_TOKEN=... credalens serve --policy policy.json --host 0.0.0.0",
    "curl -H 'Content-Type: application/x-npy' --data-binary @rows.npy localhost:8000/score",
)


def command(
    policy: Annotated[Path, typer.Option(help="Policy file, written by evaluate --policy.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; 0 is any that is free.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CREDALENS_TOKEN",
            help="Token that requests must send: Authorization: Bearer TOKEN. Other users of this "
            "machine can read options; the environment variable is safer.",
            show_default=False,
            show_envvar=True,
        ),
    ] = None,
    allow_anonymous: Annotated[
        bool,
        typer.Option(
            "--allow-anonymous",
            help="Without a token, listen also on addresses that other machines reach.",
        ),
    ] = False,
    max_body: Annotated[
        float, typer.Option(help="Largest body of a request, in MiB; a larger one gets 413.")
    ] = 16.0,
    time_limit: Annotated[
        float, typer.Option(help="Seconds in which a request must arrive and be answered.")
    ] = 30.0,
    max_requests: Annotated[
        int, typer.Option(min=1, help="Requests and connections at once; others get 503.")
    ] = 256,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads.", show_default="all cores")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Apply a policy to the predictions of HTTP requests.

    POST /score takes the predictions of one row (models, classes), or of several (rows, models,
    classes), as JSON, as the bytes of a .npy file (application/x-npy) or as an Arrow stream
    (application/vnd.apache.arrow.stream). The answer is JSON with the columns of score --policy
    (prediction, uncertainty, action), keep, kind (clear, ambiguous, unknown or both) and reason (of
    rows that are handed over; ?reasons=all or none). GET /health, /version, /metrics (for
    Prometheus) and /schema (the JSON schema of requests) describe the service.

    Invalid predictions get status 422 and a message, bodies that are too large 413. SIGTERM and
    SIGINT stop the service after it has answered the requests that have arrived. It keeps no state:
    the answer depends on the request and the policy only, and nothing is lost if it is killed.
    """
    with command_context(debug=debug, quiet=quiet, threads=threads):
        from credalens.policy import Policy
        from credalens.service import Application, Limits, serve
        from credalens.service.server import is_loopback, open_socket

        for option, value in (("--max-body", max_body), ("--time-limit", time_limit)):
            if not 0 < value < float("inf"):
                raise ValueError(f"{option}: is {value:g}; pass a number above 0")
        if token is not None and not (token.isascii() and token.strip() == token != ""):
            raise ValueError("--token: is empty or has spaces or other characters at its ends, or "
                             "is not ASCII; pass another one")  # fmt: skip
        limits = Limits(int(max_body * 2**20), time_limit, max_requests)
        app = Application(Policy.load(policy), limits, token)
        if token is None and not allow_anonymous and not is_loopback(host):
            raise ValueError(
                f"--host: {host} can be reached from other machines; set CREDALENS_TOKEN, or pass "
                "--allow-anonymous"
            )
        listening = open_socket(host, port)
        name, number = listening.getsockname()[:2]
        name = f"[{name}]" if ":" in name else name
        where = f"serving {policy} on http://{name}:{number}"
        number = serve(app, listening, lambda: note(where, quiet))
        note("stopped; all requests that arrived were answered", quiet)
        if number == signal.SIGINT:
            raise typer.Exit(130)
