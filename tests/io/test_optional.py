"""Reading without optional packages, and formats that are added to the table."""

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from credalens._extras import install_command
from credalens.io import Block, Source, open_ensemble
from credalens.io.formats import FORMATS, Format

BLOCKED = ("pyarrow", "dask", "distributed", "zarr", "sklearn", "matplotlib", "typer", "rich",
           "h5py", "safetensors", "ml_dtypes", "torch")  # fmt: skip
PROGRAM = f"""
import sys

class Blocker:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {BLOCKED}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
import credalens.datasets
from credalens.io import read_members, read_predictions
"""


def run(text, *arguments):
    """Run a program without the optional packages; return the lines of its output."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + text, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_arrays_need_numpy_only(tmp_path):
    np.save(tmp_path / "a.npy", np.full((5, 2), 0.5))
    np.savez(tmp_path / "b.npz", probs=np.full((5, 2), 0.5), labels=np.zeros(5, int))
    (tmp_path / "labels.txt").write_text("1\n" * 5)
    text = "print(read_predictions(sys.argv[1], sys.argv[2]).labels.tolist())"
    assert run(text, tmp_path, tmp_path / "labels.txt") == ["[1, 1, 1, 1, 1]"]


MISSING = {
    "read_members(sys.argv[1] + '/a.csv')": ("pyarrow", "cli"),
    "read_members(sys.argv[1] + '/a.parquet')": ("pyarrow", "cli"),
    "read_members(sys.argv[1] + '/a.zarr')": ("zarr", "dask"),
    "read_members(sys.argv[1] + '/a.jsonl')": ("pyarrow", "cli"),
    "read_members(sys.argv[1] + '/a.npy.gz')": ("pyarrow", "cli"),
    "read_members(sys.argv[1] + '/a.h5')": ("h5py", "files"),
    "read_members(sys.argv[1] + '/a.safetensors')": ("ml_dtypes", "files"),
    "read_members(sys.argv[1] + '/a.pt')": ("torch", "torch"),
    "credalens.datasets.load_bundled('iris')": ("sklearn", "sklearn"),
    "import credalens.engine.job": ("distributed", "dask"),
    "import credalens.engine.results": ("pyarrow", "cli"),
}


@pytest.mark.slow
def test_a_missing_package_is_one_line(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n0.5,0.5\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "a.zarr").mkdir()
    for name in ("a.jsonl", "a.npy.gz", "a.h5", "a.safetensors", "a.pt"):
        (tmp_path / name).write_text("x")
    text = f"""
for statement in {list(MISSING)}:
    try:
        exec(statement)
    except ModuleNotFoundError as error:
        print(error)
"""
    messages = run(text, tmp_path)
    for message, (package, extra) in zip(messages, MISSING.values(), strict=True):
        assert message == f"{package} is not installed; run {install_command(extra)}"


@pytest.mark.slow
def test_score_imports_no_application_and_no_dataset(tmp_path):
    np.save(tmp_path / "a.npy", np.full((5, 3, 2), 0.5))
    program = (
        "import sys\n"
        "from credalens.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "print([name for name in sys.modules if name.startswith(('credalens.datasets', "
        "'credalens.engine', 'credalens.experiments', 'credalens.plots', 'credalens.report'))])\n"
    )
    arguments = ("score", tmp_path / "a.npy", "-q", "-o", tmp_path / "s.csv")
    command = [sys.executable, "-c", program, *map(str, arguments)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[]\n"
    assert (tmp_path / "s.csv").exists()


def test_a_format_is_a_class_and_an_entry_of_the_table(tmp_path, monkeypatch):
    class ConstantSource(Source):
        def __init__(self, path, options):
            self.path, self.n_classes = path, 2
            self.n_rows = self.expected_rows = int(Path(path).read_text())

        def raw_blocks(self, rows, start, stop):
            stop = self.n_rows if stop is None else stop
            yield Block(np.full((stop - start, 1, 2), 0.5))

    module = types.SimpleNamespace(ConstantSource=ConstantSource)
    monkeypatch.setitem(sys.modules, "credalens.io.constant", module)
    monkeypatch.setitem(FORMATS, ".constant", Format("constant", "ConstantSource"))
    (tmp_path / "a.constant").write_text("7")
    np.save(tmp_path / "b.npy", np.full((7, 2), 0.5))
    ensemble = open_ensemble([str(tmp_path)])
    assert ensemble.names == ("a", "b")
    assert [chunk.members.shape for chunk in ensemble.chunks(rows=4)] == [(4, 2, 2), (3, 2, 2)]
