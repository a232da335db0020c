"""``credalens report`` and ``score --report``: the same page as from Python."""

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import credalens as cl
from credalens._extras import install_command
from credalens.experiments import demo
from prediction_files import call
from report_pages import Page, ensemble

NAMES = ("cat", "dog", "fox")


@pytest.fixture
def models(tmp_path):
    """Three models as tables with ids and labels, and their predictions."""
    P, y = ensemble(90, 3, 3, seed=5)
    folder = tmp_path / "models"
    folder.mkdir()
    for m in range(3):
        lines = ["id,cat,dog,fox,label"]
        lines += [
            f"img{i},{','.join(repr(float(p)) for p in P[i, m])},{NAMES[y[i]]}" for i in range(90)
        ]
        (folder / f"net{m}.csv").write_text("\n".join(lines) + "\n")
    return folder, P, y


@pytest.mark.slow
def test_the_command(models, tmp_path):
    folder, P, y = models
    out = tmp_path / "page.html"
    done = call("report", folder, "-o", out, "--chunk-rows", 40, "--title", "Pets & <co>")
    assert done.stderr == f"wrote {out}; open it in a browser\n"
    read = Page(out)
    ids = [f"img{i}" for i in range(90)]
    names = ["net0", "net1", "net2"]
    same = Page(cl.report.write(tmp_path / "same.html", P, y, NAMES, ids, names=names))
    assert read.data == same.data
    assert read.text("uncertain") == same.text("uncertain")
    assert read.text("members") == same.text("members")
    assert "Pets & <co>" in read.text()


def test_labels_that_are_distributions(tmp_path):
    P, _ = ensemble(60, 3, 3, seed=5)
    counts = np.random.default_rng(0).integers(1, 20, (60, 3)).astype(float)
    counts[:10] = np.eye(3)[0]
    counts[50:] = np.nan
    for m in range(3):
        np.savez(tmp_path / f"net{m}.npz", probs=P[:, m], labels=counts)
    out = tmp_path / "page.html"
    call("report", *(tmp_path / f"net{m}.npz" for m in range(3)), "-o", out, "--chunk-rows", 10)
    known = counts[:50] / counts[:50].sum(axis=1, keepdims=True)
    found = cl.validity.coverage(P[:50], known)
    count, share = int(found.covered.sum()), 100 * found.coverage
    assert 0 < count < 50
    assert (
        f"Of 50 label distributions, {count} ({share:.1f} %) lie in their credal set (95 % "
        f"interval {100 * found.lower:.1f} to {100 * found.upper:.1f} %)."
        in Page(out).text("trust")
    )


def test_times_are_identifiers(tmp_path):
    times = np.array(["2024-05-06T07:08:09", "NaT"], "M8[ns]")
    table = pa.table({"id": times, "a": [0.5, 0.5], "b": [0.5, 0.5]})
    pyarrow.parquet.write_table(table, tmp_path / "m.parquet")
    call("report", tmp_path / "m.parquet", "-q", "-o", tmp_path / "page.html")
    assert Page(tmp_path / "page.html").data["rows"]["id"] == ["2024-05-06 07:08:09", ""]


@pytest.mark.slow
def test_score_writes_the_same_report(models, tmp_path, monkeypatch):
    folder, _, _ = models
    call("report", folder, "-o", tmp_path / "a.html")
    scores, out = tmp_path / "scores.csv", tmp_path / "b.html"
    rows = count_rows(monkeypatch)
    done = call("score", folder, "-o", scores, "--report", out, "--chunk-rows", 31)
    assert done.stderr.splitlines()[-1] == f"wrote {out}; open it in a browser"
    assert len(scores.read_text().splitlines()) == 91
    assert Page(out).data == Page(tmp_path / "a.html").data
    assert sum(rows) == 90, "a row is measured once for both"


def count_rows(monkeypatch):
    """Note how many sets are measured by total variation, call by call."""
    rows, everything = [], cl.TotalVariation.decompose

    def counted(self, Q):
        rows.append(len(Q))
        return everything(self, Q)

    monkeypatch.setattr(cl.TotalVariation, "decompose", counted)
    return rows


