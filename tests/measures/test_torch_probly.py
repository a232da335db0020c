"""Measures of the members as a sample, against the library probly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from ensembles import dirichlet

P = np.concatenate([dirichlet(40, 6, 5), dirichlet(40, 6, 5, 0.3, seed=1)])


@pytest.fixture
def theirs(probly, monkeypatch):
    """The measures of probly, without their progress bar."""
    module = probly("quantification.classification")
    monkeypatch.setattr(module, "tqdm", lambda items: items)
    return module


@pytest.mark.parametrize(
    ("name", "family", "part"),
    [
        ("total_entropy", "information", "total"),
        ("conditional_entropy", "information", "aleatoric"),
        ("mutual_information", "information", "epistemic"),
        ("total_variance", "variance", "total"),
        ("expected_conditional_variance", "variance", "aleatoric"),
        ("variance_conditional_expectation", "variance", "epistemic"),
        ("total_uncertainty_distance", "second_order_distance", "total"),
        ("aleatoric_uncertainty_distance", "second_order_distance", "aleatoric"),
    ],
)
def test_closed_forms(theirs, name, family, part):
    expected = getattr(theirs, name)(P)
    assert_allclose(getattr(cl.quantify(P, family), part), expected, rtol=0, atol=1e-12)


def test_the_median_distance_is_at_most_that_of_a_general_solver(theirs):
    expected = theirs.epistemic_uncertainty_distance(P)
    found = cl.quantify(P, "second_order_distance").epistemic
    assert (found <= expected + 1e-9).all()
    # SLSQP is not made for objectives with kinks.
    assert_allclose(found, expected, rtol=0, atol=0.05)


def test_the_hartley_measure(theirs):
    assert_allclose(cl.generalized_hartley(P), theirs.generalised_hartley(P), atol=1e-10)
