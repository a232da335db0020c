"""How ensembles of networks are trained: interruptions, refusals, devices."""

import functools
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

from credalens.predictors.torch import DeepEnsemble, RelativeLikelihoodEnsemble  # noqa: E402
from credalens.predictors.torch.training import as_device, labels, to_device  # noqa: E402
from networks import Bare, assert_same, digits, factory, relative_likelihood, states  # noqa: E402

CPU = torch.device("cpu")


# ---------------------------------------------------------------- checkpoints

SCRIPT = """
    import os, sys, time
    import torch
    from torch import nn
    from sklearn.datasets import load_digits
    from credalens.predictors.torch import RelativeLikelihoodEnsemble

    torch.set_num_threads(1)

    class Pause(nn.Module):
        def forward(self, x):
            time.sleep(float(os.environ.get("PAUSE", "0")))
            return x

    def factory():
        return nn.Sequential(
            nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), Pause(),
            nn.Linear(16, 10),
        )

    def run(folder):
        X, y = load_digits(return_X_y=True)
        return RelativeLikelihoodEnsemble(
            factory, levels=(0.2, 0.4, 0.6, 1.0), bias=5.0, epochs=6, learning_rate=0.02,
            member_epochs=40, check_every=2, random_state=3, checkpoint=folder,
        ).fit((X[:300] / 16, y[:300]))

    if __name__ == "__main__":
        run(sys.argv[1])
"""


def in_training(folder):
    try:
        return torch.load(folder / "current.pt", weights_only=True)["index"]
    except FileNotFoundError:  # between two members there is none
        return None


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_result(tmp_path):
    path, folder = tmp_path / "script.py", tmp_path / "run"
    path.write_text(textwrap.dedent(SCRIPT))
    namespace = {"__name__": "script"}
    exec(compile(path.read_text(), path, "exec"), namespace)  # the same networks, by the same name
    with subprocess.Popen(
        [sys.executable, path, folder], env={**os.environ, "PAUSE": "0.01"}
    ) as process:
        deadline = time.monotonic() + 120
        while in_training(folder) != 1:
            assert process.poll() is None, "it ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert in_training(folder) == 1
    finished = (folder / "member-000.pt").stat().st_mtime_ns
    resumed = namespace["run"](folder)
    assert (folder / "member-000.pt").stat().st_mtime_ns == finished
    assert not (folder / "current.pt").exists()
    whole = namespace["run"](None)
    assert_same(states(resumed), states(whole))
    assert resumed.relative_likelihoods_ == whole.relative_likelihoods_
    assert resumed.levels_ == whole.levels_ == [1.0, 0.2, 0.4, 0.6]
    assert resumed.classes_ == whole.classes_


class StopError(Exception):
    """Ends training from within."""


def interrupted(after, folder, **changes):
    """Train until the optimizer has made so many steps; the run is left in `folder`."""
    X, y, _, _ = digits()
    steps = 0

    class Adam(torch.optim.Adam):
        def step(self, closure=None):
            nonlocal steps
            steps += 1
            if steps > after:
                raise StopError
            return super().step(closure)

    with pytest.raises(StopError):
        relative_likelihood(
            optimizer=functools.partial(Adam, lr=0.02), checkpoint=folder, **changes
        ).fit((X, y))


@pytest.mark.parametrize("after", [0, 3, 20, 7 * 12, 7 * 12 + 5, 7 * 14])
def test_interrupted_anywhere(tmp_path, after):
    X, y, _, _ = digits()
    changes = {"levels": (0.2, 0.4), "bias": 20.0}
    interrupted(after, tmp_path, **changes)
    adam = functools.partial(torch.optim.Adam, lr=0.02)
    resumed = relative_likelihood(optimizer=adam, checkpoint=tmp_path, **changes).fit((X, y))
    whole = relative_likelihood(optimizer=adam, **changes).fit((X, y))
    assert_same(states(resumed), states(whole))
    # And once more, from the finished members alone.
    again = relative_likelihood(optimizer=adam, checkpoint=tmp_path, **changes).fit((X, y))
    assert again.relative_likelihoods_ == whole.relative_likelihoods_