def test_options_of_the_command(models, tmp_path):
    _, P, y = models
    np.save(tmp_path / "all.npy", 3 * P)
    np.savetxt(tmp_path / "truth.txt", y, "%d")
    out = tmp_path / "r.html"
    call("report", tmp_path / "all.npy", "--labels", tmp_path / "truth.txt", "--normalize",
         "--class-names", "x,y,z", "--measures", "tv,entropy", "--review-threshold", "0.321",
         "--distance", "ordinal", "-o", out, "-q")  # fmt: skip
    read = Page(out)
    assert read.data["classes"] == ["x", "y", "z"]
    assert "not computed" in read.text("method")
    assert "above 0.321, as requested" in read.text("summary")
    assert "Ordinal" in read.text("curves")


@pytest.mark.slow
def test_bad_rows_are_left_out_and_reported(models, tmp_path, monkeypatch):
    folder, _, _ = models
    monkeypatch.chdir(tmp_path)
    text = (folder / "net1.csv").read_text().splitlines()
    text[3] = "img2,0.9,0.9,0.9,cat"
    (folder / "net1.csv").write_text("\n".join(text) + "\n")
    call("report", folder, "-o", "r.html", code=2)
    done = call("report", folder, "-o", "r.html", "--on-error", "skip")
    assert "skipped 1 invalid row; see r.skipped.csv" in done.stderr
    call("score", folder, "-o", "s.csv", "--report", "s.html", "--on-error", "skip")
    for name in ("r.html", "s.html"):
        text = Page(tmp_path / name).text()
        assert "89 predictions · 3 models · 3 classes · with labels · 1 invalid row skipped" in text
    read = Page(tmp_path / "r.html")
    assert "89 predictions" in read.text("summary")
    assert sorted(read.data["rows"]["r"]) == [i for i in range(90) if i != 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "-o", "r.txt"], "r.txt is not an .html file"),
        (["report", "--measures", "mmi"], "measures: is 'mmi'"),
        (["report", "--review-threshold", "-2"], "--review-threshold: is -2"),
        (["report", "--reject", "2"], "--reject: is 2"),
        (["report", "--target-accuracy", "2"], "--target-accuracy: is 2"),
        (["report", "--reject", "0.1", "--review-threshold", "1"], "--review-threshold: excludes "),
        (["score", "-o", "s.csv", "--resume", "--report", "r.html"], "--report: needs all rows"),
        (["score", "-o", "s.csv", "--report", "r.txt"], "r.txt is not an .html file"),
    ],
)
def test_invalid_arguments_of_the_command(models, tmp_path, monkeypatch, arguments, message):
    folder, _, _ = models
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    assert message in call(command, folder, *options, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_folder_that_cannot_be_written_to_raises_first():
    done = call("report", "no such model.npy", "-o", "/proc/r.html", code=2)
    assert "/proc cannot be written to" in done.stderr


# ---------------------------------------------------------------- without the extra


@pytest.fixture
def bare(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)


def test_without_the_extra_one_line_names_the_command(bare, models, tmp_path):
    folder, P, _ = models
    with pytest.raises(ImportError, match=re.escape(install_command("report"))):
        cl.report.write(tmp_path / "r.html", P)
    for command in (
        ["report", folder, "-o", tmp_path / "r.html"],
        ["score", folder, "-o", tmp_path / "s.csv", "--report", tmp_path / "r.html"],
    ):
        printed = call(*command, code=2).stderr
        assert printed == (
            f"credalens: vl_convert is not installed; run {install_command('report')}\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


@pytest.mark.slow
def test_the_demo_needs_no_report(bare, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "N_MEMBERS", 2)
    monkeypatch.setattr(demo, "N_RANDOM_ORDERS", 3)
    result = demo.run(tmp_path)
    assert install_command("report") in result.report_error
    assert not (tmp_path / "report.html").exists()
