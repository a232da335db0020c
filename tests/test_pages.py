"""The examples of the tutorials for a terminal print the documented output."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from console_examples import consoles

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tutorials/files.md", "tutorials/cluster.md"])
def test_commands(page):
    text = (DOCS / page).read_text()
    names = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    commands = list(consoles(text))
    assert len(commands) > 2
    for command, shown in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=names["folder"], env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert doctest.OutputChecker().check_output(shown, done.stdout, FLAGS), done.stdout


def test_every_call_in_the_tables_for_other_libraries_is_run():
    text = (DOCS / "coming_from.md").read_text()
    sources = [example.source for example in doctest.DocTestParser().get_examples(text)]
    calls = re.findall(r"^\| .*\| `([^`|]*)` \|$", text, re.M)
    assert len(calls) > 40
    for call in calls:
        assert any(call in source for source in sources), call
