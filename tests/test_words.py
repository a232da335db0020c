"""``tools/check_words.py`` finds phrases that have a standard term, and nothing else."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "check_words.py"
spec = importlib.util.spec_from_file_location("check_words", PATH)
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)

#: A sentence for each phrase, with the part that is reported.
BANNED = {
    "Inputs are checked at the door.": "at the door",
    "The door refuses the rest.": "The door",
    "A question that a set answers in closed form.": "question that a set",
    "Measures put questions to it.": "put questions",
    "The method works anywhere.": "anywhere",
    "It is called wherever a tensor lives.": "wherever",
    "They are computed where the data are.": "where the data are",
    "A plain set is returned.": "plain set",
    "The result is settled.": "settled",
    "Tensors are adopted first.": "adopted",
    "The origin of the array decides.": "origin of the array",
    "Rows are validated in passing.": "in passing",
    "Each instance has a lane.": "a lane",
    "The kernel runs along classes.": "along classes",
    "Two rows meet in the cache.": "meet",
    "Meanwhile the next row is read.": "Meanwhile",
    "The next row is on its way.": "on its way",
    "A machine foresees one stream.": "foresees",
    "Nothing has more entropy than even shares.": "even shares",
    "The corners of the set.": "corners",
    "What cannot be used raises.": "What cannot be",
    "The reason is told.": "is told",
    "As was said above.": "was said",
    "A warning says so.": "says so",
    "They have no gradient and say so.": "say so",
    "The kernel tells them apart.": "tells them apart",
    "They are not told apart.": "told apart",
    "Train it again, or mend the file.": "mend",
    "The file is not there.": "is not there",
    "The folder was begun with other settings.": "begun with",
    "Numbers come one a row.": "one a row",
    "A file a model.": "A file a model",
    "It takes 3 µs an instance.": "µs an instance",
    "One NumPy thread a core.": "thread a core",
    "It scores 500 rows a second.": "rows a second",
    "Nobody needs to check.": "Nobody",
    "Only first derivatives are to be had.": "to be had",
    "Not approximate by stealth.": "by stealth",
    "The formula stands elsewhere.": "stands elsewhere",
    "It is answered for by the base class.": "answered for",
}

ORDINARY = """
Input is validated once. A query of a credal set returns its extreme points, the vertices of the
hull. The uniform distribution maximises the entropy. The partition problem is solved by the
meet-in-the-middle algorithm, also computed by meet in the middle. The distance of a point to the
origin is its norm. Values are sorted along the last axis and even numbers are ignored. It takes
3 µs per instance, one row per model and 100 rows per second. The kernel is written in plain C++. A
class has one instance per SIMD lane. The result begins with a header. An error is reported, and
invalid input raises ValueError. The backend of the caller determines the array library.
"""


@pytest.mark.parametrize(("sentence", "phrase"), BANNED.items(), ids=list(BANNED))
def test_banned_phrases_are_found(sentence, phrase):
    assert phrase in [found for _, found, _ in words.find(sentence)]


def test_every_pattern_has_an_example():
    text = "\n".join(BANNED)
    missing = [term for pattern, term in words._COMPILED if not pattern.search(text)]
    assert missing == []


def test_ordinary_text_is_not_found():
    assert list(words.find(ORDINARY)) == []


@pytest.mark.parametrize("text", ["as it is\n    told", "# it is\n# told", "// is\n// told"])
def test_phrases_are_found_across_lines(text):
    ((number, phrase, term),) = words.find(text)
    assert number == 1
    assert phrase.startswith("is")
    assert phrase.endswith("told")
    assert "reported" in term


def test_matches_are_printed_and_fail(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("Extreme points.\n\nThe corners.\n")
    (tmp_path / "docs" / "page.png").write_bytes(b"\x89corners")
    assert words.main([str(tmp_path / "docs")]) == 1
    assert capsys.readouterr().out == f"{page}:3: 'corners' -> extreme point, vertex\n"
    page.write_text("Extreme points.\n")
    assert words.main([str(page)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_documentation_has_none_of_them(capsys):
    root = PATH.parents[1]
    names = ("docs", "examples", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
    assert words.main([str(root / name) for name in names]) == 0, capsys.readouterr().out
