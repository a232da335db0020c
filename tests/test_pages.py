"""The examples of the tutorials for a terminal print the documented output."""

import doctest
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from console_examples import consoles
from prediction_files import without_core_warning

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "tutorials/files.md",
        "tutorials/cluster.md",
        "tutorials/production.md",
        "tutorials/segmentation.md",
        "howto/language_models.md",
        "howto/multilabel.md",
    ],
)
def test_commands(page):
    text = (DOCS / page).read_text()
    names = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = list(consoles(text))
    assert len(commands) > 2
    try:
        for command, shown in commands:
            done = subprocess.run(
                ["bash", "-c", command], cwd=names["folder"], env=os.environ | {"PATH": path},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            failed = shown.startswith("credalens: ") and "warning" not in shown
            assert done.returncode == 0 or failed, done.stdout
            printed = without_core_warning(done.stdout)
            assert doctest.OutputChecker().check_output(shown, printed, FLAGS), printed
    finally:
        for file in Path(names["folder"]).glob("*.pid"):  # services that a page has started
            with suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGKILL)


def test_every_call_in_the_tables_for_other_libraries_is_run():
    text = (DOCS / "coming_from.md").read_text()
    sources = [example.source for example in doctest.DocTestParser().get_examples(text)]
    calls = re.findall(r"^\| .*\| `([^`|]*)` \|$", text, re.M)
    assert len(calls) > 40
    for call in calls:
        assert any(call in source for source in sources), call


def test_the_numbers_of_the_comparison_of_scores_are_those_of_its_results():
    results = (DOCS / "results/scores.md").read_text()
    text = (DOCS / "choose.md").read_text()
    _, _, text = text.partition("## Which score detects errors")
    text, _, _ = text.partition("## Comparison of the measure families")
    overview = re.findall(r"^\| (?:score|`\w+`) \|.*\|$", text, re.M)
    assert len(overview) > 8
    for row in overview:
        assert row + "\n" in results, row
    quoted = [
        cell.strip() for row in re.findall(r"^\|.*\|$", text, re.M) for cell in row.split("|")
    ]
    numbers = [cell for cell in quoted if re.search(r"\d\.\d", cell)]
    assert len(numbers) > 100
    for number in numbers:
        assert f" {number} " in results, number
    for number in re.findall(r"\d+\.\d+(?= %)", text):
        assert f" {number} " in results, number
