"""Reports to look at in tests: ensembles, hostile names, and what a page says."""

import json
import re
from html.parser import HTMLParser

import numpy as np

#: Names that break pages which are put together carelessly.
HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    "\"quoted\" & 'single' \\ $body",
    "<!-- <script>",
    "emoji 🦊🏳️‍🌈",
    "مرحبا بالعالم",
    "\u202eevil\u202c \u2028 line",
    "=SUM(A1)",
    "",
    "a" * 500,
]


def ensemble(n=400, M=4, K=3, seed=0, sharp=3.0):
    """Members that agree, waver or contradict each other, and labels they often get right."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    logits = rng.normal(0, 1, (n, M, K)) * rng.gamma(1, 1, (n, 1, 1))
    logits[np.arange(n), :, y] += sharp * rng.gamma(1, 1, (n, 1))
    P = np.exp(logits - logits.max(axis=2, keepdims=True))
    return P / P.sum(axis=2, keepdims=True), y


class Page(HTMLParser):
    """The text of a page, and of its parts by their id; scripts aside."""

    VOID = ("meta", "link", "input")

    def __init__(self, path):
        super().__init__()
        self.html = path.read_text(encoding="utf-8")
        self.elements = []
        self.texts = {"": []}
        self._open = []
        self.feed(self.html)
        self.data = json.loads(re.search(r'id="data">(.*?)</script>', self.html, re.S)[1])

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        assert self._open[-1][0] == tag, (tag, self._open[-3:])
        self._open.pop()

    def handle_data(self, data):
        if not any(tag in ("script", "style") for tag, _ in self._open):
            for ident in {"", *(ident for _, ident in self._open if ident)}:
                self.texts.setdefault(ident, []).append(data)

    def text(self, ident=""):
        """Return the words of a part, spaces made plain."""
        return " ".join("".join(self.texts[ident]).split())
