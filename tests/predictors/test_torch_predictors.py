"""Relative-likelihood ensembles, and what all ensembles of networks predict."""

import io
import math
import sys
import warnings

import numpy as np
import pytest
from scipy.special import softmax

import credalens as cl

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import (  # noqa: E402
    DataLoader,
    Dataset,
    SubsetRandomSampler,
    TensorDataset,
)

from credalens.predictors import torch as predictors  # noqa: E402
from credalens.predictors.torch import DeepEnsemble, RelativeLikelihoodEnsemble  # noqa: E402
from credalens.predictors.torch.data import as_data  # noqa: E402
from credalens.predictors.torch.training import mean_log_likelihood  # noqa: E402
from networks import (  # noqa: E402
    Bare,
    assert_same,
    digits,
    factory,
    fitted,
    log_likelihoods,
    relative_likelihood,
    states,
)

CPU = torch.device("cpu")


# ---------------------------------------------------------------- the condition


@pytest.mark.parametrize("check_every", ["epoch", "batch", 3])
def test_members_reach_their_levels_and_stop_there(check_every):
    X, y, _, _ = digits()
    ensemble = relative_likelihood(check_every=check_every).fit((X, y))
    assert ensemble.levels_ == [1.0, 0.2, 0.5, 0.7]
    assert ensemble.unreached_ == []
    means = [ll.mean() for ll in log_likelihoods(ensemble.members_, X, y)]
    R = np.exp(np.array(means) - means[0])
    np.testing.assert_allclose(R, ensemble.relative_likelihoods_, rtol=1e-5)
    assert all(r >= level for r, level in zip(ensemble.relative_likelihoods_, ensemble.levels_,
                                              strict=True))  # fmt: skip
    # Stopped early: no member went on to the next level.
    assert R[1] < 0.5
    assert R[2] < 0.7
    if check_every == "batch":
        np.testing.assert_allclose(R[1:], [0.2, 0.5, 0.7], atol=0.05)


def test_total_is_the_product_over_all_instances():
    X, y, _, _ = digits()
    X, y = X[:20], y[:20]
    ensemble = relative_likelihood(
        scale="total", levels=(0.1, 0.5), epochs=60, member_epochs=200, init=None,
        check_every="batch",
    ).fit((X, y))  # fmt: skip
    assert ensemble.levels_ == [1.0, 0.1, 0.5]
    sums = np.array([ll.sum() for ll in log_likelihoods(ensemble.members_, X, y)])
    R = np.exp(sums - sums[0])
    np.testing.assert_allclose(R, ensemble.relative_likelihoods_, rtol=1e-4)
    assert (np.array([1, 0.1, 0.5]) - 1e-4 <= R).all()
    assert R[1] < 0.5


def test_total_is_hopeless_on_many_instances_and_says_so():
    X, y, _, _ = digits()
    ensemble = relative_likelihood(scale="total", levels=(0.9,), member_epochs=1)
    with pytest.warns(UserWarning, match=r"levels not reached in 1 epochs.*0\.9.*scale='mean'"):
        ensemble.fit((X, y))
    assert ensemble.unreached_ == [0.9]


def test_a_level_that_is_not_reached_is_said_and_left_out():
    X, y, _, _ = digits()
    ensemble = relative_likelihood(levels=(0.1, 0.95), bias=100.0, member_epochs=3)
    with pytest.warns(UserWarning, match=r"levels not reached in 3 epochs and omitted: 0\.1 \(R ="):
        ensemble.fit((X, y))
    assert ensemble.levels_ == [1.0]
    assert ensemble.unreached_ == [0.1, 0.95]
    assert len(ensemble.members_) == len(ensemble.classes_) == 1
    assert ensemble.predict_members(X).shape == (400, 1, 10)


def test_a_member_that_beats_the_maximum_likelihood_model_is_said():
    X, y, _, _ = digits()
    ensemble = relative_likelihood(epochs=1, member_epochs=40, levels=(1 - 1e-9,), bias=0.1)
    with pytest.warns(UserWarning, match=r"member 1 has a larger likelihood .*raise epochs"):
        ensemble.fit((X, y))
    assert ensemble.relative_likelihoods_[0] == 1
    assert ensemble.relative_likelihoods_[1] > 1


def test_the_sum_is_given_up_once_it_is_too_low():
    X, y, _, _ = digits()
    data = as_data((X, y), batch_size=10, labels=True)
    model, calls = factory(), []
    model.register_forward_hook(lambda *_: calls.append(1))
    whole = mean_log_likelihood(model, data, CPU, seed=0)
    assert whole == pytest.approx(log_likelihoods([model], X, y)[0].mean(), rel=1e-5)
    n_all = len(calls) - 1
    assert mean_log_likelihood(model, data, CPU, seed=0, floor=whole - 1e-9) == whole
    calls.clear()
    assert mean_log_likelihood(model, data, CPU, seed=0, floor=whole / 4) < whole / 4
    assert len(calls) == math.ceil(n_all / 4)


