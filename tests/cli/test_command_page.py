"""The page of the command line: its examples run, and it has all commands."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from console_examples import consoles
from credalens.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the examples are for a shell")
def test_the_examples_print_the_documented_output(tmp_path):
    script = tmp_path / "bin" / "credalens"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m credalens "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    seen = 0
    for command, expected in consoles(PAGE.read_text(encoding="utf-8")):
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "PATH": path})  # fmt: skip
        found = done.stdout + done.stderr
        assert doctest.OutputChecker().check_output(expected, found, flags), (command, found)
        seen += 1
    assert seen > 10


def commands(group, *words):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, *words, name)
        else:
            yield " ".join([*words, name])


def test_every_command_has_its_section():
    text = PAGE.read_text(encoding="utf-8")
    for name in commands(typer.main.get_command(app)):
        assert re.search(rf"^##+ {name}$", text, re.M), name
        assert re.search(rf"^\.\. command:: {name}$", text, re.M), name
