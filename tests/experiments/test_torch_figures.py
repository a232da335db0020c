"""Figures 3 and 4, and the training of their ensemble."""

import csv
import importlib.util
import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

import credalens as cl
from credalens._extras import install_command
from credalens.cli import reproduce as reproduce_commands
from credalens.experiments import (
    figure2,
    figure3,
    figure4,
    networks,
    relative_likelihood,
    selective,
)
from credalens.experiments.relative_likelihood import Settings, TrainedEnsemble
from credalens.io import Predictions
from image_files import as_idx, svhn_file

runner = CliRunner()
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)
TINY = {"n_train": 150, "epochs": 6, "member_epochs": 20, "batch_size": 15,
        "learning_rate": 0.01, "check_every": 25}  # fmt: skip


def trained(n=200, M=5, K=4, seed=0, sure=3.0):
    """Return an ensemble of sure and mostly right members, without training it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    logits = rng.normal(size=(n, 1, K)) * 1.5 + rng.normal(size=(n, M, K)) * 0.5
    logits[np.arange(n), :, y] += 1.5
    P = np.exp(sure * logits)
    P /= P.sum(axis=2, keepdims=True)
    levels = np.arange(1, M + 1) / M
    names = tuple(f"level {level:g}" for level in levels)
    return TrainedEnsemble(
        Settings(), Predictions(names, P, y), tuple("abcdefgh"[:K]), levels, levels + 0.01,
        np.arange(M) - 1, np.array([0.95]), 999, 12.0, 20.0,
    )  # fmt: skip


def test_what_cannot_be_trained_leaves_no_folder(tmp_path, monkeypatch):
    args = ["figure3", "--out", str(tmp_path / "out"), "--data"]
    done = runner.invoke(reproduce_commands.app, [*args, str(tmp_path / "nodir")])
    assert done.exit_code == 2
    assert "nodir" in done.stderr
    X, y = np.zeros((4, 1, 2, 2), np.uint8), np.arange(4) % 2
    images = relative_likelihood.Images("fashion-mnist", X, y, X, y, ("a", "b"))
    monkeypatch.setattr(relative_likelihood, "load_images", lambda name, data: images)
    for key in ("torch", "credalens.predictors.torch"):
        monkeypatch.setitem(sys.modules, key, None)
    done = runner.invoke(reproduce_commands.app, [*args, str(tmp_path)])
    assert done.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def read_csv(path):
    with path.open() as file:
        return list(csv.DictReader(file))


class TestNumbers:
    @pytest.mark.slow
    def test_rows_are_those_of_the_public_functions(self, tmp_path):
        given = trained(n=203)
        figure3.run([given], tmp_path, batches=4, bins=5)
        rows = {
            (row["component"], row["family"]): row for row in read_csv(tmp_path / "figure3.csv")
        }
        assert len(rows) == 10
        P, y = given.predictions.members[:200], given.predictions.labels[:200]
        vote, u = cl.majority_vote(P), cl.quantify(P)
        for key, score, most in (
            (("TU", "tv"), u.total, 1),
            (("AU", "tv lower"), u.aleatoric.lower, 1 - 1 / 4),
            (("AU", "tv upper"), u.aleatoric.upper, 1 - 1 / 4),
            (("EU", "tv"), u.epistemic, 0.5),
            (("AU", "entropy"), cl.lower_entropy(P), 2),
            (("EU", "hartley"), cl.generalized_hartley(P), 2),
        ):
            curves = [
                cl.rejection_curve(y[part], vote[part], score[part], n_bins=5)
                for part in np.split(np.arange(200), 4)
            ]
            row = rows[key]
            assert_allclose(float(row["auc_mean"]), 100 * np.mean([c.auc for c in curves]))
            ratios = [100 * c.monotonicity_ratio for c in curves]
            assert_allclose(float(row["mr_mean"]), np.mean(ratios))
            assert_allclose(float(row["mr_sd"]), np.std(ratios, ddof=1))
            assert_allclose(float(row["median"]), np.median(score))
            assert_allclose(float(row["share"]), np.median(score) / most)
            lines = read_csv(tmp_path / "figure3_curves.csv")
            mean = np.mean([c.accuracy for c in curves], axis=0)
            own = [line["accuracy"] for line in lines if line["measure"] == " ".join(key)]
            assert_allclose([float(x) for x in own], mean)
        assert {path.name for path in tmp_path.iterdir()} == {
            "figure3-fashion-mnist-epoch.png", "figure3-fashion-mnist-epoch.pdf", "figure3.csv",
            "figure3.md", "figure3_curves.csv",
        }  # fmt: skip
        text = (tmp_path / "figure3.md").read_text()
        accuracy = np.mean(
            given.predictions.members[:, 0].argmax(axis=1) == given.predictions.labels
        )
        assert f"| 0.2 | none | 0.210 | {100 * accuracy:.2f} |" in text
        assert "Levels not reached, without a member: 0.95." in text
        assert "R above 1" in text

    def test_largest_values_are_attained(self):
        corners = np.eye(4)[None]
        u = cl.quantify(corners)
        h = cl.quantify(corners, "hartley")
        assert_allclose(u.total, selective.largest("TU", "tv", 4))
        assert_allclose(u.aleatoric.upper, selective.largest("AU", "tv", 4))
        assert_allclose(u.epistemic, selective.largest("EU", "tv", 4))
        assert_allclose([h.total, h.epistemic], selective.largest("EU", "hartley", 4))

    def test_the_picture_shows_the_scores(self):
        given = trained()
        found = figure2.curves(given.predictions, batches=2, bins=5, ends=True)
        above, below = np.split(np.array(selective.draw(found, 4, "title").axes), 2)
        assert [ax.get_title() for ax in above] == [
            "(a) Total uncertainty", "(b) Aleatoric uncertainty", "(c) Epistemic uncertainty",
        ]  # fmt: skip
        medians = [
            [line.get_label() for line in ax.get_lines() if "median" in line.get_label()]
            for ax in below
        ]
        u = cl.quantify(given.predictions.members)
        assert medians[0][0] == f"TV (median {np.median(u.total):.3f})"
        upper = np.median(u.aleatoric.upper) / 0.75
        assert medians[1][1] == f"TV interval, upper (median {upper:.3f})"
        assert medians[2][0] == f"TV (median {2 * np.median(u.epistemic):.3f})"
        assert [len(labels) for labels in medians] == [2, 4, 3]


class TestConstantMember:
    @pytest.mark.parametrize("y", [0, 3])
    def test_total_uncertainty_is_anchored_to_its_class(self, y):
        given = trained().predictions
        spoiled = figure4.with_constant(given, y)
        assert spoiled.members.shape == (200, 6, 4)
        assert_array_equal(spoiled.members[:, 1:], given.members)
        # The paper: TU = 1 - lower probability of y*, and 2 EU is the distance to the Dirac.
        lowest = given.members[..., y].min(axis=1)
        assert_allclose(cl.total_uncertainty(spoiled.members), 1 - lowest, atol=1e-12)
        apart = np.abs(given.members - np.eye(4)[y]).sum(axis=2).max(axis=1) / 2
        assert_allclose(
            2 * cl.epistemic_uncertainty(spoiled.members),
            np.maximum(apart, 2 * cl.epistemic_uncertainty(given.members)),
            atol=1e-12,
        )

    def test_no_such_class(self):
        with pytest.raises(ValueError, match="constant_class: is 4; classes are 0 to 3"):
            figure4.with_constant(trained().predictions, 4)

    @pytest.mark.slow
    def test_curves_are_turned_over(self, tmp_path):
        given = trained(n=2000, sure=2.0)
        text = figure4.run([given], tmp_path, constant_class=2, batches=4)
        without, with_it = (
            text.split("Worse than a random order with p0: ")[1]
            .split(".")[0]
            .split("; without p0: ")[::-1]
        )
        assert {"TU tv", "EU tv"} <= set(with_it.split(", "))
        assert not {"TU tv", "EU tv"} & set(without.split(", "))
        # Nothing is left of the lower ends: a Dirac has no aleatoric uncertainty.
        assert "without information: AU entropy, AU tv lower." in text
        rows = {
            (row["component"], row["family"]): row for row in read_csv(tmp_path / "figure4.csv")
        }
        assert float(rows["TU", "tv"]["median"]) > 0.9
        markdown = (tmp_path / "figure4.md").read_text()
        assert "**AUC % for every class of p0**" in markdown
        assert [f"| {y} | {name} |" in markdown for y, name in enumerate("abcd")] == [True] * 4

    def test_a_constant_score_is_not_called_worse_than_random(self):
        # The order of the file: every error last, as bad as it can be and not the score's fault.
        y = np.repeat([0, 1], 10)
        given = Predictions(("a",), np.tile([[[1.0, 0.0]]], (20, 1, 1)), y)
        found = figure2.curves(given, batches=1, bins=5)
        (row,) = [row for row in selective.rows(found, 2) if row.name == "TU tv"]
        assert row.constant
        assert row.auc[0] < 100 * found.accuracy
        assert not row.worse_than_random


class TestSettings:
    def test_levels(self):
        assert relative_likelihood.parse_levels("0.5,.1, 1") == (0.1, 0.5, 1.0)
        for text in ("", "0,1", "1.5", "a", "nan"):
            with pytest.raises(ValueError, match=r"levels: are .*; pass numbers in \(0, 1\]"):
                relative_likelihood.parse_levels(text)

    def test_backbones(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine_here.py").write_text(
            "def net(shape, classes):\n    return shape, classes\n"
        )
        (tmp_path / "broken_here.py").write_text("import no_such_module\n")
        assert networks.load_factory("mine_here:net")((1, 2, 3), 4) == ((1, 2, 3), 4)
        for backbone, match in (
            ("mine_here", "backbone: is 'mine_here'; pass MODULE:FACTORY"),
            ("no_such_thing:net", "backbone: module no_such_thing does not exist; pass MODULE"),
            ("mine_here:other", "backbone: mine_here has no function other; pass one that takes"),
        ):
            with pytest.raises(ValueError, match=match):
                networks.load_factory(backbone)
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            networks.load_factory("broken_here:net")

    @pytest.mark.parametrize(
        ("args", "match"),
        [
            (["--data", "."], "apt-get install dataset-fashion-mnist"),
            (
                ["--dataset", "fashion-mnist,emnist"],
                "dataset: is 'emnist'; choose one of 'fashion-",
            ),
            (["--levels", "2"], "levels: are '2'"),
            (["--check-every", "0"], "check-every: is '0'; pass epoch, batch or a number"),
        ],
    )
    def test_one_line(self, tmp_path, monkeypatch, args, match):
        monkeypatch.chdir(tmp_path)
        for figure in ("figure3", "figure4"):
            result = runner.invoke(reproduce_commands.app, [figure, *args])
            assert result.exit_code == 2
            assert match in result.output
            assert len(result.output.splitlines()) == 1


def tiny_images(n, colours, side, seed):
    """Return images with a bright spot that tells their class, now and then a wrong one."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 10
    X = rng.integers(0, 90, (n, colours, side, side))
    spot = np.where(rng.random(n) < 0.1, rng.integers(10, size=n), y)
    for i, where in enumerate(spot):
        X[i, :, 2 * where : 2 * where + 4, 5:20] += 150
    return X.astype(np.uint8), y