def test_evaluation_leaves_modes_alone():
    X, y, _, _ = digits()
    model = factory().train()
    model[0].eval()
    before = [m.training for m in model.modules()]
    mean_log_likelihood(model, as_data((X, y), batch_size=64, labels=True), CPU, seed=0)
    assert [m.training for m in model.modules()] == before


# ---------------------------------------------------------------- TOBIAS


def test_classes_are_taken_in_turn():
    X, y, _, _ = digits()
    made = []

    def three():
        made.append(nn.Linear(64, 3))
        return made[-1]

    started = []

    def optimizer(parameters):
        started.append([p.detach().clone() for p in parameters])
        return torch.optim.Adam(parameters, lr=0.05)

    small = y < 3
    ensemble = RelativeLikelihoodEnsemble(
        three, levels=(0.1, 0.1, 0.2, 0.3, 0.4), bias=7.0, epochs=10, optimizer=optimizer,
        member_epochs=100, random_state=1,
    ).fit((X[small], y[small]))  # fmt: skip
    assert ensemble.classes_ == [None, 1, 2, 0, 1, 2]
    biases = [bias.numpy() for _, bias in started]
    assert (np.abs(biases[0]) < 1).all()
    for bias, pushed in zip(biases[1:], ensemble.classes_[1:], strict=True):
        assert bias[pushed] == 7
        assert (np.abs(np.delete(bias, pushed)) < 1).all()  # everything else as usual


def test_without_tobias_nothing_is_pushed():
    X, y, _, _ = digits()
    ensemble = relative_likelihood(init=None, levels=(0.3, 1.0)).fit((X, y))
    assert ensemble.classes_ == [None, None]


class Twisted(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(64, 10)
        self.first = nn.Linear(64, 64)

    def forward(self, x):
        return self.last(self.first(x))


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (
            lambda: nn.Linear(64, 10, bias=False),
            "without a bias in its last nn.Linear; .*init=None",
        ),
        (lambda: nn.Sequential(nn.Conv1d(64, 10, 1), nn.Flatten()), "without an nn.Linear"),
        (Twisted, "10 classes whose last nn.Linear has 64 outputs"),
    ],
)
def test_networks_that_cannot_be_pushed(factory, message):
    X, y, _, _ = digits()
    X = X[:, :, None] if "without an" in message else X
    with pytest.raises(ValueError, match=message):
        RelativeLikelihoodEnsemble(factory, epochs=10**9).fit((X, y))


# ---------------------------------------------------------------- predictions


def test_predictions_are_the_members_softmax():
    _, _, X_test, y_test = digits()
    ensemble = fitted()
    P = ensemble.predict_members(X_test)
    assert P.shape == (200, 4, 10)
    assert P.dtype == torch.float32
    assert not P.requires_grad
    with torch.no_grad():
        expected = [softmax(m(torch.tensor(X_test)).double().numpy(), axis=1)
                    for m in ensemble.members_]  # fmt: skip
    np.testing.assert_allclose(P.numpy(), np.stack(expected, axis=1), atol=1e-6)
    assert (P[:, 0].argmax(1).numpy() == y_test).mean() > 0.8
    Q = ensemble.predict_credal(X_test)
    assert isinstance(Q, cl.ConvexHull)
    assert torch.equal(Q.members, P)


def test_sets_of_labels():
    X, y, _, _ = digits()
    ensemble = DeepEnsemble(factory, 3, epochs=1, random_state=0).fit((X, y))
    sets = ensemble.predict_set(X[:50])
    assert sets.dtype == torch.bool
    assert tuple(sets.shape) == (50, 10)
    members = ensemble.predict_members(X[:50]).numpy()
    np.testing.assert_array_equal(sets.numpy(), cl.admissible(members))
    assert (ensemble.predict_set(X[:50], "maximal") | ~sets).all()


def test_a_member_twice_changes_nothing():
    _, _, X_test, _ = digits()
    P = fitted().predict_members(X_test)
    once, twice = cl.quantify(P), cl.quantify(torch.cat([P, P[:, 1:2]], dim=1))
    assert torch.equal(once.total, twice.total)
    assert torch.equal(once.epistemic, twice.epistemic)
    for end in ("lower", "upper"):
        a, b = (getattr(u.aleatoric, end).numpy() for u in (once, twice))
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_levels_spread_the_members():
    _, _, X_test, _ = digits()
    P = fitted().predict_members(X_test)
    few = cl.epistemic_uncertainty(P[:, [0, 3]])
    assert (cl.epistemic_uncertainty(P) >= few - 1e-6).all()
    assert cl.epistemic_uncertainty(P).mean() > 1.2 * few.mean()


class Pairs(Dataset):
    def __init__(self, X, y):
        self.X, self.y = torch.tensor(X), torch.tensor(y)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


