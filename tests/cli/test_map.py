"""The command `credalens map`."""

import pytest
from typer.testing import CliRunner

from credalens.cli import app
from segmentations import probabilities, write_folds


@pytest.fixture
def folders(tmp_path):
    return [str(path) for path in write_folds(tmp_path, {"a": probabilities()})]


def run(*arguments):
    return CliRunner().invoke(app, ["map", *map(str, arguments)])


def test_maps_and_tables(folders, tmp_path):
    out = tmp_path / "maps"
    done = run(*folders, "-o", out, "--classes", "background, organ,lesion")
    assert done.exit_code == 0, done.output
    assert "wrote maps of 1 case to" in done.output
    assert sorted(path.name for path in out.iterdir()) == [
        "a", "cases.csv", "index.html", "settings.json", "structures.csv"
    ]  # fmt: skip
    assert ',"organ",' in (out / "structures.csv").read_text()
    assert run(*folders, "-o", out, "--classes", "background,organ,lesion").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rule", "all"], "--rule: is 'all'; choose from"),
        (["--logits", "--normalize"], "--normalize: does not apply to logits"),
        (["--classes", "one,two"], "--classes: has 2 names"),
        (["--class-axis", "9"], "--class-axis: is 9"),
    ],
)
def test_invalid_options(options, message, folders, tmp_path):
    done = run(*folders, "-o", tmp_path / "maps", *options)
    assert done.exit_code == 2
    assert message in done.output
