"""What a person without PyTorch is told. Runs with and without it."""

import subprocess
import sys
import textwrap

import pytest

HIDE = """
    import sys

    class Hide:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "torch":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Hide)
"""


def without_torch(statement):
    script = textwrap.dedent(HIDE) + statement
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )


@pytest.mark.slow
def test_one_line_says_what_to_install():
    done = without_torch("import credalens.predictors.torch")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: credalens.predictors.torch needs PyTorch: "
        "pip install 'credalens[torch]'"
    )
    assert "During handling" not in done.stderr


@pytest.mark.slow
def test_the_other_predictors_do_not_need_it():
    done = without_torch("import credalens, credalens.predictors")
    assert done.returncode == 0, done.stderr
