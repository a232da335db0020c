"""Pages without charts that are drawn by a script: headings, sections and a theme."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from credalens._files import atomic_write
from credalens._html import content_hash, script_data
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.sections import section

_SCRIPT = """
"use strict";
(() => {
  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches);
  const label = document.getElementById("theme-name");
  const show = () => { label.textContent = isDark() ? "Light" : "Dark"; };
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  show();
})();
"""


def write_static_page(
    file: Path,
    command: str,
    title: str,
    sizes: Any,
    body: Markup,
    sections: Mapping[str, str],
    style: str = "",
    data: Any = None,
) -> Path:
    """Write a page with the style of the report.

    Parameters
    ----------
    file : Path
        Output file, written atomically.
    command : str
        The command that writes it.
    title : str
        Heading of the page.
    sizes : str or Markup
        What the page is about, in a line.
    body : Markup
        The sections.
    sections : mapping of str to str
        Headings of the navigation by the id of the section; those that `body` lacks are left out.
    style : str
        Further style.
    data : object
        JSON value that is embedded, for programs that read the page.
    """
    links = [
        tag("a", text, href=f"#{ident}")
        for ident, text in sections.items()
        if f' id="{ident}"' in body
    ]
    head = join([
        tag("p", command, _class="eyebrow"),
        tag("h1", user_text(title)),
        tag("p", sizes, _class="sizes"),
        tag("nav", *links, aria_label="Sections"),
    ])  # fmt: skip
    text = Template(_resource("page.html")).substitute(
        title=html.escape(title), style=_resource("page.css") + style, head=head, body=body,
        data=script_data(data), library="", script=_SCRIPT, noscript="",
        script_hashes=" ".join(f"'{content_hash(text)}'" for text in ("", _SCRIPT)),
    )  # fmt: skip
    with atomic_write(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return file


def method_section(notes: Sequence[str]) -> Markup:
    """Return the last section: how the numbers were computed, when and by which version."""
    written = (
        f"Written on {datetime.now().astimezone():%Y-%m-%d %H:%M %Z} by credalens "
        f"{version('credalens')}."
    )
    return section(
        "method", "Method", *(tag("p", note) for note in notes), tag("p", written, _class="note")
    )


def _resource(name: str) -> str:
    return files("credalens.report").joinpath(name).read_text(encoding="utf-8")
