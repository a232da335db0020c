"""The Dask engine: partitions, the folder of scores, workers, and evaluation."""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credalens as cl
from credalens._files import locked
from credalens.engine.partitions import ScoreFolder, partitions
from credalens.evaluation.bootstrap import bootstrap
from credalens.evaluation.selection import right_among_last, streamed_quality
from credalens.io import ReadOptions, open_ensemble
from credalens.io.formats import MANIFEST
from credalens.io.parquet import ParquetSource, merge_bounds
from prediction_files import NAMES, call, predictions, write_nested_parquet, write_parquet

distributed = pytest.importorskip("distributed")
engine = pytest.importorskip("credalens.engine.client")
job = pytest.importorskip("credalens.engine.job")

MEASURES = ("--measures", "tv,entropy,mmi,confidence,information")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="4GiB"
    ) as running:
        yield running


def write_dataset(folder, members, labels=None, parts=24):
    """Write an ensemble as a dataset whose files have different numbers of rows."""
    folder.mkdir()
    cuts = np.unique([0, *np.random.default_rng(1).integers(1, len(members), parts - 1),
                      len(members)])  # fmt: skip
    for i, (start, stop) in enumerate(pairwise(cuts)):
        write_nested_parquet(
            folder / f"part-{i}.parquet",
            members[start:stop],
            None if labels is None else labels[start:stop],
        )
    return cuts


def table(path):
    """Read a file or a folder of scores, the folder as any reader of Parquet would."""
    return pyarrow.parquet.read_table(path).replace_schema_metadata(None)


def same(there, here):
    """Tell whether a folder holds what a file does, and the numbers of the rows."""
    found = table(there)
    numbers = found["row"].to_pylist() == list(range(len(found)))
    return numbers and found.drop_columns("row").equals(table(here))


def scored(cluster, *arguments, **options):
    return call("score", *arguments, "--engine", "dask", "--scheduler",
                cluster.scheduler_address, *MEASURES, **options)  # fmt: skip


class TestDatasets:
    def test_files_follow_one_another_by_the_numbers_in_their_names(self, tmp_path):
        members, labels = predictions(90)
        cuts = write_dataset(tmp_path / "data", members, labels)
        assert len(cuts) > 12  # part-10 comes after part-9
        source = ParquetSource(str(tmp_path / "data"), ReadOptions())
        assert (source.n_rows, source.n_members, source.n_classes) == (90, 3, 3)
        for start, stop in ((0, None), (0, 90), (7, 71), (int(cuts[3]), int(cuts[4])), (5, 5)):
            blocks = list(source.blocks(11, start, stop))
            values = np.concatenate([b.values for b in blocks]) if blocks else np.empty((0, 3, 3))
            assert np.array_equal(values, members[start:stop])
        for row in (0, 17, 89):
            path, inside = source.locate(row)
            first = int(path.split("part-")[1].split(".")[0])
            assert cuts[first] + inside == row

    @pytest.mark.parametrize("name", ["data.parquet", "data", "plain"])
    def test_the_local_engine_reads_them_too(self, name, tmp_path):
        members, labels = predictions(60)
        write_dataset(tmp_path / name, members, labels, parts=5)
        if name == "plain":  # what each file holds tells that they are no models
            for path in (tmp_path / name).iterdir():
                path.rename(path.with_name(f"x{path.name}"))
        call("score", tmp_path / name, "-o", tmp_path / "s.parquet")
        found = table(tmp_path / "s.parquet")
        assert np.array_equal(found["tv_total"], cl.total_uncertainty(members))
        assert found["label"].to_pylist() == labels.tolist()

    def test_a_folder_of_models_stays_one(self, tmp_path):
        members, labels = predictions(60)
        (tmp_path / "models").mkdir()
        for m in range(3):
            write_parquet(tmp_path / "models" / f"{m}.parquet", members[:, m], labels)
        assert open_ensemble([str(tmp_path / "models")]).names == ("0", "1", "2")

    def test_other_columns_or_types_raise(self, tmp_path):
        members, _ = predictions(60)
        write_dataset(tmp_path / "data", members, parts=5)
        bad = tmp_path / "data" / "part-3.parquet"
        write_nested_parquet(bad, members[:5].astype(np.float32))
        message = call("score", tmp_path / "data", code=2).stderr
        assert "part-3.parquet: column 'probs' is list" in message
        write_parquet(bad, members[:5, 0])
        assert "part-3.parquet: has no column 'probs'" in call(
            "score", tmp_path / "data", code=2
        ).stderr  # fmt: skip

    def test_files_without_rows_are_left_out(self, tmp_path):
        members, _ = predictions(60)
        write_dataset(tmp_path / "data", members, parts=5)
        kind = pyarrow.parquet.read_schema(tmp_path / "data" / "part-1.parquet")
        pyarrow.parquet.write_table(kind.empty_table(), tmp_path / "data" / "part-00.parquet")
        assert ParquetSource(str(tmp_path / "data"), ReadOptions()).n_rows == 60

    def test_bounds_of_row_groups_are_merged(self):
        assert merge_bounds(iter(range(0, 101, 10)), 30) == [0, 30, 60, 90, 100]
        assert merge_bounds(iter([0, 50, 51, 101]), 10) == [0, 50, 51, 101]
        assert merge_bounds(iter([0, 5]), 10) == [0, 5]

    def test_a_large_file_is_cut_between_row_groups(self, tmp_path, monkeypatch):
        members, _ = predictions(60)
        write_nested_parquet(tmp_path / "a.parquet", members)  # groups of 17 rows
        monkeypatch.setattr("credalens.engine.partitions.PARTITION_BYTES", 4 * 9 * 20)
        found = partitions(open_ensemble([str(tmp_path / "a.parquet")]), {})
        assert [(p.start, p.stop) for p in found] == [(0, 17), (17, 34), (34, 51), (51, 60)]
        source = ParquetSource(str(tmp_path / "a.parquet"), ReadOptions())
        for start, stop in ((0, 60), (17, 34), (20, 30), (33, 52), (51, None)):
            values = np.concatenate([block.values for block in source.blocks(7, start, stop)])
            assert np.array_equal(values, members[start:stop])


