"""The example notebook runs from top to bottom, and shows what it says."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOK = Path(__file__).parents[1] / "examples" / "digits.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_runs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    kept = [cell.source for cell in notebook.cells]
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    printed = "".join(
        output.get("text", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "SPOILER: member 10" in printed
    assert kept == [cell.source for cell in notebook.cells]
