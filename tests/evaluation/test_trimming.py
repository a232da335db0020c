"""The alpha-cut: who is plausible enough."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl
from oracles_diagnosis import forests, with_member


def test_the_cut_keeps_what_is_likely_enough():
    P, y = forests(M=4)
    P[:, 2] = 0.25
    ratio = cl.diagnose_members(P, y).relative_likelihood
    assert ratio[2] < 0.5 < np.delete(ratio, 2).min()
    cut, kept = cl.trim(P, alpha=0.5, y=y, return_kept=True)
    assert kept.tolist() == [0, 1, 3]
    assert_array_equal(cut, P[:, kept])
    for alpha in (0, 0.3, float(ratio[2]), 0.9, 1):
        _, kept = cl.trim(P, alpha, y, return_kept=True)
        assert_array_equal(kept, np.flatnonzero(ratio >= alpha))
    total = cl.diagnose_members(P, y).likelihood_ratio("total")
    _, kept = cl.trim(P, 0.5, y, scale="total", return_kept=True)
    assert_array_equal(kept, np.flatnonzero(total >= 0.5))


def test_the_cut_undoes_the_pathological_case():
    P, y = forests()
    spoilt = with_member(P, [0, 0, 0, 1])
    assert cl.total_uncertainty(spoilt).mean() > 2 * cl.total_uncertainty(P).mean()
    assert_array_equal(cl.trim(spoilt, alpha=0.2, y=y), P)
    assert_array_equal(cl.trim(spoilt, alpha=0.2), P)  # the vote stands for the labels
    ratio = cl.diagnose_members(spoilt[:300], y[:300]).relative_likelihood
    assert_array_equal(cl.trim(spoilt[300:], 0.2, likelihood=ratio), P[300:])


def test_the_cut_is_of_the_kind_that_came_in():
    P, y = forests(M=3)
    hull = cl.trim(cl.ConvexHull(P.astype(np.float32)), 0.2, y)
    assert isinstance(hull, cl.ConvexHull)
    assert hull.dtype == np.float32
    assert isinstance(cl.trim(P.tolist(), 0.2, y), np.ndarray)
    empty, kept = cl.trim(np.empty((0, 3, 2)), 0.5, return_kept=True)
    assert empty.shape == (0, 3, 2)
    assert kept.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 1.5}, r"alpha: is 1.5; pass a number in \[0, 1\]"),
        ({"alpha": float("nan")}, "alpha: is nan"),
        ({"alpha": "much"}, "alpha: is 'much'"),
        ({"y": [0, 1, 0], "likelihood": [1, 1]}, "likelihood: is passed together with y"),
        ({"likelihood": [1, 2]}, r"likelihood: is 2 at index 1 \(zero-based\)"),
        ({"likelihood": [1, 1, 1]}, "likelihood: has 3 entries; pass 2"),
        ({"likelihood": [0.2, 0.1], "alpha": 0.5}, "alpha: is 0.5, above every likelihood"),
        ({"y": [0, 1, 0], "scale": "log"}, "scale: is 'log'"),
        ({"y": [0, 1, 1]}, "assign probability 0 to an observed label"),
    ],
)
def test_cuts_that_are_refused(arguments, message):
    P = np.eye(2)[[[0, 1], [1, 0], [0, 0]]]
    with pytest.raises(ValueError, match=message):
        cl.trim(P, **arguments)
    assert cl.trim(P, 0, [0, 1, 1]).shape == (3, 2, 2)
