"""Killed workers, killed jobs and invalid rows: no row is lost or duplicated."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from credalens.evaluation.scores import ScoreColumns
from credalens.io import open_ensemble
from credalens.io.formats import MANIFEST
from prediction_files import call, command, predictions, without_core_warning

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")
connect = pytest.importorskip("credalens.engine.client").connect
ScoreJob = pytest.importorskip("credalens.engine.job").ScoreJob
pytestmark = pytest.mark.slow

PARTS, ROWS = 24, 6000
#: Takes a tenth of a second or more a partition, so that there is a middle to be killed in.
MEASURES = ("--measures", "tv,entropy,mmi")


def write_part(path, members, first_id):
    n, M, K = members.shape
    inner = pa.FixedSizeListArray.from_arrays(pa.array(members.ravel()), K)
    probs = pa.FixedSizeListArray.from_arrays(inner, M)
    ids = np.arange(first_id, first_id + n)
    pyarrow.parquet.write_table(pa.table({"probs": probs, "id": ids}), path)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A dataset, and its scores by the local engine."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "data").mkdir()
    rng = np.random.default_rng(0)
    for i in range(PARTS):
        members = rng.random((ROWS, 10, 10), np.float32) ** 4 + np.float32(1e-6)
        members /= members.sum(axis=-1, keepdims=True)
        write_part(folder / "data" / f"part-{i:05d}.parquet", members, i * ROWS)
    call("score", folder / "data", "-o", folder / "local.parquet", *MEASURES)
    return folder / "data", table(folder / "local.parquet")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as running:
        yield running


def table(path):
    return pyarrow.parquet.read_table(path).replace_schema_metadata(None)


def finished(out):
    return sorted(out.glob("part-*.parquet"))


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def workers_of(process):
    """Return the worker processes of a local cluster: they are the ones that compute."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]


def check_whole(out, expected):
    found = table(out)
    assert found.drop_columns("row").equals(expected)
    assert len(set(found["id"].to_pylist())) == PARTS * ROWS
    manifest = json.loads((out / MANIFEST).read_text())
    assert manifest["complete"]
    assert [part["rows"] for part in manifest["partitions"]] == [ROWS] * PARTS
    names = {MANIFEST, *(part["file"] for part in manifest["partitions"])}
    assert set(os.listdir(out)) == names  # nothing half written is left


def start(data, out):
    arguments = ("score", data, "-o", out, "--engine", "dask", "--workers", 2, *MEASURES)
    return subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # What a killed job cannot clean up goes with the test.
        env={**os.environ, "TMPDIR": str(out.parent)},
    )


def test_a_worker_of_a_local_cluster_is_killed(data, tmp_path):
    dataset, expected = data
    out = tmp_path / "out"
    job = start(dataset, out)
    try:
        wait_for(lambda: len(finished(out)) >= 3)
        victim = max(workers_of(job), key=lambda worker: worker.cpu_times().user)
        victim.kill()
        assert len(finished(out)) < PARTS  # in the middle of it
        _, message = job.communicate(timeout=300)
    finally:
        job.kill()
    assert job.returncode == 0, message
    assert without_core_warning(message.decode()) == f"wrote {PARTS * ROWS} rows to {out}\n"
    check_whole(out, expected)


def test_a_worker_of_a_scheduler_is_killed(data, cluster, tmp_path):
    dataset, expected = data
    out = tmp_path / "out"
    victims = [nanny.pid for nanny in cluster.workers.values()]
    seen = []

    def kill():
        for i, pid in enumerate(victims):  # first one, then, when it has gone on, the other
            wait_for(lambda: len(finished(out)) >= 3 + 6 * i)  # noqa: B023
            seen.append(len(finished(out)))
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    call("score", dataset, "-o", out, "--engine", "dask", "--scheduler",
         cluster.scheduler_address, *MEASURES)  # fmt: skip
    killer.join()
    assert max(seen) < PARTS
    check_whole(out, expected)
    assert victims != [nanny.pid for nanny in cluster.workers.values()]


def start_worker(address, folder):
    """Start a worker without a process that would restart it."""
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads",
         "1", "--no-dashboard", "--local-directory", str(folder)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def test_all_workers_of_a_scheduler_are_gone(data, monkeypatch, tmp_path):
    dataset, expected = data
    out = tmp_path / "out"
    monkeypatch.setattr("credalens.engine.client.LOST_TIMEOUT", 2)
    monkeypatch.setattr("credalens.engine.client.WORKER_TIMEOUT", 120)  # on a busy machine
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as own:
        workers = [start_worker(own.scheduler_address, tmp_path)]

        def kill():
            wait_for(lambda: len(finished(out)) >= 2)
            workers[0].kill()

        killer = threading.Thread(target=kill)
        killer.start()
        arguments = ("score", dataset, "-o", out, "--engine", "dask", *MEASURES, "--scheduler",
                     own.scheduler_address)  # fmt: skip
        try:
            message = without_core_warning(call(*arguments, code=2).stderr)
            killer.join()
            # The second one if the tasks of the lost worker are cancelled first.
            assert re.fullmatch(
                r"credalens: (the cluster has had no workers for \d+ s; start some, and|the "
                r"connection to the scheduler is lost;) run the same command again to continue\n",
                message,
            )
            assert 2 <= len(finished(out)) < PARTS
            workers.append(start_worker(own.scheduler_address, tmp_path))
            call(*arguments)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    check_whole(out, expected)


