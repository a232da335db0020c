"""credalens validate: answers, and repaired predictions."""

import numpy as np
import pytest
from typer.testing import CliRunner

import credalens as cl
from credalens import cli


def run(*words):
    return CliRunner().invoke(cli.app, ["validate", *map(str, words)])


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(3, 0.5), 1500)
    y = (true.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1)
    members = {"first": true**3, "second": true**2, "broken": rng.dirichlet(np.ones(3) / 9, 1500)}
    for name, values in members.items():
        np.save(tmp_path / f"{name}.npy", values / values.sum(axis=1, keepdims=True))
    np.save(tmp_path / "truth.npy", y)
    np.save(tmp_path / "soft.npy", true)
    models = [tmp_path / f"{name}.npy" for name in members]
    return tmp_path, models, y


@pytest.mark.slow
def test_answers(files):
    folder, models, _ = files
    done = run(*models, "--labels", folder / "truth.npy", "--resamples", 100)
    assert done.exit_code == 0, done.output
    for text in ("Is each model calibrated?", "Is the credal set calibrated?",
                 "Which models or classes are at fault?", "broken distorts the uncertainty.",
                 "Leave out broken.", "Recalibrate first and second (temperature).",
                 "pass --fix temperature -o FOLDER"):  # fmt: skip
        assert text in done.output, text
    assert "known label distributions" not in done.output


@pytest.mark.slow
def test_label_distributions(files):
    folder, models, _ = files
    done = run(*models[:2], "--labels", folder / "soft.npy", "--resamples", 100)
    assert done.exit_code == 0, done.output
    assert "Does it contain the known label distributions?" in done.output


@pytest.mark.slow
def test_chunks_with_certain_labels_among_distributions(files):
    folder, models, y = files
    soft = np.load(folder / "soft.npy")
    soft[:100] = np.eye(3)[y[:100]]
    np.save(folder / "soft.npy", soft)
    outputs = [
        run(*models[:2], "--labels", folder / "soft.npy", "--resamples", 100, "--chunk-rows", rows)
        for rows in (100, 5000)
    ]
    assert outputs[0].exit_code == 0, outputs[0].output
    assert outputs[0].output == outputs[1].output


@pytest.mark.slow
def test_fixed_predictions_are_read_back(files):
    folder, models, y = files
    output = folder / "fixed"
    done = run(*models, "--labels", folder / "truth.npy", "--resamples", 100,
               "--fix", "temperature", "-o", output)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in output.iterdir()) == ["first.npz", "second.npz"]
    members = np.stack([np.load(path) for path in models], axis=1)
    repaired = cl.validity.repair(members, y)(members)
    for i, name in enumerate(("first", "second")):
        with np.load(output / f"{name}.npz") as archive:
            np.testing.assert_allclose(archive["probs"], repaired[:, i], atol=1e-6)
            np.testing.assert_array_equal(archive["labels"], y)
    again = CliRunner().invoke(cli.app, ["evaluate", str(output), "--bootstrap", "0"])
    assert again.exit_code == 0, again.output
    # The sets after the repair pass the check of each model.
    after = run(output, "--resamples", 100)
    assert "first and second are calibrated." in after.output


@pytest.mark.slow
def test_rows_without_a_label_are_repaired_too(files):
    folder, models, y = files
    np.save(folder / "some.npy", np.where(np.arange(len(y)) % 3, y, np.nan))
    output = folder / "fixed"
    done = run(*models, "--labels", folder / "some.npy", "--resamples", 100,
               "--fix", "vector", "-o", output)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "1000 labelled rows" in done.output
    with np.load(output / "first.npz") as archive:
        assert len(archive["probs"]) == len(y)
    again = CliRunner().invoke(cli.app, ["evaluate", str(output), "--bootstrap", "0"])
    assert again.exit_code == 0, again.output


def test_errors(files):
    folder, models, _ = files
    labels = ("--labels", folder / "truth.npy")
    (folder / "full").mkdir()
    (folder / "full" / "file").touch()
    cases = {
        ("no file has labels",): models,
        ("--fix: is 'platt'", "temperature, vector, isotonic"):
            [*models, *labels, "--fix", "platt", "-o", folder / "x"],
        ("--fix: needs -o FOLDER for repaired predictions, or --policy",):
            [*models, *labels, "--fix", "temperature"],
        ("is not empty",): [*models, *labels, "--fix", "vector", "-o", folder / "full"],
        ("--level: is 3",): [*models, *labels, "--level", "3"],
        ("there is only one",): [models[0], *labels],
    }  # fmt: skip
    for texts, words in cases.items():
        done = run(*words)
        assert done.exit_code == 2, words
        for text in texts:
            assert text in done.output, done.output
        assert len(done.output.strip().splitlines()) == 1
    assert not (folder / "x").exists()
