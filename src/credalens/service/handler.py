"""From the body of a request to the body of its response."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np

from credalens.service.bodies import ARROW, JSON, READERS, write_json
from credalens.service.scorer import REASONS, Scorer

#: Arguments of the library that a client sends under another name.
_NAMES = re.compile(r"^(members|logits)\b")
_notes = threading.local()


class Reply(NamedTuple):
    """The body of a response, its type, and how many rows are kept and handed over."""

    body: bytes
    content_type: bytes
    kept: int = 0
    handed_over: int = 0


class Handler:
    """Reads the predictions of a body, applies a policy, and writes the answer."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def __call__(self, body: bytes, content_type: str, accept: str, query: str) -> Reply:
        """Return the reply; raise ValueError for invalid predictions."""
        reasons = _reasons(query) if query else REASONS[0]
        _notes.texts = []
        values, ids = READERS[content_type](body, self.scorer.policy)
        try:
            answer = self.scorer(values, reasons)
        except ValueError as error:
            raise ValueError(_NAMES.sub("predictions", str(error))) from None
        if ids is not None:
            answer = {"id": ids, **answer}
        keep = answer.get("keep", False)
        if values.ndim == 2:  # counting the entries of an array would take longer than the measures
            rows, kept = 1, int(keep)
        else:
            rows, kept = len(values), int(np.count_nonzero(keep))
        if ARROW in accept:
            from credalens.service import arrow

            return Reply(arrow.write(answer), ARROW.encode(), kept, rows - kept)
        if _notes.texts:
            answer["notes"] = list(dict.fromkeys(_notes.texts))
        return Reply(write_json(answer), JSON.encode(), kept, rows - kept)


def _reasons(query: str) -> str:
    reasons = REASONS[0]
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name != "reasons" or value not in REASONS:
            raise ValueError(f"{name}: is {value!r}; the only parameter is reasons, with the "
                             f"values {', '.join(REASONS)}")  # fmt: skip
        reasons = value
    return reasons


def collect_warnings() -> None:
    """Add warnings to the answer of the request that causes them, in any thread."""

    def add(message: Warning | str, *_: Any, **__: Any) -> None:
        if hasattr(_notes, "texts"):
            _notes.texts.append(str(message))

    warnings.simplefilter("always", UserWarning)
    warnings.showwarning = add