def test_every_kind_of_data_gives_the_same_predictions():
    _, _, X, y = digits()
    ensemble = fitted()
    expected = ensemble.predict_members(X)
    tensors = TensorDataset(torch.tensor(X), torch.tensor(y))
    for data in (
        (X, y),
        torch.tensor(X),
        X.astype(np.float64),
        X.astype(">f4"),
        X[::-1].copy()[::-1],
        X.tolist(),
        tensors,
        Pairs(X, y),
        Bare(X),
        DataLoader(tensors, batch_size=7),
        DataLoader(Pairs(X, y), batch_size=7, shuffle=True, drop_last=True),
    ):
        np.testing.assert_allclose(ensemble.predict_members(data), expected, atol=1e-6)


def test_an_empty_array_gives_an_empty_batch():
    Q = fitted().predict_credal(np.zeros((0, 64), np.float32))
    assert Q.batch_shape == (0,)
    assert Q.n_classes == 10


def test_training_data_of_every_kind():
    X, y, X_test, y_test = digits()
    ensemble = DeepEnsemble(factory, 1, epochs=12, learning_rate=0.02, random_state=0)
    tensors = TensorDataset(torch.tensor(X), torch.tensor(y))
    same = states(ensemble.fit((X, y)))
    assert_same(states(ensemble.fit(tensors)), same)
    assert_same(states(ensemble.fit([X.astype(np.float64), y.astype(np.uint8)])), same)
    loader = DataLoader(Pairs(X, y), 64, shuffle=True, generator=torch.Generator())
    for data in (Pairs(X, y), DataLoader(tensors, 64, shuffle=True), loader):
        first = states(ensemble.fit(data))
        P = ensemble.predict_members(X_test)[:, 0]
        assert (P.argmax(1).numpy() == y_test).mean() > 0.75
        assert_same(states(ensemble.fit(data)), first)


def test_the_likelihood_is_that_of_the_whole_training_set():
    X, y, _, _ = digits()
    part = list(range(0, 400, 2))
    loader = DataLoader(Pairs(X, y), 64, sampler=SubsetRandomSampler(part))
    for data, rows in (
        (loader, part),
        (DataLoader(Pairs(X, y), 300, shuffle=True, drop_last=True), range(400)),
    ):
        ensemble = relative_likelihood(levels=(0.3,), init=None, epochs=20).fit(data)
        means = [ll.mean() for ll in log_likelihoods(ensemble.members_, X[rows], y[rows])]
        np.testing.assert_allclose(
            np.exp(np.array(means) - means[0]), ensemble.relative_likelihoods_, rtol=1e-5
        )


def test_lazy_layers_and_batch_normalisation():
    X, y, _, _ = digits()

    def lazy():
        return nn.Sequential(nn.LazyLinear(16), nn.BatchNorm1d(16), nn.ReLU(), nn.LazyLinear(10))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch's on lazy modules
        # 129 = 2 * 64 + 1: the single instance left over would stop batch normalisation.
        ensemble = RelativeLikelihoodEnsemble(
            lazy, levels=(0.2,), bias=3.0, epochs=8, learning_rate=0.02, random_state=0
        ).fit((X[:129], y[:129]))
    assert ensemble.levels_ == [1.0, 0.2]
    batches = list(as_data((X[:129], y[:129]), 64, labels=True).shuffled(0))
    assert [len(x) for x, _ in batches] == [64, 65]
    seen = torch.cat([x for x, _ in batches])
    assert torch.equal(
        seen.sum(0).round(decimals=3), torch.tensor(X[:129]).sum(0).round(decimals=3)
    )


# ---------------------------------------------------------------- seeds


def test_the_seed_decides_and_the_global_generator_is_left_alone():
    X, y, X_test, _ = digits()
    ensemble = relative_likelihood(levels=(0.3,), epochs=4)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = states(ensemble.fit((X, y)))
    ensemble.predict_members(X_test)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert_same(states(ensemble.fit((X, y))), first)
    other = states(relative_likelihood(levels=(0.3,), epochs=4, random_state=1).fit((X, y)))
    assert not torch.equal(other[0]["0.weight"], first[0]["0.weight"])
    assert not torch.equal(first[0]["0.weight"], first[1]["0.weight"])


def test_members_are_asked_in_evaluation_mode():
    _, _, X_test, _ = digits()
    ensemble = fitted()
    assert not any(m.training for member in ensemble.members_ for m in member.modules())
    P = ensemble.predict_members(X_test)
    ensemble.members_[1].train()
    assert torch.equal(ensemble.predict_members(X_test), P)


# ---------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal_only(monkeypatch):
    X, y, _, _ = digits()
    for stream, progress, shown in (
        (Terminal(), None, True),
        (Terminal(), False, False),
        (io.StringIO(), None, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        relative_likelihood(levels=(0.2,), epochs=4, progress=progress).fit((X, y))
        assert bool(stream.getvalue()) == shown
        assert ("level 0.2" in stream.getvalue()) == shown


def test_the_names_exist():
    for name in predictors.__all__:
        assert getattr(predictors, name).__doc__
