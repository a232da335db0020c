"""Error messages without the optional dependencies of predictors and plots."""

import subprocess
import sys
import textwrap

import pytest

HIDE = """
    import sys

    class Hide:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name in {hidden!r}:
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    sys.meta_path.insert(0, Hide)
"""


def without(hidden, statement):
    script = textwrap.dedent(HIDE).format(hidden=hidden) + statement
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hidden", "extra", "statement"),
    [
        ("torch", "torch", "import credalens.predictors.torch"),
        ("sklearn", "sklearn", "import credalens.predictors"),
        ("matplotlib", "plots", "import credalens as cl; cl.plots.simplex([[1, 0, 0]])"),
    ],
)
def test_a_missing_dependency_raises_one_line_with_the_command(hidden, extra, statement):
    done = without([hidden], statement)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ModuleNotFoundError: {hidden} is not installed; run pip install ")
    assert f"[{extra}]" in last
    assert "During handling" not in done.stderr


@pytest.mark.slow
def test_other_modules_do_not_need_them():
    hidden = ["torch", "matplotlib"]
    done = without(hidden, "import credalens, credalens.predictors, credalens.plots")
    assert done.returncode == 0, done.stderr
    done = without([*hidden, "sklearn", "rich"], "import credalens, credalens.axioms")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_package_loads_numpy_only():
    heavy = ("scipy", "sklearn", "matplotlib", "pandas", "joblib", "torch", "rich")
    done = without([], f"import credalens, sys; print([m for m in {heavy!r} if m in sys.modules])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