@pytest.fixture
def fashion(tmp_path, monkeypatch):
    monkeypatch.setattr(relative_likelihood, "QUICK", TINY)
    for part, n, seed in (("train", 160, 0), ("t10k", 60, 1)):
        X, y = tiny_images(n, 1, 28, seed)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(as_idx(X[:, 0]))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(as_idx(y.astype(np.uint8)))
    return tmp_path


def reproduce(figure, data, out, *args):
    given = [figure, "--data", str(data), "--out", str(out), "--quick", "--levels", "0.3,0.6,1"]
    return runner.invoke(
        reproduce_commands.app, [*given, "--batches", "2", "--check-every", "25", *args]
    )


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_without_torch(fashion):
    result = reproduce("figure3", fashion, fashion / "out")
    assert result.exit_code == 2
    assert result.output.endswith(f"{install_command('torch')}\n")
    assert len(result.output.splitlines()) == 1


@needs_torch
class TestTraining:
    @pytest.fixture(autouse=True)
    def _one_thread(self):
        torch = importlib.import_module("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(1)  # threads cost more than they save on images this few
        yield
        torch.set_num_threads(before)

    @pytest.mark.slow
    def test_both_figures_from_one_training(self, fashion, monkeypatch):
        out = fashion / "out"
        result = reproduce("figure3", fashion, out)
        assert result.exit_code == 0, result.output
        kept = relative_likelihood._read(out / "fashion-mnist-25-quick/predictions.npz", Settings())
        assert kept.levels.tolist() == [0.3, 0.6, 1.0]
        assert (kept.relative_likelihoods >= kept.levels).all()
        assert kept.pushed.tolist()[2] == -1
        assert kept.n_train == 150
        assert kept.seconds > 0
        assert kept.predictions.members.shape == (60, 3, 10)
        assert kept.accuracies[2] > 0.6  # it did learn
        assert len(kept.unreached) == 0

        def no_more(*args):
            raise AssertionError("trained again")

        monkeypatch.setattr(relative_likelihood, "_fit", no_more)
        result = reproduce("figure4", fashion / "gone", out, "--constant-class", "5")
        assert result.exit_code == 0, result.output
        assert "p0 = class 5 (sandal)" in result.output
        given = fashion / "elsewhere", "--ensembles", str(out)
        result = reproduce("figure4", fashion, *given)
        assert result.exit_code == 0, result.output
        assert (fashion / "elsewhere/figure4-fashion-mnist-25.png").exists()

        result = reproduce("figure3", fashion, out, "--seed", "1")
        assert result.exit_code == 2
        assert "contains an ensemble with another seed; choose another folder" in result.output
        (out / "fashion-mnist-25-quick/predictions.npz").write_bytes(b"PK\3\4 no archive")
        result = reproduce("figure3", fashion, out)
        assert result.exit_code == 2
        assert "cannot be read" in result.output
        assert len(result.output.splitlines()) == 1

    def test_the_condition_holds_on_the_training_images(self, fashion):
        """Computed here from the members' own predictions of the training images."""
        settings = Settings(levels=(0.3, 1.0), **TINY)
        images = relative_likelihood._first_images(
            relative_likelihood.load_images("fashion-mnist", fashion), settings
        )
        ensemble, _ = relative_likelihood._fit(settings, images, fashion / "c", None, False)
        P = np.asarray(ensemble.predict_members(images.train), np.float64)
        likelihood = np.log(P[np.arange(len(P)), :, images.train_labels]).mean(axis=0)
        R = np.exp(likelihood - likelihood[ensemble.levels_.index(1.0)])
        assert_allclose(R, ensemble.relative_likelihoods_, rtol=1e-4)
        assert (np.array(ensemble.levels_) <= R + 1e-4).all()

    def test_an_interrupted_training_continues(self, fashion, monkeypatch):
        settings = Settings(levels=(0.3, 1.0), **TINY)

        def train(folder):
            return relative_likelihood.load_or_train(settings, fashion / folder, data=fashion)

        whole = train("whole")
        kind = importlib.import_module("credalens.predictors.torch").RelativeLikelihoodEnsemble
        predict = kind.predict_members

        def interrupt(self, data):
            raise KeyboardInterrupt

        monkeypatch.setattr(kind, "predict_members", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train("stopped")
        monkeypatch.setattr(kind, "predict_members", predict)
        resumed = train("stopped")
        assert_array_equal(resumed.predictions.members, whole.predictions.members)
        assert resumed.relative_likelihoods.tolist() == whole.relative_likelihoods.tolist()
        assert np.isnan(resumed.seconds)
        assert "interrupted and resumed" in selective.describe(resumed)[-1]

    def test_control_c(self, tmp_path, monkeypatch):
        def interrupt(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(relative_likelihood, "load_or_train", interrupt)
        result = runner.invoke(reproduce_commands.app, ["figure4", "--out", str(tmp_path)])
        assert result.exit_code == 130
        assert result.output == "credalens: interrupted; run the same command again to continue\n"

    @pytest.mark.slow
    def test_svhn_with_a_network_of_ones_own(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(relative_likelihood, "QUICK", TINY)
        (tmp_path / "my_net.py").write_text(
            "from torch import nn\n\n\ndef flat(shape, classes):\n"
            "    assert tuple(shape) == (3, 32, 32)\n"
            "    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, classes))\n"
        )
        for part, n, seed in (("train", 160, 2), ("test", 40, 3)):
            X, y = tiny_images(n, 3, 32, seed)
            digits = np.where(y == 0, 10, y)[:, None].astype(np.uint8)
            svhn_file(tmp_path / f"{part}_32x32.mat", X=X.transpose(2, 3, 1, 0), y=digits)
        args = "--dataset", "svhn", "--backbone", "my_net:flat"
        result = reproduce("figure3", tmp_path, tmp_path / "out", *args)
        assert result.exit_code == 0, result.output
        assert "svhn: 150 training images, 40 test images; network my_net:flat" in result.output
        stored = json.loads((tmp_path / "out/svhn-25-quick/settings.json").read_text())
        assert stored["backbone"] == "my_net:flat"
        result = reproduce("figure3", tmp_path, tmp_path / "out", *args[:2])
        assert result.exit_code == 2
        assert "another backbone" in result.output

    def test_small_takes_any_size_of_image(self):
        torch = importlib.import_module("torch")
        for shape in ((1, 28, 28), (3, 32, 32), (2, 9, 6)):
            network = networks.with_standardized_input(
                networks.small(shape, 7), [100.0] * shape[0], [50.0] * shape[0]
            )
            images = torch.full((5, *shape), 150, dtype=torch.uint8)
            assert network(images).shape == (5, 7)
            assert_allclose(network[0](images).numpy(), 1.0)
