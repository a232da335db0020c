"""The command line: help, exit codes, and nothing on stderr unless something is wrong."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from credalens import cli
from credalens._extras import install_command
from credalens.experiments import demo as experiment
from demo_files import FILES, small_forests

SCRIPT = Path(sys.executable).with_name("credalens")
runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None})


def run(*arguments, cwd=None):
    """Run the installed command with its streams in pipes."""
    surroundings = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    return subprocess.run(
        [SCRIPT, *arguments],
        capture_output=True, text=True, timeout=300, cwd=cwd,
        env=surroundings | {"COLUMNS": "100"},
    )  # fmt: skip


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(experiment, "N_MEMBERS", 2)
    monkeypatch.setattr(experiment, "N_RANDOM_ORDERS", 3)
    monkeypatch.setattr(experiment, "make_forests", small_forests)


@pytest.mark.slow
def test_help():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Total, aleatoric and epistemic uncertainty" in done.stdout
    assert "demo" in done.stdout
    assert "--version" in done.stdout


@pytest.mark.slow
def test_axioms_name_the_command_for_counterexamples():
    arguments = ["axioms", "--classes", "2", "--measures"]
    done = runner.invoke(cli.app, [*arguments, "total,aleatoric_lower"])
    assert done.stderr == (
        "credalens axioms --measures aleatoric_lower prints the counterexamples.\n"
    )
    assert runner.invoke(cli.app, [*arguments, "aleatoric_lower"]).stderr == ""


@pytest.mark.parametrize("command", [[], ["score"], ["reproduce", "table1"]])
def test_short_help(command):
    done = runner.invoke(cli.app, [*command, "-h"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == runner.invoke(cli.app, [*command, "--help"]).stdout


@pytest.mark.slow
def test_version():
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"credalens {importlib.metadata.version('credalens')}\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("arguments", ["--version", "--help", "doctor"])
def test_a_full_disk_is_reported_in_one_line(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([SCRIPT, arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "credalens: no space left on device; free space and run it again\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the shell of Windows closes no streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_errors(closed):
    done = subprocess.run(f"'{SCRIPT}' doctor {closed}", shell=True, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


def test_an_interruption_is_reported_in_one_line(monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "run", interrupted)
    done = runner.invoke(cli.app, ["demo", "--out", str(tmp_path)])
    assert (done.exit_code, done.stderr) == (130, "credalens: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "credalens.io"])
def test_an_interruption_while_it_is_loaded_is_reported_in_one_line(module):
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from credalens.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "score", "a.csv"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "credalens: interrupted\n")


@pytest.mark.slow
def test_help_of_the_demo():
    done = run("demo", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("--out", "--seed", "credalens-demo", "scores.csv", "rejection_curves.png",
                 "simplex.png", "Example: credalens demo -o"):  # fmt: skip
        # Help is wrapped, also at hyphens.
        assert "".join(word.split()) in "".join(done.stdout.split())


@pytest.mark.slow
def test_no_command_shows_the_help_and_fails():
    done = run()
    assert done.returncode == 2
    assert "Usage:" in done.stdout + done.stderr
    assert "demo" in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--seed", "many"], "--seed"),
        (["demo", "--nonsense"], "--nonsense"),
        (["demo", "extra"], "extra"),
        (["demo", "--out", __file__], "--out"),
    ],
    ids=["command", "negative seed", "seed in words", "option", "argument", "out is a file"],
)
def test_mistakes_are_named_on_stderr(arguments, message, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


LOADED = """
import sys
from credalens.cli import main
try:
    main()
finally:
    print(*sys.modules, file=open({path!r}, "w"))
"""


def loaded_by(tmp_path, *arguments):
    """Run a command in a process of its own; return the names of the modules that it loads."""
    path = tmp_path / "modules.txt"
    program = LOADED.format(path=str(path))
    command = [sys.executable, "-c", program, *(str(a) for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return set(path.read_text().split())


@pytest.mark.slow
def test_help_imports_only_the_command(tmp_path):
    heavy = {"sklearn", "matplotlib", "scipy", "pyarrow", "credalens.io", "credalens.experiments"}
    assert heavy.isdisjoint(loaded_by(tmp_path, "--help"))
    modules = loaded_by(tmp_path, "score", "--help")
    assert heavy.isdisjoint(modules)
    others = ("evaluate", "pick", "report", "demo", "axioms", "doctor", "predict", "reproduce")
    assert {f"credalens.cli.{name}" for name in others}.isdisjoint(modules)


@pytest.mark.slow
def test_score_imports_neither_experiments_nor_datasets(tmp_path):
    np.save(tmp_path / "a.npy", np.full((3, 2, 2), 0.5))
    modules = loaded_by(tmp_path, "score", "a.npy", "-o", "scores.csv")
    assert (tmp_path / "scores.csv").exists()
    heavy = ("sklearn", "matplotlib", "credalens.experiments", "credalens.datasets")
    assert [name for name in modules if name.startswith(heavy)] == []


@pytest.mark.slow
def test_without_the_extra_one_line_names_the_command():
    program = "import sys\nsys.modules['typer'] = None\nfrom credalens.cli import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"credalens: typer is not installed; run {install_command('cli')}\n"


@pytest.mark.slow
def test_demo(quick, tmp_path):
    out = tmp_path / "out"
    done = runner.invoke(cli.app, ["demo", "--out", str(out), "--seed", "3"])
    assert done.exit_code == 0, done.output
    # No progress bar in a pipe.
    assert done.stderr.splitlines() == [f"wrote {out / name}" for name in FILES]
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    text = done.stdout
    assert "Accuracy of the vote: 0." in text
    for word in ("total", "aleatoric", "epistemic", "tv", "entropy", "hartley", "AUC", "MR",
                 "random order, mean of 3", "oracle order"):  # fmt: skip
        assert word in text
    # Eight scores, each with its time, and the two reference orders without.
    assert text.count(" ms ") == 8


def test_demo_passes_the_seed_on(monkeypatch, tmp_path):
    seen = []

    def remembering(out, seed, track):
        seen.append((out, seed))
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "run", remembering)
    done = runner.invoke(cli.app, ["demo", "--out", str(tmp_path / "a"), "--seed", "7"])
    assert seen == [(tmp_path / "a", 7)]
    assert done.exit_code != 0  # interrupted
    runner.invoke(cli.app, ["demo"])
    assert seen[1] == (Path("credalens-demo"), 0)


@pytest.mark.slow
def test_forced_colours_do_not_force_a_progress_bar_into_a_pipe(quick, tmp_path):
    done = runner.invoke(cli.app, ["demo", "--out", str(tmp_path)], env={"FORCE_COLOR": "1"})
    assert done.exit_code == 0
    assert all(line.startswith("wrote ") for line in done.stderr.splitlines())


@pytest.mark.slow
def test_the_whole_demo_in_a_pipe(tmp_path):
    done = run("demo", "--seed", "1", cwd=tmp_path)
    assert done.returncode == 0
    assert "Accuracy of the vote: 0.9" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["credalens-demo"]
    assert sorted(p.name for p in (tmp_path / "credalens-demo").iterdir()) == sorted(FILES)