def test_the_whole_job_is_killed_and_started_again(data, tmp_path):
    dataset, expected = data
    out = tmp_path / "out"
    job = start(dataset, out)
    wait_for(lambda: len(finished(out)) >= 5)
    children = workers_of(job)
    os.killpg(job.pid, signal.SIGKILL)
    job.communicate()
    wait_for(lambda: not any(child.is_running() for child in children))
    kept = {path: path.stat().st_mtime_ns for path in finished(out)}
    assert 5 <= len(kept) < PARTS
    again = start(dataset, out)
    _, message = again.communicate(timeout=300)
    assert again.returncode == 0, message
    assert f"keeping {len(kept) * ROWS} finished rows" in message.decode()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    check_whole(out, expected)


class TestBadRows:
    @pytest.fixture
    def bad(self, tmp_path):
        """Write 24 files of unequal length; partitions 17 and 20 have a bad row."""
        (tmp_path / "data").mkdir()
        cuts = np.cumsum([0, *range(5, 29)])
        members, _ = predictions(int(cuts[-1]))
        rows = {}
        for i, (first, stop) in enumerate(pairwise(cuts)):
            part = members[first:stop].copy()
            if i in (17, 20):
                rows[i] = int(first) + 13
                part[13, 1] = [0.5, 0.25, 0.125]
            write_part(tmp_path / "data" / f"part-{i:05d}.parquet", part, first)
        return tmp_path, rows

    def run(self, folder, cluster, *more, **options):
        return call("score", folder / "data", "-o", folder / "out", "--engine", "dask",
                    "--scheduler", cluster.scheduler_address, *more, **options)  # fmt: skip

    def test_the_first_is_named_with_file_and_row(self, bad, cluster):
        folder, rows = bad
        done = self.run(folder, cluster, code=2)
        here = call("score", folder / "data", "-o", folder / "s.parquet", code=2)
        message = without_core_warning(done.stderr)
        assert message == here.stderr
        assert message == (
            f"credalens: {folder}/data/part-00017.parquet: row 13 (zero-based; {rows[17]} of the "
            "whole): member 1 sums to 0.875; fix the row, or drop it by --on-error skip\n"
        )
        assert len(finished(folder / "out")) >= 17

    def test_the_first_is_named_though_a_later_one_is_found_before(self, cluster, tmp_path):
        (tmp_path / "data").mkdir()
        rng = np.random.default_rng(0)
        members = rng.dirichlet(np.ones(10), (30_000, 10)).astype(np.float32)
        members[-1, 3, 0] += 0.5
        write_part(tmp_path / "data" / "part-0.parquet", members, 0)
        write_part(tmp_path / "data" / "part-1.parquet", members[-1:], 0)
        message = self.run(
            tmp_path, cluster, "--measures", "tv,hartley", "--chunk-rows", 3000, code=2
        )
        assert "part-0.parquet: row 29999 (zero-based): member 3" in message.stderr

    def test_they_are_left_out_if_that_is_wanted(self, bad, cluster):
        folder, rows = bad
        self.run(folder, cluster, code=2)
        kept = {path: path.stat().st_mtime_ns for path in finished(folder / "out")}
        done = self.run(folder, cluster, "--on-error", "skip")
        assert "skipped 2 invalid rows" in done.stderr
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        call("score", folder / "data", "-o", folder / "s.parquet", "--on-error", "skip")
        assert table(folder / "out").equals(table(folder / "s.parquet"))
        skipped = (folder / "out.skipped.csv").read_text()
        assert skipped == (folder / "s.skipped.csv").read_text()
        assert [line.split(",")[0] for line in skipped.splitlines()[1:]] == [
            str(row) for row in rows.values()
        ]
        assert "row 13 of the file: member 1 sums to 0.875" in skipped
        # Asked to stop at bad rows again, it does not pass over those that were left out.
        assert "part-00017.parquet: row 13" in self.run(
            folder, cluster, "-q", code=2
        ).stderr  # fmt: skip


def test_rows_that_kill_their_workers_are_named(tmp_path):
    class Deadly(ScoreColumns):
        def measured(self, Q):
            os.kill(os.getpid(), signal.SIGKILL)

    np.save(tmp_path / "a.npy", predictions(20)[0])
    ensemble = open_ensemble([str(tmp_path / "a.npy")])
    job = ScoreJob(ensemble, Deadly(("tv",)), tmp_path / "out", {})
    folder = job.prepare()
    folder.open(job.skip)
    # A cluster that is quick to give workers up: ours keeps them, however often they die.
    impatient = dask.config.set({"distributed.deploy.lost-worker-timeout": "10ms"})
    with impatient, connect(workers=2) as client:
        with (
            warnings.catch_warnings(action="ignore"),  # of a machine with one core
            pytest.raises(OSError, match=r"a.npy: several workers died while scoring rows 0 "),
        ):
            job.run(client, folder)
        client.wait_for_workers(2, timeout=60)