def test_without_a_seed_the_run_remembers_its_own(tmp_path):
    X, y, _, _ = digits()
    changes = {"levels": (0.2,), "epochs": 3, "random_state": None, "checkpoint": tmp_path}
    first = relative_likelihood(**changes).fit((X, y))
    (tmp_path / "member-001.pt").unlink()
    assert_same(states(relative_likelihood(**changes).fit((X, y))), states(first))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"random_state": 1}, "random_state was 0 and is 1"),
        ({"levels": (0.3,)}, r"levels was \[0.2\] and is \[0.3\]"),
        ({"scale": "total"}, "scale was 'mean' and is 'total'"),
        ({"optimizer": lambda p: torch.optim.SGD(p, lr=0.1)}, "optimizer was .Adam"),
    ],
)
def test_another_run_is_refused(tmp_path, changes, message):
    X, y, _, _ = digits()
    settings = {"levels": (0.2,), "epochs": 2, "member_epochs": 30, "checkpoint": tmp_path}
    relative_likelihood(**settings).fit((X, y))
    with pytest.raises(ValueError, match=f"checkpoint: .* contains another run: {message}"):
        relative_likelihood(**{**settings, **changes}).fit((X, y))


def test_other_data_and_networks_are_refused(tmp_path):
    X, y, _, _ = digits()
    DeepEnsemble(factory, 1, epochs=1, random_state=0, checkpoint=tmp_path).fit((X, y))
    other = X.copy()
    other[0, 0] += 1
    with pytest.raises(ValueError, match="contains another run: data was"):
        DeepEnsemble(factory, 1, epochs=1, random_state=0, checkpoint=tmp_path).fit((other, y))
    with pytest.raises(ValueError, match="contains another run: model was"):
        DeepEnsemble(
            lambda: nn.Linear(64, 10), 1, epochs=1, random_state=0, checkpoint=tmp_path
        ).fit((X, y))


def test_more_members_can_be_added_to_a_deep_ensemble(tmp_path):
    X, y, _, _ = digits()
    settings = {"epochs": 2, "random_state": 0}
    few = DeepEnsemble(factory, 2, checkpoint=tmp_path, **settings).fit((X, y))
    before = (tmp_path / "member-001.pt").stat().st_mtime_ns
    more = DeepEnsemble(factory, 3, checkpoint=tmp_path, **settings).fit((X, y))
    assert (tmp_path / "member-001.pt").stat().st_mtime_ns == before
    assert_same(states(more)[:2], states(few))
    assert_same(states(more), states(DeepEnsemble(factory, 3, **settings).fit((X, y))))


def test_damaged_checkpoints_are_refused_in_one_line(tmp_path):
    X, y, _, _ = digits()
    ensemble = DeepEnsemble(factory, 1, epochs=1, random_state=0, checkpoint=tmp_path).fit((X, y))
    path = tmp_path / "member-000.pt"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"member-000\.pt cannot be read \(.*delete this file"):
        ensemble.fit((X, y))
    (tmp_path / "run.json").write_text("[1")
    with pytest.raises(ValueError, match=r"run\.json cannot be read; delete the folder"):
        ensemble.fit((X, y))


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_checkpoint_cannot_run_code(tmp_path):
    X, y, _, _ = digits()
    ensemble = DeepEnsemble(factory, 1, epochs=1, random_state=0, checkpoint=tmp_path).fit((X, y))
    evil = Evil(tmp_path / "was-here")
    torch.save({"model": evil, "stopped": False}, tmp_path / "member-000.pt")
    with pytest.raises(ValueError, match="cannot be read"):
        ensemble.fit((X, y))
    assert not evil.path.exists()


# ---------------------------------------------------------------- refusals


def test_a_loss_that_is_not_finite_is_one_clear_error():
    X, y, _, _ = digits()
    wild = DeepEnsemble(factory, 2, epochs=5, optimizer=lambda p: torch.optim.SGD(p, lr=1e30))
    with pytest.raises(FloatingPointError, match=r"the loss became (nan|inf) \(member 0, epoch 0,"):
        wild.fit((X, y))
    assert not hasattr(wild, "members_")
    bad = X.copy()
    bad[3, 5] = np.nan
    with pytest.raises(ValueError, match=r"data: contains NaN or infinity \(maximum likelihood"):
        relative_likelihood().fit((bad, y))


