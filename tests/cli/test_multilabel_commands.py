"""`credalens score --multilabel`."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from prediction_files import call, read

rng = np.random.default_rng(0)
N, M, L = 40, 3, 3
NAMES = ("cat", "dog", "bird")
MEMBERS = rng.random((N, M, L)).round(3)
TRUTH = (rng.random((N, L)) < 0.5).astype(np.int64)
IDS = [f"p{i}" for i in range(N)]


def table(m, rows=slice(None), names=NAMES):
    columns = {name: MEMBERS[rows, m, NAMES.index(name)] for name in names}
    return pa.table({"id": IDS[rows], "fold": np.zeros(N, int)[rows], **columns})


@pytest.fixture
def folder(tmp_path):
    for m in range(M):
        names = NAMES if m else ("dog", "cat", "bird")
        pa.csv.write_csv(table(m, names=names), tmp_path / f"model_{m}.csv")
        pa.parquet.write_table(table(m), tmp_path / f"model_{m}.parquet")
    np.save(tmp_path / "all.npy", MEMBERS.astype(np.float32))
    order = rng.permutation(N)
    columns = {name: TRUTH[order, k] for k, name in enumerate(NAMES)}
    pa.csv.write_csv(pa.table({"id": [IDS[i] for i in order], **columns}), tmp_path / "truth.csv")
    return tmp_path


def names_of(rows):
    return [" ".join(name for name, yes in zip(NAMES, row, strict=True) if yes) for row in rows]


def test_scores_are_those_of_the_library(folder):
    files = [folder / f"model_{m}.csv" for m in range(M)]
    out = folder / "scores.csv"
    call("score", "--multilabel", *files, "--labels", folder / "truth.csv", "--measures",
         "hamming,max,labels", "-o", out)  # fmt: skip
    found = read(out)
    for aggregate in ("hamming", "max"):
        u = cl.quantify_multilabel(MEMBERS, aggregate)
        assert_allclose(found[f"{aggregate}_total"], u.total, atol=1e-12)
        assert_allclose(found[f"{aggregate}_aleatoric_lower"], u.aleatoric.lower, atol=1e-12)
        assert_allclose(found[f"{aggregate}_aleatoric_upper"], u.aleatoric.upper, atol=1e-12)
        assert_allclose(found[f"{aggregate}_epistemic"], u.epistemic, atol=1e-12)
    u = cl.quantify_multilabel(MEMBERS, "labels")
    # The columns of the first file are in another order, which is that of the names.
    for name in ("dog", "cat", "bird"):
        assert_allclose(found[f"{name}_total"], u.total[:, NAMES.index(name)], atol=1e-12)
    predicted = cl.decide_multilabel(MEMBERS)
    words = [set(text.split()) for text in map(str, found["prediction"])]
    assert words == [set(text.split()) for text in names_of(predicted)]
    assert_allclose(found["hamming_loss"], (predicted != TRUTH).mean(axis=1), atol=1e-12)
    words = [set(text.split()) for text in map(str, found["label"])]
    assert words == [set(text.split()) for text in names_of(TRUTH)]


def test_formats_summaries_and_chunks(folder):
    u = cl.quantify_multilabel(MEMBERS)
    for files in ([folder / "model_*.parquet"], [folder / "all.npy"]):
        out = folder / "scores.parquet"
        call("score", "--multilabel", *files, "--measures", "hamming", "--summary", "lower",
             "--chunk-rows", "7", "-o", out)  # fmt: skip
        found = read(out)
        assert [name for name in found if name != "id"] == [
            "prediction", "hamming_total", "hamming_aleatoric_lower", "hamming_epistemic"
        ]  # fmt: skip
        assert_allclose(found["hamming_total"], u.total, atol=1e-6)
        out.unlink()
    done = call("score", "--multilabel", folder / "all.npy", "--to", "jsonl", "--class-names",
                "big cat,dog,bird")  # fmt: skip
    assert len(done.stdout.splitlines()) == N
    assert '"prediction":"big cat' in done.stdout.replace(": ", ":")
    bare = folder / "bare.csv"
    np.savetxt(bare, MEMBERS[:, 0], delimiter=",")
    call("score", "--multilabel", bare, "-o", out)
    assert_allclose(read(out)["max_total"], np.minimum(MEMBERS, 1 - MEMBERS)[:, 0].max(axis=1))


def test_logits_and_percentages(folder):
    np.save(folder / "logits.npy", np.log(MEMBERS + 1e-9) - np.log1p(1e-9 - MEMBERS))
    np.save(folder / "percent.npy", 100 * MEMBERS)
    expected = cl.quantify_multilabel(MEMBERS).total
    out = folder / "scores.parquet"
    for option in ("logits", "percent"):
        call("score", "--multilabel", folder / f"{option}.npy", f"--{option}", "-o", out)
        assert_allclose(read(out)["hamming_total"], expected, atol=1e-6)
        done = call("score", "--multilabel", folder / f"{option}.npy", code=2)
        assert "not a probability; pass --logits for logits" in done.stderr
    done = call("score", "--multilabel", folder / "all.npy", "--logits", code=2)
    assert "--logits was passed, but all values are in [0, 1]" in done.stderr


def test_missing_models_and_skipped_rows(folder):
    pa.csv.write_csv(table(1, slice(N - 1, 0, -1)), folder / "model_1.csv")  # without p0
    text = (folder / "model_2.csv").read_text().splitlines()
    text[4] = text[4].rpartition(",")[0] + ",1.5"
    (folder / "model_2.csv").write_text("\n".join(text) + "\n")
    files = [folder / f"model_{m}.csv" for m in range(M)]
    out = folder / "scores.csv"
    call("score", "--multilabel", *files, "-o", out, code=2)
    assert not out.exists()
    done = call("score", "--multilabel", *files, "--missing", "allow", "-o", out, code=2)
    assert "row 3 (zero-based): label bird is 1.5, not a probability" in done.stderr
    call("score", "--multilabel", *files, "--missing", "allow", "--on-error", "skip", "-o", out)
    found, kept = read(out), np.delete(np.arange(N), 3)
    assert_array_equal(found["n_members"], [2] + [3] * (N - 2))
    mask = np.ones((N, M), bool)
    mask[0, 1] = False
    u = cl.quantify_multilabel(MEMBERS, mask=mask)
    assert_allclose(found["hamming_total"], u.total[kept], atol=1e-12)
    assert "label bird is 1.5" in (folder / "scores.skipped.csv").read_text()
    again = call("score", "--multilabel", *files, "--missing", "allow", "--on-error", "skip",
                 "-o", out, "--resume")  # fmt: skip
    assert f"wrote {N - 1} rows" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--weights", "1,1,1"], "--weights: does not apply to --multilabel"),
        (["--normalize"], "--normalize: does not apply to --multilabel"),
        (["--distance", "ordinal"], "--distance: does not apply to --multilabel"),
        (["--measures", "entropy"], "choose from hamming, max, labels"),
        (["--measures", ","], "--measures: is empty; choose from hamming, max, labels"),
        (["--regression"], "--multilabel: does not support --regression"),
        (["--report", "r.html"], "--report: does not support --multilabel"),
        (["--engine", "dask"], "--engine dask: does not support --multilabel"),
    ],
)
def test_options_that_do_not_apply(folder, arguments, message):
    done = call("score", "--multilabel", folder / "all.npy", *arguments, code=2)
    assert message in done.stderr


def test_labels_that_are_not_one_per_label(folder):
    np.save(folder / "classes.npy", TRUTH[:, 0])
    done = call("score", "--multilabel", folder / "all.npy", "--labels", folder / "classes.npy",
                code=2)  # fmt: skip
    assert "has one value per row; save 0 or 1 for each of the 3 labels" in done.stderr
    np.save(folder / "classes.npy", 2 * TRUTH)
    done = call("score", "--multilabel", folder / "all.npy", "--labels", folder / "classes.npy",
                code=2)  # fmt: skip
    assert "neither 0 nor 1; save 0 or 1 for each label" in done.stderr
    other = table(0, names=("cat", "dog"))
    pa.csv.write_csv(other, folder / "other.csv")
    done = call("score", "--multilabel", folder / "model_1.csv", folder / "other.csv", code=2)
    assert "has 2 classes" in done.stderr
