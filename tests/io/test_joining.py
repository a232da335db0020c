"""Rows in another order are matched by their identifiers."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from credalens.io import PredictionFileError, open_ensemble
from ensembles import dirichlet

N = 50
MEMBERS = dirichlet(N, 3, 3)
LABELS = np.arange(N) % 3
IDS = np.array([f"r{i}" for i in range(N)])


def orders(late=0):
    """Return the order of the rows of each model; the first `late` rows are in place."""
    rng = np.random.default_rng(0)
    return [np.r_[:late, late + rng.permutation(N - late)] if m else np.arange(N) for m in range(3)]


def write(folder, kind, orders, labels=True):
    paths = []
    for m, order in enumerate(orders):
        path = folder / f"{m}.{kind.split()[-1]}"
        values, ids = MEMBERS[order, m], IDS[order]
        if kind.endswith("npz"):
            save = np.savez_compressed if "compressed" in kind else np.savez
            save(path, probs=values, ids=ids, **({"labels": LABELS[order]} if labels else {}))
        else:
            columns = {"id": ids, **{name: values[:, k] for k, name in enumerate("abc")}}
            if labels:
                columns["label"] = LABELS[order]
            table = pa.table(columns)
            if kind == "csv":
                pyarrow.csv.write_csv(table, path)
            else:
                pyarrow.parquet.write_table(table, path, row_group_size=7)
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("kind", ["npz", "compressed npz", "csv", "parquet"])
@pytest.mark.parametrize("late", [0, 20])
@pytest.mark.parametrize("rows", [8, 1000])
def test_joined(kind, late, rows, tmp_path):
    ensemble = open_ensemble(write(tmp_path, kind, orders(late)))
    chunks = list(ensemble.chunks(rows=rows))
    assert np.array_equal(np.concatenate([chunk.members for chunk in chunks]), MEMBERS)
    assert np.array_equal(np.concatenate([chunk.labels for chunk in chunks]), LABELS)
    assert np.concatenate([chunk.ids for chunk in chunks]).tolist() == IDS.tolist()
    assert [chunk.start for chunk in chunks] == list(range(0, N, rows))
    assert [note.partition(": ")[2][:40] for note in ensemble.notes] == [
        "its rows are in another order than those"
    ] * 2
    list(ensemble.chunks())
    assert len(ensemble.notes) == 2  # reported once
    later = next(ensemble.chunks(rows=5, start=30))
    assert np.array_equal(later.members, MEMBERS[30:35])


def test_the_order_is_that_of_the_first_file(tmp_path):
    shuffled = orders()[1]
    ensemble = open_ensemble(write(tmp_path, "csv", [shuffled, np.arange(N), shuffled]))
    (chunk,) = ensemble.chunks()
    assert chunk.ids.tolist() == IDS[shuffled].tolist()
    assert np.array_equal(chunk.members, MEMBERS[shuffled])


def test_rows_in_order_are_not_read_twice(tmp_path, monkeypatch):
    monkeypatch.setattr("credalens.io.ensemble.join_by_id", None)
    (chunk,) = open_ensemble(write(tmp_path, "npz", [np.arange(N)] * 3)).chunks()
    assert np.array_equal(chunk.members, MEMBERS)


def test_a_large_file_is_not_held(tmp_path, monkeypatch):
    monkeypatch.setattr("credalens.io.joining.MAX_JOINED_BYTES", 1000)
    ensemble = open_ensemble(write(tmp_path, "csv", orders()))
    with pytest.raises(PredictionFileError, match=r"1.csv: its rows are in another order .* sort"):
        list(ensemble.chunks())
    ensemble = open_ensemble(write(tmp_path, "npz", orders()))  # mapped, not held
    assert np.array_equal(next(ensemble.chunks()).members, MEMBERS)


def test_invalid_rows_name_their_place_in_the_file(tmp_path):
    order = orders()[1]
    values = MEMBERS[order, 1].copy()
    values[17] = [0.5, 0.5, 0.5]
    np.savez(tmp_path / "0.npz", probs=MEMBERS[:, 0], ids=IDS)
    np.savez(tmp_path / "1.npz", probs=values, ids=IDS[order])
    ensemble = open_ensemble([str(tmp_path)])
    with pytest.raises(PredictionFileError, match=r"1.npz: row 17 \(zero-based; .* of the whole\)"):
        list(ensemble.chunks())
    (chunk,) = ensemble.chunks(skip=True)
    assert [drop.row for drop in chunk.dropped] == [order[17]]
    assert len(chunk.members) == N - 1


def test_a_pipe_is_not_joined(tmp_path):
    import io

    from credalens.io import ReadOptions

    paths = write(tmp_path, "csv", orders())
    stream = io.BytesIO((tmp_path / "1.csv").read_bytes())
    ensemble = open_ensemble([paths[0], "-"], options=ReadOptions(format="csv"), stdin=stream)
    with pytest.raises(PredictionFileError, match=r"stdin: row \d+ .*: ids: .* in the same order"):
        list(ensemble.chunks())
