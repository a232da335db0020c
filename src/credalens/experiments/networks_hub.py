"""Pre-trained networks of a repository on GitHub: code and weights are verified before use.

`torch.hub` would run whatever the repository contains today. Here the files of one commit are
compared to their SHA-256 before they are imported. The names of the weights, which are in the
verified code, contain the first eight digits of their SHA-256, and weights are loaded as tensors
only, so that they cannot run code.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import partial
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from credalens import _validation
from credalens._extras import require
from credalens.datasets.download import fetch

REPOSITORY = "chenyaofo/pytorch-cifar-models"
COMMIT = "786c16252c0fc58ee9adac063f8337cc4a7a497a"
SITE = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/pytorch_cifar_models/"
#: SHA-256 of the files of the package at this commit.
CODE = {
    "__init__.py": "94cc5a382fe67629b9d1e2ab4eb263bfb1770d5a1e5c5b912ddcf6a6c5febc58",
    "mobilenetv2.py": "8d78f491e55286754c0faad9f70fac8e329f7073c930d7aa68962cb2aae69938",
    "repvgg.py": "677b35230b9ddecc3e387c7d93764a21d9e5ea445e5d7e162dcb196a13e1473b",
    "resnet.py": "885b8fd2ccfb8ee27c02d3a382e2951622fdcbc2af2bbca375aaf71d40f5f246",
    "shufflenetv2.py": "7a23e8bc69fd4a318acee149ee0e0e8e5fdf36c0aa8f0ab1a3d8bb31e0a32f30",
    "vgg.py": "5562540e312da9184ff2e4ebc290dc68a9aec1e2a3f5b1e395b9cab4d7e8c3e5",
    "vit.py": "3720f1b1a207db2b3c2dafc663edb7ec7d33a7149a4c688edafd51315fbc6bd7",
}
#: Name under which the package is imported, so that an installed one is left alone.
PACKAGE = "_credalens_pytorch_cifar_models"


def load_network(name: str, cache: Path) -> Any:
    """Return a network with its weights, downloaded to `cache` unless they are there.

    `name` is that of a function of the repository, such as ``"cifar10_resnet20"``.
    """
    factory = getattr(_package(cache), name, None)
    if not re.fullmatch(r"cifar100?_\w+", name) or not isinstance(factory, partial):
        fix = f"choose one of https://github.com/{REPOSITORY}"
        _validation.raise_invalid("models", f"{name} is not a network of the repository", fix)
    url = factory.keywords["model_urls"].get(factory.keywords["arch"])
    if url is None:
        _validation.raise_invalid("models", f"{name} has no weights", "choose another network")
    file = PurePosixPath(url)
    weights = fetch(url, cache / "weights" / file.name, file.stem.rpartition("-")[2])
    model = factory(pretrained=False)
    tensors = require("torch", "torch").load(weights, map_location="cpu", weights_only=True)
    model.load_state_dict(tensors)
    return model


def _package(cache: Path) -> ModuleType:
    """Import the package with the networks; its files are verified each time."""
    folder = cache / f"pytorch-cifar-models-{COMMIT[:12]}"
    for name, sha256 in CODE.items():
        fetch(SITE + name, folder / name, sha256)
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        _validation.raise_invalid("cache", f"{folder} cannot be imported", "choose another folder")
    package = sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[PACKAGE]
        raise
    return package
