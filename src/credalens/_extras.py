"""Import optional dependencies; if one is missing, name the command that installs it."""

from __future__ import annotations

import importlib
import json
import shlex
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

NAME = "credalens"


def require(module: str, extra: str) -> ModuleType:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        Name of the module, for example ``"pyarrow.parquet"``.
    extra : str
        Extra of credalens that installs it.

    Returns
    -------
    module

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed. The message is one line and names the `pip` command that
        installs it for the way in which credalens itself was installed.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is installed, but one of its own dependencies is not
        message = f"{package} is not installed; run {install_command(extra)}"
        raise ModuleNotFoundError(message, name=error.name) from None


def install_command(extra: str) -> str:
    """Return the `pip` command that adds an extra to this installation of credalens.

    A source checkout is installed again in editable mode. An installation from a wheel, an archive,
    a directory or a repository names its origin, as recorded in ``direct_url.json`` (PEP 610). All
    others name the package index.
    """
    checkout = _checkout()
    if checkout is not None:
        return f"pip install -e {shlex.quote(f'{checkout}[{extra}]')}"
    origin = _origin()
    return f"pip install {shlex.quote(f'{NAME}[{extra}]' + (f' @ {origin}' if origin else ''))}"


def _checkout() -> Path | None:
    """Return the root of the source checkout that contains this file, if there is one."""
    root = Path(__file__).resolve().parents[2]
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return None
    return root if project.get("name") == NAME else None


def _origin() -> str | None:
    """Return the URL that credalens was installed from; None for a package index."""
    try:
        recorded = json.loads(metadata.distribution(NAME).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None
    url, repository = recorded.get("url"), recorded.get("vcs_info")
    if url and repository:
        return f"{repository['vcs']}+{url}@{repository['commit_id']}"
    return url or None
