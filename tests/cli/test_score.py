"""`credalens score`: output, errors and resuming."""

import errno
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import credalens as cl
from credalens._files import locked
from credalens.io.part_store import PartStore
from credalens.io.source import PredictionFileError, file_signature
from credalens.measures.imprecision import maximum_mean_imprecision
from prediction_files import (
    FORMATS,
    NAMES,
    call,
    command,
    predictions,
    process,
    read,
    write_csv,
    write_npz,
)

COLUMNS = [
    "prediction", "tv_total", "tv_aleatoric_lower", "tv_aleatoric_upper", "tv_epistemic",
    "entropy_total", "entropy_aleatoric", "entropy_epistemic",
    "hartley_total", "hartley_aleatoric", "hartley_epistemic", "mmi", "label", "correct",
]  # fmt: skip


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.fixture
def models(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    members, labels = predictions()
    for m in range(3):
        write_npz(folder / f"{m}.npz", members[:, m], labels)
    return folder, members, labels


def expected(members):
    u = cl.quantify(members, ["tv", "entropy", "hartley"])
    tv = u["tv"]
    values = [tv.total, *tv.aleatoric, tv.epistemic]
    for family in ("entropy", "hartley"):
        values += [u[family].total, u[family].aleatoric, u[family].epistemic]
    values.append(maximum_mean_imprecision(members))
    return dict(zip(COLUMNS[1:12], values, strict=True))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz", ".jsonl"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_columns_bit_for_bit(ending, dtype, tmp_path):
    members, labels = predictions(dtype=dtype)
    write_npz(tmp_path / "all.npz", members, labels)
    out = tmp_path / f"scores{ending}"
    call("score", tmp_path / "all.npz", "-o", out, "--measures", "tv,entropy,hartley,mmi",
         "--chunk-rows", 7)  # fmt: skip
    found = read(out)
    assert list(found) == COLUMNS
    vote = cl.majority_vote(members)
    assert np.array_equal(found["prediction"], vote)
    assert np.array_equal(found["label"], labels)
    assert np.array_equal(found["correct"].astype(bool), vote == labels)
    for name, values in expected(members).items():
        # Text has no precision of its own: read in that of the input, the bits are the same.
        assert np.array_equal(found[name].astype(dtype), values), name
        assert values.dtype == dtype
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_of_input_gives_the_same_scores(kind, tmp_path):
    members, labels = predictions()
    ending, write = FORMATS[kind]
    (tmp_path / "models").mkdir()
    for m in range(3):
        write(tmp_path / "models" / f"{m}{ending}", members[:, m], labels)
    out = tmp_path / "scores.npz"
    call("score", tmp_path / "models" / f"*{ending}", "-o", out, "--chunk-rows", 11)
    found = read(out)
    for name, values in expected(members).items():
        if name.startswith("tv"):
            assert np.array_equal(found[name], values)


def test_names_of_classes_and_ids(tmp_path):
    text = "id,cat,dog,bird,label\n" + "x1,0.5,0.25,0.25,cat\n" + "x2,0,0.25,0.75,1\n"
    (tmp_path / "a.csv").write_text(text)
    out = tmp_path / "scores.csv"
    done = call("score", tmp_path / "a.csv", "-o", out)
    assert "only one model" in done.stderr
    found = read(out)
    assert found["id"].tolist() == ["x1", "x2"]
    assert found["prediction"].tolist() == ["cat", "bird"]
    assert found["label"].tolist() == ["cat", "dog"]
    assert found["correct"].tolist() == [True, False]
    (tmp_path / "a.csv").write_text(text.replace("cat\n", "0\n"))
    call("score", tmp_path / "a.csv", "-o", out, "--class-names", "K,H,V", "-q")
    assert read(out)["prediction"].tolist() == ["K", "V"]
    assert read(out)["label"].tolist() == ["K", "H"]


def test_names_that_are_too_long_for_a_file(tmp_path):
    np.save(tmp_path / "a.npy", np.full((1, 2, 5000), 1 / 5000))
    names = [f"class{k}" for k in range(5000)]
    done = call("score", tmp_path / "a.npy", "--class-names", ",".join(names))
    assert done.stdout.splitlines()[1].startswith('"class0",')
    printed = call("score", tmp_path / "a.npy", "--class-names", "a" * 5000, code=2).stderr
    assert "is not a file; pass a file, or the names as a,b,c" in printed


def test_an_estimate_has_its_error(tmp_path):
    members, _ = predictions(n=4, K=24)
    np.save(tmp_path / "a.npy", members)
    out = tmp_path / "s.npz"
    call("score", tmp_path / "a.npy", "-o", out, "--measures", "hartley,tv", "--chunk-rows", 3)
    found = read(out)
    assert list(found)[1:5] == ["hartley_total", "hartley_aleatoric", "hartley_epistemic",
                                "hartley_error"]  # fmt: skip
    value, error = cl.generalized_hartley(members, random_state=0, return_error=True)
    assert np.array_equal(found["hartley_epistemic"], value)
    assert (error > 0).all()
    assert (found["hartley_error"] >= error).all()
    assert (found["hartley_error"] < error + 1e-6).all()  # and that of the upper entropy
    # Written in the folder of the models, it is known again for what it is.
    assert "3 models" in call("score", tmp_path, "-v").stderr


@pytest.mark.slow
def test_distances_and_summaries(models, tmp_path):
    folder, members, _ = models
    out = tmp_path / "scores.npz"
    cost = np.array([[0, 1, 5], [1, 0, 4], [5, 4, 0.0]])
    np.savetxt(tmp_path / "cost.csv", cost, delimiter=",")
    np.save(tmp_path / "kernel.npy", np.eye(3))
    for option, name, distance in (
        ("ordinal", "ordinal", "ordinal"),
        ("kolmogorov", "kolmogorov", "kolmogorov"),
        (tmp_path / "cost.csv", "wasserstein", cl.distances.Wasserstein(cost)),
        (tmp_path / "kernel.npy", "mmd", cl.distances.MMD(np.eye(3))),
        (f"kernel:{tmp_path / 'kernel.npy'}", "mmd", cl.distances.MMD(np.eye(3))),
    ):
        call("score", folder, "-o", out, "--distance", option, "--summary", "midpoint")
        found = read(out)
        assert list(found)[1:4] == [f"{name}_{part}" for part in
                                    ("total", "aleatoric_midpoint", "epistemic")]  # fmt: skip
        assert np.array_equal(found[f"{name}_total"], cl.total_uncertainty(members, distance))
        u = cl.aleatoric_uncertainty(members, distance, return_error=True)[0]
        assert np.allclose(found[f"{name}_aleatoric_midpoint"], u.midpoint, atol=1e-6)
    assert call("score", folder, "--distance", "far", code=2).stderr.startswith(
        "credalens: --distance: is 'far'; choose tv"
    )
    np.save(tmp_path / "kernel.npy", np.eye(4))
    assert "4" in call("score", folder, "--distance", tmp_path / "kernel.npy", code=2).stderr


class TestPipes:
    def test_out(self, models):
        folder, members, _ = models
        done = call("score", folder, "--chunk-rows", 9)
        lines = done.stdout.splitlines()
        assert lines[0] == ",".join([*COLUMNS[:5], *COLUMNS[-2:]])
        total = [float(line.split(",")[1]) for line in lines[1:]]
        assert np.array_equal(total, cl.total_uncertainty(members))
        rows = call("score", folder, "--to", "jsonl").stdout.splitlines()
        assert json.loads(rows[7])["tv_total"] == total[7]

    def test_in(self, tmp_path):
        members, _ = predictions(M=1)
        write_csv(tmp_path / "a.csv", members[:, 0])
        text = (tmp_path / "a.csv").read_bytes()
        done = call("score", "-", "--format", "csv", "-q", input=text)
        assert done.stdout == call("score", tmp_path / "a.csv", "-q").stdout
        assert len(done.stdout.splitlines()) == 51

    def test_what_came_through_a_pipe_cannot_go_on(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, "full")

        monkeypatch.setattr(PartStore, "add", full)
        out = tmp_path / "s.csv"
        done = call("score", "-", "--format", "csv", "-q", "-o", out, input="0.5,0.5\n", code=2)
        assert done.stderr.endswith("s.csv: no space left on device; free space and run it again\n")
        assert leftovers(tmp_path) == []
        np.save(tmp_path / "a.npy", predictions()[0])
        done = call("score", tmp_path / "a.npy", "-q", "-o", out, code=2)
        assert done.stderr.endswith(
            "no space left on device; free space, and continue with --resume\n"
        )
        assert leftovers(tmp_path) == [".s.csv.parts"]

    @pytest.mark.slow
    def test_labels_in(self, models):
        folder, _, labels = models
        lines = "".join(f"{label}\n" for label in labels)
        arguments = (str(a) for a in command("score", folder, "-q", "-o", folder / "s.jsonl"))
        program = " ".join(map(shlex.quote, arguments))
        # Named by the shell; it is read once only.
        subprocess.run(
            ["bash", "-c", f"{program} --labels <(cat)"], input=lines.encode(), check=True,
            timeout=60,
        )  # fmt: skip
        assert np.array_equal(read(folder / "s.jsonl")["label"], labels)

    @pytest.mark.parametrize("what", ["labels.txt", "cost.csv"])
    def test_a_run_with_piped_labels_or_costs_cannot_go_on(self, what, models, tmp_path):
        pipe, out = tmp_path / what, tmp_path / "s.csv"
        os.mkfifo(pipe)
        text = "0,1,1\n1,0,1\n1,1,0\n" if what == "cost.csv" else "0\n" * 50
        option = "--distance" if what == "cost.csv" else "--labels"
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        done = call("score", models[0], option, pipe, "-o", out, "--resume", code=2)
        writer.join()
        assert "--resume: a pipe cannot be read again; pass files" in done.stderr
        assert leftovers(tmp_path) == []

    @pytest.mark.slow
    def test_a_reader_that_stops(self, tmp_path):
        np.save(tmp_path / "a.npy", predictions(n=3000, M=2)[0])
        running = subprocess.Popen(
            command("score", tmp_path / "a.npy", "--chunk-rows", 100),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        running.stderr.close()
        assert running.wait() == 0


class TestFaults:
    def test_nothing_is_left_behind(self, models, tmp_path):
        folder, members, labels = models
        members[43, 1, 2] = np.nan
        write_npz(folder / "1.npz", members[:, 1], labels)
        out = tmp_path / "scores.parquet"
        out.write_text("what was there before")
        done = call("score", folder, "-o", out, "--chunk-rows", 10, code=2)
        assert "1.npz: row 43 (zero-based): class 2 is NaN; fix the row" in done.stderr
        assert out.read_text() == "what was there before"
        assert leftovers(tmp_path) == []

    @pytest.mark.slow
    def test_debug_shows_the_traceback(self, tmp_path):
        done = process("score", tmp_path / "no.npy", "--debug")
        assert done.returncode == 1
        assert b"Traceback" in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-o", "scores.xlsx"], "unknown file extension '.xlsx'; supported are .csv"),
            (["-o", "."], ".: has the unknown file extension ''; supported are .csv"),
            (["-o", "no/scores.csv"], "no/scores.csv: the folder no does not exist; create it"),
            (["--measures", "tv,nonsense"], "'nonsense'; choose one of"),
            (["--summary", "mean"], "summary: is 'mean'"),
            (["--temperature", "0", "--logits"], "--temperature: is 0; pass a positive number"),
            (["--on-error", "ignore"], "choose stop or skip"),
            (["--resume"], "--resume: needs an output file"),
            (["--to", "xml"], "--to: is 'xml'"),
            (["--to", "csv", "-o", "s.csv"], "--to: applies to standard output; omit it"),
            (["--top", "5", "-o", "s.csv"], "--top: applies to standard output"),
            (["--distance", "ordinal", "--measures", "entropy"], "--distance: no measure uses it"),
            (["--summary", "width", "--measures", "entropy"], "--summary: no measure has an int"),
            (["--class-names", "a,b"], "--class-names: has 2 different names; pass 3"),
            (["--labels", "none.txt"], "none.txt: does not exist"),
            (["--labels", "."], ".: is a directory; name a file"),
            (["--class-names", "none.txt"], "--class-names: none.txt is not a file; pass"),
        ],
    )
    def test_options(self, arguments, message, models, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert message in call("score", models[0], *arguments, code=2).stderr
        assert leftovers(tmp_path) == []

    def test_skip(self, models, tmp_path):
        folder, members, labels = models
        members[[4, 43], 1, 2] = np.nan, -1
        members[44, 2] *= 2
        for m in range(3):
            write_npz(folder / f"{m}.npz", members[:, m], labels)
        out = tmp_path / "scores.csv"
        done = call("score", folder, "-o", out, "--on-error", "skip", "--chunk-rows", 10)
        assert "skipped 3 invalid rows; see " in done.stderr
        kept = np.delete(members, [4, 43, 44], axis=0)
        found = read(out)
        assert np.array_equal(found["tv_total"], cl.total_uncertainty(kept))
        assert np.array_equal(found["row"], np.delete(np.arange(50), [4, 43, 44]))
        side = read(tmp_path / "scores.skipped.csv")
        assert side["row"].tolist() == [4, 43, 44]
        assert [os.path.basename(name) for name in side["file"]] == ["1.npz", "1.npz", "2.npz"]
        assert [text.split(";")[0] for text in side["reason"]] == [
            "class 2 is NaN", "class 2 is negative", "sums to 2"
        ]  # fmt: skip

    def test_rows_skipped_before_are_not_reported_again(self, models, tmp_path, monkeypatch):
        folder, _, _ = models
        out, side = tmp_path / "scores.csv", tmp_path / "scores.skipped.csv"
        side.write_text("row,id,file,reason\n1,,a.npz,is bad\n")
        call("score", folder, "-o", out)
        assert not side.exists()
        assert "row" not in read(out)
        monkeypatch.chdir(tmp_path)
        other = tmp_path / "credalens.skipped.csv"  # of no output
        other.write_text("row,id,file,reason\n1,,a.npz,is bad\n")
        call("score", folder)
        assert other.exists()
        for text in (b"a,b\n1,2\n", b"caf\xe9,b\n1,2\n"):  # somebody else's
            side.write_bytes(text)
            call("score", folder, "-o", out)
            assert side.read_bytes() == text

    def test_scores_are_in_place_before_what_was_left_out(self, models, tmp_path):
        folder, members, labels = models
        members[4, 1, 2] = np.nan
        write_npz(folder / "1.npz", members[:, 1], labels)
        out = tmp_path / "scores.csv"
        (tmp_path / "scores.skipped.csv").mkdir()
        done = call("score", folder, "-o", out, "--on-error", "skip", code=2)
        assert "scores.skipped.csv: is a directory; name a file" in done.stderr
        assert len(read(out)["row"]) == 49

    def test_every_row_bad(self, tmp_path):
        np.save(tmp_path / "a.npy", np.full((9, 2, 3), np.nan))
        call("score", tmp_path / "a.npy", "-o", tmp_path / "s.csv", "--on-error", "skip",
             "--chunk-rows", 4)  # fmt: skip
        assert (tmp_path / "s.csv").read_text() == ",".join(["row", *COLUMNS[:5]]) + "\n"


def lines(parts):
    """Return the number of finished parts."""
    path = parts / "parts.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
class TestGoingOn:
    @pytest.fixture
    def large(self, tmp_path):
        members, labels = predictions(n=400, M=2)
        np.savez(tmp_path / "a.npz", probs=np.tile(members, (50, 1, 1)), labels=np.tile(labels, 50))
        return tmp_path

    ARGUMENTS = ("--measures", "tv,entropy,mmi", "--chunk-rows", 50)

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
    def test_killed(self, how, large):
        out = large / "scores.csv"
        parts = large / ".scores.csv.parts"
        self.interrupt(large, out, how, self.ARGUMENTS)
        # The lock of a killed run holds nobody up.
        left = {path.name for path in large.iterdir()} - {".scores.csv.lock"}
        assert left == {".scores.csv.parts", "a.npz"}
        finished = lines(parts)
        assert 5 <= finished < 400
        for name in ("parts.jsonl", "whole.csv"):  # killed while it was writing
            with (parts / name).open("ab") as file:
                file.write(b"{half")
        done = call("score", large / "a.npz", "-o", out, *self.ARGUMENTS, "--resume")
        assert f"continuing after {50 * finished} finished rows" in done.stderr
        again = large / "again.csv"
        call("score", large / "a.npz", "-o", again, *self.ARGUMENTS)
        assert out.read_bytes() == again.read_bytes()
        assert leftovers(large) == []

    def interrupt(self, folder, out, how, arguments):
        """Begin, and stop when five chunks are finished."""
        # Shells let their background jobs ignore Ctrl-C, and a child would ignore it as well.
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
        running = subprocess.Popen(
            command("score", folder / "a.npz", "-o", out, *arguments), stderr=subprocess.PIPE
        )
        signal.signal(signal.SIGINT, before)
        while lines(out.with_name(f".{out.name}.parts")) < 5:
            assert running.poll() is None
            time.sleep(0.005)
        running.send_signal(how)
        running.wait()
        running.stderr.close()
        assert running.returncode == (130 if how == signal.SIGINT else -how)

    def test_another_distance(self, large):
        arguments = ("--measures", "mmi", "--chunk-rows", 50)  # its column is called mmi for all
        self.interrupt(large, large / "s.csv", signal.SIGINT, arguments)
        done = call("score", large / "a.npz", "-o", large / "s.csv", *arguments,
                    "--distance", "ordinal", "--resume", code=2)  # fmt: skip
        assert "s.csv: was created with other measures; pass the same ones" in done.stderr

    def parts(self, folder, task, resume):
        return PartStore(folder / "s.csv", task, resume)

    def test_finished_chunks_are_not_computed_again(self, tmp_path):
        batch = pa.record_batch({"x": [1.5, 2.5]})
        first = self.parts(tmp_path, {"a": 1}, False)
        first.add(0, 2, batch, ())
        first.add(4, 6, batch, ())  # of no use without 2 to 4
        assert self.parts(tmp_path, {"a": 1}, True).finished == 2
        with pytest.raises(PredictionFileError, match="was created with other a; "):
            self.parts(tmp_path, {"a": 2}, True)
        assert self.parts(tmp_path, {"a": 2}, False).finished == 0

    def test_chunks_that_are_gone_are_not_passed_over(self, tmp_path):
        parts = self.parts(tmp_path, {}, False)
        parts.add(0, 2, pa.record_batch({"x": [1.5, 2.5]}), ())
        with pytest.raises(PredictionFileError, match="has 2 of 4 rows; run it again"):
            parts.finish(tmp_path / "side.csv", 4)

    def test_one_run_at_a_time(self, large):
        out = large / "scores.csv"
        with locked(out):
            done = call("score", large / "a.npz", "-o", out, code=2)
        assert f"{out}: another run is writing it; wait for that one" in done.stderr
        call("score", large / "a.npz", "-o", out)
        assert leftovers(large) == []

    def test_other_input(self, large):
        out = large / "s.csv"
        self.parts(large, {"files": []}, False)
        done = call("score", large / "a.npz", "-o", out, "--resume", code=2)
        assert re.search("was created with other .*files", done.stderr)
        call("score", large / "a.npz", "-o", out, "--chunk-rows", 5000)  # begins anew
        assert leftovers(large) == []


def test_resuming_depends_on_the_content_of_files(tmp_path):
    from credalens.cli.options import Inputs, MeasureOptions

    known = []
    for name in ("labels.txt", "cost.csv"):
        (tmp_path / name).write_text("before")
    for name in ("", "labels.txt", "cost.csv"):
        if name:
            path = tmp_path / name
            stat = path.stat()
            path.write_text("after.")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # neither time nor size tell
        inputs = Inputs(files=["a.npy"], labels=str(tmp_path / "labels.txt"))
        measure_options = MeasureOptions(distance=f"cost:{tmp_path / 'cost.csv'}")
        known.append(inputs.settings(measure_options))
    assert all(a != b for a, b in pairwise(known))
    assert known[0].keys() == known[1].keys()


def test_a_folder_is_changed_with_any_file_in_it(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "zarr.json").write_text("{}")
    (tmp_path / "c" / "0").write_text("a")
    before = file_signature(str(tmp_path))
    assert file_signature(str(tmp_path)) == before
    (tmp_path / "c" / "0").write_text("ab")
    assert file_signature(str(tmp_path)) != before


@pytest.mark.slow
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_larger_than_the_memory_allowed(order, tmp_path):
    n = 4_000_000  # 640 MB, with 480 MB of address space besides the libraries
    path = tmp_path / "a.npy"
    held = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(n, 4, 10), fortran_order=order == "F"
    )
    held[..., 0] = 1
    held.flush()
    del held
    program = (
        "import pyarrow.parquet, pyarrow.csv, scipy.special, rich, credalens.io.output;"
        "print(open('/proc/self/statm').read().split()[0])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    base = int(printed.stdout) * resource.getpagesize()
    limit = base + (480 << 20)

    def bounded():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = process("score", path, "-o", tmp_path / "s.parquet", "--threads", 1, preexec_fn=bounded)
    assert done.returncode == 0, done.stderr
    assert pyarrow.parquet.ParquetFile(tmp_path / "s.parquet").metadata.num_rows == n


def test_the_most_uncertain_first_on_a_terminal(models, monkeypatch):
    folder, members, _ = models
    monkeypatch.setattr("credalens.cli.score.sys.stdout.isatty", lambda: True, raising=False)
    total = cl.total_uncertainty(members)
    from credalens.cli.options import CommonOptions, Inputs, MeasureOptions
    from credalens.cli.predictions import open_predictions
    from credalens.cli.score import ScoreTask

    inputs = Inputs(files=[str(folder)], chunk_rows=8)
    predictions = open_predictions(inputs, MeasureOptions(), CommonOptions(quiet=True))
    shown = {}
    monkeypatch.setattr(
        "credalens.cli.score.print_table", lambda title, columns: shown.update(columns)
    )
    task = ScoreTask(predictions)
    task.to_terminal(5)
    assert shown["row"] == cl.rejection_order(total)[:5].tolist()
    assert list(shown)[:3] == ["row", "prediction", "tv_total"]


def test_doctor():
    text = call("doctor").stdout
    for word in ("credalens ", "numpy", "instruction set", "threads", "[dask]", "[torch]"):
        assert word in text


@pytest.mark.parametrize("name", ["score", "evaluate", "pick", "doctor"])
def test_help_has_examples(name):
    assert f"credalens {name}" in call(name, "--help").stdout


def test_axes_in_another_order(tmp_path):
    np.save(tmp_path / "a.npy", predictions()[0].swapaxes(0, 1))
    out = tmp_path / "s.csv"
    printed = call("score", tmp_path / "a.npy", "-o", out).stderr
    assert (
        "a.npy has 3 rows of 50 models; if its shape is (models, rows, classes), pass --axes"
        in (printed)
    )
    assert call("score", tmp_path / "a.npy", "-o", out, "-q").stderr == ""
    call("score", tmp_path / "a.npy", "-o", out, "--axes", "models,rows,classes")
    assert np.array_equal(read(out)["tv_total"], cl.total_uncertainty(predictions()[0]))


def test_quiet_and_verbose(models, tmp_path):
    folder, _, _ = models
    assert call("score", folder, "-o", tmp_path / "s.csv", "-q").stderr == ""
    printed = call("score", folder, "-o", tmp_path / "s.csv", "-v").stderr
    assert "3 files, 3 models: 0, 1, 2" in printed
    assert "50 rows, 3 classes (without names), labels: yes" in printed
    assert NAMES[0] not in printed
