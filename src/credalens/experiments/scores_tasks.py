"""Scores for out-of-distribution detection and active learning, on handwritten digits."""

from __future__ import annotations

from typing import Any

import numpy as np

import credalens as cl
from credalens._backend import Array, limit_threads
from credalens.experiments.protocol import Config, seeds, stratified_split
from credalens.experiments.scores_compare import SCORES, all_scores
from credalens.predictors import CredalEnsembleClassifier

#: Repetitions of a task. In out-of-distribution detection, each digit is left out three times.
REPEATS = 30
N_DIGITS = 10
#: The tasks by name.
TASKS = {
    "ood-equal": "out-of-distribution detection, forests with equal hyperparameters",
    "ood-different": "out-of-distribution detection, forests of different size and depth",
    "active": "active learning",
}
#: Share of the digits that is not trained on.
TEST_SHARE = 0.4
#: Active learning: initial labels, labels per round, rounds.
INITIAL, BATCH, ROUNDS = 20, 20, 6
#: Trees of a forest: in out-of-distribution detection with equal forests, in active learning.
TREES, ACTIVE_TREES = 50, 10
#: Forests in active learning.
ACTIVE_MEMBERS = 5


@limit_threads(1)
def run_task(name: str, X: Array, y: Array, split: int, config: Config) -> dict[str, Any]:
    """Return one number per score: an AUROC, or the mean accuracy of a learning curve."""
    if name == "active":
        measures = _active_learning(X, y, split, config)
    else:
        measures = _unknown_digit(name, X, y, split, config)
    return {"dataset": name, "split": split, "measures": measures}


def _unknown_digit(name: str, X: Array, y: Array, repeat: int, config: Config) -> dict[str, float]:
    """Return the AUROC of each score as a detector of a digit that was not trained on."""
    from sklearn.ensemble import RandomForestClassifier

    split_seed, forest_seed, sample_seed = seeds(config, name, repeat)
    digit = repeat % N_DIGITS
    known = np.flatnonzero(y != digit)
    train, test = stratified_split(y[known], TEST_SHARE, split_seed)
    forest = RandomForestClassifier(TREES) if name == "ood-equal" else None
    model = CredalEnsembleClassifier(forest, n_members=config.members, random_state=forest_seed)
    model.fit(X[known[train]], y[known[train]])
    inside, outside = (
        all_scores(model.predict_credal(part), sample_seed)[0]
        for part in (X[known[test]], X[y == digit])
    )
    return {score: cl.ood_scores(inside[score], outside[score]).auroc for score in SCORES}


def _active_learning(X: Array, y: Array, repeat: int, config: Config) -> dict[str, float]:
    """Return the mean accuracy over the rounds, of each score and of random sampling."""
    from sklearn.ensemble import RandomForestClassifier

    split_seed, forest_seed, _ = seeds(config, "active", repeat)
    pool, test = stratified_split(y, TEST_SHARE, split_seed)
    found = cl.active_learning_curve(
        CredalEnsembleClassifier(RandomForestClassifier(ACTIVE_TREES), n_members=ACTIVE_MEMBERS),
        X[pool], y[pool], X[test], y[test], list(SCORES),
        n_initial=INITIAL, batch_size=BATCH, n_rounds=ROUNDS, n_repeats=1,
        random_state=forest_seed,
    )  # fmt: skip
    return {name: found.auc(name) for name in found.accuracy}
