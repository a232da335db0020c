"""Which member spoils the uncertainty: the figures by leaving out, the rule by what was planted."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
import oracles_diagnosis as oracle
from credalens import _backend
from ensembles import ENSEMBLES, dirichlet
from oracles_diagnosis import forests, with_member

SEVERAL = {name: P for name, P in ENSEMBLES.items() if 1 < P.shape[1] < 20 and P.size < 1500}
FIGURES = ("decides_total", "in_widest_pair", "total_change", "epistemic_change")


# ---------------------------------------------------------------- the figures


@pytest.mark.parametrize("name", SEVERAL)
def test_figures_are_those_of_leaving_out(name):
    P = SEVERAL[name]
    found, expected = cl.diagnose_members(P), oracle.leave_one_out(P)
    for figure in FIGURES:
        assert_allclose(getattr(found, figure), expected[figure], atol=1e-12, err_msg=figure)
    u = cl.quantify(cl.ConvexHull(P.astype(np.float64), validate=False))
    assert found.mean_total == pytest.approx(u.total.mean(), abs=1e-12)
    assert found.mean_epistemic == pytest.approx(u.epistemic.mean(), abs=1e-12)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(2, 19), st.integers(1, 12), st.integers(0, 2**32), st.booleans())
def test_figures_of_any_shape(M, K, seed, coarse):
    P = dirichlet(3, M, K, 0.7, seed)
    if coarse:  # ties of every kind
        P = np.eye(K)[np.random.default_rng(seed).integers(K, size=(3, M))]
    found, expected = cl.diagnose_members(P), oracle.leave_one_out(P)
    for figure in FIGURES:
        assert_allclose(getattr(found, figure), expected[figure], atol=1e-12, err_msg=figure)


def test_by_hand():
    # Lower probabilities (.1, .2, 0): TU = .8, by the second class, which the first member holds.
    # Without it they are (.1, .3, 0): TU = .7. Without the second, (.2, .2, 0), without the third,
    # (.1, .2, .2): TU stays. L1 distances 1, 1.2, 1.2: EU = .3; only the third is in both widest
    # pairs, and without it EU = .25.
    P = np.array([[[0.6, 0.2, 0.2], [0.1, 0.3, 0.6], [0.2, 0.8, 0.0]]])
    pairs = np.abs(P[0][[0, 0, 1]] - P[0][[1, 2, 2]]).sum(axis=1)
    assert_allclose(pairs, [1.0, 1.2, 1.2])
    found = cl.diagnose_members(P)
    assert_array_equal(found.decides_total, [1, 0, 0])
    assert_allclose(found.total_change, [-0.1, 0, 0])
    assert_array_equal(found.in_widest_pair, [1, 1, 1])  # two pairs tie
    assert_allclose(found.epistemic_change, [0, 0, -0.05], atol=1e-15)


def test_changes_are_never_positive_and_zero_is_plain():
    found = cl.diagnose_members(dirichlet(50, 8, 3, 0.3))
    assert (found.total_change <= 0).all()
    assert (found.epistemic_change <= 0).all()
    same = cl.diagnose_members(np.full((4, 3, 2), 0.5))
    assert "-0.0000" not in str(same)
    for figure in FIGURES:
        assert_array_equal(getattr(same, figure), np.zeros(3))


@pytest.mark.parametrize("K", [3, 8, 21])
@pytest.mark.parametrize("M", [2, 5, 8, 9, 13])
def test_a_copy_decides_nothing_alone(M, K):
    P = dirichlet(40, M, K, 0.5, seed=M)
    both = np.concatenate([P, P[:, ::-1]], axis=1)  # copies far apart, in other blocks of the pass
    found = cl.diagnose_members(both)
    for figure in ("decides_total", "total_change", "epistemic_change"):
        assert_array_equal(getattr(found, figure), np.zeros(2 * M), err_msg=figure)
    once = cl.diagnose_members(P).in_widest_pair
    assert_array_equal(found.in_widest_pair, np.concatenate([once, once[::-1]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_from_any_layout_and_threads(monkeypatch, dtype):
    P, y = forests(n=3000, M=6, K=5)
    P = (P / P.sum(axis=2, keepdims=True)).astype(dtype)
    P.flags.writeable = y.flags.writeable = False
    expected = cl.diagnose_members(P, y)
    figures = (
        *FIGURES,
        "log_likelihood",
        "accuracy",
        "brier",
        "constant",
        "frequencies",
        "repeats",
    )

    def same(found):
        for figure in figures:
            assert_array_equal(getattr(found, figure), getattr(expected, figure), err_msg=figure)
        assert (found.mean_total, found.spoilers) == (expected.mean_total, expected.spoilers)

    for threads in ("1", "3"):
        monkeypatch.setenv("CREDALENS_NUM_THREADS", threads)
        same(cl.diagnose_members(P, y))
    same(cl.diagnose_members(np.asfortranarray(P), y))
    same(cl.diagnose_members(P.reshape(30, 100, 6, 5), y.reshape(30, 100)))
    monkeypatch.setattr(_backend.batching, "BLOCK_BYTES", 1 << 12)
    same(cl.diagnose_members(P[::-1][::-1], y))
    same(cl.diagnose_members(cl.ConvexHull(np.moveaxis(np.moveaxis(P, 2, 0).copy(), 0, 2)), y))


def test_order_of_members_and_classes_does_not_matter():
    P, y = forests(n=200)
    members, classes = np.random.default_rng(0).permutation(10), np.array([2, 0, 3, 1])
    found = cl.diagnose_members(P, y)
    turned = cl.diagnose_members(P[:, members][..., classes], np.argsort(classes)[y])
    for figure in (*FIGURES, "log_likelihood", "accuracy", "brier"):
        assert_allclose(getattr(turned, figure), getattr(found, figure)[members], atol=1e-12)


@pytest.mark.slow
def test_many_members_take_little_memory():
    import tracemalloc

    P = dirichlet(30, 1000, 3)
    tracemalloc.start()
    found = cl.diagnose_members(P)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n_members == 1000
    assert peak < 4e6


# ---------------------------------------------------------------- fit to labels


def test_likelihood_accuracy_and_brier():
    P, y = forests(n=50, M=4)
    found = cl.diagnose_members(P, y)
    logs = [oracle.log_likelihood(P, y, m) for m in range(4)]
    assert_allclose(found.log_likelihood, logs, rtol=1e-12)
    assert_allclose(found.relative_likelihood, np.exp((np.array(logs) - max(logs)) / 50))
    assert_allclose(found.likelihood_ratio("total"), np.exp(np.array(logs) - max(logs)))
    assert found.relative_likelihood.max() == 1
    assert_allclose(found.brier, [oracle.brier(P, y, m) for m in range(4)], rtol=1e-12)
    assert_allclose(found.accuracy, (P.argmax(axis=2) == y[:, None]).mean(axis=0))
    assert_allclose(found.frequencies, np.bincount(y) / 50)


def test_no_underflow():
    n = 50_000
    P = np.full((n, 2, 2), 0.5, np.float32)
    P[:, 1] = [1e-30, 1]
    found = cl.diagnose_members(P, np.zeros(n, int))
    expected = n * math.log(np.float32(1e-30))
    assert found.log_likelihood[1] == pytest.approx(expected)
    assert found.relative_likelihood[1] == pytest.approx(2e-30, rel=1e-6)
    assert found.likelihood_ratio("total").tolist() == [1, 0]


def test_a_member_that_rules_out_a_label_has_likelihood_zero():
    P, y = forests(M=3)
    found = cl.diagnose_members(with_member(P, [0, 0, 0, 1]), y)
    assert found.log_likelihood[3] == -np.inf
    assert found.relative_likelihood[3] == 0
    assert found.relative_likelihood.max() == 1
    nobody = cl.diagnose_members([[[1.0, 0.0], [1.0, 0.0]]], [1])
    assert nobody.relative_likelihood.tolist() == [0, 0]


def test_without_labels():
    found = cl.diagnose_members(forests()[0])
    assert found.log_likelihood is found.relative_likelihood is found.accuracy is None
    assert found.likelihood_ratio("total") is None


# ---------------------------------------------------------------- the rule


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("M", [2, 3, 10, 40])
def test_a_healthy_ensemble_has_no_spoiler(M, labelled):
    P, y = forests(M=M, seed=M)
    found = cl.diagnose_members(P, y if labelled else None)
    assert found.spoilers == []
    assert not found.constant.any()


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize(
    "p0",
    [[1, 0, 0, 0], [0, 0, 0, 1], [0.25] * 4, [0.4, 0.3, 0.2, 0.1], [0, 0.5, 0.5, 0]],
    ids=str,
)
@pytest.mark.parametrize("M", [1, 2, 10, 60])
def test_a_constant_member_is_a_spoiler(M, p0, labelled):
    P, y = forests(M=M, seed=1)
    found = cl.diagnose_members(with_member(P, p0), y if labelled else None)
    assert found.spoilers == [M]
    assert found.constant.tolist() == [False] * M + [True]
    assert found.verdicts[M].startswith(f"member {M} ")
    assert "every input" in found.verdicts[M]
    assert "\n" not in found.verdicts[M]


def test_nearly_constant_in_single_precision():
    P, y = forests()
    jitter = np.random.default_rng(0).uniform(0, 1e-7, (len(P), 1, 1))
    p0 = np.array([0.7, 0.1, 0.1, 0.1]) + jitter * [1, -1, 0, 0]
    found = cl.diagnose_members(np.concatenate([P, p0], axis=1).astype(np.float32), y)
    assert found.spoilers == [10]


def test_two_copies_of_a_constant_member_do_not_hide_each_other():
    P, y = forests()
    twice = with_member(with_member(P, [0, 0, 0, 1]), [0, 0, 0, 1])
    found = cl.diagnose_members(twice, y)
    assert found.spoilers == [10, 11]
    assert_array_equal(found.decides_total[10:], [0, 0])


def test_a_constant_member_within_the_others_does_no_harm():
    # Members at all corners: nothing can be added.
    rng = np.random.default_rng(0)
    P = np.eye(3)[np.array([rng.permutation(3) for _ in range(100)])]
    found = cl.diagnose_members(with_member(P, [0.5, 0.25, 0.25]))
    assert found.constant.tolist() == [False, False, False, True]
    assert found.spoilers == []
    assert "no harm" in found.verdicts[3]


def test_alike_inputs_are_no_evidence():
    P, y = forests(n=40)
    alike = np.repeat(P[:1], 40, axis=0)
    found = cl.diagnose_members(alike, np.repeat(y[:1], 40))
    assert found.constant.all()
    assert found.spoilers == []
    assert "too similar" in found.verdicts[0]
    # Two inputs of one class: a sure member is constant, and right.
    sure = [[[1.0, 0], [0.9, 0.1]], [[1.0, 0], [0.8, 0.2]]]
    assert cl.diagnose_members(sure, [0, 0]).spoilers == []


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("kind", ["noise", "shuffled", "wrong columns"])
def test_a_member_that_knows_nothing_is_a_spoiler(kind, labelled):
    P, y = forests(noise=0.1)
    rng = np.random.default_rng(2)
    broken = {
        "noise": rng.dirichlet(np.ones(4), len(P)),
        "shuffled": P[rng.permutation(len(P)), 0],
        "wrong columns": np.roll(P[:, 0], 1, axis=1),
    }[kind]
    found = cl.diagnose_members(np.insert(P, 4, broken, axis=1), y if labelled else None)
    assert found.spoilers == [4]
    fits = "is correct on" if labelled else "agrees with the vote of the others on"
    assert found.verdicts[4].startswith(f"member 4 {fits}")
    assert "median of the others" in found.verdicts[4]
    assert ("AUC " in found.verdicts[4]) == labelled


def test_a_poor_member_that_dominates_is_a_spoiler():
    # Half as accurate as the others, and unsure: better than the class frequencies, but it decides
    # total uncertainty on most instances, and hides the errors of the others.
    P, y = forests(noise=0.1)
    rng = np.random.default_rng(3)
    accuracy = (P.argmax(axis=2) == y[:, None]).mean()
    guess = np.where(rng.random(len(y)) < accuracy / 2, y, (y + 1) % 4)
    weak = 0.3 * np.eye(4)[guess] + 0.7 / 4
    found = cl.diagnose_members(with_member(P, weak[:, None]), y)
    assert found.brier[10] < 1 - found.frequencies @ found.frequencies
    assert found.decides_total[10] > 0.5
    assert found.auc_change[10] > 0
    assert found.spoilers == [10]


def test_a_weak_member_that_changes_nothing_is_described():
    # Two copies: leaving out one of them changes nothing.
    P, y = forests(noise=0.1)
    rng = np.random.default_rng(3)
    guess = np.where(rng.random(len(y)) < 0.4, y, (y + 1) % 4)
    weak = (0.3 * np.eye(4)[guess] + 0.7 / 4)[:, None]
    found = cl.diagnose_members(with_member(with_member(P, weak), weak), y)
    assert found.spoilers == []
    assert "is weak (accuracy" in found.verdicts[10]
    assert "note: member 11 is weak" in str(found)


def test_the_best_member_is_not_a_spoiler():
    # The others are overconfident and often wrong; the best one is calibrated, and sets TU.
    P, y = forests(noise=0.1)
    rng = np.random.default_rng(4)
    guess = np.where(rng.random((len(y), 5)) < 0.6, y[:, None], rng.integers(4, size=(len(y), 5)))
    bad = 0.97 * np.eye(4)[guess] + 0.03 / 4
    both = np.concatenate([bad, P[:, :1]], axis=1)
    for labels in (y, None):
        assert 5 not in cl.diagnose_members(both, labels).spoilers


@pytest.mark.parametrize("labelled", [True, False])
def test_a_network_of_low_accuracy_among_good_ones(labelled):
    # As in an ensemble of three good networks over 100 classes and one with an accuracy of 12 %.
    rng = np.random.default_rng(5)
    n, K = 800, 20
    y = rng.integers(K, size=n)
    logits = 5 * np.eye(K)[y][:, None] + 1.2 * rng.standard_normal((n, 4, K))
    logits[:, 1] = 0.7 * np.eye(K)[y] + rng.standard_normal((n, K))
    P = np.exp(logits)
    P /= P.sum(axis=2, keepdims=True)
    found = cl.diagnose_members(P, y if labelled else None, ["a", "weak", "b", "c"])
    assert found.spoilers == [1]
    assert found.brier[1] < 1 - found.frequencies @ found.frequencies  # not uninformative
    assert "without it mean TU is" in found.verdicts[1]


def test_changes_of_vote_and_curve_are_those_of_leaving_out():
    P, y = forests(n=400, M=5, noise=1.5)
    found = cl.diagnose_members(P, y)
    vote = cl.majority_vote(P)
    assert found.vote_accuracy == pytest.approx((vote == y).mean())
    curve = cl.rejection_curve(y, vote, cl.total_uncertainty(P))
    assert found.auc == pytest.approx(curve.auc, abs=2e-3)  # scores are binned
    for m in range(5):
        rest = np.delete(P, m, axis=1)
        vote = cl.majority_vote(rest)
        assert found.accuracy_change[m] == pytest.approx((vote == y).mean() - found.vote_accuracy)
        auc = cl.rejection_curve(y, vote, cl.total_uncertainty(rest)).auc
        assert found.auc + found.auc_change[m] == pytest.approx(auc, abs=2e-3)
        assert found.agreement[m] == pytest.approx((P[:, m].argmax(axis=1) == vote).mean())


def test_where_nobody_knows_nobody_stands_out():
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet([1, 1], (300, 3)), rng.integers(2, size=300)
    found = cl.diagnose_members(P, y)
    assert found.decides_total.max() > 0.5
    assert (found.brier > 0.5).all()
    assert found.spoilers == []


def test_constant_means_to_the_end():
    P, y = forests(n=100)
    P[:99, 4] = P[0, 4]
    assert not cl.diagnose_members(P, y).constant[4]
    P[99, 4] = P[0, 4]
    assert cl.diagnose_members(P, y).spoilers == [4]


def test_few_instances_are_judged_for_constants_alone():
    P, y = forests(n=25, noise=0.1)
    noise = np.random.default_rng(0).dirichlet(np.ones(4), (25, 1))
    assert cl.diagnose_members(with_member(P, noise), y).spoilers == []
    assert cl.diagnose_members(with_member(P, [0, 0, 0, 1]), y).spoilers == [10]


def test_forests_of_the_demo():
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    P = np.stack(
        [
            RandomForestClassifier(5, max_depth=d, random_state=d).fit(X, y).predict_proba(X_test)
            for d in range(2, 12)
        ],
        axis=1,
    )
    assert cl.diagnose_members(P, y_test).spoilers == []
    for p0 in (*np.eye(3), [1 / 3] * 3):
        assert cl.diagnose_members(with_member(P, p0), y_test).spoilers == [10]


# ---------------------------------------------------------------- words and shapes


def test_verdict_of_the_paper():
    P, y = forests(noise=0.05)
    found = cl.diagnose_members(with_member(P, [0, 0, 0, 1]), y)
    share = round(100 * found.decides_total[10])
    assert found.verdicts[10] == (
        f"member 10 predicts class 3 for every input and alone sets TU on {share} % of instances"
    )
    named = cl.diagnose_members(with_member(P, [0, 0, 0, 1]), y, [f"net{m}" for m in range(11)])
    assert named.verdicts[10].startswith("net10 predicts")
    assert named.names == tuple(f"net{m}" for m in range(11))


def test_prints_as_a_table():
    P, y = forests()
    text = str(cl.diagnose_members(with_member(P, [0, 0, 0, 1]), y))
    lines = text.splitlines()
    assert lines[0].startswith("11 members, 600 instances, mean TU 0.")
    heads = "member sets TU widest TU change EU change accuracy AUC change rel. likelihood"
    assert " ".join(lines[1].split()) == heads
    assert len({len(line) for line in lines[1:13]}) == 1
    assert lines[13].startswith("SPOILER: member 10 predicts class 3")
    healthy = cl.diagnose_members(P)
    assert "accuracy" not in str(healthy)
    assert str(healthy).splitlines()[-1] == "no member spoils the uncertainty"
    assert repr(healthy) == "MemberDiagnosis(n_members=10, n_instances=600, spoilers=[])"


def test_one_member_one_class_one_set_none():
    alone = cl.diagnose_members(dirichlet(5, 1, 3))
    assert alone.spoilers == []
    assert alone.verdicts == ["member 0 is the only member: the set is a single distribution "
                              "everywhere"]  # fmt: skip
    assert alone.decides_total.tolist() == [0]
    assert cl.diagnose_members(np.ones((5, 3, 1))).spoilers == []
    single = cl.diagnose_members([[0.9, 0.1], [0.2, 0.8]], 0)
    assert single.n_instances == 1
    assert not single.constant.any()
    empty = cl.diagnose_members(np.empty((0, 3, 2)), [])
    assert (empty.n_instances, empty.spoilers, empty.mean_total) == (0, [], 0)
    assert empty.verdicts[1] == "member 1: no instance to judge by"
    assert str(empty)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1]}, r"y: has shape \(2,\); pass labels of shape \(3,\)"),
        ({"y": [0, 1, 2]}, r"y: is 2 at index 2 \(zero-based\); classes are 0 to 1"),
        ({"y": [0, -1, 1]}, r"y: is -1 at index 1"),
        ({"y": [0.0, 1.0, 1.0]}, "y: has dtype float64; pass class indices"),
        ({"y": ["a", "b", "c"]}, "y: has dtype <U1; pass class indices"),
        ({"names": ["a"]}, "names: is .* pass 4 names"),
        ({"names": "abcd"}, "names: is 'abcd'"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        cl.diagnose_members(dirichlet(3, 4, 2), **arguments)


def test_only_hulls_have_members():
    box = cl.ProbabilityIntervals([[0.1, 0.2]], [[0.8, 0.9]])
    for function in (cl.diagnose_members, cl.trim):
        with pytest.raises(ValueError, match="members: is a ProbabilityIntervals"):
            function(box)
