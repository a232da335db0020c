"""Credal predictions of small networks on handwritten digits, in a minute on one core.

    pip install 'credalens[torch]'
    python examples/torch_ensembles.py

Five methods that predict credal sets: members at levels of relative likelihood, members that differ
in their seeds, dropout samples, interval heads, and variational networks under several priors. For
each method, the program prints the accuracy of the centre, the accuracy on the half of smallest
total uncertainty, and the mean epistemic uncertainty on digits and on images with shuffled pixels.
"""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import credalens as cl
from credalens.predictors.torch import (
    CredalBayesianEnsemble,
    CredalDeepEnsemble,
    DeepEnsemble,
    IntervalHead,
    MCDropout,
    RelativeLikelihoodEnsemble,
)

SEED = 0


def network() -> nn.Module:
    """Return a classifier of 8 x 8 images."""
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))


def interval_network() -> nn.Module:
    """Return the same network with an interval per class."""
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), IntervalHead(64, 10))


def main() -> None:
    """Train, predict and print one line for each method."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        (X / 16).astype(np.float32), y, test_size=0.4, random_state=SEED
    )
    shuffled = np.random.default_rng(SEED).permuted(X_test, axis=1)
    train = {"epochs": 15, "learning_rate": 0.01, "random_state": SEED}

    levels = RelativeLikelihoodEnsemble(
        network, levels=(0.2, 0.4, 0.6, 0.8, 1.0), member_epochs=60, check_every=5, **train
    ).fit((X_train, y_train))
    for level, R in zip(levels.levels_, levels.relative_likelihoods_, strict=True):
        print(f"member at level {level:.1f}: relative likelihood {R:.3f}")
    deep = DeepEnsemble(network, n_members=5, **train).fit((X_train, y_train))
    methods = {
        "relative likelihood": levels,
        "deep ensemble": deep,
        "dropout": MCDropout(deep.members_[0], n_samples=20, random_state=SEED),
        "interval heads": CredalDeepEnsemble(interval_network, **train).fit((X_train, y_train)),
        "Bayesian": CredalBayesianEnsemble(network, kl_weight=0.01, **train).fit(
            (X_train, y_train)
        ),
    }
    print(f"\n{'':<20}  accuracy  lowest TU   EU digits  EU shuffled")
    for name, method in methods.items():
        Q = method.predict_credal(X_test)
        correct = Q.center().argmax(-1).numpy() == y_test
        confident = np.argsort(cl.total_uncertainty(Q).numpy())[: len(correct) // 2]
        known, unknown = (
            float(cl.epistemic_uncertainty(method.predict_credal(x)).mean())
            for x in (X_test, shuffled)
        )
        print(f"{name:<20}{correct.mean():10.3f}{correct[confident].mean():12.3f}"
              f"{known:11.3f}{unknown:13.3f}")  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
