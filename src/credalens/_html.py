"""HTML pages: output paths, names of classes and models, and data in script elements."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from credalens._files import check_folder, follow_link
from credalens._validation import raise_invalid

#: Maximum length of a name or an identifier on a page.
MAX_LENGTH = 200


def check_path(path: Any, example: str = "report.html") -> Path:
    """Raise an error if a page cannot be written to `path`; the message names `example`."""
    file = follow_link(Path(path))
    if file.is_dir():
        raise_invalid("path", f"{file} is a folder", f"pass a file, e.g. {example}")
    if file.suffix.lower() not in (".html", ".htm"):
        raise_invalid("path", f"{file} is not an .html file", f"pass a file, e.g. {example}")
    if not file.parent.is_dir():
        raise_invalid("path", f"{file.parent} is not a folder", "create it first")
    check_folder(file.parent)
    return file


def check_length(values: Any, count: int, argument: str, item: str) -> None:
    """Raise an error unless there is one value per item."""
    if isinstance(values, str) or len(values) != count:
        size = "is a string" if isinstance(values, str) else f"has {len(values)} entries"
        raise_invalid(argument, size, f"pass {count}, one per {item}")


def as_names(names: Any, count: int, argument: str, item: str) -> tuple[str, ...] | None:
    """Return names as strings; None if there are none."""
    if names is None:
        return None
    check_length(names, count, argument, item)
    return tuple(str(name) for name in names)


def truncate(name: Any) -> str:
    """Return a name as text of bounded length that can be encoded in UTF-8; ``None`` is empty."""
    text = ("" if name is None else str(name)).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def script_data(data: Any) -> str:
    r"""Return JSON for a script element, without characters that could end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def content_hash(text: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows this inline text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