class TestScore:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_parquet_equals_the_local_engine(self, dtype, cluster, tmp_path):
        members, labels = predictions(300, dtype=dtype)
        write_dataset(tmp_path / "data", members, labels)
        call("score", tmp_path / "data", "-o", tmp_path / "here.parquet", *MEASURES)
        done = scored(cluster, tmp_path / "data", "-o", tmp_path / "there")
        assert "wrote 300 rows" in done.stderr
        assert same(tmp_path / "there", tmp_path / "here.parquet")
        manifest = json.loads((tmp_path / "there" / MANIFEST).read_text())
        assert (manifest["complete"], manifest["rows"]) == (True, 300)
        names = [part["file"] for part in manifest["partitions"]]
        assert sorted(os.listdir(tmp_path / "there")) == sorted([MANIFEST, *names])
        assert len(names) == len(os.listdir(tmp_path / "data"))
        for part in manifest["partitions"]:
            (path, start, stop), *more = part["inputs"]
            assert not more
            assert stop - start == part["stop"] - part["start"] == part["rows"]
            assert os.path.isfile(path)

    def test_zarr_and_npy_side_by_side(self, cluster, tmp_path, monkeypatch):
        zarr = pytest.importorskip("zarr")
        monkeypatch.setattr("credalens.engine.partitions.PARTITION_BYTES", 4 * 9 * 20)
        members, labels = predictions(200)
        array = zarr.create_array(
            tmp_path / "a.zarr", shape=(200, 2, 3), chunks=(13, 1, 3), dtype="f8"
        )
        array[:] = members[:, :2]
        np.save(tmp_path / "b.npy", members[:, 2])
        np.save(tmp_path / "labels.npy", labels)
        inputs = (tmp_path / "a.zarr", tmp_path / "b.npy", "--labels", tmp_path / "labels.npy")
        call("score", *inputs, "-o", tmp_path / "here.parquet", *MEASURES)
        scored(cluster, *inputs, "-o", tmp_path / "there")
        assert same(tmp_path / "there", tmp_path / "here.parquet")
        manifest = json.loads((tmp_path / "there" / MANIFEST).read_text())
        assert [p["start"] for p in manifest["partitions"]][:3] == [0, 13, 26]

    def test_names_ids_and_several_datasets(self, cluster, tmp_path):
        members, labels = predictions(100)
        for m in range(3):
            (tmp_path / f"model_{m}.parquet").mkdir()
            for i, start in enumerate(range(0, 100, 20 + 10 * m)):
                rows = slice(start, start + 20 + 10 * m)
                columns = {name: members[rows, m, k] for k, name in enumerate(NAMES)}
                columns["id"] = [f"r{j}" for j in range(100)][rows]
                columns["label"] = np.array(NAMES)[labels[rows]]
                pyarrow.parquet.write_table(
                    pa.table(columns), tmp_path / f"model_{m}.parquet" / f"{i}.parquet"
                )
        inputs = [tmp_path / f"model_{m}.parquet" for m in range(3)]
        call("score", *inputs, "-o", tmp_path / "here.parquet", *MEASURES)
        scored(cluster, *inputs, "-o", tmp_path / "there")
        assert same(tmp_path / "there", tmp_path / "here.parquet")
        assert table(tmp_path / "there")["prediction"][0].as_py() in NAMES

    @pytest.mark.parametrize("distance", ["ordinal", "cost.csv", "kernel.npy"])
    def test_every_distance_reaches_the_workers(self, distance, cluster, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        np.save("a.npy", predictions(40)[0])
        np.savetxt("cost.csv", [[0, 1, 2], [1, 0, 1], [2, 1, 0]], delimiter=",")
        np.save("kernel.npy", np.eye(3) + 0.5)
        call("score", "a.npy", "-o", "here.parquet", "--distance", distance, *MEASURES)
        scored(cluster, "a.npy", "-o", "there", "--distance", distance)
        assert same("there", "here.parquet")

    def test_notes_and_rows_without_a_label(self, cluster, tmp_path):
        members, labels = predictions(200)
        rounded = members.round(3)
        rounded[:, 1] = rounded[:, 0]
        labels = np.where(labels == 2, 255, labels).astype(np.uint8)
        write_dataset(tmp_path / "data.parquet", rounded, labels, 5)
        out = tmp_path / "scores"
        found = scored(cluster, tmp_path / "data.parquet", "-o", out, "--ignore-label", 255).stderr
        left_out = int((labels == 255).sum())
        assert f"{left_out} rows with an ignored label are scored but not evaluated" in found
        assert "credalens: rows sum to 1 within 0.001, which is rounding" in found
        assert "warning: models data[0] and data[1] are identical (200 rows compared)" in found
        np.save(tmp_path / "y.npy", labels)
        right = cl.majority_vote(cl.ConvexHull(rounded, normalize=True))[labels != 255]
        accuracy = 100 * np.mean(right == labels[labels != 255])
        options = ("--labels", tmp_path / "y.npy", "--ignore-label", 255)
        for arguments in ((), options):
            for resamples in (0, 20):
                done = call("evaluate", out, *arguments, "--bootstrap", resamples)
                expected = f"Accuracy on all {200 - left_out} rows in %: {accuracy:.2f}"
                assert expected in done.stdout
                assert f"{left_out} rows without a label are not evaluated" in done.stderr
        message = call("evaluate", out, *options[:2], "-q", code=2).stderr
        assert "has the label 255; labels are 0 to 2; pass --ignore-label 255 or relabel" in message

    def test_the_folder_is_all_that_is_written_to(self, cluster, tmp_path, monkeypatch):
        np.save(tmp_path / "a.npy", predictions(40)[0])
        out = tmp_path / "around" / "out"
        out.mkdir(parents=True)
        monkeypatch.chdir(out)
        before = out.parent.stat().st_mtime_ns
        assert "wrote 40 rows to ." in scored(cluster, tmp_path / "a.npy", "-o", ".").stderr
        assert len(table(out)) == 40
        assert out.parent.stat().st_mtime_ns == before
        assert not list(out.glob(".*"))

    @pytest.mark.slow
    def test_a_cluster_of_its_own(self, tmp_path):
        members, labels = predictions(100)
        write_dataset(tmp_path / "data", members, labels, parts=4)
        call("score", tmp_path / "data", "-o", tmp_path / "here.parquet")
        call("score", tmp_path / "data", "-o", tmp_path / "there", "--engine", "dask",
             "--workers", 2)  # fmt: skip
        assert same(tmp_path / "there", tmp_path / "here.parquet")

    @pytest.mark.slow
    def test_invalid_options_raise(self, tmp_path, monkeypatch):
        members, labels = predictions(20)
        np.save(tmp_path / "a.npy", members)
        np.savez_compressed(tmp_path / "a.npz", probs=members)
        np.savez(tmp_path / "labels.npz", labels=labels)
        monkeypatch.setattr("credalens.engine.client.CONNECT_TIMEOUT", 0.5)
        out, dask = ("-o", tmp_path / "out"), ("--engine", "dask")
        for arguments, words in (
            ([tmp_path / "a.npy", "--engine", "spark"], "--engine: is 'spark'"),
            ([tmp_path / "a.npy", "--workers", 2], "--workers: needs --engine dask"),
            ([tmp_path / "a.npy", *dask], "-o: --engine dask writes a folder"),
            ([tmp_path / "a.npy", *dask, "-o", "x.csv"], "-o: --engine dask writes a folder"),
            ([tmp_path / "a.npz", *dask, *out], "a.npz: cannot be read by partition"),
            ([tmp_path / "a.npy", *dask, *out, "--labels", tmp_path / "labels.npz"],
             "labels.npz: cannot be read by partition; save the labels as .npy"),
            ([tmp_path / "a.npy", *dask, *out, "--scheduler", "tcp://127.0.0.1:9"],
             "--scheduler: no scheduler responds at tcp://127.0.0.1:9; check"),
            ([tmp_path / "a.npy", *dask, *out, "--scheduler", "tcp://x", "--workers", 2],
             "--workers: applies to a local cluster"),
        ):  # fmt: skip
            assert words in call("score", *arguments, code=2).stderr
        monkeypatch.setitem(sys.modules, "distributed", None)
        monkeypatch.delitem(sys.modules, "credalens.engine.client")
        message = call("score", tmp_path / "a.npy", *dask, *out, code=2).stderr
        assert "distributed is not installed; run pip install" in message
        assert "[dask]'" in message

    def test_other_versions_raise(self, cluster, tmp_path, monkeypatch):
        members, _ = predictions(20)
        np.save(tmp_path / "a.npy", members)
        monkeypatch.setattr(cl, "__version__", "9.9")
        message = scored(cluster, tmp_path / "a.npy", "-o", tmp_path / "out", code=2).stderr
        assert "has credalens" in message
        assert "this process has 9.9; install the same version everywhere" in message


@pytest.mark.slow
class TestResume:
    @pytest.fixture
    def job(self, cluster, tmp_path):
        members, labels = predictions(120)
        write_dataset(tmp_path / "data", members, labels, parts=6)
        arguments = (tmp_path / "data", "-o", tmp_path / "out")
        scored(cluster, *arguments)
        return arguments, tmp_path / "data", tmp_path / "out"

    def test_finished_partitions_are_kept(self, job, cluster):
        arguments, _, out = job
        whole = table(out)
        (out / "part-00002.parquet").unlink()
        (out / "part-00004.parquet").write_bytes(b"PAR1 damaged")
        (out / ".part-00004-abc.parquet").write_bytes(b"half")
        kept = {path: path.stat().st_mtime_ns for path in out.glob("part-0000[0135]*")}
        done = scored(cluster, *arguments)
        assert "keeping" in done.stderr
        assert table(out).equals(whole)
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        assert not list(out.glob(".*"))

    @pytest.mark.parametrize("recorded", [True, False])
    def test_a_flipped_byte_is_found(self, recorded, job, cluster):
        arguments, _, out = job
        whole = table(out)
        if not recorded:  # the job was killed before the manifest was updated
            manifest = json.loads((out / MANIFEST).read_text())
            for entry in manifest["partitions"]:
                entry.pop("sha256")
            (out / MANIFEST).write_text(json.dumps(manifest))
        path = out / "part-00003.parquet"
        content = bytearray(path.read_bytes())
        column = pyarrow.parquet.read_metadata(path).row_group(0).column(1)
        first = column.dictionary_page_offset or column.data_page_offset
        content[first + column.total_compressed_size - 1] ^= 1
        path.write_bytes(content)
        done = scored(cluster, *arguments)
        assert f"{path} is damaged and is computed again" in done.stderr
        assert table(out).equals(whole)

    def test_a_lost_manifest_is_not_guessed(self, job, cluster):
        arguments, _, out = job
        (out / MANIFEST).unlink()
        assert "is not empty" in scored(cluster, *arguments, code=2).stderr

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (["--summary", "midpoint"], "was created with other columns, summary"),
            (["--normalize"], "was created with other options"),
        ],
    )
    def test_other_settings_raise(self, change, words, job, cluster):
        arguments, _, _ = job
        assert words in scored(cluster, *arguments, *change, code=2).stderr

    def test_one_job_at_a_time(self, job, cluster):
        arguments, _, out = job
        with locked(out):
            message = scored(cluster, *arguments, code=2).stderr
        assert f"{out}: another run is writing it; wait for that one" in message

    def test_other_inputs_raise(self, job, cluster):
        arguments, data, out = job
        (out / "part-00001.parquet").unlink()
        os.utime(data / "part-1.parquet")  # its scores are gone: it may be mended
        scored(cluster, *arguments)
        os.utime(data / "part-1.parquet")
        message = scored(cluster, *arguments, code=2).stderr
        assert "part-00001.parquet: was computed from an earlier version of" in message
        shutil.copy(data / "part-0.parquet", data / "part-9.parquet")
        assert "was created from other files" in scored(cluster, *arguments, code=2).stderr

    def test_other_files_in_the_folder_raise(self, job, cluster):
        arguments, _, out = job
        shutil.copy(out / "part-00001.parquet", out / "part-00099.parquet")
        message = scored(cluster, *arguments, code=2).stderr
        assert "part-00099.parquet: is not an output of this job" in message

    def test_the_manifest_is_not_written_for_every_partition(self, tmp_path, monkeypatch):
        np.save(tmp_path / "a.npy", predictions(90)[0])
        monkeypatch.setattr("credalens.engine.partitions.PARTITION_BYTES", 4 * 9)
        cut = partitions(open_ensemble([str(tmp_path / "a.npy")]), {})
        assert len(cut) == 90
        folder = ScoreFolder(tmp_path / "out", {}, cut)
        folder.create()
        folder.open(False)
        first = (tmp_path / "out" / MANIFEST).stat().st_mtime_ns
        for partition in cut:
            (tmp_path / "out" / partition.name).write_bytes(b"x")
            folder.add(partition.index, 1, 0)
        assert (tmp_path / "out" / MANIFEST).stat().st_mtime_ns == first
        folder.finish(tmp_path / "skipped.csv")
        assert json.loads((tmp_path / "out" / MANIFEST).read_text())["complete"]


