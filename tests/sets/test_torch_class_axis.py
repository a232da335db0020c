"""Tensors of PyTorch and arrays of Dask with channels first."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl

STACK = np.random.default_rng(0).dirichlet(np.ones(3), (5, 2, 6, 7)).transpose(0, 1, 4, 2, 3)
STACK = np.ascontiguousarray(STACK)


def test_tensors_of_channels_first():
    torch = pytest.importorskip("torch")
    stack = torch.from_numpy(STACK)
    u = cl.quantify(stack, axis=0, class_axis=2)
    assert isinstance(u.total, torch.Tensor)
    wanted = cl.quantify(STACK, axis=0, class_axis=2)
    assert_array_equal(u.total.numpy(), wanted.total)
    assert_array_equal(u.aleatoric.upper.numpy(), wanted.aleatoric.upper)
    Q = cl.ConvexHull(stack, axis=0, class_axis=2)
    assert np.shares_memory(Q.to_numpy_backed().members, stack.numpy())


def test_gradients_of_channels_first():
    torch = pytest.importorskip("torch")
    logits = torch.randn(3, 2, 4, 5, 6, dtype=torch.float64, requires_grad=True)
    probabilities = logits.softmax(2)
    cl.total_uncertainty(probabilities, axis=0, class_axis=2).sum().backward()
    other = logits.detach().clone().requires_grad_()
    members = other.softmax(2).movedim((0, 2), (-2, -1))
    cl.total_uncertainty(members).sum().backward()
    torch.testing.assert_close(logits.grad, other.grad)


def test_traced_tensors_of_channels_first():
    torch = pytest.importorskip("torch")
    stack = torch.from_numpy(STACK)
    total = torch.vmap(lambda x: cl.total_uncertainty(x, axis=0, class_axis=1), in_dims=1)(stack)
    assert_array_equal(total.numpy(), cl.total_uncertainty(STACK, axis=0, class_axis=2))


def test_chunks_of_channels_first():
    da = pytest.importorskip("dask.array")
    stack = da.from_array(STACK, chunks=(5, 1, 3, 3, 7))
    total = cl.total_uncertainty(stack, axis=0, class_axis=2)
    assert_array_equal(total.compute(), cl.total_uncertainty(STACK, axis=0, class_axis=2))
