"""Small networks on handwritten digits, for the tests that need PyTorch."""

import functools

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_digits

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from credalens.predictors.torch import RelativeLikelihoodEnsemble  # noqa: E402

torch.set_num_threads(1)  # Small networks are faster so, and other processes are not disturbed.


@functools.cache
def digits(n=400):
    """The first `n` for training, the next 200 for tests."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X.flags.writeable = y.flags.writeable = False
    return X[:n], y[:n], X[n : n + 200], y[n : n + 200]


def factory():
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 10))


def relative_likelihood(**changes):
    settings = {
        "levels": (0.2, 0.5, 0.7, 1.0),
        "bias": 5.0,
        "epochs": 12,
        "learning_rate": 0.02,
        "random_state": 0,
    }
    return RelativeLikelihoodEnsemble(factory, **{**settings, **changes})


@functools.cache
def fitted():
    X, y, _, _ = digits()
    return relative_likelihood().fit((X, y))


def log_likelihoods(members, X, y):
    """The definition: the logarithm of the probability of each label, in float64."""
    with torch.no_grad():
        outputs = [member.eval()(torch.tensor(X)).double().numpy() for member in members]
    return [log_softmax(o, axis=1)[np.arange(len(y)), y] for o in outputs]


def states(ensemble):
    return [{k: v.clone() for k, v in m.state_dict().items()} for m in ensemble.members_]


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.keys() == b.keys()
        assert all(torch.equal(a[k], b[k]) for k in a)


class Bare:
    """A dataset by behaviour alone, without labels."""

    def __init__(self, X):
        self.X = torch.tensor(X)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        if not 0 <= i < len(self.X):
            raise IndexError(i)
        return self.X[i]
