"""HTML elements; all text is escaped."""

from __future__ import annotations

import html
from typing import Any


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


def user_text(text: Any) -> Markup:
    """Return a user's text, isolated from the direction of the surrounding text."""
    return tag("bdi", text)
