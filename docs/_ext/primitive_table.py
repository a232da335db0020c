"""The rows of the table of primitives, for the page of backends and for its test.

This module does not import Sphinx, so that the tests can import it.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import credalens.sets  # noqa: F401 - defines the primitives
from credalens._backend import PRIMITIVES


class Row(NamedTuple):
    """What each backend supports for one primitive."""

    primitive: str
    signature: str
    numpy: str
    device: str
    torch_gradient: str
    jax_transformations: str
    dask: str


HEADER = Row("primitive", "signature", "NumPy", "other devices", "PyTorch gradient",
             "JAX `jit`, `grad`", "Dask")  # fmt: skip


def row(entry):
    """Return the row of a primitive, by the rules of `credalens._backend.dispatch.call`."""
    device, gradient = entry.supports["device"], entry.supports["gradient"]
    if gradient == "VJP" and entry.native:
        gradient = "VJP; automatic on other devices"
    transformations = {"native": "native"}.get(device, "host callback" if entry.vjp else "raises")
    return Row(
        entry.name.rpartition(".")[2],
        entry.signature,
        "yes",
        device,
        "raises" if gradient == "none" else gradient,
        transformations,
        "raises" if "(v," in entry.signature else "yes",
    )


def tables():
    """Return the primitives by class: its name, the classes that it inherits from, and the rows."""
    classes = {}
    for entry in PRIMITIVES:
        name = entry.name.rpartition(".")[0]
        classes.setdefault(name, (getattr(sys.modules[entry.numpy.__module__], name), []))
        classes[name][1].append(row(entry))
    return [
        (name, [base.__name__ for base in cls.__mro__[1:] if base.__name__ in classes], rows)
        for name, (cls, rows) in classes.items()
    ]