class Stream(IterableDataset):
    def __iter__(self):
        yield torch.zeros(64), 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda X, y: X, "data: has no labels; pass"),
        (lambda X, y: Bare(X), "data: has no labels; pass"),
        (lambda X, y: (X, y, y), r"data: is a tuple of 3 parts; pass \(X, y\)"),
        (lambda X, y: (X, y[:-1]), r"y: has shape \(399,\) for 400 instances"),
        (lambda X, y: (X, y + 0.5), "y: has dtype torch.float64"),
        (lambda X, y: (X, y - 1), "y: contains -1; classes are numbered from 0"),
        (lambda X, y: (X, y + 1), "y: contains class 10, but the model has 10 outputs"),
        (lambda X, y: (X[:0], y[:0]), "data: is empty"),
        (lambda X, y: (X.astype(str), y), "X: is not numeric"),
        (lambda X, y: Stream(), r"data: is a stream \(IterableDataset\)"),
        (lambda X, y: DataLoader(Stream()), r"data: is a stream \(IterableDataset\)"),
    ],
)
def test_bad_data(data, message):
    X, y, _, _ = digits()
    with pytest.raises(ValueError, match=message):
        relative_likelihood(init=None).fit(data(X, y))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": ()}, "levels: is empty"),
        ({"levels": 0.5}, r"levels: is 0\.5; pass numbers"),
        (
            {"levels": (0.5, 1.5)},
            r"levels\[1\]: is 1.5; pass a number in \(0, 1\]",
        ),
        ({"levels": (0.0, 1.0)}, r"levels\[0\]: is 0.0; pass a number in"),
        ({"init": "zeros"}, "init: is 'zeros'; choose one of 'tobias'"),
        ({"scale": "sum"}, "scale: is 'sum'"),
        ({"bias": -1}, "bias: is -1"),
        ({"epochs": 0}, "epochs: is 0"),
        ({"member_epochs": 0}, "member_epochs: is 0"),
        ({"batch_size": 0}, "batch_size: is 0"),
        ({"learning_rate": 0}, "learning_rate: is 0"),
        ({"check_every": "hour"}, "check_every: is 'hour'"),
        ({"check_every": 0}, "check_every: is 0"),
        ({"optimizer": "adam"}, "optimizer: is 'adam'"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises(ValueError, match=message):
        relative_likelihood(**changes)


def test_bad_factories():
    X, y, _, _ = digits()
    with pytest.raises(ValueError, match="model_factory: is Linear; pass a function"):
        RelativeLikelihoodEnsemble(nn.Linear(64, 10))
    shared = nn.Linear(64, 10)
    with pytest.raises(ValueError, match="model_factory: returned the same network twice"):
        DeepEnsemble(lambda: shared, 2, epochs=1).fit((X, y))
    with pytest.raises(ValueError, match="model_factory: returned int"):
        DeepEnsemble(lambda: 3, 2, epochs=1).fit((X, y))

    def deep():
        return nn.Sequential(nn.Linear(64, 64), nn.Unflatten(1, (1, 64)))

    with pytest.raises(ValueError, match=r"maps \(64, 64\) to \(64, 1, 64\)"):
        DeepEnsemble(deep, 2, epochs=1).fit((X, y))


def test_asking_before_fitting():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="RelativeLikelihoodEnsemble: is not fitted; call fit"):
        relative_likelihood().predict_credal(digits()[0])


# ---------------------------------------------------------------- devices


def test_devices_that_are_not_there():
    X, y, _, _ = digits()
    with pytest.raises(ValueError, match="device: is 'meta', which has no data"):
        relative_likelihood(device="meta").fit((X, y))
    with pytest.raises(ValueError, match="device: is 'abacus', which cannot be used here"):
        relative_likelihood(device="abacus").fit((X, y))
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device: is 'cuda', which cannot be used here"):
            relative_likelihood(device="cuda").fit((X, y))
    assert as_device(None) == as_device("cpu") == CPU


def test_batches_go_to_the_device():
    # There may be no GPU; the device without memory shows what is sent where.
    meta = torch.device("meta")
    x = to_device(torch.zeros(3, 2, dtype=torch.float64), nn.Linear(2, 2), meta)
    assert (x.device, x.dtype) == (meta, torch.float32)
    assert to_device(torch.zeros(3, dtype=torch.long), nn.Linear(2, 2), meta).dtype == torch.long
    y = labels(torch.zeros(3, dtype=torch.uint8), 3, meta)
    assert (y.device, y.dtype) == (meta, torch.long)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_on_a_gpu():
    X, y, X_test, _ = digits()
    ensemble = relative_likelihood(device="cuda", levels=(0.3,)).fit((X, y))
    assert next(ensemble.members_[0].parameters()).device.type == "cuda"
    assert ensemble.predict_members(X_test).device == CPU
