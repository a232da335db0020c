"""PyTorch tensors in, tensors out: every measure and set, on the host, elsewhere, and on meta."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens._backend import Backend, native
from ensembles import ENSEMBLES, dirichlet, disagreeing

torch = pytest.importorskip("torch")

P = disagreeing(6, 5, 4)
COST = [[0, 1, 2, 3], [2, 0, 1, 1], [1, 1, 0, 4], [1, 3, 1, 0]]
DISTANCES = {
    "tv": "tv",
    "ordinal": "ordinal",
    "tree": cl.Wasserstein.tree([4, 4, 5, 5, 6, 6, -1], [1, 2, 1, 1.5, 2, 2, 0]),
    "few classes": cl.Wasserstein(np.abs(np.subtract.outer([0, 1, 4, 9], [0, 1, 4, 9]))),
    "kolmogorov": "kolmogorov",
    "mmd": cl.MMD(np.eye(4)),
    "functions": cl.TestFunctions([[0, 1, 0, 2], [1, 0, 3, 0]]),
}

#: Sets over four classes, from arrays as any library may hold them.
SETS = {
    "hull": lambda x: cl.ConvexHull(x),
    "intervals": lambda x: cl.ProbabilityIntervals(x[:, 0] * 0.5, x[:, 0] * 0.5 + 0.5),
    "contamination": lambda x: cl.Contamination(x[:, 0], 0.25),
    "ball": lambda x: cl.TotalVariationBall(x[:, 0], 0.125),
    "lower probability": lambda x: cl.LowerProbability(cl.ConvexHull(x).lower_probabilities()),
    "belief": lambda x: cl.BeliefFunction.possibility(x[:, 0] / _largest(x[:, 0])),
    "possibility": lambda x: cl.Possibility(x[:, 0] / _largest(x[:, 0])),
}
MEASURES = {
    "total": lambda Q: [cl.total_uncertainty(Q)],
    "aleatoric": lambda Q: [*cl.aleatoric_uncertainty(Q)],
    "epistemic": lambda Q: [cl.epistemic_uncertainty(Q)],
    "epistemic with error": lambda Q: [*cl.epistemic_uncertainty(Q, return_error=True)],
    "upper entropy": lambda Q: [*cl.upper_entropy(Q, return_error=True, return_distribution=True)],
    "lower entropy": lambda Q: [*cl.lower_entropy(Q, return_error=True, return_distribution=True)],
    "hartley": lambda Q: [*cl.generalized_hartley(Q, return_error=True)],
    "imprecision": lambda Q: [*cl.maximum_mean_imprecision(Q, "tv", return_error=True)],
    "bound": lambda Q: [cl.imprecision_bound(Q)],
    "quantify": lambda Q: [x for one in cl.quantify(Q, ["tv", "entropy", "hartley"]).values()
                           for x in fields(one)],
    "scoring rules": lambda Q: [
        x for name in ("log", "brier", "spherical", "zero_one")
        for x in fields(cl.quantify(Q, f"scoring:{name}"))
    ],
    "lower, upper": lambda Q: [Q.lower(), Q.upper(), Q.lower([0, 1, 2, 3.5]),
                               Q.upper(np.eye(4)[:3]), Q.lower_probability([0, 3])],
    "center": lambda Q: [Q.center(), Q.lower_probabilities(), Q.choquet([0, 1, 2, 3.5])],
}  # fmt: skip


def _largest(x):
    top = x.max(-1)
    return (top if isinstance(x, np.ndarray) else getattr(top, "values", top))[:, None]


def fields(u):
    return tuple(u._arrays().values())


def far(x):
    """A hull of members on the host that is taken to be on another device."""
    x = torch.as_tensor(np.array(x))
    return cl.ConvexHull._from_validated((x,), Backend("torch", x.dtype, x.device, "device"))


@pytest.fixture
def another_device(monkeypatch):
    monkeypatch.setattr(Backend, "kernels_can_read", False)


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("measure", [cl.total_uncertainty, cl.epistemic_uncertainty,
                                     cl.maximum_mean_imprecision])  # fmt: skip
def test_distances_where_the_data_are(another_device, name, measure):
    assert_allclose(measure(far(P), DISTANCES[name]), measure(P, DISTANCES[name]), atol=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
def test_both_aleatoric_ends_come_back(another_device, name):
    got = cl.aleatoric_uncertainty(far(P), DISTANCES[name])
    expected = cl.aleatoric_uncertainty(P, DISTANCES[name])
    for ours, theirs in zip(got, expected, strict=True):
        assert isinstance(ours, torch.Tensor)
        assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_values_are_those_of_the_kernels(another_device, name):
    E = ENSEMBLES[name]
    wanted = ["tv", "entropy", "ordinal", "kolmogorov"] + ["hartley"] * (E.shape[-1] <= 9)
    got, expected = cl.quantify(far(E), wanted), cl.quantify(E, wanted)
    # Sums of single precision come in another order.
    tolerance = 1e-6 if E.dtype == np.float32 else 1e-12
    for one in wanted:
        for ours, theirs in zip(fields(got[one]), fields(expected[one]), strict=True):
            assert ours.dtype == getattr(torch, str(E.dtype))
            assert_allclose(ours, theirs, atol=tolerance)
    Q = far(E)
    assert_array_equal(Q.lower(), cl.ConvexHull(E).lower())
    assert_array_equal(Q.upper(), cl.ConvexHull(E).upper())
    assert_allclose(Q.center(), cl.ConvexHull(E).center(), atol=tolerance)
    assert_allclose(cl.imprecision_bound(Q), cl.imprecision_bound(E), atol=tolerance)
    f = np.arange(2.0 * E.shape[-1]).reshape(2, -1)
    assert_allclose(Q.lower(f), cl.ConvexHull(E).lower(f), rtol=1e-6)


@pytest.mark.parametrize("numbers", [1, 40, 300])
def test_blocks_do_not_change_results(another_device, monkeypatch, numbers):
    monkeypatch.setattr(native, "BLOCK_NUMBERS", numbers)
    Q = far(P.reshape(2, 3, 5, 4))
    for name, d in DISTANCES.items():
        for measure in (cl.total_uncertainty, cl.epistemic_uncertainty):
            assert_allclose(measure(Q, d), measure(P, d).reshape(2, 3), atol=1e-12, err_msg=name)
    assert_allclose(cl.lower_entropy(Q), cl.lower_entropy(P).reshape(2, 3), atol=1e-12)
    assert Q.upper(np.eye(4)).shape == (2, 3, 4)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_batches(another_device, shape):
    Q = far(np.empty((*shape, 4, 5)))
    for value in (*fields(cl.quantify(Q)), *fields(cl.quantify(Q, "entropy")),
                  cl.total_uncertainty(Q, "kolmogorov"), cl.imprecision_bound(Q)):  # fmt: skip
        assert tuple(value.shape) == shape


def test_a_hull_elsewhere_answers_everything(another_device):
    Q, plain = far(P), cl.ConvexHull(P)
    assert (Q.batch_shape, Q.n_members, Q.n_classes, Q.dtype) == ((6,), 5, 4, np.float64)
    assert repr(Q) == repr(plain)
    assert_array_equal(Q.members, P)
    assert_array_equal(Q[2:4].members, P[2:4])
    assert_array_equal(Q[-1].lower(), plain[-1].lower())
    assert_array_equal(Q.contains(Q.center()), np.ones(6, bool))
    assert Q.contains(P[0, 0]).dtype == torch.bool
    assert_array_equal(Q.extreme_points(), plain.extreme_points())
    assert_array_equal(Q.lower_probabilities(), plain.lower_probabilities())
    assert_array_equal(Q.is_two_monotone(), plain.is_two_monotone())
    assert_array_equal(Q.translate(np.zeros(4)).members, P)
    assert_array_equal(Q.to_hull().members, P)
    box = Q.to_intervals()
    assert isinstance(box, cl.ProbabilityIntervals)
    assert_allclose(box.upper(), plain.to_intervals().upper())
    assert isinstance(cl.upper_entropy(box), torch.Tensor)
    assert_array_equal(Q <= Q, np.ones(6, bool))
    assert_array_equal(cl.majority_vote(Q), cl.majority_vote(P))
    assert cl.majority_vote(Q).dtype == torch.int64
    with pytest.raises(IndexError):
        Q[0, 0]


def test_members_elsewhere_are_not_shared():
    Q = far(P)
    members = Q.members
    members += 1
    assert_array_equal(Q.members, P)


def test_tensors_share_memory():
    x = torch.from_numpy(P.copy())
    Q = cl.ConvexHull(x)
    assert np.shares_memory(Q.to_numpy_backed().members, x.numpy())


# ---------------------------------------------------------------- other sets elsewhere


def far_set(Q):
    """The same sets, with data that are taken to be on another device."""
    if isinstance(Q, cl.ConvexHull):
        return far(Q.members)
    parts = tuple(torch.as_tensor(np.array(part)) for part in Q._arrays)
    return type(Q)._from_validated(
        parts, Backend("torch", parts[0].dtype, parts[0].device, "device")
    )


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", SETS)
def test_sets_elsewhere(another_device, kind, measure):
    Q = SETS[kind](P)
    for ours, theirs in zip(MEASURES[measure](far_set(Q)), MEASURES[measure](Q), strict=True):
        assert isinstance(ours, torch.Tensor)
        assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("kind", SETS)
def test_sets_elsewhere_answer_distances_and_the_rest(another_device, kind):
    Q = SETS[kind](P)
    there = far_set(Q)
    assert repr(there) == repr(Q)
    for d in ("ordinal", "kolmogorov", cl.Wasserstein(COST)):
        assert_allclose(cl.total_uncertainty(there, d), cl.total_uncertainty(Q, d), atol=1e-12)
    assert_allclose(there[2:].lower(), Q[2:].lower(), atol=1e-12)
    assert_array_equal(there.contains(there.center()), np.ones(6, bool))
    assert_allclose(there.extreme_points(), Q.extreme_points())
    assert_array_equal(there.is_two_monotone(), Q.is_two_monotone())
    assert isinstance(there.to_hull().members, torch.Tensor)
    assert_array_equal(there <= Q, np.ones(6, bool))


def test_one_class_elsewhere():
    for Q in (cl.Contamination([[1.0]], 0.5), cl.TotalVariationBall([[1.0]], 0.5),
              cl.ProbabilityIntervals([[0.2]], [[1.0]])):  # fmt: skip
        for ours, theirs in zip(fields(cl.quantify(far_set(Q))), fields(cl.quantify(Q)),
                                strict=True):  # fmt: skip
            assert_allclose(ours, theirs)


META_SETS = {
    "intervals": lambda x: cl.ProbabilityIntervals(x / 2, x, validate=False),
    "contamination": lambda x: cl.Contamination(x, 0.25, validate=False),
    "ball": lambda x: cl.TotalVariationBall(x, x[..., 0], validate=False),
    "lower probability": lambda x: cl.LowerProbability(x, validate=False),
    "belief": lambda x: cl.BeliefFunction(x, validate=False),
    "possibility": lambda x: cl.Possibility(x, validate=False),
}
META_MEASURES = {
    "total": cl.total_uncertainty,
    "bound": cl.imprecision_bound,
    "lower": lambda Q: Q.lower()[..., 0],
    "lower aleatoric end": lambda Q: Q.tv_closed_forms(epistemic=False)[1],
    "aleatoric": lambda Q: cl.aleatoric_uncertainty(Q, return_error=True)[0].upper,
    "epistemic": cl.epistemic_uncertainty,
    "lower entropy": lambda Q: Q.min_entropy()[0],
    "upper entropy": lambda Q: Q.max_entropy()[0],
    "hartley": cl.generalized_hartley,
}
#: Those that are not closed forms, and have to read the data.
SEARCHES = {
    "intervals": ("epistemic", "lower entropy", "upper entropy", "hartley"),
    "contamination": (),
    "ball": ("epistemic", "hartley"),
    "lower probability": ("aleatoric", "lower entropy", "upper entropy"),
    "belief": ("lower entropy", "upper entropy"),
    "possibility": ("lower entropy", "upper entropy"),
}


@pytest.mark.parametrize("kind", META_SETS)
def test_closed_forms_of_other_sets_make_no_copy_on_the_host(kind):
    x = torch.empty((7, 8), device="meta")
    for name, measure in META_MEASURES.items():
        if name in SEARCHES[kind]:
            continue
        value = measure(META_SETS[kind](x))
        assert (value.device.type, tuple(value.shape)) == ("meta", (7,)), name


# ---------------------------------------------------------------- meta: a host copy would raise


CLOSED_FORMS = {
    "total": cl.total_uncertainty,
    "epistemic": cl.epistemic_uncertainty,
    "imprecision": cl.maximum_mean_imprecision,
    "imprecision with error": lambda Q: cl.maximum_mean_imprecision(Q, return_error=True)[1],
    "bound": cl.imprecision_bound,
    "mutual information": cl.mutual_information,
    "second-order distance": lambda Q: cl.quantify(Q, "second_order_distance").epistemic,
    "label-wise": lambda Q: cl.quantify(Q, "labelwise").total[..., 0],
    "confidence": lambda Q: cl.quantify(Q, "confidence").total,
    "divergences": lambda Q: sum(Q.max_divergence(x) for x in ("log", "brier", "spherical")),
    "lower entropy": cl.lower_entropy,
    "lower entropy with error": lambda Q: cl.lower_entropy(Q, return_error=True)[1],
    "lower aleatoric end": lambda Q: Q.tv_closed_forms(epistemic=True)[1],
    "least risk": lambda Q: Q.minimax_and_minimin_risk(np.array(COST, float))[1],
    "lower expectation": lambda Q: Q.lower(np.arange(4.0)),
    "upper probability": lambda Q: Q.upper_probability([1, 2]),
    **{f"total {name}": lambda Q, d=d: cl.total_uncertainty(Q, d) for name, d in DISTANCES.items()},
    **{
        f"epistemic {name}": lambda Q, d=d: cl.epistemic_uncertainty(Q, d)
        for name, d in DISTANCES.items()
    },
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms_make_no_copy_on_the_host(name):
    for shape in ((7, 5, 4), (2, 3, 5, 4), (5, 4)):
        x = torch.empty(shape, device="meta", dtype=torch.float32)
        value = CLOSED_FORMS[name](cl.ConvexHull(x, validate=False))
        assert value.device.type == "meta"
        assert tuple(value.shape) == shape[:-2]


def test_classes_on_meta():
    Q = cl.ConvexHull(torch.empty((7, 5, 4), device="meta"), validate=False)
    for value in (Q.lower(), Q.upper(), Q.center(), Q.upper(np.eye(4))):
        assert value.device.type == "meta"
        assert value.shape == (7, 4)
    assert Q[2:].lower().shape == (5, 4)
    logits = cl.ConvexHull.from_logits(torch.empty((7, 5, 4), device="meta"))
    assert cl.total_uncertainty(logits).device.type == "meta"


def test_epistemic_uncertainty_never_holds_all_pairs(another_device, monkeypatch):
    # Nothing that is made has more numbers than a block may hold.
    n, M, K = 300, 30, 8
    limit = n * M * M * K // 20
    monkeypatch.setattr(native, "BLOCK_NUMBERS", limit)
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                seen.append(result.numel())
            return result

    x = dirichlet(n, M, K)
    with Watch():
        value = cl.epistemic_uncertainty(far(x))
    assert_allclose(value, cl.epistemic_uncertainty(x), atol=1e-12)
    assert max(number for number in seen if number != n * M * K) <= limit


def test_solvers_and_checks_need_data():
    x = torch.empty((7, 5, 4), device="meta")
    Q = cl.ConvexHull(x, validate=False)
    for ask in (cl.quantify, cl.upper_entropy, cl.generalized_hartley, cl.aleatoric_uncertainty):
        with pytest.raises(ValueError, match=r"^members: the tensor is on meta, which has no"):
            ask(Q)
    with pytest.raises(ValueError, match=r"^members: is on meta, .*; pass validate=False$"):
        cl.quantify(x)
    with pytest.raises(ValueError, match=r"^center: the tensor is on meta, which has no data"):
        cl.Contamination(x[:, 0], 0.1)


# ---------------------------------------------------------------- the door


def test_shapes_and_dtypes_are_refused_elsewhere():
    for x, message in (
        (torch.empty(4, device="meta"), r"^members: has 1 axes, shape \(4,\); pass an array of"),
        (torch.empty((0, 4), device="meta"), "^members: has no members, shape"),
        (torch.empty((2, 4), dtype=torch.complex64, device="meta"), "^members: is complex"),
    ):
        with pytest.raises(ValueError, match=message):
            cl.ConvexHull(x, validate=False)
    whole = cl.ConvexHull(torch.empty((2, 4), dtype=torch.int32, device="meta"), validate=False)
    assert cl.total_uncertainty(whole).dtype == torch.float64


def test_other_arguments_may_be_tensors():
    Q = cl.ConvexHull(P)
    f = torch.arange(4.0)
    assert_array_equal(Q.lower(f), Q.lower(f.numpy()))
    with pytest.raises(ValueError, match=r"^f: the tensor requires grad; pass f.detach\(\)"):
        Q.lower(f.requires_grad_())


def test_lists_of_tensors_stay_tensors():
    u = cl.quantify([torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])])
    assert isinstance(u.total, torch.Tensor)
    assert u.total.item() == 0.5


def test_summaries_of_tensors():
    au = cl.aleatoric_uncertainty(torch.from_numpy(P))
    for how in ("lower", "upper", "midpoint", "width"):
        assert isinstance(cl.summarize(au, how), torch.Tensor)


def test_sets_on_a_device_are_ordinary_objects(another_device):
    import copy

    for Q in (far(P), far_set(SETS["intervals"](P))):
        assert not hasattr(Q, "no_such_attribute")
        with pytest.raises(AttributeError, match="uper"):
            _ = Q.uper
        assert_allclose(copy.copy(Q).lower(), Q.lower())
        assert_allclose(copy.deepcopy(Q).upper(), Q.upper())
