"""Checkpoints from which interrupted training resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from credalens._files import atomic_write
from credalens._validation import raise_invalid


class Checkpoints:
    """A folder with the finished members, the member in training and the settings of the run.

    Files are written atomically and read with ``weights_only=True``, which executes no code. An
    existing folder must have the same `settings`, and determines `seed`. None disables checkpoints.
    """

    def __init__(self, folder: Any, settings: dict[str, Any], seed: int) -> None:
        self._folder, self.seed = None if folder is None else Path(folder), seed
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.seed = self._check_settings(self._folder / "run.json", settings)

    def _check_settings(self, path: Path, settings: dict[str, Any]) -> int:
        settings = json.loads(json.dumps(settings))
        if not path.exists():
            with atomic_write(path) as temporary:
                text = json.dumps({"seed": self.seed, "settings": settings}, indent=1)
                temporary.write_text(text + "\n")
            return self.seed
        try:
            run = json.loads(path.read_text())
            seed, stored = int(run["seed"]), dict(run["settings"])
        except (ValueError, TypeError, KeyError):
            raise_invalid(
                "checkpoint", f"{path} cannot be read", "delete the folder, or pass another one"
            )
        for name in sorted({*settings, *stored}):
            if settings.get(name) != stored.get(name):
                was, now = (_shortened(s.get(name)) for s in (stored, settings))
                raise_invalid(
                    "checkpoint",
                    f"{path.parent} contains another run: {name} was {was} and is {now}",
                    "pass another folder, or the settings of that run",
                )
        return seed

    def save_member(self, index: int, state: dict[str, Any]) -> None:
        """Save a finished member and delete the state of its training."""
        self._write(_member_file(index), state)
        if self._folder is not None:
            (self._folder / "current.pt").unlink(missing_ok=True)

    def load_member(self, index: int) -> dict[str, Any] | None:
        """Return the saved state of a finished member, or None."""
        return self._read(_member_file(index))

    def save_current(self, index: int, state: dict[str, Any]) -> None:
        """Save the state of the member in training."""
        self._write("current.pt", {"index": index, **state})

    def load_current(self, index: int) -> dict[str, Any] | None:
        """Return the saved state of this member in training, or None."""
        state = self._read("current.pt")
        return state if state is not None and state["index"] == index else None

    def _write(self, name: str, state: dict[str, Any]) -> None:
        if self._folder is not None:
            with atomic_write(self._folder / name) as temporary:
                torch.save(state, temporary)

    def _read(self, name: str) -> dict[str, Any] | None:
        if self._folder is None or not (self._folder / name).exists():
            return None
        path = self._folder / name
        try:
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # zip, pickle or runtime errors, depending on the damage
            reason = str(error).split("\n")[0]
            raise_invalid("checkpoint", f"{path} cannot be read ({reason})", "delete this file")
        return state


def _member_file(index: int) -> str:
    return f"member-{index:03d}.pt"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
