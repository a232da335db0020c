"""Identifiers of rows: where they differ, and where those of one file are in another."""

from __future__ import annotations

import re

import numpy as np

from credalens._backend import Array
from credalens.evaluation.labels import canonical_text
from credalens.io.source import raise_file_error


def first_difference(a: Array, b: Array) -> int | None:
    """Return the first index at which two arrays of identifiers differ."""
    if np.array_equal(a, b):
        return None
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if str(x) != str(y) and canonical_text(x) != canonical_text(y):
            return i
    return None


class IdIndex:
    """The position of each identifier of a file; raises if one occurs twice.

    If none of the `wanted` identifiers occurs, folders and file extensions are ignored, provided
    that the identifiers remain different: ``train/a1.png`` is then ``a1``.
    """

    def __init__(self, path: str, ids: Array, wanted: Array) -> None:
        texts = list(map(canonical_text, ids.tolist()))
        self._positions = {text: i for i, text in enumerate(texts)}
        self.by_stem = False
        if len(self._positions) < len(texts):
            twice = next(text for i, text in enumerate(texts) if self._positions[text] != i)
            raise_file_error(
                path,
                f"has the id {twice!r} twice, and its rows are in another order",
                "make ids unique, or put the rows of all files in the same order",
            )
        if len(wanted) and not (self.positions(wanted) >= 0).any():
            self._ignore_folders(texts, wanted)

    def _ignore_folders(self, texts: list[str], wanted: Array) -> None:
        stems = {_stem(text): i for i, text in enumerate(texts)}
        others = {_stem(canonical_text(one)) for one in wanted.tolist()}
        if len(stems) == len(texts) and len(others) == len(wanted) and others & stems.keys():
            self._positions, self.by_stem = stems, True

    def positions(self, ids: Array) -> Array:
        """Return the position of each identifier, -1 for those that do not occur."""
        texts = map(canonical_text, ids.tolist())
        if self.by_stem:
            texts = map(_stem, texts)
        return np.array([self._positions.get(text, -1) for text in texts], np.intp)

    @property
    def description(self) -> str:
        """How identifiers are compared, to complete a sentence."""
        return "ids without folder and file extension" if self.by_stem else "ids"


def _stem(text: str) -> str:
    """Return a file name without folders and extensions, which start with a letter."""
    name = re.split(r"[/\\]", text)[-1]
    return re.sub(r"(?<=.)(\.[A-Za-z]\w{0,4})+$", "", name)
