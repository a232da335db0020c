"""Figures 1 and 2, Table 1, prediction folders and predictions of networks."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

import credalens as cl
from credalens._extras import install_command
from credalens.cli import predict as predict_commands
from credalens.cli import reproduce as reproduce_commands
from credalens.datasets import cifar, download
from credalens.experiments import figure1, figure2, networks_hub, predict, table1
from credalens.io import Predictions, read_members, read_predictions
from credalens.plots.decomposition import witnesses
from credalens.plots.simplex import to_plane

runner = CliRunner()


def random_predictions(n=60, M=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(K), size=(n, M))
    return Predictions(tuple("abcdefgh"[:M]), members, rng.integers(K, size=n))


class TestFigure1:
    @pytest.mark.parametrize("seed", range(20))
    def test_witnesses_attain_the_uncertainties(self, seed):
        rng = np.random.default_rng(seed)
        P = rng.dirichlet(np.full(3, 0.7), size=rng.integers(1, 7))
        found, d = witnesses(P), cl.TotalVariation()
        for one, times in (
            (found.total, 1),
            (found.lower, 1),
            (found.upper, 1),
            (found.epistemic, 2),
        ):
            assert float(d(one.start, one.end)) == pytest.approx(times * one.value, abs=1e-8)
            assert cl.ConvexHull(P).contains(one.start, tolerance=1e-7)
        u = cl.quantify(P)
        assert found.total.value == u.total
        assert (found.lower.value, found.upper.value) == (u.aleatoric.lower, u.aleatoric.upper)
        # Nothing is nearer: the lower and upper arrows end at a nearest vertex.
        for one in (found.lower, found.upper):
            assert one.value == pytest.approx(1 - one.start.max(), abs=1e-8)

    def test_one_set_at_a_time(self):
        with pytest.raises(ValueError, match=r"Q: is a batch of shape \(2,\)"):
            witnesses(np.full((2, 3, 3), 1 / 3))

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
    def test_a_folder_that_cannot_be_written_to_raises(self):
        done = runner.invoke(reproduce_commands.app, ["figure1", "--out", "/proc/figures"])
        assert done.exit_code == 2
        assert "/proc cannot be written to" in done.output

    def test_panels_show_the_numbers(self):
        axes = cl.plots.decomposition([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]])
        assert pyplot.gcf() is axes[0].figure
        assert [ax.get_title() for ax in axes] == [
            "(a) Total: 0.80",  # either vertex is .8 away from the member that is sure of the other
            "(b) Aleatoric: 0.30 to 0.55",  # up to the middle, (.45, .45, .1)
            "(c) Epistemic: 0.25",  # half of |.7 - .2|
        ]
        below = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes]
        assert below == [["TU = 0.80"], ["lower = 0.30", "upper = 0.55"], ["2 EU = 0.50"]]

    def test_precise_and_certain_sets_can_be_drawn(self):
        cl.plots.decomposition([[1.0, 0.0, 0.0]])
        cl.plots.decomposition([[0.2, 0.3, 0.5]])

    @pytest.mark.slow
    def test_command(self, tmp_path):
        out = tmp_path / "out"
        result = runner.invoke(reproduce_commands.app, ["figure1", "--out", str(out)])
        assert result.exit_code == 0, result.output
        assert result.stdout == ""
        assert result.stderr == f"wrote {out}/figure1.png\nwrote {out}/figure1.pdf\n"
        assert (out / "figure1.png").read_bytes()[:4] == b"\x89PNG"
        before = (out / "figure1.pdf").read_bytes()
        figure1.run(out)
        assert (out / "figure1.pdf").read_bytes() == before
        (tmp_path / "mine.csv").write_text("0.5,0.5\n")
        args = ["figure1", "--out", str(out), "--predictions", str(tmp_path / "mine.csv")]
        result = runner.invoke(reproduce_commands.app, args)
        assert result.exit_code == 2
        assert "2 classes" in result.output


def test_every_file_of_the_folder_is_a_command():
    folder = Path(reproduce_commands.__file__).parent
    names = sorted(path.stem.replace("_", "-") for path in folder.glob("[a-z]*.py"))
    result = runner.invoke(reproduce_commands.app, ["--help"])
    commands = result.output.partition("Commands:")[2]
    assert re.findall(r"^  (\S+)", commands, re.M) == names  # further lines are indented
    for name in names:
        text = runner.invoke(reproduce_commands.app, [name, "--help"]).output
        assert f"credalens reproduce {name}" in " ".join(text.split())


def test_scale_of_the_simplex_is_the_probability_of_the_class():
    ax = cl.plots.simplex([[0.2, 0.3, 0.5]], scale=True)
    half = [text for text in ax.texts if text.get_text() == "0.5"]
    assert len(half) == 3
    for text in half:  # beside the middle of a side
        middles = to_plane((1 - np.eye(3)) / 2)
        assert np.hypot(*(middles - text.xy).T).min() < 0.05


class TestPredictions:
    def test_every_kind_of_file(self, tmp_path):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(6, 3))
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        y = rng.integers(3, size=6)
        np.savez(tmp_path / "a.npz", probs=p, labels=y)
        np.savez(tmp_path / "b.npz", logits=logits)
        np.save(tmp_path / "c.npy", p)
        np.savetxt(tmp_path / "d.csv", p, delimiter=",")
        lines = "\n".join(
            ",".join([*(f"{v:.17g}" for v in row), str(c)]) for row, c in zip(p, y, strict=True)
        )
        (tmp_path / "e.csv").write_text(f"x,y1,z,label\n{lines}\n")
        (tmp_path / "readme.txt").write_text("not a model")
        found = read_predictions(tmp_path)
        assert found.names == ("a", "b", "c", "d", "e")
        np.testing.assert_array_equal(found.labels, y)
        np.testing.assert_allclose(found.members, np.repeat(p[:, None], 5, axis=1), rtol=1e-12)
        np.testing.assert_array_equal(read_members(tmp_path / "c.npy"), p)

    @pytest.mark.parametrize("name", ["labels.npy", "labels.txt", "labels.csv"])
    def test_labels_of_their_own(self, tmp_path, name):
        np.save(tmp_path / "a.npy", np.full((3, 2), 0.5))
        if name.endswith("npy"):
            np.save(tmp_path / name, np.array([0, 1, 1]))
        else:
            (tmp_path / name).write_text("0\n1\n1\n")
        found = read_predictions(tmp_path, tmp_path / name)
        assert found.names == ("a",)
        np.testing.assert_array_equal(found.labels, [0, 1, 1])

    @pytest.mark.parametrize(
        ("files", "reason"),
        [
            ({}, "has no prediction files"),
            (
                {"a": np.ones((2, 2)) / 2, "b": np.ones((3, 2)) / 2},
                r"b\.npy: has 3 rows, .*a\.npy 2",
            ),
            ({"a": np.ones((2, 2))}, r"a\.npy: row 0 .* sums to 2"),
            ({"a": np.ones(2, int)}, r"a\.npy: .* shape \(2,\) and dtype int64, like labels"),
            (
                {"a": {"scores": np.ones(2, int)}},
                r"a\.npz: contains scores \(2,\); save predictions",
            ),
            (
                {"a": {"probs": np.ones((2, 2)) / 2, "labels": [0, 1, 0]}},
                r"a\.npz: labels has shape \(3,\); save shape \(2,\)",
            ),
            (
                {"a": {"probs": np.ones((2, 2)) / 2, "labels": [0, 2]}},
                r"a\.npz: row 1 .* has the label '2'; labels are 0 to 1",
            ),
            (
                {
                    "a": {"probs": np.ones((2, 2)) / 2, "labels": [0, 1]},
                    "b": {"probs": np.ones((2, 2)) / 2, "labels": [1, 0]},
                },
                r"b\.npz: row 0 .* labels: 1 here, 0 in",
            ),
        ],
    )
    def test_what_does_not_fit_raises(self, tmp_path, files, reason):
        for name, content in files.items():
            if isinstance(content, dict):
                np.savez(tmp_path / f"{name}.npz", **content)
            else:
                np.save(tmp_path / f"{name}.npy", content)
        with pytest.raises(ValueError, match=reason):
            read_predictions(tmp_path)

    def test_what_is_not_there_raises(self, tmp_path):
        with pytest.raises(ValueError, match="is not a folder"):
            read_predictions(tmp_path / "none")
        np.save(tmp_path / "a.npy", np.full((3, 2), 0.5))
        with pytest.raises(ValueError, match=r"none\.npy: does not exist"):
            read_predictions(tmp_path, tmp_path / "none.npy")
        with pytest.raises(ValueError, match=r"a\.parquet: does not exist"):
            read_members(tmp_path / "a.parquet")


class TestFigure2:
    def test_curves_are_those_of_consecutive_batches(self):
        given = random_predictions(65)
        found = figure2.curves(given, batches=3, bins=4)
        vote = cl.majority_vote(given.members)
        u = cl.quantify(given.members)
        for b in range(3):
            part = slice(21 * b, 21 * (b + 1))  # 65 // 3 = 21; two are left over
            for key, score in (
                (("TU", "tv"), u.total[part]),
                (("AU", "tv"), cl.Interval(u.aleatoric.lower[part], u.aleatoric.upper[part])),
            ):
                expected = cl.rejection_curve(given.labels[part], vote[part], score, n_bins=4)
                assert found.curves[key][b].accuracy.tolist() == expected.accuracy.tolist()
        assert len(found.curves) == 8

    @pytest.mark.slow
    def test_a_hundred_classes(self, tmp_path):
        text = figure2.run({"hundred": random_predictions(40, 3, 100)}, tmp_path, batches=2)
        assert "Hartley is sampled" in text

    @pytest.mark.slow
    def test_one_batch_has_no_spread_and_what_is_left_over_is_reported(self, tmp_path):
        one = figure2.run({"one": random_predictions()}, tmp_path, batches=1)
        table, _ = one.split("mean ±")
        assert "±" not in table
        assert "nan" not in one
        assert "Not used" not in one
        text = figure2.run({"more": random_predictions(65)}, tmp_path, batches=3)
        assert "Not used: the last 2, since batches have equal size." in text
        written = (tmp_path / "figure2.md").read_text(encoding="utf-8")
        assert "- Not used: the last 2" in written

    def test_no_labels_or_too_many_batches(self):
        given = random_predictions()
        with pytest.raises(ValueError, match=r"labels: no file has labels; pass --labels"):
            figure2.curves(replace(given, labels=None))
        with pytest.raises(ValueError, match="batches: is 61; pass at most 60"):
            figure2.curves(given, batches=61)

    @pytest.mark.slow
    def test_command(self, tmp_path):
        given = random_predictions()
        folder, out = tmp_path / "in", tmp_path / "out"
        folder.mkdir()
        for i, name in enumerate(given.names):
            np.savez(folder / f"{name}.npz", probs=given.members[:, i], labels=given.labels)
        args = ["figure2", "--predictions", str(folder), "--out", str(out), "--batches", "2"]
        result = runner.invoke(reproduce_commands.app, args)
        assert result.exit_code == 0, result.output
        with (out / "figure2.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 8
        assert {row["component"] for row in rows} == {"TU", "AU", "EU"}
        assert all((out / f"figure2-in.{kind}").exists() for kind in ("png", "pdf"))
        page = (out / "figure2.md").read_text(encoding="utf-8")
        assert "## in\n\n![in](figure2-in.png)" in page
        assert "- Command: `credalens reproduce figure2 --predictions in --batches 2`\n" in page
        args = ["figure2", "--predictions", str(out / "no")]
        result = runner.invoke(reproduce_commands.app, args)
        assert result.exit_code == 2
        assert len(result.output.splitlines()) == 1


class TestTable1:
    @pytest.mark.parametrize("agreeing", [True, False])
    def test_sets_agree_or_not(self, agreeing):
        P = table1.sets(50, 8, 5, agreeing).members
        np.testing.assert_allclose(P.sum(axis=-1), 1)
        first = P.argmax(axis=-1)
        assert (first == 0).all() == agreeing

    def test_fit_finds_known_exponents_and_their_error(self):
        rng = np.random.default_rng(0)
        grid = [(M, K) for M in (2, 4, 8, 16) for K in (6, 8, 10, 12)]
        noise = np.exp(0.05 * rng.normal(size=len(grid)))
        times = {(M, K): M * 3.0**K * e for (M, K), e in zip(grid, noise, strict=True)}
        found = table1.fit(times, exponential=True)
        assert abs(found.members - 1) < 4 * found.members_error
        assert abs(2**found.classes - 3) < 4 * 3 * np.log(2) * found.classes_error
        assert 0 < found.members_error < 0.1

    @pytest.mark.slow
    def test_small_run_writes_table_and_picture(self, tmp_path):
        options = {"members": (2, 4), "classes": (2, 4), "few_classes": (3, 4), "budget": 1e-5}
        printed = []
        text = table1.run(tmp_path, **options, advance=printed.append)
        assert printed == [measure.name for measure in table1.TIMED]
        assert "AU upper, TV, members disagree" in text
        for kind in ("txt", "md", "tex", "png", "pdf"):
            assert (tmp_path / f"table1.{kind}").stat().st_size > 0
        with (tmp_path / "table1_times.csv").open() as file:
            assert len(list(csv.DictReader(file))) == 4 * len(table1.TIMED)


class Module:
    """As much of a PyTorch module as is used."""

    def __init__(self, K=3):
        self.K, self.sizes, self.trained = K, [], True

    def eval(self):
        self.trained = False

    def __call__(self, batch):
        assert not self.trained
        self.sizes.append(len(batch))
        return Tensor(batch.reshape(len(batch), -1)[:, : self.K])


class Tensor:
    """As much of a tensor that wants its gradient, on another device, as is used."""

    def __init__(self, values, steps=()):
        self.values, self.steps = values, steps

    def detach(self):
        return Tensor(self.values, (*self.steps, "detach"))

    def cpu(self):
        return Tensor(self.values, (*self.steps, "cpu"))

    def numpy(self):
        assert self.steps == ("detach", "cpu")
        return self.values


class TestPredict:
    def test_any_iterable_in_batches(self):
        images = np.random.default_rng(0).normal(size=(7, 2, 3))
        model, done = Module(), []
        logits = predict.predict_logits(
            model, (image for image in images), batch_size=3, advance=done.append
        )
        np.testing.assert_array_equal(logits, images.reshape(7, -1)[:, :3])
        assert model.sizes == done == [3, 3, 1]

    def test_error_messages(self):
        with pytest.raises(ValueError, match="images: is empty"):
            predict.predict_logits(Module(), [])
        with pytest.raises(ValueError, match=r"model: returned shape \(2,\) for 2 images"):
            predict.predict_logits(lambda x: x[:, 0], [[1.0], [2.0]])
        with pytest.raises(ValueError, match="batch_size: is 0"):
            predict.predict_logits(Module(), [[1.0]], batch_size=0)

    def test_folder_is_read_by_figure2_and_not_computed_twice(self, tmp_path):
        images = np.random.default_rng(0).normal(size=(6, 4))
        labels = np.array([0, 1, 2, 0, 1, 2])
        paths = predict.write_predictions(
            tmp_path, {"a": Module, "b": Module}, images, labels, batch_size=4
        )
        assert [path.name for path in paths] == ["a.npz", "b.npz"]
        found = read_predictions(tmp_path)
        np.testing.assert_array_equal(found.labels, labels)
        expected = np.exp(images[:, :3]) / np.exp(images[:, :3]).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.members[:, 0], expected, rtol=1e-5)
        predict.write_predictions(tmp_path, {"a": None, "c": Module}, images, labels)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz", "c.npz"]

    def test_a_model_that_fails_leaves_no_file(self, tmp_path):
        def broken():
            raise OSError("no weights")

        with pytest.raises(OSError, match="no weights"):
            predict.write_predictions(tmp_path, {"a": broken}, [[1.0]], np.array([0]))
        with pytest.raises(ValueError, match="labels: has 2 entries; pass 1"):
            predict.write_predictions(tmp_path, {"a": Module}, [[1.0, 2, 3]], np.array([0, 1]))
        assert list(tmp_path.iterdir()) == []

    def test_errors_are_one_line(self, tmp_path, monkeypatch):
        args = ["cifar10", "--models", "resnet20", "--out", str(tmp_path / "out")]
        monkeypatch.setitem(sys.modules, "torch", None)
        result = runner.invoke(predict_commands.app, args)
        assert result.exit_code == 2
        assert result.output == (
            f"credalens: torch is not installed; run {install_command('torch')}\n"
        )

        def offline(*args, **kwargs):
            raise OSError("no route\nto host")

        monkeypatch.setitem(sys.modules, "torch", object())
        monkeypatch.setattr(download.urllib.request, "urlopen", offline)
        result = runner.invoke(predict_commands.app, [*args, "--cache", str(tmp_path)])
        assert result.exit_code == 2
        assert result.output == (
            "credalens: no route; images and networks are downloaded from the internet\n"
        )
        assert list(tmp_path.iterdir()) == []

    def test_whole_way_with_a_repository_that_is_made_up(self, tmp_path, monkeypatch):
        from contextlib import nullcontext

        class Torch:
            inference_mode = nullcontext
            from_numpy = staticmethod(lambda batch: batch)

            @staticmethod
            def load(path, map_location, weights_only):
                assert (map_location, weights_only) == ("cpu", True)
                return path.read_bytes()

        repository = tmp_path / "site"
        made_up_repository(repository, monkeypatch)
        archive = made_up_archive(tmp_path, "cifar10")
        monkeypatch.setitem(cifar.CIFAR, "cifar10", archive)
        monkeypatch.setitem(sys.modules, "torch", Torch)
        predict.predict_cifar("cifar10", tmp_path / "out", ["tiny"], cache=tmp_path)
        found = read_predictions(tmp_path / "out")
        assert found.members.shape == (2, 1, 10)
        np.testing.assert_array_equal(found.labels, [3, 9])
        for name in ("other", "_factory"):
            with pytest.raises(ValueError, match="is not a network of the repository"):
                networks_hub.load_network(f"cifar10_{name}", tmp_path)

    @pytest.mark.parametrize("cached", [False, True])
    @pytest.mark.parametrize("changed", ["__init__.py", "tiny.py", "weights.pt"])
    def test_changed_code_and_weights_are_refused(self, changed, cached, tmp_path, monkeypatch):
        class Torch:
            load = staticmethod(lambda path, **_: path.read_bytes())

        repository, cache = tmp_path / "site", tmp_path / "cache"
        weights = made_up_repository(repository, monkeypatch)
        monkeypatch.setitem(sys.modules, "torch", Torch)
        if cached:
            networks_hub.load_network("cifar10_tiny", cache)
            monkeypatch.delitem(sys.modules, networks_hub.PACKAGE)
            repository = cache
        name = weights.name if changed == "weights.pt" else changed
        (path,) = repository.rglob(name)
        text = f"open({str(tmp_path / 'executed')!r}, 'w')\n"
        path.write_bytes(path.read_bytes() + text.encode())
        with pytest.raises(ValueError, match=rf"{name}: has SHA-256 \w+ instead of"):
            networks_hub.load_network("cifar10_tiny", cache)
        assert not (tmp_path / "executed").exists()
        if not cached:
            assert not list(cache.rglob(name))


def made_up_repository(folder, monkeypatch):
    """Write a package with one network, and make it the repository; return the weights."""
    folder.mkdir()
    content = b"weights"
    weights = folder / f"cifar10_tiny-{hashlib.sha256(content).hexdigest()[:8]}.pt"
    weights.write_bytes(content)
    code = f"""
