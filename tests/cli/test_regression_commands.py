"""`credalens score --regression` and `credalens evaluate --regression`."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from prediction_files import call, read

rng = np.random.default_rng(0)
N, M = 60, 3
SPREAD = rng.uniform(0.5, 4, N)
CENTER = rng.normal(size=N)
MEAN = CENTER[:, None] + rng.normal(size=(N, M)) * SPREAD[:, None] / 3
STD = SPREAD[:, None] * rng.uniform(0.8, 1.2, (N, M))
TARGET = CENTER + SPREAD * rng.normal(size=N)
LEVELS = (0.05, 0.5, 0.95)


@pytest.fixture
def folder(tmp_path):
    ids = [f"p{i}" for i in range(N)]
    normal = cl.RealHull.from_normal(MEAN, STD)
    quantiles = np.asarray(normal.member_quantiles(LEVELS))
    for m in range(M):
        table = pa.table({"id": ids, "mean": MEAN[:, m], "std": STD[:, m]})
        pa.csv.write_csv(table, tmp_path / f"normal_{m}.csv")
        columns = {f"q{level}": quantiles[:, m, k] for k, level in enumerate(LEVELS)}
        pa.parquet.write_table(pa.table(columns), tmp_path / f"quantiles_{m}.parquet")
    np.save(tmp_path / "samples.npy", rng.normal(size=(N, M, 20)).astype(np.float32))
    order = rng.permutation(N)
    table = pa.table({"id": [ids[i] for i in order], "target": TARGET[order]})
    pa.csv.write_csv(table, tmp_path / "truth.csv")
    return tmp_path


def test_scores_are_those_of_the_library(folder):
    files = [folder / f"normal_{m}.csv" for m in range(M)]
    out = folder / "scores.csv"
    call("score", "--regression", *files, "--labels", folder / "truth.csv", "-o", out)
    found = read(out)
    Q = cl.RealHull.from_normal(MEAN, STD)
    u = cl.quantify(Q)
    assert_array_equal(found["wasserstein_total"], u.total)
    assert_array_equal(found["wasserstein_aleatoric_lower"], u.aleatoric.lower)
    assert_array_equal(found["wasserstein_epistemic"], u.epistemic)
    assert_array_equal(found["variance_epistemic"], cl.quantify(Q, "variance").epistemic)
    assert_allclose(found["target"], TARGET)
    assert_allclose(found["absolute_error"], np.abs(TARGET - Q.center()))


def test_formats_points_and_chunks(folder):
    out = folder / "scores.parquet"
    call("score", "--regression", folder / "quantiles_*.parquet", "--measures", "wasserstein",
         "--summary", "lower", "--point", "minimax", "--chunk-rows", "7", "-o", out)  # fmt: skip
    values = cl.RealHull.from_normal(MEAN, STD).member_quantiles(LEVELS)
    Q = cl.RealHull.from_quantiles(LEVELS, values)
    found = read(out)
    assert list(found) == ["prediction", "wasserstein_total", "wasserstein_aleatoric_lower",
                           "wasserstein_epistemic"]  # fmt: skip
    assert_allclose(found["prediction"], Q.minimax().prediction)
    assert_allclose(found["wasserstein_total"], cl.total_uncertainty(Q), rtol=1e-12)
    printed = call("score", "--regression", folder / "samples.npy").stdout.splitlines()
    samples = cl.RealHull.from_samples(np.load(folder / "samples.npy"))
    first = dict(zip(printed[0].split(","), map(float, printed[1].split(",")), strict=True))
    assert first["wasserstein_total"] == pytest.approx(float(cl.total_uncertainty(samples)[0]))
    # Outputs in the folder are not read as models.
    done = call("score", "--regression", folder / "*.parquet", "--to", "jsonl")
    assert len(done.stdout.splitlines()) == N


def test_missing_and_weighted_models(folder):
    files = [folder / f"normal_{m}.csv" for m in range(M)]
    lines = files[1].read_text().splitlines()
    files[1].write_text("\n".join([lines[0], *lines[:1:-1]]) + "\n")  # without p0, reversed
    out = folder / "scores.csv"
    call("score", "--regression", *files, code=2)
    call("score", "--regression", *files, "--missing", "allow", "--weights", "1,2,3", "-o", out)
    found = read(out)
    assert found["n_members"].tolist() == [2] + [3] * (N - 1)
    mask = np.ones((N, M), bool)
    mask[0, 1] = False
    Q = cl.RealHull.from_normal(MEAN, STD, mask=mask, weights=[1, 2, 3])
    assert_allclose(found["prediction"], Q.center())
    assert_allclose(found["wasserstein_total"], cl.total_uncertainty(Q))


def test_an_interrupted_run_is_continued(folder):
    out, options = folder / "scores.csv", ["--chunk-rows", "20", "--on-error", "skip"]
    path = folder / "normal_0.csv"
    lines = path.read_text().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ",-1"
    path.write_text("\n".join(lines) + "\n")
    call("score", "--regression", path, *options, "-o", out)
    assert len(read(out)["row"]) == N - 1
    skipped = (folder / "scores.skipped.csv").read_text()
    assert "std is -1, a negative standard deviation" in skipped
    again = call("score", "--regression", path, *options, "-o", out, "--resume")
    assert f"wrote {N - 1} rows" in again.stderr


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_evaluation(folder, loss):
    files = [folder / f"normal_{m}.csv" for m in range(M)]
    done = call("evaluate", "--regression", *files, "--targets", folder / "truth.csv",
                "--loss", loss, "--bootstrap", "40", "-o", folder / "out")  # fmt: skip
    Q = cl.RealHull.from_normal(MEAN, STD)
    u, v = cl.quantify(Q), cl.quantify(Q, "variance")
    scores = {
        "wasserstein_total": u.total, "wasserstein_aleatoric_lower": u.aleatoric.lower,
        "wasserstein_epistemic": u.epistemic, "variance_total": v.total,
        "variance_aleatoric": v.aleatoric, "variance_epistemic": v.epistemic,
    }  # fmt: skip
    with (folder / "out" / "evaluation.csv").open() as file:
        rows = {row["score"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(scores)
    for name, score in scores.items():
        own = cl.selective_metrics(TARGET, Q.center(), score, loss=loss)
        curve = cl.risk_curve(TARGET, Q.center(), score, loss=loss)
        row = {key: float(x) for key, x in rows[name].items() if key != "score"}
        assert_allclose([row["prr"], row["aurc"], row["mean_risk"]],
                        [own.prr, own.aurc, curve.mean])  # fmt: skip
        assert_allclose(row["risk_at_50"], own.risk_at(0.5), rtol=0.2)
        assert row["mean_risk_low"] <= row["mean_risk"] <= row["mean_risk_high"]
    assert f"Mean {loss} error on all 60 rows" in done.stdout
    assert "variance_epistemic (baseline)" in done.stdout
    assert "Best score: " in done.stdout
    assert (folder / "out" / "risk_curves.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "--point", "median"], "--point: applies to --regression"),
        (["score", "--regression", "--logits"], "--logits: applies to classes"),
        (["score", "--regression", "--measures", "entropy"], "--measures: is 'entropy'"),
        (["score", "--regression", "--distance", "ordinal"], "--distance: real-valued targets"),
        (["score", "--regression", "--report", "r.html"], "--report: does not support"),
        (["score", "--regression", "--engine", "dask"], "--engine dask: does not support"),
        (["evaluate", "--regression"], "targets: no file has them"),
        (["evaluate", "--regression", "--loss", "huber"], "--loss: is 'huber'"),
        (["evaluate", "--loss", "squared"], "--loss: applies to --regression"),
        (["evaluate", "--regression", "--target-accuracy", "0.9"], "--target-accuracy: applies"),
    ],
)
def test_options_that_do_not_apply(folder, arguments, message):
    done = call(*arguments, folder / "normal_*.csv", code=2)
    assert message in done.stderr
