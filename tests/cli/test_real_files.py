"""Files as other programs write them: every command reads them as they are."""

import json

import numpy as np
import pytest

import credalens as cl
from prediction_files import call
from real_arrays import ARRAYS
from real_files import LABELS, MEMBERS
from real_json import JSON
from real_labels import LABELLED
from real_tables import TABLES

REAL = {**ARRAYS, **TABLES, **JSON, **LABELLED}


def scored(folder, *arguments):
    """Return the scores by column, sorted by id, and the notes."""
    out = folder / "scores.jsonl"
    done = call("score", *arguments, "-o", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    out.unlink()
    # The rows of files in different orders come in that of the first.
    rows.sort(key=lambda row: str(row.get("id")) if str(row.get("id")).startswith("img") else "")
    return {name: [row[name] for row in rows] for name in rows[0]}, done.stderr


@pytest.mark.parametrize("case", REAL)
def test_scores_are_those_of_the_members(case, tmp_path):
    write, labelled, members, tolerance = REAL[case]
    found, notes = scored(tmp_path, *write(tmp_path))
    expected = cl.quantify(members)
    assert np.allclose(found["tv_total"], expected.total, rtol=0, atol=tolerance)
    assert np.allclose(found["tv_epistemic"], expected.epistemic, rtol=0, atol=tolerance)
    assert ("correct" in found) == labelled
    if labelled:
        labels = LABELS if members is MEMBERS else (LABELS == 1).astype(int)
        assert found["correct"] == (cl.majority_vote(members) == labels).tolist()
    assert "warning" not in notes


@pytest.mark.slow
@pytest.mark.parametrize("command", ["evaluate", "pick", "report"])
@pytest.mark.parametrize("case", ["clip", "shuffled npz", "llm logprobs", "sigmoid csv"])
def test_the_other_commands_read_them_too(command, case, tmp_path):
    options = {
        "evaluate": ("--bootstrap", 0),
        "pick": ("--budget", 3, "-o", tmp_path / "out.csv"),
        "report": ("-o", tmp_path / "report.html"),
    }[command]
    call(command, *REAL[case][0](tmp_path), *options)
