"""Total variation inside compilers and transformations of PyTorch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from ensembles import dirichlet

torch = pytest.importorskip("torch")

P = torch.from_numpy(dirichlet(6, 5, 7))


def lower(members):
    return cl.aleatoric_uncertainty(members, end="lower")


FUNCTIONS = {"total": cl.total_uncertainty, "lower": lower, "epistemic": cl.epistemic_uncertainty}
each = pytest.mark.parametrize("name", FUNCTIONS)


class Module(torch.nn.Module):
    """Logits to an uncertainty."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, logits):
        return self.function(torch.softmax(logits, dim=-1))


@each
def test_vmap_and_functional_gradients(name):
    function = FUNCTIONS[name]
    assert_allclose(torch.vmap(function)(P), function(P), atol=1e-15)
    twice = torch.vmap(torch.vmap(function))(P.reshape(2, 3, 5, 7))
    assert_allclose(twice.reshape(6), function(P), atol=1e-15)
    x = P.clone().requires_grad_()
    function(x).sum().backward()
    assert_allclose(torch.func.grad(lambda p: function(p).sum())(P), x.grad, atol=1e-15)
    each_row = torch.vmap(torch.func.grad(function))(P)
    assert_allclose(each_row, x.grad, atol=1e-15)


@each
def test_compile_without_graph_breaks(name):
    function = FUNCTIONS[name]
    logits = P.log().requires_grad_()
    torch._dynamo.reset()
    compiled = torch.compile(Module(function), fullgraph=True, backend="aot_eager")(logits)
    expected = Module(function)(logits)
    assert_allclose(compiled.detach(), expected.detach(), atol=1e-15)
    (gradient,) = torch.autograd.grad(compiled.sum(), logits)
    assert_allclose(gradient, torch.autograd.grad(expected.sum(), logits)[0], atol=1e-14)


@each
@pytest.mark.parametrize("strict", [False, True])
def test_export_with_any_number_of_instances(name, strict):
    function = FUNCTIONS[name]
    shapes = {"logits": {0: torch.export.Dim("n")}}
    program = torch.export.export(
        Module(function), (P.log(),), dynamic_shapes=shapes, strict=strict
    )
    assert_allclose(program.module()(P[:4].log()), function(P[:4]), atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@each
def test_precision_and_edge_cases(name, dtype):
    function = FUNCTIONS[name]
    for x in (P, P[:, :1], torch.eye(3).repeat(4, 1, 1), P[..., :1] / P[..., :1]):
        x = x.to(dtype)
        found = torch.vmap(function)(x)
        assert found.dtype == torch.float32
        exact = cl.ConvexHull(x.double(), normalize=True)
        assert_allclose(found, function(exact), atol=1e-2 if dtype.itemsize == 2 else 1e-6)


def test_errors_of_the_values_are_zero():
    for function in (cl.total_uncertainty, cl.epistemic_uncertainty):
        value, error = torch.vmap(lambda p, f=function: f(p, return_error=True))(P)
        assert_allclose(value, function(P), atol=1e-15)
        assert not error.any()


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (cl.quantify, "quantify needs values; call it outside"),
        (cl.upper_entropy, "upper_entropy needs values"),
        (cl.aleatoric_uncertainty, "the upper aleatoric end .*; pass end='lower'"),
        (lambda p: cl.total_uncertainty(p, "ordinal"), "this distance is not traced; use 'tv'"),
        (lambda p: cl.ConvexHull(p).lower(), "^members: is traced by PyTorch, and this needs"),
        (lambda p: cl.ConvexHull.from_logits(p).members, "^logits: is traced by PyTorch"),
    ],
)
def test_what_needs_values_raises(function, problem):
    with pytest.raises(ValueError, match=problem):
        torch.vmap(function)(P)


def test_outside_of_transformations_kernels_compute():
    assert_allclose(lower(P), lower(P.numpy()))
    with pytest.raises(ValueError, match="sums to"):
        cl.total_uncertainty(2 * P)
    assert np.asarray(cl.total_uncertainty(P)).dtype == np.float64
