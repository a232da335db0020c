"""HTML elements; all text is escaped."""

from __future__ import annotations

import html
import json
from typing import Any

#: Maximum length of a name or an identifier on the page.
MAX_LENGTH = 200


class Markup(str):
    """HTML made by `tag`, which is not escaped again."""

    __slots__ = ()


def tag(name: str, *content: Any, **attributes: Any) -> Markup:
    """Return an element; content that is not `Markup` is escaped.

    A leading underscore of an attribute name is removed, other underscores become hyphens.
    ``None`` is omitted, ``True`` gives an attribute without value.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            attribute = key.removeprefix("_").replace("_", "-")
            quoted = "" if value is True else f'="{html.escape(str(value))}"'
            parts.append(attribute + quoted)
    end = "" if name == "input" else f"</{name}>"
    return Markup(f"<{' '.join(parts)}>{join(content)}{end}")


def join(parts: Any) -> Markup:
    """Return several elements and texts as one."""
    return Markup(
        "".join(
            part if isinstance(part, Markup) else html.escape(str(part))
            for part in parts
            if part is not None
        )
    )


def truncate(name: Any) -> str:
    """Return a name as text of bounded length that can be encoded in UTF-8; ``None`` is empty."""
    text = ("" if name is None else str(name)).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def user_text(text: Any) -> Markup:
    """Return a user's text, isolated from the direction of the surrounding text."""
    return tag("bdi", text)


def script_data(data: Any) -> str:
    r"""Return JSON for a script element, without characters that could end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
