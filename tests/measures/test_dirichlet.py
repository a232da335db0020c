"""Dirichlet distributions: closed forms against mpmath, estimates against their errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.measures.dirichlet import _MEASURES
from ensembles import dirichlet

ALPHA = np.array([[1.0, 1.0, 1.0], [0.3, 2.0, 5.0], [20.0, 1.5, 3.0], [0.05, 0.1, 4.0]])


def mp_expectation(function, a, b):
    """E function(p, 1 - p) for p ~ Beta(a, b), by quadrature with 30 digits."""
    mpmath = pytest.importorskip("mpmath")

    def half(values, a, b):
        """The integral over p < 1/2, with t = p^a, which removes the singularity at 0."""

        def integrand(t):
            p = t ** (1 / a)
            return values(p, 1 - p) * (1 - p) ** (b - 1)

        return mpmath.quad(integrand, [0, mpmath.mpf(0.5) ** a]) / a

    with mpmath.workdps(30):
        a, b = mpmath.mpf(float(a)), mpmath.mpf(float(b))
        both = half(function, a, b) + half(lambda p, q: function(q, p), b, a)
        return float(both / mpmath.beta(a, b))


def term(p, q):
    """``-p log2 p``."""
    mpmath = pytest.importorskip("mpmath")
    return -p * mpmath.log(p, 2) if p > 0 else 0


@pytest.mark.slow
def test_expected_entropies_by_quadrature():
    # The entropy is a sum over classes, each of which is beta distributed.
    for alpha in ALPHA:
        total = alpha.sum()
        expected = sum(mp_expectation(term, a, total - a) for a in alpha)
        u = cl.quantify_dirichlet(alpha)
        assert_allclose(u.aleatoric, expected, atol=1e-10)
        mean = alpha / total
        assert_allclose(u.total, -(mean * np.log2(mean)).sum(), atol=1e-12)
        assert_allclose(u.epistemic, u.total - u.aleatoric, atol=1e-12)
        by_class = cl.quantify_dirichlet(alpha, "labelwise")
        expected = [
            mp_expectation(lambda p, q: term(p, q) + term(q, p), a, total - a) for a in alpha
        ]
        assert_allclose(by_class.aleatoric, expected, atol=1e-10)


def test_variances_by_quadrature():
    for alpha in ALPHA:
        total = alpha.sum()
        expected = [mp_expectation(lambda p, q: p * q, a, total - a) for a in alpha]
        assert_allclose(
            cl.quantify_dirichlet(alpha, "labelwise:variance").aleatoric, expected, atol=1e-12
        )
        u = cl.quantify_dirichlet(alpha, "variance")
        assert_allclose(u.aleatoric, sum(expected), atol=1e-12)
        assert_allclose(u.total, u.aleatoric + u.epistemic, atol=1e-12)


def test_two_classes_in_closed_form():
    # E max(p, 1 - p) and E |p - median| of a uniform distribution.
    u = cl.quantify_dirichlet([1.0, 1.0], "second_order_distance", random_state=0)
    assert_allclose(u.epistemic, 0.25, atol=1e-12)
    assert abs(u.aleatoric - 0.25) <= 4 * u.error
    assert u.total == 0.5
    spherical = cl.quantify_dirichlet([2.0, 3.0], "spherical", random_state=0)
    expected = 1 - mp_expectation(lambda p, q: (p**2 + q**2) ** 0.5, 2.0, 3.0)
    assert abs(spherical.aleatoric - expected) <= 4 * spherical.error


@pytest.mark.parametrize("measure", _MEASURES)
def test_the_limit_of_many_members(measure):
    members = np.stack([np.random.default_rng(0).dirichlet(row, 40_000) for row in ALPHA])
    u = cl.quantify_dirichlet(ALPHA, measure, random_state=1, n_samples=20_000)
    sample = cl.quantify(members, measure)
    for part in ("total", "aleatoric", "epistemic"):
        ours, theirs = getattr(u, part), getattr(sample, part)
        if ours is None:
            assert theirs is None
        else:
            assert ours.shape == theirs.shape
            assert_allclose(ours, theirs, rtol=0, atol=0.012)


def test_estimates_have_the_error_that_they_report():
    alpha = np.array([1.0, 2.0, 1.5])
    for measure in ("zero_one", "spherical"):
        runs = [cl.quantify_dirichlet(alpha, measure, n_samples=400, random_state=i)
                for i in range(200)]  # fmt: skip
        values = np.array([run.aleatoric for run in runs])
        exact = cl.quantify_dirichlet(alpha, measure, n_samples=400_000, random_state=1)
        z = (values - exact.aleatoric) / [run.error for run in runs]
        assert 0.85 < z.std() < 1.15
        assert abs(z.mean()) < 0.3
        assert all(run.epistemic >= 0 for run in runs)


def test_the_median_is_certified_for_extreme_concentrations():
    alpha = np.array([[1e-3] * 4, [1e6, 1e6, 1.0, 5e5], [1e-3, 1e-3, 1e-3, 5.0], [0.5] * 4])
    u = cl.quantify_dirichlet(alpha, "second_order_distance", random_state=0)
    assert (u.epistemic >= 0).all()
    assert (u.epistemic <= u.total + 1e-12).all()
    from credalens.measures.dirichlet import _median_distance

    value, gap = _median_distance(alpha)
    assert_array_equal(value, u.epistemic)
    assert (gap <= 1e-12).all()


def test_an_instance_depends_on_itself_and_the_seed_alone():
    whole = cl.quantify_dirichlet(ALPHA, "zero_one", random_state=3)
    for i, alpha in enumerate(ALPHA):
        assert (
            cl.quantify_dirichlet(alpha, "zero_one", random_state=3).aleatoric
            == (whole.aleatoric[i])
        )
    other = cl.quantify_dirichlet(ALPHA, "zero_one", random_state=4)
    assert (other.aleatoric != whole.aleatoric).any()


def test_shapes_dtypes_and_one_class():
    alpha = 5 * dirichlet(6, 2, 3).astype(np.float32) + 0.1
    u = cl.quantify_dirichlet(alpha, "labelwise")
    assert u.total.shape == (6, 2, 3)
    assert u.total.dtype == np.float32
    assert cl.quantify_dirichlet(alpha).total.shape == (6, 2)
    for measure in _MEASURES:
        one = cl.quantify_dirichlet([[2.0], [5.0]], measure, base="classes", random_state=0)
        assert_array_equal(one.total, np.zeros_like(one.total))
    nats, bits = (cl.quantify_dirichlet(ALPHA, base=base).aleatoric for base in ("e", 2))
    assert_allclose(nats, np.log(2) * bits)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 0.0]],), r"alpha: is 0 at index \(0, 1\).*; pass positive concentrations"),
        (([[1.0, np.inf]],), "alpha: .*infinite"),
        ((1.0,), r"alpha: has shape \(\); pass one concentration per class"),
        (([1.0, 2.0], "tv"), "measure: is 'tv'; choose one of 'confidence'"),
        (([1.0, 2.0], "zero_one", 1), "n_samples: is 1"),
    ],
)
def test_invalid_arguments(arguments, message):
    alpha, *rest = arguments
    options = dict(zip(("measure", "n_samples"), rest, strict=False))
    with pytest.raises(ValueError, match=message):
        cl.quantify_dirichlet(alpha, **options)
