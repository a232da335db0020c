"""Members that are identical, or whose classes or rows are permuted."""

import numpy as np
import pytest

from credalens.evaluation.agreement import RowSample, member_agreement, sample_rows


def ensemble(n=400, M=4, K=5, seed=0, noise=0.5):
    """Members that mostly agree."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(n, 1, K)) + noise * rng.normal(size=(n, M, K))
    members = np.exp(logits)
    return members / members.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(40, 2, 3), (400, 4, 5), (400, 3, 50), (2000, 10, 2)])
def test_nothing_is_reported_of_members_that_fit(shape, seed):
    found = member_agreement(ensemble(*shape, seed=seed, noise=1.5))
    assert found.warnings("abcdefghij") == []


@pytest.mark.parametrize("M", [2, 3, 6])
@pytest.mark.parametrize("K", [2, 3, 10, 40])
def test_permuted_classes(M, K):
    members = ensemble(600, M, K)
    order = np.random.default_rng(K).permutation(K)
    if (order == np.arange(K)).all():
        order = np.roll(order, 1)
    members[:, -1] = members[:, -1][:, order]
    (found,) = member_agreement(members).permuted_classes
    assert found.member == M - 1
    assert found.before < 0.6 < 0.7 < found.after
    moved = order != np.arange(K)
    # The fix puts the classes back.
    assert np.array_equal(order[found.order][moved], np.arange(K)[moved])


def test_two_exchanged_classes_of_many():
    members = ensemble(2000, 5, 30)
    order = np.arange(30)
    order[[3, 17]] = [17, 3]
    members[:, 1] = members[:, 1][:, order]
    (found,) = member_agreement(members).permuted_classes
    assert (found.member, found.moved) == (1, [3, 17])


@pytest.mark.parametrize("M", [2, 3, 6])
@pytest.mark.parametrize("K", [2, 10])
def test_permuted_rows(M, K):
    members = ensemble(600, M, K)
    members[:, -1] = np.random.default_rng(1).permutation(members[:, -1])
    found = member_agreement(members)
    assert found.permuted_rows == (M - 1,)
    assert found.permuted_classes == ()


def test_weak_members_are_not_permuted():
    rng = np.random.default_rng(0)
    members = ensemble(1000, 4, 10)
    weak = {
        "constant": np.tile([0.91, *[0.01] * 9], (1000, 1)),
        "uniform": rng.dirichlet(np.full(10, 200.0), 1000),
        "noisy": 0.15 * members[:, 0] + 0.85 * rng.dirichlet(np.ones(10), 1000),
    }
    for name, member in weak.items():
        members[:, 3] = member
        found = member_agreement(members)
        assert found.permuted_classes == (), name
        assert found.permuted_rows == (), name


def test_identical_members():
    members = ensemble()
    members[:, 2] = members[:, 0]
    members[:, 3] = members[:, 0]
    found = member_agreement(members)
    assert found.identical == ((0, 2, 3),)
    assert found.warnings("abcd") == [
        "models a, c and d are identical (400 rows compared); every copy of a file counts in the "
        "vote"
    ]
    many = member_agreement(np.repeat(members[:, :1], 10, axis=1)).warnings("abcdefghij")
    assert len(many) == 1
    assert many[0].startswith("models a, b, c, d, 5 others and j are identical")
    assert member_agreement(members[:1]).identical == ()


def test_texts():
    members = ensemble(300, 3, 3)
    members[:, 1] = members[:, 1][:, [1, 2, 0]]
    (text,) = member_agreement(members).warnings("abc")
    assert text.startswith("model b looks permuted: it agrees with the vote of the others on ")
    assert text.endswith("save p[:, [2, 0, 1]] of its predictions p, or class names in each file")
    members = ensemble(300, 2, 3)
    members[:, 1] = np.random.default_rng(1).permutation(members[:, 1])
    (text,) = member_agreement(members).warnings("ab")
    assert text.startswith("model b looks permuted: it agrees with model a on ")
    assert "no more than by chance" in text


def test_few_rows_and_one_member():
    assert member_agreement(ensemble(5)).warnings("abcd") == []
    assert member_agreement(ensemble(100, 1)).warnings("a") == []
    assert member_agreement(ensemble(0)).warnings("abcd") == []
    assert sample_rows(10, 10) == 2000
    assert sample_rows(100, 100_000) == 20


@pytest.mark.parametrize("chunk", [1, 7, 100, 1000])
def test_a_sample_is_spread_over_all_rows(chunk):
    for n in (5, 20, 41, 1000):
        sample, rows = RowSample(20), np.arange(n)
        for start in range(0, n, chunk):
            sample.add(rows[start : start + chunk])
        found = sample.rows()
        assert len(found) >= min(n, 20)
        assert len(found) <= 40
        steps = np.unique(np.diff(found))
        assert len(steps) == 1
        assert found[0] == 0
        assert found[-1] >= n - steps[0]
