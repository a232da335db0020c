"""Gradients of measures by the members of a hull, in PyTorch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from credalens._backend import Backend
from ensembles import ENSEMBLES, disagreeing

torch = pytest.importorskip("torch")
gradcheck = torch.autograd.gradcheck


def metric(K, seed=0):
    """Distances of random points in the plane."""
    x = np.random.default_rng(seed).random((K, 2))
    return np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))


def unchecked(members):
    return cl.ConvexHull(members, validate=False)


TREE = cl.Wasserstein.tree([4, 4, 5, 5, 6, 6, -1], [1, 2, 1, 1.5, 2, 2, 0])
DISTANCES = {
    "tv": "tv",
    "ordinal": "ordinal",
    "tree": TREE,
    "few classes": cl.Wasserstein(metric(4)),
    "asymmetric cost": cl.Wasserstein([[0, 1, 2, 3], [2, 0, 1, 1], [1, 1, 0, 4], [1, 3, 1, 0]]),
    "kolmogorov": "kolmogorov",
    "mmd": cl.MMD(np.exp(-metric(4))),
    "functions": cl.TestFunctions(np.random.default_rng(1).random((3, 4))),
}
LINEAR = ("tv", "ordinal", "tree", "few classes", "asymmetric cost")

FAMILIES = (
    "information", "variance", "zero_one", "spherical", "second_order_distance", "confidence",
    "scoring:log", "scoring:brier", "scoring:spherical", "scoring:zero_one", "labelwise:entropy",
    "labelwise:variance", "labelwise:credal",
)  # fmt: skip

#: Every differentiable measure, as a function of hulls over four classes.
MEASURES = {
    "quantify tv": lambda Q: [*fields(cl.quantify(Q))],
    "quantify tv, one end": lambda Q: [cl.quantify(Q).aleatoric.upper],
    "quantify entropy": lambda Q: [*fields(cl.quantify(Q, "entropy", base="e"))],
    "quantify hartley": lambda Q: [*fields(cl.quantify(Q, "hartley"))],
    "quantify both": lambda Q: [
        *fields(cl.quantify(Q, ["tv", "hartley"])["tv"]),
        *fields(cl.quantify(Q, ["tv", "hartley"])["hartley"]),
    ],
    **{f"quantify {name}": lambda Q, name=name: [*fields(cl.quantify(Q, name))]
       for name in FAMILIES},
    "weighted": lambda Q: [*Q.second_order("log", [1, 2, 0, 3]), Q.median_distance([1, 2, 0, 3])],
    "upper entropy": lambda Q: [cl.upper_entropy(Q)],
    "lower entropy": lambda Q: [cl.lower_entropy(Q, base="classes")],
    "hartley": lambda Q: [cl.generalized_hartley(Q)],
    "imprecision tv": lambda Q: [cl.maximum_mean_imprecision(Q)],
    "imprecision kolmogorov": lambda Q: [cl.maximum_mean_imprecision(Q, "kolmogorov")],
    "imprecision bound": lambda Q: [cl.imprecision_bound(Q)],
    "width": lambda Q: [cl.aleatoric_uncertainty(Q).width],
    "lower": lambda Q: [Q.lower()],
    "upper expectation": lambda Q: [Q.upper([0.3, 0.1, 0.9, -2.0])],
    "event": lambda Q: [Q.lower_probability([0, 2]), Q.upper_probability([1])],
    "center": lambda Q: [Q.center()],
    "members": lambda Q: [Q.members],
    **{f"total {name}": lambda Q, d=d: [cl.total_uncertainty(Q, d)]
       for name, d in DISTANCES.items()},
    **{f"epistemic {name}": lambda Q, d=d: [cl.epistemic_uncertainty(Q, d)]
       for name, d in DISTANCES.items() if name != "asymmetric cost"},
    **{f"aleatoric {name}": lambda Q, d=DISTANCES[name]: [*cl.aleatoric_uncertainty(Q, d)]
       for name in LINEAR},
}  # fmt: skip


def fields(u):
    return tuple(value for name, value in u._arrays().items() if name != "error")


def members(seed=0, shape=(2, 4, 4)):
    return torch.tensor(disagreeing(*shape, seed=seed), requires_grad=True)


@pytest.mark.parametrize("name", MEASURES)
def test_gradient_by_members(name):
    assert gradcheck(lambda x: tuple(MEASURES[name](unchecked(x))), members(), atol=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_gradient_through_logits(name):
    logits = torch.tensor(
        2 * np.random.default_rng(3).standard_normal((3, 4, 4)), requires_grad=True
    )

    def function(x):
        return tuple(MEASURES[name](cl.ConvexHull.from_logits(x, temperature=1.3)))

    assert gradcheck(function, logits, atol=1e-6, fast_mode=True)


@pytest.mark.parametrize("name", ["quantify tv", "aleatoric tv", "epistemic tv", "total tv"])
@pytest.mark.parametrize("shape", [(2, 1, 3), (2, 6, 2), (2, 3, 1), (2, 90, 3), (2, 70, 9), (4, 6)])
def test_shapes(name, shape):
    x = torch.tensor(np.random.default_rng(4).standard_normal(shape), requires_grad=True)

    def function(x):
        # Through logits: of two classes many mixtures are best, and tie off the simplex only.
        return tuple(MEASURES[name](cl.ConvexHull.from_logits(x)))

    assert gradcheck(function, x, atol=1e-6, fast_mode=True)


def test_wasserstein_with_many_classes_takes_its_gradient_from_the_dual():
    d = cl.Wasserstein(metric(9))
    logits = torch.tensor(np.random.default_rng(5).standard_normal((4, 3, 9)), requires_grad=True)

    def function(x):
        Q = cl.ConvexHull.from_logits(x)
        u = cl.quantify(Q, d)
        return cl.epistemic_uncertainty(Q, d), *fields(u)

    assert gradcheck(function, logits, atol=1e-6, fast_mode=True)


def test_one_member_of_many_classes():
    """Its widest pair is the member and itself."""
    x = torch.softmax(torch.randn(64, 1, 128, dtype=torch.float64), -1).requires_grad_()
    u = cl.quantify(unchecked(x))
    (u.total + u.epistemic).sum().backward()
    best = x.detach().argmax(-1, keepdim=True)
    assert_allclose(x.grad, torch.zeros_like(x).scatter(-1, best, -1.0), atol=1e-12)


class Twice(cl.distances.Distance):
    """A distance that says no more than it must."""

    def between(self, p, q):
        return np.abs(p - q).sum(axis=-1)


def test_distances_that_say_no_more_than_they_must_have_no_gradient():
    for measure in (cl.epistemic_uncertainty, cl.maximum_mean_imprecision):
        with pytest.raises(ValueError, match=r"^members: requires grad, and .* has no gradient"):
            measure(unchecked(members()), Twice())
        assert_allclose(measure(unchecked(members().detach()), Twice()),
                        2 * measure(unchecked(members().detach())))  # fmt: skip


def test_hartley_with_many_classes():
    x = torch.tensor(disagreeing(2, 3, 11, seed=2), requires_grad=True)
    assert gradcheck(lambda x: cl.generalized_hartley(unchecked(x)), x, atol=1e-6)


@pytest.mark.parametrize("name", ["quantify tv", "total tv", "epistemic tv", "aleatoric tv"])
def test_tensors_on_other_devices_take_the_same_gradient(monkeypatch, name):
    near, far = members(7, (5, 6, 4)), members(7, (5, 6, 4))
    sum(value.sum() for value in MEASURES[name](unchecked(near))).backward()
    monkeypatch.setattr(Backend, "kernels_can_read", False)
    results = MEASURES[name](unchecked(far))
    sum(value.sum() for value in results).backward()
    assert_allclose(far.grad, near.grad, atol=1e-12)
    assert gradcheck(lambda x: tuple(MEASURES[name](unchecked(x))), members(), atol=1e-6)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_values_are_those_of_numpy_and_gradients_finite(name):
    P = ENSEMBLES[name]
    x = torch.tensor(P, requires_grad=True)
    wanted = ["tv", "entropy", "ordinal"] + ["hartley"] * (P.shape[-1] <= 9)
    got, expected = cl.quantify(x, wanted), cl.quantify(P, wanted)
    tolerance = 1e-6 if P.dtype == np.float32 else 1e-12
    for one in wanted:
        for ours, theirs in zip(fields(got[one]), fields(expected[one]), strict=True):
            assert ours.dtype == x.dtype
            assert ours.requires_grad
            assert_allclose(ours.detach(), theirs, atol=tolerance, rtol=tolerance)
        assert not got[one].error.requires_grad
        assert_allclose(got[one].error, expected[one].error, atol=1e-12)
    sum(value.sum() for one in wanted for value in fields(got[one])).backward()
    assert x.grad.dtype == x.dtype
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_gradient_at_ties_is_a_generalised_one(name):
    # Total variation measures are maxima and minima of linear functions: however members tie, what
    # comes back is the gradient of one of them, so that <gradient, P> is the value itself.
    P = ENSEMBLES[name].astype(np.float64)
    for pick, constant in enumerate((1.0, 1.0, 1.0, 0.0)):
        x = torch.tensor(P, requires_grad=True)
        value = fields(cl.quantify(unchecked(x)))[pick]
        value.sum().backward()
        along = (x.grad * x.detach()).sum(dim=(1, 2))
        assert_allclose(constant + along, value.detach(), atol=1e-12)


def test_a_loss_of_everything_is_the_sum_of_the_parts():
    rng = np.random.default_rng(0)
    rates = [torch.tensor(rng.standard_normal(20)) for _ in range(4)]
    x = members(3, (20, 5, 6))
    sum(
        (r * v).sum() for r, v in zip(rates, fields(cl.quantify(unchecked(x))), strict=True)
    ).backward()
    parts = torch.zeros_like(x)
    for pick, rate in enumerate(rates):
        y = members(3, (20, 5, 6))
        (rate * fields(cl.quantify(unchecked(y)))[pick]).sum().backward()
        parts += y.grad
    assert_allclose(x.grad, parts, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_lower_precisions(dtype):
    x = members().detach().to(getattr(torch, dtype)).requires_grad_()
    exact = x.detach().double().requires_grad_()
    for measure in (cl.quantify, lambda Q: cl.quantify(Q, "entropy")):
        u = measure(unchecked(x))
        assert u.total.dtype == u.epistemic.dtype == torch.float32
        x.grad = exact.grad = None
        (u.total.sum() + u.epistemic.sum()).backward()
        v = measure(unchecked(exact))
        (v.total.sum() + v.epistemic.sum()).backward()
        assert x.grad.dtype == x.dtype
        atol = {"float16": 2e-2, "bfloat16": 2e-1, "float32": 1e-5}[dtype]
        assert_allclose(x.grad.double(), exact.grad, atol=atol)


def test_training_with_a_measure():
    torch.manual_seed(0)
    logits = torch.randn(8, 4, 3, requires_grad=True)
    optimiser = torch.optim.SGD([logits], lr=5.0)
    first = None
    for _ in range(30):
        loss = cl.epistemic_uncertainty(cl.ConvexHull.from_logits(logits)).mean()
        first = loss.item() if first is None else first
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.5 * first


def test_without_grad_mode_the_kernels_answer():
    x = members()
    with torch.no_grad():
        u = cl.quantify(x)
    assert not u.total.requires_grad
    assert_allclose(u.total, cl.quantify(x.detach()).total)


def test_second_derivatives_are_refused():
    x = members()
    (gradient,) = torch.autograd.grad(
        cl.aleatoric_uncertainty(unchecked(x)).upper.sum(), x, create_graph=True
    )
    with pytest.raises(RuntimeError, match="first derivatives only; detach"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (lambda Q: cl.aleatoric_uncertainty(Q, "kolmogorov"), "aleatoric"),
        (lambda Q: cl.generalized_hartley(Q, method="sample"), "hartley_sample"),
        (lambda Q: cl.upper_entropy(Q, return_distribution=True), "max_entropy"),
        (lambda Q: Q.extreme_points(), "extreme_points"),
    ],
)
def test_what_has_no_gradient_is_refused(ask, word):
    with pytest.raises(
        ValueError, match=rf"^members: requires grad, and .*{word}.*; pass members.detach\(\)"
    ):
        ask(unchecked(members()))


def shares(x):
    """Distributions of any numbers."""
    return torch.softmax(x, dim=-1)


P_ROWS = disagreeing(4, 1, 4)[:, 0]
OTHER_SETS = {
    "intervals": (
        lambda x: cl.ProbabilityIntervals(shares(x) * 0.5, shares(x) * 0.5 + 0.3),
        ("total tv", "aleatoric tv", "lower", "center", "imprecision bound"),
    ),
    "box round members": (
        lambda x: cl.ProbabilityIntervals.from_members(shares(x).reshape(-1, 2, 4)),
        ("total tv", "aleatoric tv", "lower", "imprecision bound"),
    ),
    "contamination": (
        lambda x: cl.Contamination(shares(x), 0.2),
        ("quantify tv", "quantify entropy", "quantify hartley", "total ordinal",
         "epistemic ordinal", "upper expectation", "center"),
    ),
    "contamination's epsilon": (
        lambda x: cl.Contamination(P_ROWS, 0.3 * torch.sigmoid(x[..., 0])),
        ("quantify tv", "quantify entropy", "quantify hartley", "epistemic ordinal"),
    ),
    "ball": (
        lambda x: cl.TotalVariationBall(shares(x), 0.05),
        ("total tv", "aleatoric tv", "upper entropy", "lower entropy", "lower"),
    ),
    "lower probability": (
        lambda x: cl.LowerProbability(
            cl.BeliefFunction(_without_empty(x)).lower_probabilities(), validate=False
        ),
        ("total tv", "epistemic tv", "hartley", "lower"),
    ),
    "belief": (
        lambda x: cl.BeliefFunction(_without_empty(x)),
        ("quantify tv", "hartley", "lower", "imprecision tv"),
    ),
}  # fmt: skip


def _without_empty(x):
    """Masses of the sets of two classes, nothing on the empty one."""
    return torch.nn.functional.pad(shares(x[..., :3]), (1, 0))


@pytest.mark.parametrize("kind", OTHER_SETS)
def test_closed_forms_of_other_sets_have_gradients(kind):
    make, names = OTHER_SETS[kind]
    x = torch.tensor(np.random.default_rng(6).standard_normal((4, 4)), requires_grad=True)
    for name in names:
        function = lambda x, n=name: tuple(MEASURES[n](make(x)))  # noqa: E731
        assert gradcheck(function, x, atol=1e-6, fast_mode=True)


def test_searches_of_other_sets_have_none():
    x = torch.full((3,), 1 / 3, requires_grad=True)
    for Q in (cl.ProbabilityIntervals(x / 2, x + 0.3), cl.TotalVariationBall(x, 0.1)):
        with pytest.raises(ValueError, match=r"requires grad, and .*diam.* has no gradient"):
            cl.epistemic_uncertainty(Q)
    with pytest.raises(ValueError, match=r"^lower: is -0.33.* at index 0 "):
        cl.ProbabilityIntervals(-x, x)


def test_bad_rows_are_named():
    x = torch.tensor([[0.5, 0.5], [0.5, 0.25]], requires_grad=True)
    with pytest.raises(ValueError, match=r"^members: row 1 \(zero-based\) sums to 0.75; "):
        cl.quantify(x)
    logits = torch.tensor([[0.5, float("nan")]], requires_grad=True)
    with pytest.raises(ValueError, match=r"^logits: is NaN at index \(0, 1\)"):
        cl.ConvexHull.from_logits(logits)


def test_normalize_is_differentiated():
    x = torch.tensor(5 * disagreeing(2, 3, 4), requires_grad=True)
    assert gradcheck(lambda x: cl.total_uncertainty(cl.ConvexHull(x, normalize=True)), x, atol=1e-6)


def test_distance_between_two_distributions():
    p, q = (members(seed).detach()[:, 0].requires_grad_() for seed in (0, 1))
    for name, d in DISTANCES.items():
        if name in ("tv", "ordinal", "kolmogorov"):
            d = {"tv": cl.TotalVariation(), "ordinal": cl.Wasserstein.ordinal(4)}.get(
                name, cl.Kolmogorov()
            )
        if name == "asymmetric cost":
            with pytest.raises(ValueError, match=r"needs a solver; pass p\.detach"):
                d(p, q)
            continue
        got = d(p, q)
        assert_allclose(got.detach(), d(p.detach(), q.detach()), atol=1e-12)
        (gradient,) = torch.autograd.grad(got.sum(), p)
        step = 1e-7 * torch.tensor([1.0, -1.0, 1.0, -1.0])
        change = (d(p.detach() + step, q.detach()) - got.detach()) / 1e-7
        assert_allclose(change, (gradient * step / 1e-7).sum(dim=1), atol=1e-5)


def test_the_log_divergence_with_zeros_is_that_of_numpy():
    P = np.array([
        [[0.5, 0.5, 0.0], [0.4, 0.5, 0.1], [0.98, 0.01, 0.01]],  # a zero that others have not
        [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.9, 0.1, 0.0]],  # a class that no member considers
        [[0.5, 0.3, 0.2], [0.4, 0.5, 0.1], [0.98, 0.01, 0.01]],
    ])  # fmt: skip
    expected = cl.quantify(P, "scoring:log").epistemic
    assert np.isinf(expected).tolist() == [True, False, False]
    members = torch.tensor(P, requires_grad=True)
    found = cl.quantify(members, "scoring:log").epistemic
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)
    found[1:].sum().backward()
    assert torch.isfinite(members.grad).all()
    # Also where the value itself is infinite.
    (gradient,) = torch.autograd.grad(cl.quantify(members, "scoring:log").total.upper[0], members)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("name", ["ordinal", "tree", "few classes", "asymmetric cost"])
def test_the_upper_end_of_equal_members_has_the_gradient_of_their_risk(name, copies):
    """Lower end, upper end and total are equal up to rounding: no clip may remove the gradient."""
    distance = cl.distances.as_distance(DISTANCES[name], 4)
    p = torch.softmax(torch.tensor(np.random.default_rng(0).normal(size=(100, 1, 4))), -1)
    members = p.expand(-1, copies, -1).clone().requires_grad_(True)
    cl.aleatoric_uncertainty(members, distance).upper.sum().backward()
    cost = np.asarray(distance.cost)
    best = (p.numpy()[:, 0] @ cost).argmin(axis=1)
    assert_allclose(members.grad.numpy().sum(axis=1), cost.T[best], atol=1e-12)


@pytest.mark.parametrize("name", ["line", "tree"])
def test_many_classes_on_edges_have_the_gradients_of_their_costs(name):
    K = 40  # more than those for which a matrix is used
    rng = np.random.default_rng(1)
    parents = [K + i // 4 for i in range(K)] + [K + 10] * 10 + [-1]
    distance = {
        "line": cl.Wasserstein.ordinal(rng.normal(size=K)),
        "tree": cl.Wasserstein.tree(parents, rng.random(len(parents))),
    }[name]
    members = torch.tensor(rng.dirichlet(np.ones(K), (6, 3)))
    results = []
    for cost in (distance, cl.Wasserstein(distance.cost)):
        x = members.clone().requires_grad_(True)
        u = cl.quantify(unchecked(x), cost) if cost is distance else None
        total = u.total if u else cl.total_uncertainty(unchecked(x), cost)
        ends = u.aleatoric if u else cl.aleatoric_uncertainty(unchecked(x), cost)
        (total + 2 * ends.lower + 3 * ends.upper).sum().backward()
        results.append((total, *ends, x.grad))
    for a, b in zip(*results, strict=True):
        assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-9)
    x = members.clone().requires_grad_(True)
    value = cl.epistemic_uncertainty(unchecked(x), distance)
    value.sum().backward()
    assert_allclose(value.detach().numpy(), cl.epistemic_uncertainty(members.numpy(), distance))
    moved = 1e-6 * torch.tensor(rng.normal(size=members.shape))
    change = cl.epistemic_uncertainty(unchecked(members + moved), distance) - value.detach()
    assert_allclose(change.sum(), (x.grad * moved).sum(), rtol=1e-6)
