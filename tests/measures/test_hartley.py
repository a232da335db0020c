"""Generalized Hartley against its definition, the closed form of stars, and exact sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_array_max_ulp

import credalens as cl
import oracles_entropy as oracle
from credalens.measures import hartley
from ensembles import ENSEMBLES, dirichlet, disagreeing

LISTABLE = {name: P for name, P in ENSEMBLES.items() if P.shape[-1] <= 8}
everywhere = pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
listable = pytest.mark.parametrize("P", LISTABLE.values(), ids=LISTABLE.keys())

#: The star of six heavy and seventeen light arms whose GH exceeds its upper entropy.
STAR = oracle.star(np.r_[np.ones(6), np.full(17, 0.12)])


def hull(P, dtype=np.float64):
    """Rows that are off by single-precision rounding pass."""
    return cl.ConvexHull(P.astype(dtype), validate=False)


def exact(P, **options):
    return cl.generalized_hartley(P, method="exact", **options)


def sampled(P, **options):
    return cl.generalized_hartley(P, method="sample", **options)


# ---------------------------------------------------------------- the exact sum


@listable
def test_exact_is_the_definition(P):
    value, error = exact(hull(P), return_error=True)
    assert_allclose(value, [oracle.generalized_hartley(one) for one in P], rtol=1e-11, atol=1e-12)
    assert_array_equal(error, 0)


@pytest.mark.parametrize("K", range(1, 9))
@pytest.mark.parametrize("M", [1, 2, 9])
def test_exact_for_every_number_of_classes(M, K):
    P = dirichlet(2, M, K, 0.5, seed=K)
    expected = [oracle.generalized_hartley(one) for one in P]
    assert_allclose(exact(P), expected, rtol=1e-11, atol=1e-12)
    assert_allclose(cl.generalized_hartley(P), expected, rtol=1e-11, atol=1e-12)


def test_known_values():
    # Total ignorance: all mass of m on the set of all classes.
    for K in (1, 2, 3, 10, 20):
        assert_allclose(exact(np.eye(K)), math.log2(K), rtol=1e-13)
    # Two classes: m({0}) = lower(0), m({1}) = lower(1), the rest on both, log2 2 = 1.
    assert_allclose(exact([[0.9, 0.1], [0.4, 0.6]]), 1 - 0.4 - 0.1, rtol=1e-13)
    # Vacuous among the first three of five classes with mass 0.4: 0.4 log2 3.
    P = 0.6 * np.full((3, 5), 0.2) + 0.4 * np.eye(5)[:3]
    assert_allclose(exact(P), 0.4 * math.log2(3), rtol=1e-12)


@pytest.mark.parametrize("K", [2, 3, 6, 10, 17, 20])
def test_stars_have_a_closed_form(K):
    rng = np.random.default_rng(K)
    for shares in (rng.random(K - 1), np.ones(K - 1), np.full(K - 1, 0.01), np.zeros(K - 1)):
        expected = oracle.star_hartley(shares)
        assert_allclose(exact(oracle.star(shares)), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("M", [1, 2, 5, 40])
@pytest.mark.parametrize("K", [1, 2, 3, 4, 9, 14])
@pytest.mark.parametrize("method", ["exact", "sample"])
def test_equal_members_leave_nothing_open(M, K, method):
    P = np.repeat(dirichlet(10, 1, K, 0.3), M, axis=1)
    for dtype in (np.float64, np.float32):
        value, error = cl.generalized_hartley(
            hull(P, dtype), method=method, random_state=0, return_error=True
        )
        # A permutation's terms cancel exactly only if each of them is rounded the same way.
        atol = 0 if method == "exact" else 1e-15
        assert_allclose(value, 0, atol=atol)
        assert_allclose(error, 0, atol=atol)


def test_duplicates_and_mixtures_change_nothing():
    P = dirichlet(10, 4, 7, 0.4)
    expected = exact(P)
    assert_allclose(exact(np.repeat(P, 3, axis=1)), expected, rtol=1e-12)
    mean = P.mean(axis=1, keepdims=True)
    assert_allclose(exact(np.concatenate([mean, P], axis=1)), expected, rtol=1e-12)


def test_a_class_that_no_member_has_plays_no_part():
    P = dirichlet(10, 4, 5, 0.4)
    padded = np.insert(P, [0, 3, 5], 0.0, axis=-1)
    assert_allclose(exact(padded), exact(P), rtol=1e-12)
    # m gives no mass to sets with a dead class; the estimate of the wider set is unbiased still.
    value, error = sampled(padded, n_samples=4000, random_state=0, return_error=True)
    assert (np.abs(value - exact(P)) <= 5 * error).all()


@pytest.mark.slow
@given(
    st.integers(1, 10), st.integers(1, 9), st.sampled_from([0.1, 0.5, 2.0]),
    st.integers(0, 2**32 - 1), st.randoms(use_true_random=False),
)  # fmt: skip
def test_invariants(M, K, concentration, seed, random):
    P = np.random.default_rng(seed).dirichlet(np.full(K, concentration), (3, M))
    value = exact(P)
    assert (value >= 0).all()
    assert (value <= math.log2(K) + 1e-12).all()
    keep = random.randint(1, M)
    assert (exact(P[:, :keep]) <= value + 1e-12).all()
    members, classes = list(range(M)), list(range(K))
    random.shuffle(members)
    random.shuffle(classes)
    assert_allclose(exact(P[:, members][:, :, classes]), value, rtol=1e-11, atol=1e-13)
    # For few classes no set is known where the residual S* - GH is negative.
    assert (value <= cl.upper_entropy(P) + 1e-9).all()


@everywhere
def test_a_value_does_not_depend_on_its_batch(P):
    Q = cl.ConvexHull(P, validate=False)
    methods = ["sample"] if P.shape[-1] > 9 else ["exact", "sample"]
    for options in [{"method": m} for m in methods] + [{"method": "sample", "n_samples": 40}]:
        options |= {"random_state": 3, "return_error": True}
        value, error = cl.generalized_hartley(Q, **options)
        turned, turned_error = cl.generalized_hartley(Q[::-1], **options)
        assert_array_equal(turned[::-1], value)
        assert_array_equal(turned_error[::-1], error)
        for i in range(len(P)):
            assert cl.generalized_hartley(Q[i], **options) == (value[i], error[i])


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_a_value_does_not_depend_on_the_number_of_threads(monkeypatch, method):
    P = disagreeing(150, 5, 12)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("CREDALENS_NUM_THREADS", threads)
        results.append(cl.generalized_hartley(P, method=method, random_state=1))
    assert_array_equal(*results)


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_shapes_and_dtypes(method):
    P = dirichlet(12, 4, 6)
    options = {"method": method, "random_state": 0, "return_error": True}
    value, _ = cl.generalized_hartley(P, **options)
    deep, _ = cl.generalized_hartley(P.reshape(3, 1, 4, 4, 6), **options)
    assert_array_equal(deep, value.reshape(3, 1, 4))
    assert isinstance(cl.generalized_hartley(P[0], method=method, random_state=0), np.float64)
    empty, no_error = cl.generalized_hartley(P[:0], **options)
    assert empty.shape == no_error.shape == (0,)
    P32 = P.astype(np.float32)
    single, single_error = cl.generalized_hartley(P32, **options)
    assert single.dtype == single_error.dtype == np.float32
    double, _ = cl.generalized_hartley(hull(P32), **options)
    assert_array_max_ulp(single, double.astype(np.float32), maxulp=1)


@pytest.mark.parametrize("method", ["exact", "sample"])
def test_bases(method):
    P = dirichlet(6, 4, 7)
    options = {"method": method, "random_state": 0, "return_error": True}
    bits, bits_error = cl.generalized_hartley(P, **options)
    for base, unit in (("e", 1 / math.log(2)), (10, math.log2(10)), ("classes", math.log2(7))):
        value, error = cl.generalized_hartley(P, base, **options)
        assert_allclose(value, bits / unit, rtol=1e-14)
        assert_allclose(error, bits_error / unit, rtol=1e-14)
    value, error = cl.generalized_hartley(np.ones((4, 3, 1)), "classes", **options)
    assert_array_equal(value, 0)
    assert_array_equal(error, 0)
    with pytest.raises(ValueError, match=r"base: is 1; pass a number > 1"):
        cl.generalized_hartley(P, 1, **options)


def test_the_weights():
    """w_K(b) = -sum_j C(K-b, j) (-1)^j log2(b+j), summed without cancellation for few classes."""
    for K in range(2, 13):
        w, log_v = hartley.weights(K)
        for b in range(1, K):
            terms = [(-1) ** j * math.comb(K - b, j) * math.log2(b + j) for j in range(K - b + 1)]
            assert_allclose(w[b], -math.fsum(terms), rtol=1e-9)
            assert_allclose(log_v[b], math.log(w[b] * math.comb(K, b)), rtol=1e-12, atol=1e-12)
    for K in (2, 30, 100, 1000, 5000):
        # A precise set has GH = 0, whatever it is: sum_b v_b b / K = log2 K.
        v = np.exp(hartley.weights(K)[1][1:K])
        assert_allclose(math.fsum(v * np.arange(1, K)) / K, math.log2(K), rtol=1e-10)
    assert not hartley.weights(5)[0].flags.writeable


# ---------------------------------------------------------------- the estimate


@pytest.mark.parametrize("K", [12, 14, 16, 18])
def test_estimates_scatter_round_the_exact_sum_as_they_say(K):
    """z-scores of many seeds: mean 0, spread 1, for each of several unlike instances."""
    P = np.concatenate([
        dirichlet(3, 6, K, 1.0, seed=K), dirichlet(3, 6, K, 0.1, seed=K), disagreeing(2, 6, K),
        oracle.star(np.linspace(0.1, 1, K - 1))[None, :6],
    ])  # fmt: skip
    truth, seeds, pairs = exact(P), 300, 300
    runs = [
        sampled(P, n_samples=pairs, random_state=seed, return_error=True) for seed in range(seeds)
    ]
    values, errors = (np.array(part) for part in zip(*runs, strict=True))
    assert (errors > 0).all()
    z = (values - truth) / errors
    # 36 instances in all, each mean has a standard deviation of 1 / sqrt(300) = 0.058.
    assert (np.abs(z.mean(axis=0)) < 4.5 / math.sqrt(seeds)).all()
    # The standard deviation of 300 z-scores is within 0.041 of 1, twice that for heavy tails.
    assert (np.abs(z.std(axis=0, ddof=1) - 1) < 0.25).all()
    assert (np.abs(z) < 6).all()
    # The standard error is that of the estimate: its spread over the seeds.
    assert_allclose(errors.mean(axis=0), values.std(axis=0, ddof=1), rtol=0.25)


@pytest.mark.parametrize("K", [4, 5, 8])
def test_estimates_for_few_classes(K):
    P = dirichlet(12, 5, K, 0.4, seed=K)
    value, error = sampled(P, n_samples=20_000, random_state=K, return_error=True)
    assert (np.abs(value - exact(P)) <= 5 * error).all()
    assert (error < 0.01 * value).all()


@pytest.mark.parametrize("K", [1, 2, 3])
def test_nothing_is_left_to_sample_for_three_classes(K):
    P = dirichlet(12, 5, K, 0.4)
    value, error = sampled(P, random_state=0, return_error=True)
    assert_allclose(value, exact(P), rtol=1e-12, atol=1e-14)
    assert_array_equal(error, 0)


def test_more_permutations_shrink_the_error():
    P = dirichlet(20, 5, 14)
    few = sampled(P, n_samples=100, random_state=0, return_error=True)[1]
    many = sampled(P, n_samples=10_000, random_state=0, return_error=True)[1]
    assert_allclose(few / many, 10, rtol=0.4)


def test_stars_beyond_the_exact_sum():
    shares = np.r_[np.linspace(1, 0.05, 20), np.full(40, 0.02)]
    expected = oracle.star_hartley(shares)
    value, error = sampled(oracle.star(shares), n_samples=30_000, random_state=0, return_error=True)
    assert error < 0.01 * expected
    assert abs(value - expected) < 4.5 * error


@pytest.mark.parametrize("rtol", [0.05, 0.01])
def test_the_number_of_permutations_follows_rtol(rtol):
    P = dirichlet(30, 6, 40, 0.5)
    value, error = sampled(P, rtol=rtol, random_state=0, return_error=True)
    assert (error <= rtol * value * 1.000001).all()
    assert (error > 0).all()
    # Not far below what was asked: each round doubles the number, from 32 on.
    assert (error > 0.2 * rtol * value).any()


def test_rtol_is_one_percent_by_default():
    P = dirichlet(10, 6, 40, 0.5)
    assert_array_equal(sampled(P, random_state=0), sampled(P, random_state=0, rtol=0.01))


def test_a_missed_rtol_is_said(monkeypatch):
    monkeypatch.setattr(hartley, "MAX_PAIRS", 64)
    P = np.concatenate([dirichlet(4, 5, 20, 0.5), np.repeat(dirichlet(2, 1, 20), 5, axis=1)])
    with pytest.warns(
        RuntimeWarning,
        match=r"generalized_hartley: 4 of 6 instances did not reach a relative standard error of "
        r"1e-05 with 64 permutations; the worst is 0\.\d+; pass n_samples for more",
    ) as caught:
        value, error = sampled(P, rtol=1e-5, random_state=0, return_error=True)
    assert caught[0].filename == __file__
    # What is returned is the estimate with that many, and its honest error.
    expected, expected_error = sampled(P, n_samples=64, random_state=0, return_error=True)
    assert_allclose(value[:4], expected[:4], rtol=1e-12)
    assert_allclose(error[:4], expected_error[:4], rtol=1e-9)
    worst = float((error[:4] / value[:4]).max())
    assert f"the worst is {worst:.3g};" in str(caught[0].message)


def test_the_cap_is_the_one_in_the_documentation():
    assert hartley.MAX_PAIRS == 16384
    assert "from 32 to 16384" in cl.generalized_hartley.__doc__


def test_a_chosen_number_of_permutations_is_not_warned_about():
    sampled(dirichlet(2, 5, 20), n_samples=8, rtol=1e-9, random_state=0)


# ---------------------------------------------------------------- random_state


def test_random_state():
    P = dirichlet(5, 4, 30)

    def draw(state):
        return sampled(P, n_samples=50, random_state=state)

    assert_array_equal(draw(7), draw(7))
    assert_array_equal(draw(np.int64(7)), draw(7))
    assert (draw(7) != draw(8)).all()
    for kind in (np.random.RandomState, np.random.default_rng):
        assert_array_equal(draw(kind(7)), draw(kind(7)))
        state = kind(7)
        assert (draw(state) != draw(state)).all()  # a generator goes on
    assert (draw(None) != draw(None)).all()


def test_the_global_generator_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    sampled(dirichlet(2, 4, 30), n_samples=50, random_state=0)
    sampled(dirichlet(2, 4, 30), n_samples=50)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("state", [-1, 1.5, "seed", True], ids=repr)
def test_other_random_states_are_refused(state):
    with pytest.raises(ValueError, match=r"random_state: is .*; pass a whole number >= 0"):
        sampled(dirichlet(2, 4, 6), random_state=state)


# ---------------------------------------------------------------- which method


def test_auto_is_exact_where_that_is_cheaper():
    few, many = dirichlet(3, 4, 12), dirichlet(3, 4, 60)
    value, error = cl.generalized_hartley(few, return_error=True)
    assert_array_equal(value, exact(few))
    assert_array_equal(error, 0)
    value, error = cl.generalized_hartley(many, random_state=0, return_error=True)
    assert_array_equal(value, sampled(many, random_state=0))
    assert (error > 0).all()
    # A few permutations are cheaper than 2^19 events.
    middle = dirichlet(1, 4, 20)
    _, error = cl.generalized_hartley(middle, n_samples=8, random_state=0, return_error=True)
    assert (error > 0).all()


def test_auto_never_sums_beyond_26_classes(monkeypatch):
    def refuse(self, w):
        raise AssertionError("an exact sum")

    monkeypatch.setattr(cl.ConvexHull, "hartley_exact", refuse)
    P = dirichlet(1, 2, 27)
    _, error = cl.generalized_hartley(P, n_samples=1 << 17, return_error=True)
    assert (error > 0).all()


@pytest.mark.parametrize("method", ["Exact", "monte carlo", None, 3], ids=repr)
def test_other_methods_are_refused(method):
    with pytest.raises(ValueError, match=r"method: is .*; choose one of 'auto', 'exact', 'sample'"):
        cl.generalized_hartley(np.eye(3), method=method)


@pytest.mark.parametrize("n_samples", [7, 2, 1, 0, -5, 2.5, "10", True], ids=repr)
def test_other_numbers_of_samples_are_refused(n_samples):
    """The standard error of two pairs has one degree of freedom and says nothing."""
    with pytest.raises(ValueError, match=r"n_samples: is .*; pass a whole number >= 8"):
        sampled(np.eye(5), n_samples=n_samples)


@pytest.mark.parametrize("rtol", [0, -0.1, math.nan, math.inf], ids=repr)
def test_other_tolerances_are_refused(rtol):
    with pytest.raises(ValueError, match=r"rtol: is .*; pass a positive number"):
        sampled(np.eye(5), rtol=rtol)


@pytest.mark.parametrize("K", [31, 64, 1000])
def test_exact_sums_beyond_30_classes_are_refused(K):
    with pytest.raises(ValueError, match=rf"method: is 'exact' for {K} classes.*2\*\*{K} events.*"
                                         r"method='sample', or at most 30 classes"):  # fmt: skip
        exact(np.full((2, K), 1 / K))


def test_exact_sums_of_more_than_26_classes_say_how_long(capfd):
    P = dirichlet(1, 2, 27, seed=1)
    value = exact(P)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("credalens: exact generalized Hartley for 27 classes, about ")
    assert captured.err.endswith(" s on one core\n")
    assert captured.err.count("\n") == 1
    estimate, error = sampled(P, n_samples=20_000, random_state=0, return_error=True)
    assert (np.abs(estimate - value) < 4.5 * error).all()
    exact(dirichlet(1, 2, 20))
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("K", [26, 28, 30])
def test_the_longest_exact_sums(K, capfd):
    shares = np.r_[np.ones(2), np.zeros(K - 3)]
    P = oracle.star(shares)[:3]
    assert_allclose(exact(P), oracle.star_hartley(shares), rtol=1e-11)
    assert capfd.readouterr().err.count("\n") == (K > 26)


# ---------------------------------------------------------------- the residual can be negative


def test_the_star_whose_hartley_measure_exceeds_its_entropy():
    assert STAR.shape == (24, 24)
    value = exact(STAR)
    assert_allclose(value, oracle.star_hartley(np.r_[np.ones(6), np.full(17, 0.12)]), rtol=1e-12)
    assert round(float(value), 4) == 3.0207
    assert round(float(cl.upper_entropy(STAR)), 4) == 3.0050
    u = cl.quantify(STAR, "hartley", method="exact")
    assert_allclose(u.aleatoric, u.total - u.epistemic, rtol=0, atol=1e-15)
    assert u.aleatoric < -0.015
    assert_array_equal(u.epistemic, value)


def test_instances_of_tens_of_thousands_of_classes_do_not_depend_on_their_batch():
    # Blocks of instances are so large that all threads process the same one, and there are several.
    P = np.random.default_rng(0).dirichlet(np.full(20_000, 0.1), (20, 4)).astype(np.float32)
    together = cl.generalized_hartley(P, n_samples=8, random_state=3, return_error=True)
    for i in (0, 7, 8, 19):
        alone = cl.generalized_hartley(P[i], n_samples=8, random_state=3, return_error=True)
        assert [x[i] for x in together] == list(alone)
    with cl.limit_threads(1):
        single = cl.generalized_hartley(P, n_samples=8, random_state=3)
    assert_array_equal(single, together[0])
