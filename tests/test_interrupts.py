"""Ctrl-C stops kernels inside of one large instance."""

import subprocess
import sys

import pytest

#: Arguments, and calls that take several minutes if they are not interrupted.
CALLS = {
    "pairs": (
        "cl.ConvexHull(rng.random((1, 150_000, 100)), validate=False)",
        "x.tv_diameter()",
    ),
    "game": (
        "rng.random((1, 4000, 4000))",
        "_kernels.solve_games(x, np.empty(1), np.empty(1), None, None, 2)",
    ),
    "entropy": ("rng.dirichlet(np.ones(5000), (1, 5000))", "cl.upper_entropy(x)"),
    "hartley": (
        "rng.dirichlet(np.ones(30), (1, 2000))",
        "cl.generalized_hartley(x, method='exact')",
    ),
    "sampled hartley": (
        "rng.dirichlet(np.ones(50_000), (1, 20))",
        "cl.generalized_hartley(x, method='sample', n_samples=10**6)",
    ),
}

SCRIPT = """
import os, signal, threading
import numpy as np
import credalens as cl
from credalens import _kernels

rng = np.random.default_rng(0)
x = {argument}
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {call}
except KeyboardInterrupt:
    value = cl.total_uncertainty(np.array([[0.75, 0.25]]))  # the kernels work again
    print("interrupted", value)
else:
    print("finished")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")
@pytest.mark.parametrize("name", CALLS)
def test_one_large_instance(name):
    argument, call = CALLS[name]
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(argument=argument, call=call)],
        capture_output=True, text=True, timeout=150,
    )  # fmt: skip
    assert found.stdout.split() == ["interrupted", "0.25"], found.stderr