from functools import partial
import numpy as np

class Tiny:
    def load_state_dict(self, tensors):
        assert tensors == b"weights"
    def __call__(self, batch):
        return np.zeros((len(batch), 10))

def _factory(arch, model_urls, pretrained):
    assert not pretrained
    return Tiny()

cifar10_tiny = partial(_factory, arch="tiny", model_urls={{"tiny": {weights.as_uri()!r}}})
cifar10_other = print
"""
    files = {"__init__.py": "from .tiny import *\n", "tiny.py": code}
    for name, text in files.items():
        (folder / name).write_text(text)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    monkeypatch.setattr(networks_hub, "SITE", folder.as_uri() + "/")
    monkeypatch.setattr(networks_hub, "CODE", digests)
    for name in [name for name in sys.modules if name.startswith(networks_hub.PACKAGE)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, networks_hub.PACKAGE, None)
    monkeypatch.delitem(sys.modules, networks_hub.PACKAGE)
    return weights


def made_up_archive(folder, name):
    """Write an archive of two images of classes 3 and 9, and return its description."""
    archive = cifar.CIFAR[name]
    pad = bytes(archive.label_bytes - 1)
    raw = b"".join(pad + bytes([y]) + bytes([value]) * 3072 for y, value in ((3, 0), (9, 255)))
    with tarfile.open(folder / archive.name, "w:gz") as tar:
        info = tarfile.TarInfo(archive.member)
        info.size = len(raw)
        tar.addfile(info, io.BytesIO(raw))
    sha256 = hashlib.sha256((folder / archive.name).read_bytes()).hexdigest()
    return replace(archive, sha256=sha256)


class TestCifar:
    @pytest.mark.parametrize("name", ["cifar10", "cifar100"])
    def test_images_are_scaled_and_the_class_is_the_fine_one(self, tmp_path, monkeypatch, name):
        archive = made_up_archive(tmp_path, name)
        monkeypatch.setitem(cifar.CIFAR, name, archive)
        images, labels = cifar.load_cifar(name, tmp_path)
        assert images.dtype == np.float32
        assert labels.tolist() == [3, 9]
        for channel in range(3):
            black, white = images[:, channel, 5, 7]
            assert black == pytest.approx(-archive.mean[channel] / archive.std[channel])
            assert white == pytest.approx((1 - archive.mean[channel]) / archive.std[channel])

    def test_a_damaged_archive_raises(self, tmp_path):
        (tmp_path / cifar.CIFAR["cifar10"].name).write_bytes(b"half")
        with pytest.raises(ValueError, match=r"has SHA-256 \w+ instead of c4a38c50\w+; remove it"):
            cifar.load_cifar("cifar10", tmp_path)
        with pytest.raises(ValueError, match="has 5 bytes; a record has 3073"):
            cifar.decode_cifar(b"12345", cifar.CIFAR["cifar10"])
