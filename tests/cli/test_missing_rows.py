"""Rows that models lack, and weights of models, in all commands."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import credalens as cl
from credalens.io import open_ensemble
from credalens.io.weight_file import read_weights
from prediction_files import call, predictions, read

N, M = 24, 3
IDS = [f"x{i:02d}" for i in range(N)]


@pytest.fixture
def models(tmp_path):
    """Three files in different orders, of which the last two lack rows; row 5 has one model."""
    members, labels = predictions(N, M)
    rng = np.random.default_rng(0)
    mask = rng.random((N, M)) < 0.75
    mask[:, 0] = True
    mask[5] = [True, False, False]
    mask[9] = [False, True, True]  # only others have it
    for m in range(M):
        rows = rng.permutation(np.flatnonzero(mask[:, m])) if m else np.flatnonzero(mask[:, m])
        write_rows(tmp_path / f"{m}.csv", members[rows, m], [IDS[i] for i in rows])
    (tmp_path / "truth.csv").write_text(
        "id,label\n" + "".join(f"{i},{y}\n" for i, y in zip(IDS, labels, strict=True))
    )
    return tmp_path, members, mask, labels


def write_rows(path, probabilities, ids):
    names = [f"c{k}" for k in range(probabilities.shape[1])]
    lines = [",".join(["id", *names])]
    for own, row in zip(ids, probabilities.tolist(), strict=True):
        lines.append(",".join([own, *map(repr, row)]))
    path.write_text("\n".join(lines) + "\n")


def files(folder):
    return [str(folder / f"{m}.csv") for m in range(M)]


def by_id(columns):
    """The columns of scores in the order of the ids."""
    order = np.argsort(columns["id"])
    return {name: np.asarray(values)[order] for name, values in columns.items()}


@pytest.mark.parametrize("options", [(), ("--weights", "3,1,2"), ("--chunk-rows", "5")])
def test_scores_are_those_of_the_models_present(models, options):
    folder, members, mask, _ = models
    out = folder / "scores.csv"
    done = call("score", *files(folder), "--missing", "allow", "-o", out, "--measures",
                "tv,information", *options)  # fmt: skip
    found = by_id(read(out))
    weights = [3, 1, 2] if "--weights" in options else None
    Q = cl.ConvexHull(members, mask=mask, weights=weights)
    u = cl.quantify(Q, ["tv", "information"])
    assert found["id"].tolist() == IDS
    assert found["n_members"].tolist() == mask.sum(axis=1).tolist()
    assert found["tv_total"].tolist() == u["tv"].total.tolist()
    assert found["information_epistemic"].tolist() == u["information"].epistemic.tolist()
    votes = [f"c{k}" for k in cl.majority_vote(Q)]
    assert found["prediction"].tolist() == votes
    assert read(out)["id"][-1] == IDS[9]  # which the first model does not have
    assert "1.csv: lacks" in done.stderr
    assert "rows are matched by their ids" in done.stderr


def test_models_must_have_all_rows_by_default(models):
    folder, _, _, _ = models
    done = call("score", *files(folder), "-o", folder / "scores.csv", code=2)
    assert "pass models of the same rows, --missing allow if models lack rows" in done.stderr
    assert not (folder / "scores.csv").exists()
    done = call("validate", *files(folder), "--labels", folder / "truth.csv", code=2)
    assert "--missing" not in done.stderr  # which it does not have


def test_all_commands(models):
    folder, members, mask, labels = models
    common = [*files(folder), "--missing", "allow", "--weights", "3,1,2"]
    labelled = [*common, "--labels", folder / "truth.csv"]
    Q = cl.ConvexHull(members, mask=mask, weights=[3, 1, 2])
    accuracy = np.mean(cl.majority_vote(Q) == labels)
    done = call("evaluate", *labelled, "--bootstrap", "0")
    assert f"Accuracy on all {N} rows in %: {100 * accuracy:.2f}" in done.stdout
    out = folder / "diagnosis.csv"
    call("diagnose", *labelled, "-o", out)
    d = cl.diagnose_members(Q, labels)
    assert read(out)["n_present"].tolist() == d.n_present.tolist()
    assert read(out)["brier"] == pytest.approx(d.brier, abs=1e-12)
    out = folder / "review.csv"
    call("pick", *common, "--budget", "3", "-o", out)
    assert len(read(out)["n_members"]) == 3
    out = folder / "decisions.csv"
    call("decide", *common, "-o", out)
    sizes = by_id(read(out))["size"]
    assert sizes.tolist() == cl.admissible(Q).sum(axis=1).tolist()


def test_labels_in_the_files_are_merged(models, tmp_path):
    folder, members, mask, labels = models
    for m in range(M):
        rows = np.flatnonzero(mask[:, m])
        text = ["id,label,c0,c1,c2"]
        text += [f"{IDS[i]},c{labels[i]},{','.join(map(repr, members[i, m].tolist()))}"
                 for i in rows]  # fmt: skip
        (folder / f"{m}.csv").write_text("\n".join(text) + "\n")
    out = folder / "scores.csv"
    call("score", *files(folder), "--missing", "allow", "-o", out)
    assert by_id(read(out))["label"].tolist() == [f"c{y}" for y in labels]


def test_rows_of_nan(tmp_path):
    members, _ = predictions(N, M)
    mask = np.random.default_rng(1).random((N, M)) < 0.6
    mask[:, 1] = True
    mask[7] = False
    members[~mask] = np.nan
    np.save(tmp_path / "all.npy", members)
    out = tmp_path / "scores.csv"
    done = call("score", tmp_path / "all.npy", "-o", out, code=2)
    assert "or pass --missing allow if models lack rows" in done.stderr
    done = call("score", tmp_path / "all.npy", "--missing", "allow", "-o", out, code=2)
    assert "row 7 (zero-based): no model has a prediction; fix the row, or drop it" in done.stderr
    done = call(
        "score", tmp_path / "all.npy", "--missing", "allow", "--on-error", "skip", "-o", out
    )
    kept = np.arange(N) != 7
    expected = cl.total_uncertainty(cl.ConvexHull(members[kept], missing="allow"))
    assert read(out)["tv_total"].tolist() == expected.tolist()
    assert read(out)["n_members"].tolist() == mask[kept].sum(axis=1).tolist()
    assert read(tmp_path / "scores.skipped.csv")["row"].tolist() == [7]


@pytest.mark.parametrize("kind", ["logits", "percent"])
def test_other_values(tmp_path, kind):
    members, _ = predictions(N, 2)
    values = np.log(members) if kind == "logits" else 100 * members
    values[3, 0] = np.nan
    np.save(tmp_path / "all.npy", values)
    out = tmp_path / "scores.csv"
    call("score", tmp_path / "all.npy", f"--{kind}", "--missing", "allow", "-o", out)
    assert read(out)["n_members"].tolist() == [2, 2, 2, 1, *[2] * (N - 4)]
    expected = cl.total_uncertainty(np.delete(members, 3, axis=0))
    assert np.delete(read(out)["tv_total"], 3) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda folder: (folder / "1.csv").write_text("c0,c1,c2\n1,0,0\n"), "has no ids, by which"),
        (lambda folder: write_rows(folder / "1.csv", np.full((2, 3), 1 / 3), ["x00", "x00"]),
         "has the id 'x00' twice"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_matched(models, change, match):
    folder = models[0]
    change(folder)
    done = call("score", *files(folder), "--missing", "allow", "-o", folder / "scores.csv", code=2)
    assert match in done.stderr


def test_files_without_a_common_row(tmp_path):
    for name, ids in (("a", ["x", "y"]), ("b", ["u", "v", "w"])):
        write_rows(tmp_path / f"{name}.csv", np.full((len(ids), 3), 1 / 3), ids)
    done = call("score", tmp_path / "a.csv", tmp_path / "b.csv", "--missing", "allow", code=2)
    assert "has no id in common with" in done.stderr


def test_the_dask_engine_does_not_match_rows(models):
    folder = models[0]
    pytest.importorskip("distributed")
    for m in range(2):
        table = pyarrow.csv.read_csv(folder / f"{m}.csv")
        pyarrow.parquet.write_table(table, folder / f"{m}.parquet")
    done = call("score", folder / "0.parquet", folder / "1.parquet", "--missing", "allow",
                "--engine", "dask", "-o", folder / "scores", code=2)  # fmt: skip
    assert "leave out --engine dask, which does not match rows by their ids" in done.stderr
    assert not (folder / "scores").exists()


def test_partitions_with_rows_of_nan(tmp_path):
    job = pytest.importorskip("credalens.engine.job")
    from credalens.evaluation.scores import ScoreColumns
    from credalens.io.scoring import score_chunk

    members, _ = predictions(N, M)
    members[3, 1] = np.nan
    np.save(tmp_path / "all.npy", members)
    ensemble = open_ensemble([str(tmp_path / "all.npy")], labels_on_disk=True, missing=True,
                             weights="1,2,3")  # fmt: skip
    assert job.scored_chunks is not None
    (chunk,) = ensemble.restrict(0, N).chunks(start=2, stop=6)
    columns, _ = score_chunk(chunk, ScoreColumns(("information",)), None)
    assert columns["n_members"].tolist() == [3, 2, 3, 3]
    Q = cl.ConvexHull(members[2:6], missing="allow", weights=[1, 2, 3])
    assert columns["information_total"].tolist() == cl.predictive_entropy(Q).tolist()


def test_a_run_with_other_weights_is_not_continued(models):
    folder = models[0]
    out, kept = folder / "scores.csv", folder / ".scores.csv.parts"
    kept.mkdir()
    call("score", *files(folder), "--missing", "allow", "--weights", "1,1,1", "-o", out)
    from credalens.io.scoring import scoring_settings

    ensemble = open_ensemble(files(folder), missing=True, weights="1,1,1")

    class Columns:
        names, settings = (), {}

    assert scoring_settings(ensemble, Columns())["weights"] == [1, 1, 1]
    (kept).mkdir(exist_ok=True)
    (kept / "task.json").write_text(json.dumps({"weights": [1, 2, 3]}))
    done = call("score", *files(folder), "--missing", "allow", "--weights", "1,1,1", "-o", out,
                "--resume", code=2)  # fmt: skip
    assert "was created with other" in done.stderr
    assert "weights" in done.stderr


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "text",
    ["3\n1\n2\n", "3,1,2", "a,3\nb,1\nc,2\n", "model,weight\nc,2\na,3\nb,1\n", "c;2\na;3\nb;1"],
)
def test_weights_in_files(tmp_path, text):
    path = tmp_path / "w.txt"
    path.write_text(text)
    assert read_weights(str(path), ["a", "b", "c"]).tolist() == [3, 1, 2]
    np.save(tmp_path / "w.npy", np.array([3.0, 1, 2]))
    assert read_weights(str(tmp_path / "w.npy"), ["a", "b", "c"]).tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a,1\nb,2\n", "has no weight of the model c"),
        ("a,1\na,2\nc,2\n", "names a model twice"),
        ("a,1,2\nb,c,2\n", "has lines that are not weights"),
        ("1\n2\n", r"has 2 weights, there are 3 models \(a, b, c\); pass one per model"),
        ("1\n-2\n3\n", "has the weight -2 of b; pass numbers >= 0"),
        ("1\nnan\n3\n", "has the weight nan of b"),
        ("0\n0\n0\n", "has no positive weight"),
        ("", "has lines that are not weights"),
    ],
)
def test_invalid_weights(tmp_path, text, match):
    path = tmp_path / "w.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        read_weights(str(path), ["a", "b", "c"])


def test_a_file_of_weights_in_the_folder_is_no_model(models):
    folder, members, mask, _ = models
    (folder / "weights.csv").write_text("0,3\n1,1\n2,2\n")
    (folder / "truth.csv").unlink()
    done = call("score", folder, "--missing", "allow", "--weights", folder / "weights.csv", "-o",
                folder / "scores.parquet")  # fmt: skip
    votes = cl.majority_vote(cl.ConvexHull(members, mask=mask, weights=[3, 1, 2]))
    found = by_id(read(folder / "scores.parquet"))["prediction"].tolist()
    assert found == [f"c{k}" for k in votes]
    (folder / "weights.csv").unlink()
    done = call("score", folder, "--missing", "allow", "--weights", "1,2", code=2)
    assert "has 2 weights, there are" in done.stderr
