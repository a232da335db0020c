"""Training that goes on where it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from credalens._files import replacing
from credalens._validation import refuse


class Checkpoints:
    """A folder with the finished members, the one in training and the settings of the run.

    Every file is written whole or not at all, and read with ``weights_only=True``: a file from
    elsewhere can hold wrong numbers, but no code.

    Parameters
    ----------
    folder : path or None
        None keeps nothing.
    settings : dict
        What the run depends on, as JSON would have it. A folder with other settings is refused.
    seed : int
        Of the run. A folder that holds a run knows better, see `seed`.

    Attributes
    ----------
    seed : int
        The seed with which the run was begun: without a `random_state` it cannot be known.
    """

    def __init__(self, folder: Any, settings: dict[str, Any], seed: int) -> None:
        self._folder, self.seed = None if folder is None else Path(folder), seed
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.seed = self._agree(self._folder / "run.json", settings)

    def _agree(self, path: Path, settings: dict[str, Any]) -> int:
        settings = json.loads(json.dumps(settings))
        if not path.exists():
            with replacing(path) as temporary:
                text = json.dumps({"seed": self.seed, "settings": settings}, indent=1)
                temporary.write_text(text + "\n")
            return self.seed
        try:
            run = json.loads(path.read_text())
            seed, stored = int(run["seed"]), dict(run["settings"])
        except (ValueError, TypeError, KeyError):
            refuse("checkpoint", f"{path} cannot be read", "delete the folder, or pass another one")
        for name in sorted({*settings, *stored}):
            if settings.get(name) != stored.get(name):
                was, now = (_short(s.get(name)) for s in (stored, settings))
                refuse(
                    "checkpoint",
                    f"{path.parent} holds another run: {name} was {was} and is {now}",
                    "pass another folder, or the settings of that run",
                )
        return seed

    def save_member(self, index: int, state: dict[str, Any]) -> None:
        """Keep a finished member; what was kept of its training goes."""
        if self._folder is not None:
            self._write(_member(self._folder, index), state)
            (self._folder / "current.pt").unlink(missing_ok=True)

    def load_member(self, index: int) -> dict[str, Any] | None:
        """Return what was kept of a finished member."""
        return None if self._folder is None else _read(_member(self._folder, index))

    def save_current(self, index: int, state: dict[str, Any]) -> None:
        """Keep the state of the member that is being trained."""
        if self._folder is not None:
            self._write(self._folder / "current.pt", {"index": index, **state})

    def load_current(self, index: int) -> dict[str, Any] | None:
        """Return the state in which training of this member was stopped."""
        if self._folder is None:
            return None
        state = _read(self._folder / "current.pt")
        return state if state is not None and state["index"] == index else None

    @staticmethod
    def _write(path: Path, state: dict[str, Any]) -> None:
        with replacing(path) as temporary:
            torch.save(state, temporary)


def _member(folder: Path, index: int) -> Path:
    return folder / f"member-{index:03d}.pt"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # zip, pickle and runtime errors, as the damage may be
        reason = str(error).split("\n")[0]
        refuse("checkpoint", f"{path} cannot be read ({reason})", "delete this file")
    return state
