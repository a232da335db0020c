"""HTML in which every text is escaped, because no other way to add one is offered."""

from __future__ import annotations

import html
import json
from typing import Any

#: Longest name or identifier on the page.
LONGEST = 200


class Markup(str):
    """HTML that was made by `tag`."""

    __slots__ = ()


def tag(name: str, *content: Any, **attributes: Any) -> Markup:
    """Return an element; what is not made by `tag` itself is escaped.

    Names of attributes may begin with an underscore and have one in place of a hyphen. ``None`` is
    left out, ``True`` gives an attribute without value.

    Examples
    --------
    >>> tag("p", "a < b", tag("b", "!"), _class="note", data_x=1)
    '<p class="note" data-x="1">a &lt; b<b>!</b></p>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            shown = key.removeprefix("_").replace("_", "-")
            words.append(shown if value is True else f'{shown}="{html.escape(str(value))}"')
    inside = "".join(_escaped(part) for part in content)
    end = "" if name == "input" else f"</{name}>"
    return Markup(f"<{' '.join(words)}>{inside}{end}")


def _escaped(part: Any) -> str:
    if part is None:
        return ""
    return part if isinstance(part, Markup) else html.escape(str(part))


def join(parts: Any) -> Markup:
    """Return several elements as one."""
    return Markup("".join(_escaped(part) for part in parts))


def cut(name: Any) -> str:
    """Return a name, empty if it is missing, as a text of bounded length and fit for UTF-8."""
    text = ("" if name is None else str(name)).encode("utf-8", "replace").decode()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def user_text(text: Any) -> Markup:
    """Return a text from outside, kept apart from the direction of the text around it."""
    return tag("bdi", text)


def script_data(data: Any) -> str:
    r"""Return JSON that may stand in a script element: nothing in it can end the element.

    Examples
    --------
    >>> script_data({"id": "</script>"})
    '{"id":"\\u003c/script>"}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
