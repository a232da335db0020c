"""What pages show of a terminal is what the commands print."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def terminal(text):
    """Return the commands of a page's console blocks, each with what is shown below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tutorials/files.md", "tutorials/cluster.md"])
def test_commands(page):
    text = (DOCS / page).read_text()
    names = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, shown in terminal(text):
        done = subprocess.run(
            ["bash", "-c", command], cwd=names["folder"], env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert doctest.OutputChecker().check_output(shown, done.stdout, FLAGS), done.stdout
