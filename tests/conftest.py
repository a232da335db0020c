"""Settings for the whole suite."""

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
