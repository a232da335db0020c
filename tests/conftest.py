"""Settings for the whole suite."""

import signal
import sys
import threading
import types
from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("odd_files", "browser")

from backends import ArrayBackend  # noqa: E402
from browser import CHROMIUM, FLAGS, Seen  # noqa: E402

# Processes that tests start would inherit that this one ignores interrupts, as background processes
# of a shell do.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

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
def browser():
    """A running Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser):
    """Return a function that opens a file in a window of its own."""
    contexts = []

    def opened(path, fragment="", **settings):
        settings = {"viewport": {"width": 1280, "height": 900}, **settings}
        contexts.append(browser.new_context(**settings))
        contexts[-1].set_default_timeout(20_000)
        return Seen(contexts[-1].new_page(), path.as_uri() + fragment)

    yield opened
    for context in contexts:
        context.close()


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
