"""probly: the installed release, and the measures of the newest release.

probly 0.3.0 is the last release for Python 3.11. Newer releases need Python 3.12, and their set
classes use syntax of 3.12. The file with their measures is valid in 3.11; it is imported unchanged,
with containers that have the attributes of the set classes:

    pip install --no-deps --ignore-requires-python --target build/peers/probly probly==0.9.1
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import types
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks import peers

FOLDER = Path(__file__).parents[1] / "build" / "peers" / "probly"
_NAMES = ("probly", "probly.utils", "probly.utils.torch", "probly.representation",
          "probly.representation.credal_set", "probly.representation.credal_set.torch",
          "probly.measures", "probly.measures._common")  # fmt: skip


def old(name):
    """Return a measure of the installed probly, without its progress bar."""

    def run(*arrays):
        module = peers.load_probly()
        module.tqdm = lambda items: items
        return getattr(module, name)(*arrays)

    return run


class _Container:
    """The attributes of probly's sets that its measures read."""

    def __init__(self, **tensors):
        self.__dict__.update(tensors)


class Hull(_Container):
    """Replaces ``TorchConvexCredalSet``."""


class Intervals(_Container):
    """Replaces ``TorchProbabilityIntervalsCredalSet``."""


class Ball(_Container):
    """Replaces ``TorchDistanceBasedCredalSet``."""

    def lower(self):
        return (self.nominal - self.radius[:, None]).clamp(min=0.0)

    def upper(self):
        return (self.nominal + self.radius[:, None]).clamp(max=1.0)


class _Level(_Container):
    pass


class _Dispatch:
    """Replaces ``flexdispatch``: calls the function of the class of the set."""

    def __init__(self):
        self.known = {}

    def register(self, kind):
        def keep(function):
            self.known[kind] = function
            return function

        return keep

    def __call__(self, held, base=None):
        return self.known[type(held)](held, base)


@functools.cache
def load_new():
    """Return the measures of the newest probly by name."""
    if not FOLDER.exists():
        raise ImportError(f"no {FOLDER.name} in build/peers; see benchmarks/peers_probly.py")
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    root = FOLDER / "probly"
    measures = {n: _Dispatch() for n in ("upper_entropy", "lower_entropy", "generalized_hartley")}
    with _replaced_modules():
        entropy = _file("probly.utils.torch", root / "utils" / "torch.py")
        containers = sys.modules["probly.representation.credal_set.torch"]
        containers.TorchConvexCredalSet = Hull
        containers.TorchProbabilityIntervalsCredalSet = Intervals
        containers.TorchDistanceBasedCredalSet = Ball
        containers.TorchDirichletLevelSetCredalSet = _Level
        common = sys.modules["probly.measures._common"]
        common.__dict__.update(measures, LogBase=object)
        sys.modules["probly.utils"].torch = entropy
        _file("probly.measures.torch", root.joinpath("quantification", "measure", "credal_set",
                                                     "torch.py"))  # fmt: skip
    return measures


@contextmanager
def _replaced_modules():
    """Replace probly's modules in ``sys.modules`` temporarily; another release may be imported."""
    kept = {n: m for n, m in sys.modules.items() if n == "probly" or n.startswith("probly.")}
    for name in kept:
        del sys.modules[name]
    for name in _NAMES:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    try:
        yield
    finally:
        for name in [n for n in sys.modules if n == "probly" or n.startswith("probly.")]:
            del sys.modules[name]
        sys.modules.update(kept)


def _file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def new_version():
    """Return the version of the newest probly."""
    found = next(FOLDER.glob("probly-*.dist-info"), None)
    return found.name.split("-")[1].removesuffix(".dist") if found else ""


def new(name, kind):
    """Return a measure of the newest probly on arrays; in bits."""

    def run(*arrays):
        import torch

        held = kind(*(torch.from_numpy(np.ascontiguousarray(a)) for a in arrays))
        return load_new()[name](held, 2).numpy()

    return run


def hull(P):
    return Hull(tensor=_Container(probabilities=P), num_classes=P.shape[-1])


def intervals(low, high):
    return Intervals(lower_bounds=low, upper_bounds=high, num_classes=low.shape[-1])


def ball(center, radius):
    return Ball(nominal=center, radius=radius, num_classes=center.shape[-1])
