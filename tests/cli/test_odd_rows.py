"""Rows that are not distributions."""

import numpy as np
import pytest

import real_files as real
from odd_files import (
    FIX_ROW,
    PAIR,
    ROW,
    P,
    check,
    npy,
    two,
    with_options,
)
from real_files import COUNTS, LOGITS, N

#: Rows rounded to one digit: their sums miss 1 by up to 0.1.
COARSE = np.array([[0.3, 0.3, 0.3], [0.1, 0.1, 0.9], [0.6, 0.3, 0.2], [0.2, 0.3, 0.4]])
COARSE_SUMS = COARSE / COARSE.sum(axis=1, keepdims=True)
SCORES = np.random.default_rng(0).random((N, 3))
LOG_ZERO = np.array([[0, -np.inf, -np.inf], [np.log(0.5), -np.inf, np.log(0.5)]])
CASES = {
    # Rows that are not distributions.
    "logits": (
        npy(LOGITS[:, 0]),
        ROW + "class 2 is negative; pass --logits if these are logits",
        "--logits",
        P[:, None],
    ),
    "positive logits": (
        npy(LOGITS[:, 0] - LOGITS.min() + 1),
        ROW + "sums to 27.16076045; pass --logits if these are logits",
        "--logits",
        P[:, None],
    ),
    "log-probabilities": (
        npy(np.log(P)),
        ROW + "class 0 is negative; these are log-probabilities: pass --logits",
        "--logits",
        P[:, None],
    ),
    "logarithms of 0": (
        npy(LOG_ZERO),
        ROW + "class 1 is -inf; these are log-probabilities: pass --logits",
        "--logits",
        np.array([[[1.0, 0, 0]], [[0.5, 0, 0.5]]]),
    ),
    "logits of no class": (
        with_options(npy(np.array([[-np.inf, -np.inf], [1.0, -np.inf]])), "--logits"),
        ROW + "class 0 is -inf; " + FIX_ROW,
        "--on-error skip",
        np.array([[[1.0, 0.0]]]),
    ),
    "percentages": (
        npy(100 * P),
        ROW + "sums to 100; these look like percentages: pass --percent",
        "--percent",
        P[:, None],
    ),
    "percentages of 100.5": (
        npy(100.5 * P),
        ROW + "sums to 100.5; these look like percentages: pass --percent",
        "--percent",
        ROW + "sums to 1.005; pass --normalize to rescale",
    ),
    "percentages of 100.5, rescaled": (
        with_options(npy(100.5 * P), "--percent"),
        ROW + "sums to 1.005; pass --normalize to rescale",
        "--normalize",
        P[:, None],
    ),
    "counts": (
        npy(COUNTS),
        ROW + "sums to 50; pass --normalize if these are counts",
        "--normalize",
        COUNTS[:, None] / 50,
    ),
    "equal sums": (
        npy(3 * P),
        ROW + "sums to 3; pass --normalize to rescale",
        "--normalize",
        P[:, None],
    ),
    "several models in a row": (
        npy(PAIR.reshape(N, -1)),
        ROW + "sums to 2; each row consists of 2 distributions: save x.reshape(-1, 2, 3), or one "
        "file per model",
        npy(PAIR.reshape(N, -1).reshape(-1, 2, 3)),
        PAIR,
    ),
    "several models by class": (
        npy(PAIR.swapaxes(1, 2).reshape(N, -1)),
        ROW + "sums to 2; each row consists of 2 distributions: save x.reshape(-1, 3, 2)"
        ".swapaxes(1, 2), or one file per model",
        npy(PAIR.swapaxes(1, 2).reshape(N, -1).reshape(-1, 3, 2).swapaxes(1, 2)),
        PAIR,
    ),
    "several models in percent": (
        with_options(npy(100 * PAIR.reshape(N, -1)), "--percent"),
        ROW + "sums to 2; each row consists of 2 distributions: save x.reshape(-1, 2, 3), or one "
        "file per model",
        lambda f: [*npy(100 * PAIR)(f), "--percent"],
        PAIR,
    ),
    "logits of several models": (
        with_options(npy(PAIR.reshape(N, -1)), "--logits"),
        "{a}: --logits was passed, but its rows are several distributions; leave out --logits, and "
        "save one file per model, or pass --force-logits to take their softmax",
        two(PAIR[:, 0], PAIR[:, 1]),
        PAIR,
    ),
    "one digit": (
        npy(COARSE),
        ROW + "sums to 0.9; pass --normalize to rescale",
        "--normalize",
        COARSE_SUMS[:, None],
    ),
    "one row": (
        npy(np.array([[1.0, 0.5, 0.5]])),
        ROW + "sums to 2; pass --logits for logits, --normalize for weights, or --on-error skip",
        "--normalize",
        np.array([[[0.5, 0.25, 0.25]]]),
    ),
    "scores": (
        npy(SCORES),
        ROW + f"sums to {SCORES[0].sum():.10g}; these are scores in [0, 1] that "
        "do not sum to 1, such as sigmoid outputs: save softmax outputs, or pass --axes "
        "rows,models if these are of class 1 by several models",
        "--axes rows,models",
        np.stack([1 - SCORES, SCORES], axis=-1),
    ),
    "rounded below 0": (
        npy(np.array([[1.001, -0.001], [0.25, 0.75], [1.002, -0.002]])),
        ROW + "class 1 is negative; write numpy.clip(x, 0, None) of the probabilities",
        lambda f: npy(np.array([[1.001, 0], [0.25, 0.75], [1.002, 0]]))(f),
        "{a}: row 2 (zero-based): sums to 1.002; pass --normalize to rescale, " + FIX_ROW,
    ),
    "one wrong row": (
        npy(np.r_[P, [[0.5, 0.5, 0.5]]]),
        "{a}: row 40 (zero-based): sums to 1.5; " + FIX_ROW,
        "--on-error skip",
        P[:, None],
    ),
    "one rounded row": (
        npy(np.r_[P, [[0.5, 0.25, 0.3]]]),
        "{a}: row 40 (zero-based): sums to 1.05; pass --normalize to rescale, " + FIX_ROW,
        "--normalize",
        np.r_[P, [[0.5 / 1.05, 0.25 / 1.05, 0.3 / 1.05]]][:, None],
    ),
    "nan": (
        npy(np.r_[P, [[0.5, np.nan, 0.5]]]),
        "{a}: row 40 (zero-based): class 1 is NaN; " + FIX_ROW,
        "--on-error skip",
        P[:, None],
    ),
    "infinite": (
        npy(np.r_[P, [[0.5, np.inf, 0.5]]]),
        "{a}: row 40 (zero-based): class 1 is infinite; " + FIX_ROW,
        "--on-error skip",
        P[:, None],
    ),
    "one of two above 1": (
        npy(np.array([[1.5], [0.5]])),
        ROW + "the probability 1.5 is above 1; "
        "pass --logits for logits, or save one column per class",
        "--logits",
        real.softmax(np.array([[[0, 1.5]], [[0, 0.5]]])),
    ),
    "one of two in percent": (
        npy(np.array([[75.0], [50.0]])),
        ROW + "the probability 75 is above 1; "
        "pass --percent if these are percentages, not predicted classes",
        "--percent",
        np.array([[[0.25, 0.75]], [[0.5, 0.5]]]),
    ),
    "one of two in percent, not rounded": (
        npy(np.array([[75.5], [50.0]])),
        ROW + "the probability 75.5 is above 1; "
        "pass --percent for percentages, or --logits for logits",
        "--percent",
        np.array([[[0.245, 0.755]], [[0.5, 0.5]]]),
    ),
    "logits of distributions": (
        with_options(npy(P), "--logits"),
        "{a}: --logits was passed, but its rows are distributions; "
        "leave out --logits, or pass --force-logits to take their softmax",
        "--force-logits",
        real.softmax(P)[:, None],
    ),
    "logits of percentages": (
        with_options(npy(100 * P), "--logits"),
        "{a}: --logits was passed, but its rows are "
        "percentages; leave out --logits and pass --percent, or pass --force-logits to take their "
        "softmax",
        lambda f: [*npy(100 * P)(f), "--percent"],
        P[:, None],
    ),
    "logits of coarse rows": (
        with_options(npy(COARSE), "--logits"),
        "{a}: --logits was passed, but its rows are nearly "
        "distributions; leave out --logits and pass --normalize, or pass --force-logits to take "
        "their softmax",
        lambda f: [*npy(COARSE)(f), "--normalize"],
        COARSE_SUMS[:, None],
    ),
    "percent of distributions": (
        with_options(npy(P), "--percent"),
        "{a}: --percent was passed, but its rows sum to 1; leave out --percent",
        npy(P),
        P[:, None],
    ),
    "normalize logits": (
        with_options(npy(LOGITS[:, 0]), "--normalize"),
        ROW + "class 2 is negative; pass --logits if these are logits",
        lambda f: [*npy(LOGITS[:, 0])(f), "--logits"],
        P[:, None],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_message_and_what_it_suggests(case, tmp_path):
    check(CASES[case], tmp_path)
