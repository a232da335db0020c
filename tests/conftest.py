"""Settings for the whole suite."""

import sys
import types
from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("odd_files")

from backends import ArrayBackend  # noqa: E402

# The same examples in every run: a failure on one machine is a failure on all.
settings.register_profile(
    "credalens",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("credalens")


@pytest.fixture(params=[name for name in ("numpy", "torch", "jax", "dask") if find_spec(name)])
def backend(request):
    """An array library that is installed."""
    return ArrayBackend(request.param)


@pytest.fixture(scope="module")
def probly():
    """Return a loader of probly's modules, past its ``__init__``, which needs torchvision."""
    spec = find_spec("probly")
    if spec is None:
        pytest.skip("probly is not installed")
    package = types.ModuleType("probly")
    package.__path__ = list(spec.submodule_search_locations)
    before = sys.modules.get("probly")
    sys.modules["probly"] = package
    yield lambda name: import_module(f"probly.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "probly"]:
        del sys.modules[name]
    if before is not None:
        sys.modules["probly"] = before
