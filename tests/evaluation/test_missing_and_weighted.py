"""Diagnosis, alpha-cuts and checks of ensembles with weights and missing members."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from oracles_diagnosis import epistemic, forests, total

N = 120
P, Y = forests(n=N, M=5, K=3, noise=1.2)
MASK = np.random.default_rng(2).random((N, 5)) < 0.7
MASK[:, 1] |= MASK.sum(axis=1) < 1
MASK[0] = [False, False, True, False, False]
WEIGHTS = np.array([1.0, 2.0, 0.5, 0.0, 3.0]) + np.eye(5)[3] * 0.25


def vote(rows, weights):
    """The class of the largest sum of weights; of tied ones that of the largest mean."""
    sums = [math.fsum(w for row, w in zip(rows, weights, strict=True) if row.argmax() == y)
            for y in range(rows.shape[1])]  # fmt: skip
    mean = (rows * np.asarray(weights)[:, None]).sum(axis=0)
    best = [y for y, value in enumerate(sums) if value >= max(sums) - 1e-9]
    return max(best, key=lambda y: (mean[y], -y))


def figures(weights):
    """The figures of `diagnose_members`, instance by instance."""
    n, M, _ = P.shape
    found = {name: np.zeros(M) for name in ("decides_total", "total_change", "epistemic_change",
                                            "accuracy", "brier", "agreement", "log_likelihood",
                                            "accuracy_change")}  # fmt: skip
    compared = np.zeros(M)
    for p, y, present in zip(P, Y, MASK, strict=True):
        tu, eu = total(p[present]), epistemic(p[present])
        everyone = vote(p[present], weights[present])
        for m in np.flatnonzero(present):
            found["accuracy"][m] += p[m].argmax() == y
            found["brier"][m] += ((p[m] - np.eye(3)[y]) ** 2).sum()
            found["log_likelihood"][m] += math.log(p[m, y])
            others = present & (np.arange(M) != m)
            if not others.any():
                continue
            compared[m] += 1
            found["decides_total"][m] += abs(total(p[others]) - tu) > 1e-12
            found["total_change"][m] += total(p[others]) - tu
            found["epistemic_change"][m] += epistemic(p[others]) - eu
            without = vote(p[others], weights[others])
            found["agreement"][m] += p[m].argmax() == without
            found["accuracy_change"][m] += float(without == y) - float(everyone == y)
    seen = MASK.sum(axis=0)
    for name in ("decides_total", "accuracy", "brier"):
        found[name] /= seen
    found["agreement"] /= compared
    found["log_likelihood"] *= n / seen
    for name in ("total_change", "epistemic_change", "accuracy_change"):
        found[name] /= n
    return found


@pytest.mark.parametrize("weights", [np.ones(5), WEIGHTS], ids=["equal", "weighted"])
def test_diagnosis_by_definition(weights):
    nan = np.where(MASK[..., None], P, np.nan)
    Q = cl.ConvexHull(nan, missing="allow", weights=None if weights[0] == weights[1] else weights)
    d = cl.diagnose_members(Q, Y)
    for name, expected in figures(weights).items():
        assert_allclose(getattr(d, name), expected, rtol=0, atol=1e-9, err_msg=name)
    assert_array_equal(d.n_present, MASK.sum(axis=0))
    assert_array_equal(d.to_pandas()["n_present"], MASK.sum(axis=0))
    votes = [vote(p[m], weights[m]) for p, m in zip(P, MASK, strict=True)]
    assert d.vote_accuracy == pytest.approx(np.mean(np.array(votes) == Y))
    assert_array_equal(cl.majority_vote(Q), votes)


def test_diagnosis_of_complete_members_is_unchanged():
    plain = cl.diagnose_members(P, Y)
    masked = cl.diagnose_members(cl.ConvexHull(P, mask=np.ones((N, 5), bool)), Y)
    equal = cl.diagnose_members(cl.ConvexHull(P, weights=np.full(5, 0.1)), Y)
    for name in ("brier", "auc_change", "accuracy_change", "agreement", "total_change"):
        assert_array_equal(getattr(masked, name), getattr(plain, name))
        assert_allclose(getattr(equal, name), getattr(plain, name), rtol=0, atol=1e-12)


def test_a_faulty_member_is_found_where_it_is_present():
    members, y = forests(n=400)
    members[:, 3] = [0, 0, 0, 1]
    mask = np.ones((400, 10), bool)
    mask[:200, 3] = False
    d = cl.diagnose_members(cl.ConvexHull(members, mask=mask), y)
    assert d.spoilers == [3]
    mask[:399, 3] = False  # one prediction proves nothing
    assert cl.diagnose_members(cl.ConvexHull(members, mask=mask), y).spoilers == []
    mask[:, 3] = False
    d = cl.diagnose_members(cl.ConvexHull(members, mask=mask), y)
    assert d.spoilers == []
    assert d.n_present[3] == 0
    assert d.log_likelihood[3] == -math.inf


# ---------------------------------------------------------------- alpha-cuts


def test_alpha_cut_of_missing_members():
    mask = MASK | (np.arange(5) == 0)
    Q = cl.ConvexHull(P, mask=mask)
    means = np.array([np.log(P[mask[:, m], m, Y[mask[:, m]]]).mean() for m in range(5)])
    ratio = np.exp(means - means.max())
    alpha = 0.999 * float(ratio[0])
    cut, kept = cl.trim(Q, alpha, Y, return_kept=True)
    assert 1 < len(kept) < 5
    assert_array_equal(kept, np.flatnonzero(ratio >= alpha))
    assert_array_equal(cut.mask, mask[:, kept])
    assert_array_equal(cut.members, Q.members[:, kept])
    Q = cl.ConvexHull(P, mask=MASK)
    with pytest.raises(ValueError, match=r"^alpha: leaves 0 members at index \d+ \(zero-based\)"):
        cl.trim(Q, 1.0, Y)


def test_alpha_cut_by_weights():
    Q = cl.ConvexHull(P, weights=WEIGHTS)
    cut, kept = cl.trim(Q, 0.2, likelihood="weights", return_kept=True)
    assert_array_equal(kept, [0, 1, 4])
    assert_array_equal(cut.weights[0], WEIGHTS[kept])
    assert_array_equal(cut.members, P[:, kept])
    # Without labels, the weighted vote replaces them.
    _, by_vote = cl.trim(Q, 0.9, return_kept=True)
    _, by_label = cl.trim(Q, 0.9, cl.majority_vote(Q), return_kept=True)
    assert_array_equal(by_vote, by_label)
    with pytest.raises(ValueError, match=r"^likelihood: is 'weights', and the members have none"):
        cl.trim(P, 0.2, likelihood="weights")
    each = cl.ConvexHull(P, weights=np.random.default_rng(0).random((N, 5)))
    with pytest.raises(ValueError, match=r"^likelihood: is 'weights', and these differ between"):
        cl.trim(each, 0.2, likelihood="weights")
    with pytest.raises(ValueError, match=r"^likelihood: is 'prior'; choose one of 'weights'"):
        cl.trim(P, 0.2, likelihood="prior")


# ---------------------------------------------------------------- other functions


def test_reliability_of_members_where_they_are_present():
    found = cl.validity.reliability(cl.ConvexHull(P, mask=MASK), Y)
    for m in range(5):
        own = cl.validity.reliability(P[MASK[:, m], m][:, None], Y[MASK[:, m]])
        assert found.ece_members[m] == pytest.approx(own.ece, abs=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        lambda Q: cl.validity.repair(Q, Y),
        lambda Q: cl.validity.calibration_test(Q, Y, random_state=0),
        lambda Q: cl.validity.assess(Q, Y),
    ],
    ids=["repair", "calibration_test", "assess"],
)
def test_functions_that_need_all_members(function):
    Q = cl.ConvexHull(P, mask=MASK)
    with pytest.raises(ValueError, match=r"^members: member 0 is missing at index 0 \(zero-based\),"
                       r" and all members are needed here; pass .*Q\[Q\.mask\.all"):  # fmt: skip
        function(Q)
    assert not Q[Q.mask.all(axis=-1)].backend.ragged


def test_repair_keeps_weights():
    repair = cl.validity.repair(P, Y)
    repaired = repair(cl.ConvexHull(P, weights=WEIGHTS))
    assert_array_equal(repaired.weights[0], WEIGHTS[repair.kept])
    assert_array_equal(repaired.members, repair(P))
