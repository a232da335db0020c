"""Which predictions to review: thresholds from labels, a share or the caller."""

import math

import numpy as np
import pytest

import credalens as cl
from credalens.evaluation.kinds import Rule
from credalens.evaluation.review import TARGETS, choose_review
from credalens.report.data import review_kinds


def scored(n=5000, risk=0.2, seed=0):
    """Scores on [0, 1] and predictions that are wrong with probability ``risk * score``."""
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    return score, rng.random(n) > risk * score


class TestShare:
    @pytest.mark.parametrize("share", [0.01, 0.1, 0.29, 0.5, 0.999])
    def test_distinct_scores(self, share):
        score = np.random.default_rng(1).permutation(1000) / 1000
        review = choose_review(score, share=share)
        assert review.n_review == math.ceil(1000 * share - 1e-9)
        assert review.n_review == (score > review.threshold).sum()
        assert (review.source, review.guarantees, review.best) == ("share", (), None)

    def test_equal_scores_are_reviewed_together(self):
        score = np.repeat([0.1, 0.5, 0.9], [60, 30, 10])
        assert choose_review(score, share=0.05).n_review == 10
        assert choose_review(score, share=0.2).n_review == 40
        assert choose_review(score, share=0.7).n_review == 40  # the others are equally certain
        assert choose_review(np.ones(5)).n_review == 0

    def test_a_tenth_by_default(self):
        assert choose_review(np.arange(200.0)).n_review == 20


class TestLabels:
    @pytest.mark.parametrize(
        ("risk", "target"), [(0.01, 0.99), (0.04, 0.95), (0.15, 0.95), (0.25, 0.9), (0.5, 0.9)]
    )
    def test_the_largest_target_that_keeps_half(self, risk, target):
        score, correct = scored(risk=risk)
        review = choose_review(score, correct)
        kept = {one.target: one.kept for one in review.guarantees}
        assert tuple(kept) == TARGETS
        enough = [t for t, share in kept.items() if share >= 0.5]
        assert review.best.target == (max(enough) if enough else max(kept, key=kept.get))
        assert review.best.target == target
        for one in review.guarantees:
            level = 1 - 0.05 / 3
            assert one == cl.guaranteed_threshold(correct, score, one.target, level, 0)

    def test_one_target(self):
        score, correct = scored()
        review = choose_review(score, correct, target=0.92)
        assert review.best == cl.guaranteed_threshold(correct, score, 0.92, 0.95, 0)
        assert review.threshold == review.best.threshold
        assert review.source == "labels"

    def test_no_target_can_be_reached(self):
        score, correct = scored(risk=0.0)
        review = choose_review(score, np.zeros_like(correct))
        assert review.best is None
        assert (review.source, review.n_review) == ("share", 500)

    def test_everything_can_be_kept(self):
        score, correct = scored(risk=0.0)
        review = choose_review(score, correct)
        assert review.best.threshold == math.inf
        assert (review.source, review.n_review) == ("share", 500)

    def test_the_caller_decides(self):
        score, correct = scored()
        assert choose_review(score, correct, threshold=0.7).threshold == 0.7
        assert choose_review(score, correct, threshold=0.7).source == "given"
        assert choose_review(score, correct, share=0.3).n_review == 1500
        assert choose_review(score, correct, share=0.3).best is not None  # reported beside it

    @pytest.mark.slow
    def test_the_guarantee_holds_for_all_targets_together(self):
        # P(correct | score <= t) = 1 - risk * t / 2 for uniform scores.
        failures = 0
        for seed in range(300):
            score, correct = scored(1500, 0.3, seed)
            found = choose_review(score, correct, random_state=seed).guarantees
            thresholds = [(one.threshold, one.target) for one in found if one.threshold is not None]
            failures += any(1 - 0.15 * min(t, 1) < target for t, target in thresholds)
        assert failures <= 25  # 15 expected at most, three standard deviations above


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0}, "share: is 0"),
        ({"share": 1}, "share: is 1"),
        ({"threshold": -0.1}, "review_threshold: is -0.1"),
        ({"target": 0.9}, "target_accuracy: needs labels"),
        ({"correct": [True] * 9, "target": 2}, "target_accuracy: is 2"),
    ],
)
def test_invalid_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        choose_review(np.arange(9.0), **options)


@pytest.mark.parametrize("distance", ["tv", "ordinal", "kolmogorov"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_reviewed_prediction_has_a_reason(distance, dtype):
    members = np.random.default_rng(0).dirichlet(np.full(4, 0.3), (2000, 3)).astype(dtype)
    u = cl.quantify(members, distance)
    for threshold in np.quantile(u.total, [0.0, 0.3, 0.7, 0.99]):
        kinds = review_kinds(u, threshold, Rule(threshold / 2, 1.0))
        assert ((kinds > 0) == (u.total > threshold)).all()
