"""What is collected where, and what takes its time."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# The extension of the pages needs Sphinx, which the tests do without.
collect_ignore_glob = ["docs/_ext/*"]
if not find_spec("torch"):
    collect_ignore_glob += ["src/credalens/predictors/torch/*", "docs/tutorials/pytorch.md"]
if not find_spec("distributed"):
    collect_ignore_glob.append("src/credalens/engine/*")

# No windows, also where there is a screen.
os.environ.setdefault("MPLBACKEND", "Agg")

TUTORIALS = Path(__file__).parent / "docs" / "tutorials"


def pytest_collection_modifyitems(items):
    """Mark what takes long: tutorials, which train models, and whatever asks for a cluster."""
    for item in items:
        if TUTORIALS in item.path.parents or "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def figures_closed():
    """Close the figures of a test: pyplot keeps them alive."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
