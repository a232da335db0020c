"""`credalens explore`: which rows are on the page."""

import json
import re

import numpy as np
import pytest

import credalens as cl
from prediction_files import NAMES, app, predictions, runner


def page(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.S)[1])


def explore(*words, code=0):
    done = runner.invoke(app, ["explore", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def files(tmp_path):
    P, _ = predictions(30)
    ids = [f"image,{i}" if i == 4 else f"image {i}" for i in range(30)]
    folder = tmp_path / "runs"
    folder.mkdir()
    for m in range(3):
        lines = [
            ",".join([f'"{i}"', *map(repr, row)])
            for i, row in zip(ids, P[:, m].tolist(), strict=True)
        ]
        (folder / f"{m}.csv").write_text("\n".join(["id," + ",".join(NAMES), *lines]))
    return folder, P, ids


def test_without_files(tmp_path):
    out = tmp_path / "e.html"
    assert explore("-o", out) == f"wrote {out}; open it in a browser\n"
    assert page(out)["rows"] == []


def test_the_most_uncertain_rows(tmp_path, files):
    folder, P, ids = files
    out = tmp_path / "e.html"
    # Small chunks: the most uncertain rows of all of them are kept.
    text = explore(folder, "-o", out, "--top", 5, "--chunk-rows", 7)
    assert text.endswith(f"wrote {out} with 5 rows; open it in a browser\n")
    data = page(out)
    expected = cl.rejection_order(cl.total_uncertainty(P))[:5]
    assert [row["id"] for row in data["rows"]] == [ids[i] for i in expected]
    np.testing.assert_allclose([row["members"] for row in data["rows"]], P[expected], rtol=1e-6)
    assert data["classes"] == list(NAMES)
    assert data["models"] == ["0", "1", "2"]


def test_rows_by_id_and_by_number(tmp_path, files):
    folder, P, _ = files
    out = tmp_path / "e.html"
    explore(folder, "-o", out, "--row", "image 7, image 2", "--row", "image,4")
    assert [row["id"] for row in page(out)["rows"]] == ["image 7", "image 2", "image,4"]
    np.save(tmp_path / "p.npy", P)
    explore(tmp_path / "p.npy", "-o", out, "--row", "29")
    (row,) = page(out)["rows"]
    assert row["id"] == "row 29"
    np.testing.assert_allclose(row["members"], P[29], rtol=1e-6)


def test_labels(tmp_path, files):
    folder, _, ids = files
    (tmp_path / "truth.csv").write_text(
        "\n".join(["id,label", *(f'"{i}",{NAMES[k % 3]}' for k, i in enumerate(ids))])
    )
    out = tmp_path / "e.html"
    explore(folder, "-o", out, "--labels", tmp_path / "truth.csv", "--row", "image 5")
    assert page(out)["rows"][0]["label"] == NAMES[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--row", "x"], "--row: 'x' is not an id in the files"),
        (["--row", "image 1", "--top", "3"], "--row: pass either --row or --top"),
        (["-o", "e.txt"], "-o: e.txt is not an .html file; pass a file, e.g. explorer.html"),
        (["--top", "0"], "Invalid value for '--top'"),
    ],
)
def test_refused(tmp_path, files, words, message):
    given = [] if "-o" in words else ["-o", tmp_path / "e.html"]
    assert message in explore(files[0], *given, *words, code=2)
    assert not (tmp_path / "e.html").exists()


def test_options_that_need_files(tmp_path):
    assert "--top: needs prediction files" in explore(
        "--top", "3", "-o", tmp_path / "e.html", code=2
    )


def test_too_many_rows(tmp_path, monkeypatch, files):
    monkeypatch.setattr("credalens.explore.output.MAX_NUMBERS", 50)
    message = explore(files[0], "--top", 20, "-o", tmp_path / "e.html", code=2)
    assert "a page has at most 5 such rows" in message
    explore(files[0], "-o", tmp_path / "e.html")  # by default as many as there is room for
    assert len(page(tmp_path / "e.html")["rows"]) == 5