class TestWorkers:
    def test_cores_are_counted_without_the_limits_of_workers(self, cluster, monkeypatch):
        with distributed.Client(cluster) as client:
            found = client.run(engine.worker_info)
        for name in ("CREDALENS_NUM_THREADS", "OMP_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)
        assert {one.cores for one in found.values()} == {cl.get_num_threads()}
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        assert cl.get_num_threads() == 1

    def test_threads_are_shared(self, cluster):
        one = engine.WorkerInfo("a", 1, 8, 0)
        assert engine.threads_per_host({"x": one, "y": one, "z": one}) == {"a": 2}
        with pytest.warns(UserWarning, match="4 partitions at once with 1 threads each on the 2 "):
            assert engine.threads_per_host({"x": engine.WorkerInfo("a", 4, 2, 0)}) == {"a": 1}
        assert engine.threads_per_host({"x": one}, 3) == {"a": 3}
        with distributed.Client(cluster) as client:
            found = client.run(engine.worker_info)
            assert [s.tasks for s in found.values()] == [1, 1]
            host = next(iter(found.values())).host
            before = client.run(_threads)
            client.register_plugin(job.WorkerJob("a job", None, "", None, False, "", {host: 7}))
            assert set(client.run(_threads).values()) == {("7", 7)}
            client.unregister_worker_plugin("a job")
            assert client.run(_threads) == before

    def test_memory_is_checked(self, tmp_path, cluster):
        np.save(tmp_path / "a.npy", predictions(50)[0])
        ensemble = open_ensemble([str(tmp_path / "a.npy")])
        shares = {"a": 1}
        workers = {"tcp://x": engine.WorkerInfo("a", 1, 1, 2 << 30)}
        assert engine.memory_needed(ensemble, 10**6, 1) == (384 << 20) + 32 * 9 * 10**6
        engine.check_memory(workers, shares, ensemble, 10**6)
        with pytest.raises(ValueError, match=r"can use 1433 MB of its 2048 MB; pass --chunk-row"):
            engine.check_memory(workers, shares, ensemble, 10**7)
        with pytest.raises(ValueError, match=r"pass --chunk-rows (\d+)") as caught:
            engine.check_memory(workers, shares, ensemble, 10**7)
        fits = int(str(caught.value).split("--chunk-rows ")[-1])
        engine.check_memory(workers, shares, ensemble, fits)
        with pytest.raises(ValueError, match="more memory"):
            engine.check_memory({"x": engine.WorkerInfo("a", 1, 1, 100)}, shares, ensemble, None)
        message = scored(cluster, tmp_path / "a.npy", "-o", tmp_path / "out", "--chunk-rows", 10**8,
                      code=2).stderr  # fmt: skip
        assert "--chunk-rows: 100000000 rows of 3 models" in message


PEAK = """
import pathlib, sys
import numpy as np
from credalens.engine.client import memory_needed
from credalens.engine.partitions import partitions
from credalens.engine.job import WorkerJob, score_partition
from credalens.io import open_ensemble
from credalens.evaluation.scores import ScoreColumns
ensemble = open_ensemble([sys.argv[1]], labels_on_disk=True)
job = WorkerJob("", ScoreColumns(("tv",)), sys.argv[2], int(sys.argv[3]), False, "")
for part in partitions(ensemble, {}):
    score_partition(job, ensemble.restrict(part.start, part.stop), part)
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(peak << 10, memory_needed(ensemble, int(sys.argv[3]), 1))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_a_worker_needs_at_most_the_estimated_memory(tmp_path):
    """One row group of 160 MB, read in chunks of 80 MB."""
    rng = np.random.default_rng(0)
    members = rng.random((200_000, 10, 10))
    members /= members.sum(axis=-1, keepdims=True)
    inner = pa.FixedSizeListArray.from_arrays(pa.array(members.ravel()), 10)
    probs = pa.FixedSizeListArray.from_arrays(inner, 10)
    pyarrow.parquet.write_table(pa.table({"probs": probs}), tmp_path / "a.parquet")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, tmp_path / "a.parquet", tmp_path, "100000"],
        env={**os.environ, "CREDALENS_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
    )
    peak, said = map(int, done.stdout.split())
    assert said / 3 < peak < said


def _threads():
    return os.environ.get("CREDALENS_NUM_THREADS"), pa.cpu_count()


@pytest.mark.slow
class TestEvaluate:
    @pytest.fixture
    def folder(self, cluster, tmp_path):
        # Few different values, so that ties go over the borders of partitions.
        members = np.round(predictions(400)[0] * 4) / 4 + 1e-9
        members /= members.sum(axis=-1, keepdims=True)
        labels = predictions(400)[1]
        write_dataset(tmp_path / "data", members, labels, parts=9)
        scored(cluster, tmp_path / "data", "-o", tmp_path / "scores")
        return tmp_path

    @pytest.mark.parametrize("bootstrap", [0, 7])
    def test_as_in_memory_bit_for_bit(self, bootstrap, folder):
        options = ("--bootstrap", bootstrap, "--bins", 13, "--target-accuracy", 0.6)
        here = call("evaluate", folder / "data", *MEASURES, *options, "-o", folder / "here")
        there = call("evaluate", folder / "scores", *options, "-o", folder / "there")
        assert here.stdout == there.stdout
        assert "tv_aleatoric (interval)" in here.stdout
        for name in ("evaluation.csv", "guarantee.csv"):
            assert (folder / "here" / name).read_bytes() == (folder / "there" / name).read_bytes()

    def test_more_rows_than_are_held(self, folder, monkeypatch):
        monkeypatch.setattr("credalens.cli.evaluate.HELD_ROWS", 300)
        done = call("evaluate", folder / "scores", "--target-accuracy", 0.5)
        assert "no bootstrap intervals" in done.stderr
        assert "Accuracy on all 400 rows" in done.stdout
        assert "tv_total: " in done.stdout

    def test_labels_from_a_file(self, cluster, folder):
        members, labels = predictions(100)
        np.save(folder / "a.npy", members)
        np.save(folder / "labels.npy", labels)
        scored(cluster, folder / "a.npy", "-o", folder / "bare")
        assert "has no labels" in call("evaluate", folder / "bare", code=2).stderr
        found = call("evaluate", folder / "bare", "--labels", folder / "labels.npy").stdout
        expected = call("evaluate", folder / "a.npy", "--labels", folder / "labels.npy", *MEASURES)
        assert found == expected.stdout

    def test_options_for_predictions_raise(self, folder):
        for option, value in (
            ("--measures", "entropy"),
            ("--id-column", "x"),
            ("--distance", "mmd"),
        ):
            done = call("evaluate", folder / "scores", option, value, code=2)
            assert f"{option}: applies to predictions, not to scores" in done.stderr

    def test_an_unfinished_folder_raises(self, folder):
        path = folder / "scores" / MANIFEST
        manifest = json.loads(path.read_text())
        manifest["complete"] = False
        manifest["partitions"][0]["status"] = "waiting"
        path.write_text(json.dumps(manifest))
        n = len(manifest["partitions"])
        message = call("evaluate", folder / "scores", code=2).stderr
        assert f"has {n - 1} of {n} partitions" in message


VALUES = st.sampled_from([-0.0, 0.0, 0.25, 1 / 3, 0.5, 1e-300, -2.5, np.inf])


@pytest.mark.slow
@settings(max_examples=30)
@given(
    scores=st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    dtype=st.sampled_from([np.float32, np.float64]),
    interval=st.booleans(),
    seed=st.integers(0, 99),
)
def test_selection_counts_as_sorting_does(scores, cuts, dtype, interval, seed):
    ends = [np.array(column).astype(dtype) for column in zip(*scores, strict=True)]
    ends = ends if interval else ends[:1]
    n = len(scores)
    right = np.random.default_rng(seed).random(n) < 0.5
    edges = sorted({0, n, *(cut for cut in cuts if cut < n)})

    def blocks():
        for start, stop in pairwise(edges):
            yield right[start:stop], [end[start:stop] for end in ends]

    score = cl.Interval(*ends) if interval else ends[0]
    ordered = right[cl.rejection_order(score)]
    found = right_among_last(blocks, range(n), "first")
    assert found.tolist() == np.cumsum(ordered[::-1])[::-1].tolist()
    kept = right_among_last(blocks, range(n)) / np.arange(n, 0, -1)
    if n > 1:
        curve = cl.rejection_curve(right, np.ones(n, bool), score, n)
        assert np.array_equal(kept, curve.accuracy)
    paper = cl.rejection_curve(right, np.ones(n, bool), score, 7, ties="first")
    streamed = streamed_quality(blocks, n, 7, "first").curve
    assert np.array_equal(streamed.accuracy, paper.accuracy)
    expected = bootstrap(right, score, n_bins=7, n_resamples=0)
    quality = streamed_quality(blocks, n, 7)
    assert np.array_equal(quality.curve.accuracy, expected.curve.accuracy)
    assert np.array_equal(quality.auc, expected.auc, equal_nan=True)
    assert np.array_equal(quality.accuracy_at, expected.accuracy_at, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selection_takes_both_zeros_for_equal(dtype):
    score = np.array([-0.0, 0.0, -0.0, 0.0], dtype)
    right = np.array([True, False, False, True])
    found = right_among_last(lambda: [(right, [score])], range(4), "first")
    assert found.tolist() == [2, 1, 1, 1]
    found = right_among_last(lambda: [(right, [score])], range(4))
    assert found.tolist() == [2, 1.5, 1, 0.5]


@pytest.mark.slow
def test_selection_of_nan_raises():
    with pytest.raises(ValueError, match="score: has NaN"):
        right_among_last(lambda: [(np.array([True]), [np.array([np.nan])])], [0])
