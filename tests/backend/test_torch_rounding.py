"""Row sums of tensors: bfloat16, half precision, and rows that are rounding away from 1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from ensembles import dirichlet

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:members. rows sum to 1 within")

P = dirichlet(50, 4, 6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("validate", [True, "later"])
def test_short_floats_of_softmax_outputs_are_valid(dtype, validate):
    x = torch.from_numpy(P).to(dtype)
    assert (x.double().sum(-1) - 1).abs().max() > 1e-4
    Q = cl.ConvexHull(x, validate=validate)
    found = cl.quantify(Q)
    assert found.total.dtype == torch.float32
    assert_allclose(found.total.double(), cl.quantify(P).total, atol=2e-2)
    assert bool((found.epistemic <= found.total + 1e-7).all())
    assert cl.total_uncertainty(x).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("grad", [False, True])
def test_short_floats_give_single_precision_for_every_set(dtype, grad):
    x = torch.from_numpy(P).to(dtype).requires_grad_(grad)
    low, high = (end.detach().requires_grad_(grad) for end in (x.amin(1), x.amax(1)))
    row = x.detach()[:, 0].requires_grad_(grad)
    sets = {
        cl.ConvexHull(x): P,
        cl.ConvexHull(x, weights=[1, 2, 3, 4]): P,
        cl.ProbabilityIntervals(low, high): cl.ConvexHull(P).to_intervals(),
        cl.Contamination(row, 0.2): cl.Contamination(P[:, 0], 0.2),
        cl.TotalVariationBall(row, 0.2): cl.TotalVariationBall(P[:, 0], 0.2),
    }
    for Q, exact in sets.items():
        assert Q.lower().dtype == Q.center().dtype == torch.float32
        value = cl.total_uncertainty(Q)
        assert value.dtype == torch.float32
        assert_allclose(value.detach(), cl.total_uncertainty(exact), atol=2e-2)
        if grad:
            value.sum().backward()
    assert cl.decide(x).dtype == cl.majority_vote(x).dtype == torch.int64
    if grad:
        assert x.grad.dtype == low.grad.dtype == row.grad.dtype == dtype


def test_queries_keep_single_precision_with_a_gradient():
    x = torch.from_numpy(P).float().requires_grad_()
    Q = cl.ConvexHull(x)
    for value in (Q.center(), Q.lower(), Q.tv_diameter(), *Q.min_entropy(), *Q.maximin()):
        assert value.dtype == torch.float32
    assert cl.decide(x).dtype == torch.int64


def test_bfloat16_may_miss_one_by_a_hundredth():
    good, bad = torch.tensor([[0.5, 0.508]]), torch.tensor([[0.5, 0.52]])
    cl.ConvexHull(good.bfloat16())
    for x in (bad.bfloat16(), good, good.half()):
        with pytest.raises(ValueError, match=r"row 0 .* sums to 1.0"):
            cl.ConvexHull(x)


@pytest.mark.parametrize("grad", [False, True])
def test_rounded_rows_give_the_numbers_of_normalised_rows(grad):
    rounded = P.round(4)
    x = torch.from_numpy(rounded).requires_grad_(grad)
    exact = rounded / rounded.sum(axis=-1, keepdims=True)
    for measure in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy):
        found = measure(x)
        assert_allclose(found.detach(), measure(exact), atol=1e-12)
        if grad:
            found.sum().backward()
            assert x.grad is not None
            assert torch.isfinite(x.grad).all()
            x.grad = None
    assert np.array_equal(rounded, P.round(4))


def test_each_member_is_checked_on_a_device_without_a_copy():
    with pytest.raises(ValueError, match=r"row \(0, 1\) .* sums to 1.25"):
        cl.quantify(torch.tensor([[[0.5, 0.5], [0.5, 0.75]]], requires_grad=True))
