"""Fail on words that no reader can look up: ``python tools/check_words.py [path ...]``.

The documentation, the docstrings and the messages use the terms of SciPy, NumPy and scikit-learn.
Each pattern below names a phrase that was used here for something that has a standard term. A
space in a pattern also matches a line break and the comment marker after it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PATHS = ("src", "kernels", "docs", "examples", "benchmarks", "README.md",
                 "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")  # fmt: skip
SUFFIXES = {".py", ".pyi", ".md", ".rst", ".cpp", ".hpp", ".txt", ".css", ".js", ".html", ".ipynb"}
#: Images and tables of measured numbers.
SKIPPED = ("docs/images/", "benchmarks/results/")

_COUNTED = (
    "row|model|class|instance|member|event|set|pair|process|file|chunk|network|step|call|core|"
    "cell|thread|worker|partition|query|batch|split|image|node|edge|round|problem"
)
_AMOUNT = "one|once|twice|each|numbers?|bytes?|µs|us|ns|ms|seconds?|floats?|threads?|times?"
PATTERNS: dict[str, str] = {
    r"\b(the|one|at the) door\b": "input validation",
    r"\bquestions? (that|to) (a|the) (credal )?sets?\b": "query, method",
    r"\b(put|puts|asks?) (a |the )?questions?\b": "call a method, query",
    r"(?<!overflow-wrap:\x20)\b(anywhere|wherever)\b": "any array backend, dispatch, device",
    r"\bwhere (the data|they|tensors) are\b": "on the device of the data",
    r"\b(settled|adopted)\b": "with the caller's backend",
    r"\bplain (credal )?sets?\b": "NumPy-backed set",
    r"\borigin of (an?|the) (arrays?|tensors?|sets?)\b": "backend",
    r"\bin passing\b": "fused into the same pass",
    r"\ba lane\b": "one instance per SIMD lane, classes in SIMD lanes",
    r"\balong (the )?(classes|members|lanes?)\b": "classes in SIMD lanes",
    r"\bmeets?\b(?!-in-the-middle| in the middle)": "compute pairs",
    r"\b(meanwhile|on its way|foresees?)\b": "prefetch, concurrently",
    r"\beven (shares?|distributions?|on the whole)\b": "uniform",
    r"\bcorners?\b": "extreme point, vertex",
    r"\bwhat (cannot|can not) be\b": "invalid input raises ValueError",
    r"\b(is|are|was|were|be|being) (told|said)\b": "is reported, is documented, raises",
    r"\bsa(y|ys|id) so\b": "is reported, is documented, raises",
    r"\b(tells?|telling|told) (it |them |[\w-]+ )?apart\b": "distinguish, separate",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\b(is|are) not there\b": "does not exist",
    r"\bbeg[aiu]n with\b": "created from",
    rf"\b({_AMOUNT}) an? ({_COUNTED})\b": "per row",
    rf"\ban? (row|file|column|thread|worker) an? ({_COUNTED})\b": "one row per model",
    r"\brows an? second\b": "rows per second",
    r"\bnobody\b": "name who or what does not",
    r"\bto be had\b": "available",
    r"\bby stealth\b": "silently",
    r"\b(stands?|stood) elsewhere\b": "is defined in",
    r"\banswere?d? for\b": "computed by",
}
_COMPILED = [
    (re.compile(pattern.replace(" ", r"(?:[ \t]+|[ \t]*\n[ \t>#/*:]*)"), re.IGNORECASE), term)
    for pattern, term in PATTERNS.items()
]


def find(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the phrase and the standard term of each match, by line number."""
    found = []
    for pattern, term in _COMPILED:
        for match in pattern.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            found.append((number, match.start(), " ".join(match[0].split()), term))
    for number, _, phrase, term in sorted(found):
        yield number, phrase, term


def files(paths: list[Path]) -> Iterator[Path]:
    """Yield the text files below `paths`."""
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in found:
            name = file.resolve().relative_to(ROOT).as_posix()
            if file.suffix in SUFFIXES and not name.startswith(SKIPPED):
                yield file


def main(arguments: list[str]) -> int:
    """Print each match as ``path:line: phrase -> term``; return 1 if there is one."""
    paths = [Path(a) for a in arguments] or [ROOT / p for p in DEFAULT_PATHS]
    count = 0
    for file in files(paths):
        for number, phrase, term in find(file.read_text(encoding="utf-8")):
            count += 1
            print(f"{file}:{number}: {phrase!r} -> {term}")
    return 1 if count else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
