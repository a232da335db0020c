"""Count the Python calls of a library function: ``python -m benchmarks.call_count``.

Calls of Python functions of credalens are counted, calls of compiled functions are not. The first
call fills caches and imports modules, so the calls of the second one are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import credalens as cl

PACKAGE = str(Path(cl.__file__).parent)
#: The largest number of calls and of modules, by the name of the case.
LIMITS = {"quantify(array)": (15, 6), 'quantify(array, "ordinal")': (30, 8)}


def count_calls(function: Callable[[], Any]) -> list[str]:
    """Return the module and the name of each Python function of credalens that is called."""
    calls: list[str] = []

    def profile(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            calls.append(f"{code.co_filename[len(PACKAGE) + 1 : -3]}:{code.co_qualname}")

    function()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def cases() -> dict[str, Callable[[], Any]]:
    """Return the calls that are counted, by name."""
    members = np.random.default_rng(0).dirichlet(np.ones(10), (20, 10))
    return {
        "total_uncertainty(array)": lambda: cl.total_uncertainty(members),
        "quantify(array)": lambda: cl.quantify(members),
        'quantify(array, "entropy")': lambda: cl.quantify(members, "entropy"),
        'quantify(array, "ordinal")': lambda: cl.quantify(members, "ordinal"),
    }


def main() -> int:
    """Print the counts; return 1 if one exceeds its limit."""
    missed = 0
    for name, function in cases().items():
        calls = count_calls(function)
        modules = {call.partition(":")[0] for call in calls}
        limit = LIMITS.get(name)
        print(f"{name}: {len(calls)} calls in {len(modules)} modules"
              + ("" if limit is None else f", limit {limit[0]} in {limit[1]}"))  # fmt: skip
        if "-v" in sys.argv:
            print("\n".join(f"    {call}" for call in calls))
        missed += limit is not None and (len(calls) > limit[0] or len(modules) > limit[1])
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
