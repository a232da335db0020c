"""Type checkers infer the types of `check_types.py`, and no public function is Any -> Any."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, get_overloads

import pytest

import credalens as cl

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_inferred_types():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental",
         "--follow-imports=silent", str(Path(__file__).with_name("check_types.py"))],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def annotations(function):
    signature = inspect.signature(function)
    given = [p.annotation for p in signature.parameters.values()]
    return given, signature.return_annotation


def is_any(annotation):
    return annotation in (Any, "Any", inspect.Parameter.empty)


@pytest.mark.parametrize("name", [n for n in cl.__all__ if inspect.isfunction(getattr(cl, n))])
def test_no_public_function_maps_any_to_any(name):
    function = inspect.unwrap(getattr(cl, name))
    overloads = get_overloads(function) or [function]
    for overload in overloads:
        given, returned = annotations(overload)
        assert not (is_any(returned) and all(map(is_any, given)))
    # A function is not only Any -> Any for its data either.
    found = [annotations(one) for one in overloads]
    assert not all(is_any(returned) and all(map(is_any, given[:1])) for given, returned in found)
