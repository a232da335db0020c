"""Gradients of ensembles with missing members: those of the members present, and 0 for others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from ensembles import disagreeing

torch = pytest.importorskip("torch")

P = disagreeing(7, 5, 4)
MASK = np.random.default_rng(3).random((7, 5)) < 0.6
MASK[:, 0] |= ~MASK.any(axis=1)
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.0])

FUNCTIONS = {
    "tv": lambda Q: cl.total_uncertainty(Q).sum() + sum(cl.aleatoric_uncertainty(Q)).sum(),
    "epistemic": lambda Q: cl.epistemic_uncertainty(Q).sum(),
    "upper entropy": lambda Q: cl.upper_entropy(Q).sum(),
    "information": lambda Q: cl.mutual_information(Q).sum(),
    "median": lambda Q: Q.median_distance().sum(),
    "hartley": lambda Q: cl.generalized_hartley(Q).sum(),
    "center": lambda Q: (Q.center() ** 2).sum(),
    "lower": lambda Q: Q.lower([1.0, 2.0, 0.5, 3.0]).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    x = torch.tensor(np.where(MASK[..., None], P, np.nan), requires_grad=True)
    FUNCTIONS[name](cl.ConvexHull(x, missing="allow", weights=WEIGHTS)).backward()
    assert_array_equal(x.grad[torch.tensor(~MASK)], 0)
    for i, present in enumerate(MASK):
        alone = torch.tensor(P[i][present], requires_grad=True)
        FUNCTIONS[name](cl.ConvexHull(alone, weights=WEIGHTS[present])).backward()
        assert_allclose(x.grad[i][torch.tensor(present)], alone.grad, rtol=0, atol=1e-12)


def test_logits():
    logits = torch.tensor(np.where(MASK[..., None], np.log(P), np.nan), requires_grad=True)
    cl.total_uncertainty(cl.ConvexHull.from_logits(logits, missing="allow")).sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert_array_equal(logits.grad[torch.tensor(~MASK)], 0)


def test_queries_without_gradient():
    Q = cl.ConvexHull(torch.tensor(P, requires_grad=True), mask=MASK)
    with pytest.raises(ValueError, match="has no gradient"):
        Q.contains(np.full((7, 4), 0.25))
    with pytest.raises(ValueError, match="has no gradient"):
        Q.extreme_points()
    assert torch.isnan(Q.members[torch.tensor(~MASK)]).all()


def test_jax_transformations():
    jax = pytest.importorskip("jax")
    members = jax.numpy.asarray(P, "float32")

    def loss(x):
        Q = cl.ConvexHull(x, mask=MASK, weights=WEIGHTS, validate=False)
        return cl.epistemic_uncertainty(Q).sum() + cl.mutual_information(Q, "e").sum()

    gradient = np.asarray(jax.jit(jax.grad(loss))(members))
    assert_array_equal(gradient[~MASK], 0)
    for i, present in enumerate(MASK):
        alone = torch.tensor(P[i][present], requires_grad=True)
        Q = cl.ConvexHull(alone, weights=WEIGHTS[present])
        (cl.epistemic_uncertainty(Q) + cl.mutual_information(Q, "e")).backward()
        assert_allclose(gradient[i][present], alone.grad, rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match=r"^mask: is traced by JAX"):
        jax.jit(lambda x, m: cl.ConvexHull(x, mask=m, validate=False).lower())(members, MASK)
    with pytest.raises(ValueError, match=r"^missing: is 'allow', and members is traced"):
        jax.jit(lambda x: cl.ConvexHull(x, missing="allow", validate=False).lower())(members)
