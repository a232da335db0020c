"""Lists of tensors, probly's PyTorch objects and tables of tensors."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from ensembles import dirichlet

torch = pytest.importorskip("torch")

P = dirichlet(7, 4, 3).astype(np.float32)


def test_torch_lists_and_stacks_stay_there():
    models = [torch.from_numpy(P[:, m].copy()) for m in range(4)]
    for Q in (
        cl.ConvexHull(models, axis=0),
        cl.ConvexHull(dict(enumerate(models))),
        cl.ConvexHull(torch.stack(models), axis=0),
        cl.ConvexHull(torch.stack([torch.from_numpy(p) for p in P])),
    ):
        assert isinstance(Q.members, torch.Tensor)
        assert Q.members.dtype == torch.float32
        assert_array_equal(Q.members.numpy(), P)
    assert isinstance(cl.total_uncertainty(cl.ConvexHull(models, axis=0)), torch.Tensor)
    with pytest.raises(
        ValueError, match=r"pass torch.stack\(members, axis=-2\) for one per member"
    ):
        cl.quantify(models)


def test_torch_logits_one_tensor_a_model():
    logits = torch.randn(4, 7, 3, generator=torch.Generator().manual_seed(0))
    Q = cl.ConvexHull.from_logits(list(logits))
    assert isinstance(Q.members, torch.Tensor)
    assert_allclose(Q.members.numpy(), torch.softmax(logits, -1).movedim(0, -2), atol=1e-6)


def test_torch_objects_of_probly():
    """Stand-ins with the attributes of probly's classes of tensors."""
    tensor = torch.from_numpy(P)
    held = SimpleNamespace(probabilities=tensor)
    Q = cl.from_probly(SimpleNamespace(tensor=held, protected_axes={"tensor": 1}))
    assert_array_equal(Q.members.numpy(), P)
    sample = SimpleNamespace(
        samples=SimpleNamespace(probabilities=tensor.movedim(1, 0)),
        sample_dim=1,
        sample_size=4,
        weights=torch.tensor([1.0, 0.0, 1.0, 1.0]),
    )
    assert_array_equal(cl.from_probly(sample).members.numpy(), P[:, [0, 2, 3]])
    low, high = tensor.amin(1), tensor.amax(1)
    Q = cl.from_probly(SimpleNamespace(lower_bounds=low, upper_bounds=high))
    assert isinstance(cl.total_uncertainty(Q), torch.Tensor)
    ball = SimpleNamespace(
        nominal=SimpleNamespace(probabilities=tensor[:, 0]), radius=torch.full((7,), 0.1)
    )
    assert_allclose(cl.from_probly(ball).upper().numpy(), np.minimum(P[:, 0] + 0.1, 1), atol=1e-6)


# ---------------------------------------------------------------- probly 0.3


def test_torch_ensembles_of_probly(probly):
    torch.manual_seed(0)
    ensemble = probly("representation.ensemble").Ensemble(torch.nn.Linear(5, 3), 4)
    x = torch.randn(6, 5)
    with torch.no_grad():
        members = ensemble.predict_representation(x)
        wanted = torch.stack([torch.softmax(m(x), 1) for m in ensemble.models], dim=1)
    assert_array_equal(cl.from_probly(members).members.numpy(), wanted.numpy())
    with pytest.raises(ValueError, match=r"is a Ensemble, which has to predict first"):
        cl.from_probly(ensemble)
    with pytest.raises(ValueError, match=r"has to predict first"):
        cl.quantify(ensemble)


def test_torch_representations_of_probly(probly):
    module = probly("representation.representation")
    data = torch.from_numpy(P)
    hull = module.CredalRepresentation(data, "classification", module.CredalStructure.CONVEX_HULL)
    assert_array_equal(cl.from_probly(hull).members, P)
    box = module.CredalRepresentation(P, module.Problem.CLASSIFICATION, "interval")
    assert isinstance(cl.from_probly(box), cl.ProbabilityIntervals)
    # probly's objects are no arrays of their own, and need no adapter by name.
    assert_array_equal(cl.quantify(hull).total, cl.quantify(P).total)
    second = module.DistributionRepresentation(P, "classification", "categorical", "dirichlet")
    with pytest.raises(ValueError, match="DistributionRepresentation, which is not understood"):
        cl.from_probly(second)


def test_torch_measures_of_probly_agree(probly):
    theirs = probly("quantification.classification")
    members = dirichlet(7, 4, 3)
    got = cl.generalized_hartley(cl.from_probly(members))
    assert_allclose(got, theirs.generalised_hartley(members), atol=1e-9)


# ---------------------------------------------------------------- out


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_torch_tables(dtype):
    pandas = pytest.importorskip("pandas")
    values = torch.linspace(0, 1, 5, dtype=getattr(torch, dtype), requires_grad=True)
    u = cl.Uncertainty(values, cl.Interval(values, values), values, values)
    frame = u.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert_array_equal(frame["total"], values.detach().double().numpy())
