"""Exact tests by enumeration, and the sequential test by the exact distribution of its stopping."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from credalens.monitor import significance
from credalens.monitor.sequential import evidence_over_time, log_evidence
from credalens.monitor.significance import (
    category_pvalue,
    distribution_distance,
    distribution_pvalue,
    holm,
    hypergeometric_pvalue,
)


def distance_of(first, second):
    every = np.concatenate([first, second])
    return max(abs(np.mean(first <= t) - np.mean(second <= t)) for t in every)


def pvalue_by_enumeration(first, second):
    """Share of all permutations of the rows whose difference is as large."""
    every, n = np.concatenate([first, second]), len(first)
    observed, found = distance_of(first, second), []
    for chosen in itertools.combinations(range(len(every)), n):
        rows = np.zeros(len(every), bool)
        rows[list(chosen)] = True
        found.append(distance_of(every[rows], every[~rows]) >= observed - 1e-12)
    return np.mean(found)


def counts_of(first, second):
    values = np.unique(np.concatenate([first, second]))
    return [np.array([np.sum(one == v) for v in values]) for one in (first, second)]


samples = st.lists(st.integers(0, 4), min_size=1, max_size=5)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(samples, samples)
def test_the_distribution_test_by_enumeration(first, second):
    first, second = np.array(first), np.array(second)
    counts = counts_of(first, second)
    assert distribution_distance(*counts) == pytest.approx(distance_of(first, second))
    expected = pvalue_by_enumeration(first, second)
    assert distribution_pvalue(*counts) == pytest.approx(expected, rel=1e-12)
    assert distribution_pvalue(*counts[::-1]) == pytest.approx(expected, rel=1e-12)


def test_the_distribution_test_against_scipy_without_ties():
    rng = np.random.default_rng(0)
    first, second = rng.random(60), rng.random(40) ** 2
    expected = stats.ks_2samp(first, second, method="exact")
    found = distribution_pvalue(*counts_of(first, second))
    assert found == pytest.approx(expected.pvalue, rel=1e-9)


def test_small_pvalues_do_not_cancel():
    n = 100
    found = distribution_pvalue([n, 0], [0, n])
    assert found == pytest.approx(2 / math.comb(2 * n, n), rel=1e-10)


def test_the_bound_for_many_rows_is_close_to_the_exact_value(monkeypatch):
    rng = np.random.default_rng(1)
    first = np.bincount(rng.integers(0, 200, 1500), minlength=200)
    second = np.bincount((200 * rng.random(1500) ** 1.1).astype(int), minlength=200)
    exact = distribution_pvalue(first, second)
    monkeypatch.setattr(significance, "EXACT_ROWS", 10)
    bound = distribution_pvalue(first, second)
    assert 1e-6 < exact < 0.05
    assert exact <= bound <= 1.6 * exact


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_the_hypergeometric_test_by_its_definition(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    law = stats.hypergeom(n + m, a + b, n)
    expected = min(1, 2 * min(law.sf(a - 1), law.cdf(a)))
    assert hypergeometric_pvalue(a, n, b, m) == pytest.approx(expected, rel=1e-9)


def test_the_hypergeometric_test_of_a_billion_rows():
    n = 10**9
    sigma = math.sqrt(2 * 0.2 * 0.8 * n)
    found = hypergeometric_pvalue(round(0.2 * n + 4 * sigma), n, round(0.2 * n), n)
    assert found == pytest.approx(2 * stats.norm.sf(4), rel=5e-3)
    assert hypergeometric_pvalue(n // 2, n, n // 2, n) == pytest.approx(1, rel=1e-3)


def test_categories():
    assert category_pvalue([5, 0], [0, 5]) == pytest.approx(2 / math.comb(10, 5))
    each = [hypergeometric_pvalue(a, 30, b, 30) for a, b in ((20, 10), (5, 10), (5, 10))]
    assert category_pvalue([20, 5, 5, 0], [10, 10, 10, 0]) == pytest.approx(3 * min(each))
    assert category_pvalue([7], [9]) == 1


@given(st.lists(st.one_of(st.floats(0, 1), st.integers(0, 30).map(lambda i: i / 400)), max_size=8))
def test_holm_by_its_definition(pvalues):
    found = holm(pvalues)
    for level in (0.01, 0.05, 0.3):
        rejected, left = set(), sorted(range(len(pvalues)), key=lambda i: (pvalues[i], i))
        for k, i in enumerate(left):
            if pvalues[i] * (len(pvalues) - k) > level:
                break
            rejected.add(i)
        assert rejected == {i for i in range(len(pvalues)) if found[i] <= level}


# ---------------------------------------------------------------- the sequential test


def evidence_by_quadrature(n, s, rate):
    """The likelihood ratio averaged over error rates above `rate`."""
    from scipy.integrate import quad

    def prior(q):
        return q**-0.5 * (1 - q) ** -0.5

    def weighted(q):
        return prior(q) * (q / rate) ** s * ((1 - q) / (1 - rate)) ** (n - s)

    return quad(weighted, rate, 1)[0] / quad(prior, rate, 1)[0]


@pytest.mark.parametrize(("n", "s"), [(0, 0), (1, 1), (20, 0), (20, 5), (50, 2)])
def test_the_evidence_is_an_average_of_likelihood_ratios(n, s):
    expected = evidence_by_quadrature(n, s, 0.1)
    assert math.exp(log_evidence(n, s, 0.1)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("batch", [1, 7])
def test_the_evidence_is_fair_at_the_rate_and_unfavourable_below(batch):
    """Its expected value after 3 batches, over all numbers of errors."""
    for truth in (0.2, 0.1):
        law = stats.binom(batch, truth).pmf(range(batch + 1))
        expected = sum(
            math.prod(law[s] for s in errors) * evidence_over_time([batch] * 3, errors, 0.2)[-1]
            for errors in itertools.product(range(batch + 1), repeat=3)
        )
        assert expected <= 1 + 1e-9
        if truth == 0.2:
            assert expected == pytest.approx(1, rel=1e-9)


def test_false_alarms_of_repeated_checks_by_the_exact_distribution():
    """Probability that the evidence of one start ever reaches 1 / level, by a recursion."""
    rate, level, steps = 0.1, 0.1, 300
    alive, stopped = np.array([1.0]), 0.0
    for n in range(1, steps + 1):
        alive = np.append(alive * (1 - rate), 0) + np.append(0, alive * rate)
        reached = log_evidence(n, np.arange(n + 1), rate) >= math.log(1 / level)
        stopped += alive[reached].sum()
        alive[reached] = 0
    assert 0.01 < stopped <= level


def test_a_change_after_a_long_time_is_found():
    trials, errors = [1000] * 40, [5] * 38 + [30, 30]
    found = evidence_over_time(trials, errors, 0.01)
    assert found[:38].max() < 1.5
    assert found[-1] > 1000
    # All of them together are within the rate.
    assert sum(errors) / sum(trials) < 0.01
    with pytest.raises(ValueError, match="trials of each batch"):
        evidence_over_time([3], [4], 0.1)
