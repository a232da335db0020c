"""quantify: several families at once, nothing computed twice, nothing without its error."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.measures.results import Uncertainty
from ensembles import ENSEMBLES, dirichlet, disagreeing

everywhere = pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
FAMILIES = ["tv", "entropy", "hartley"]


@pytest.fixture
def calls(monkeypatch):
    """Count the questions that are put to a hull."""
    counts = {}
    for name in ("max_entropy", "min_entropy", "hartley_exact", "hartley_sample", "tv_uncertainty"):
        plain = getattr(cl.ConvexHull, name)

        def counting(self, *args, _name=name, _plain=plain, **options):
            counts[_name] = counts.get(_name, 0) + 1
            return _plain(self, *args, **options)

        monkeypatch.setattr(cl.ConvexHull, name, counting)
    return counts


def same(a, b):
    assert_array_equal(a.total, b.total)
    assert_array_equal(a.epistemic, b.epistemic)
    assert_array_equal(a.error, b.error)
    if isinstance(a.aleatoric, cl.Interval):
        assert_array_equal(a.aleatoric.lower, b.aleatoric.lower)
        assert_array_equal(a.aleatoric.upper, b.aleatoric.upper)
    else:
        assert_array_equal(a.aleatoric, b.aleatoric)


# ---------------------------------------------------------------- the parts of each family


@everywhere
def test_the_entropy_family(P):
    Q = cl.ConvexHull(P, validate=False)
    u = cl.quantify(Q, "entropy")
    upper, gap = cl.upper_entropy(Q, return_error=True)
    assert_array_equal(u.total, upper)
    assert_array_equal(u.aleatoric, cl.lower_entropy(Q))
    assert_array_equal(u.error, gap)
    assert (u.epistemic >= 0).all()
    assert_allclose(u.epistemic, u.total - u.aleatoric, rtol=0, atol=4 * np.finfo(P.dtype).eps)


@everywhere
def test_the_hartley_family(P):
    Q = cl.ConvexHull(P, validate=False)
    u = cl.quantify(Q, "hartley", random_state=5)
    upper, gap = cl.upper_entropy(Q, return_error=True)
    hartley, error = cl.generalized_hartley(Q, random_state=5, return_error=True)
    assert_array_equal(u.total, upper)
    assert_array_equal(u.epistemic, hartley)
    slack = 16 * np.finfo(P.dtype).eps
    assert_allclose(u.aleatoric, upper - hartley, rtol=0, atol=slack)
    single = 0 if P.dtype == np.float64 else 1e-5  # the error covers the rounding of results
    assert_allclose(u.error, gap + error, rtol=1e-6, atol=single)
    assert (error > single).any() == (P.shape[-1] > 60)


def test_the_distance_family():
    P = disagreeing(6, 4, 5)
    u = cl.quantify(P)
    assert_array_equal(u.total, cl.total_uncertainty(P))
    assert_array_equal(u.epistemic, cl.epistemic_uncertainty(P))
    assert isinstance(u.aleatoric, cl.Interval)
    same(cl.quantify(P, "tv"), u)
    same(cl.quantify(P, cl.TotalVariation()), u)


def test_hand_computed():
    # Hull of (1, 0) and (1/2, 1/2). S* = 1, S_* = 0; lower(0) = 1/2, lower(1) = 0, GH = 1/2.
    u = cl.quantify([[1.0, 0.0], [0.5, 0.5]], ["entropy", "hartley"])
    assert_allclose([u["entropy"].total, u["entropy"].aleatoric, u["entropy"].epistemic],
                    [1, 0, 1], atol=1e-9)  # fmt: skip
    assert_allclose([u["hartley"].total, u["hartley"].aleatoric, u["hartley"].epistemic],
                    [1, 0.5, 0.5], atol=1e-9)  # fmt: skip


def test_precise_sets_have_no_epistemic_uncertainty():
    P = np.repeat(dirichlet(8, 1, 6), 5, axis=1)
    u = cl.quantify(P, FAMILIES)
    assert_array_equal(u["hartley"].epistemic, 0)
    assert_allclose(u["entropy"].epistemic, 0, atol=1e-14)
    assert (u["entropy"].epistemic >= 0).all()
    assert_array_equal(u["hartley"].aleatoric, u["entropy"].total)
    assert_allclose(u["tv"].epistemic, 0, atol=1e-15)


# ---------------------------------------------------------------- several at once


def test_a_list_gives_a_dict():
    P = disagreeing(6, 4, 5)
    u = cl.quantify(P, FAMILIES)
    assert list(u) == FAMILIES
    for name in FAMILIES:
        assert isinstance(u[name], Uncertainty)
        same(u[name], cl.quantify(P, name))
    assert list(cl.quantify(P, ("entropy",))) == ["entropy"]
    distance = cl.TotalVariation()
    assert list(cl.quantify(P, [distance, "hartley"])) == [distance, "hartley"]
    assert isinstance(cl.quantify(P, "entropy"), Uncertainty)


def test_families_share_the_upper_entropy(calls):
    cl.quantify(disagreeing(6, 4, 5), ["tv", "entropy", "hartley"])
    assert calls == {"max_entropy": 1, "min_entropy": 1, "hartley_exact": 1, "tv_uncertainty": 1}


def test_a_family_asks_for_nothing_that_it_does_not_need(calls):
    P = disagreeing(6, 4, 5)
    cl.quantify(P, "tv")
    assert calls == {"tv_uncertainty": 1}
    calls.clear()
    cl.quantify(P, "entropy")
    assert calls == {"max_entropy": 1, "min_entropy": 1}
    calls.clear()
    cl.quantify(P, "hartley")
    assert calls == {"max_entropy": 1, "hartley_exact": 1}


# ---------------------------------------------------------------- options


def test_a_sampled_hartley_measure_carries_its_error():
    P = dirichlet(4, 5, 50, 0.5)
    u = cl.quantify(P, "hartley", random_state=0)
    assert (u.error > 1e-4).all()
    assert (u.error <= 0.01 * u.epistemic + 1e-9).all()
    assert (cl.quantify(P, "hartley", random_state=1).epistemic != u.epistemic).all()
    same(cl.quantify(P, "hartley", random_state=0), u)
    state = np.random.default_rng(3)
    same(
        cl.quantify(P, "hartley", random_state=state),
        cl.quantify(P, "hartley", random_state=np.random.default_rng(3)),
    )
    # The entropy family beside it has the solver's gap only.
    both = cl.quantify(P, ["entropy", "hartley"], random_state=0)
    assert (both["entropy"].error <= 1e-9).all()
    same(both["hartley"], u)


def test_options_of_the_hartley_measure():
    P = dirichlet(4, 5, 14, 0.5)
    sampled = cl.quantify(P, "hartley", method="sample", n_samples=64, random_state=0)
    value, error = cl.generalized_hartley(
        P, method="sample", n_samples=64, random_state=0, return_error=True
    )
    assert_array_equal(sampled.epistemic, value)
    assert (sampled.error >= error).all()
    assert (error > 0).all()
    rough = cl.quantify(P, "hartley", method="sample", rtol=0.2, random_state=0)
    assert_array_equal(
        rough.epistemic, cl.generalized_hartley(P, method="sample", rtol=0.2, random_state=0)
    )
    exact = cl.quantify(P, "hartley", method="exact")
    assert_array_equal(exact.epistemic, cl.generalized_hartley(P, method="exact"))
    assert (exact.error <= 1e-9).all()


@pytest.mark.parametrize("base", ["e", 10, "classes"])
def test_base(base):
    P = dirichlet(5, 4, 30, 0.5)
    unit = {"e": 1 / math.log(2), 10: math.log2(10), "classes": math.log2(30)}[base]
    bits = cl.quantify(P, FAMILIES, random_state=0)
    other = cl.quantify(P, FAMILIES, base=base, random_state=0)
    same(other["tv"], bits["tv"])  # a distance has no base
    for family in ("entropy", "hartley"):
        for part in ("total", "aleatoric", "epistemic", "error"):
            assert_allclose(
                getattr(other[family], part), getattr(bits[family], part) / unit,
                rtol=1e-10, atol=1e-16,
            )  # fmt: skip


def test_one_class_in_units_of_log_classes():
    u = cl.quantify(np.ones((3, 2, 1)), FAMILIES, base="classes")
    for family in ("entropy", "hartley"):
        for part in ("total", "aleatoric", "epistemic", "error"):
            assert_array_equal(getattr(u[family], part), np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_a_little_above_one_are_certain(dtype):
    row = np.array([[1 + 100 * np.finfo(dtype).eps, 0.0]], dtype)
    for Q in (row, cl.Contamination(row[0], 0.0), cl.TotalVariationBall(row[0], 0.0)):
        u = cl.quantify(Q)
        assert (u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic) == (0, 0, 0, 0)
        assert cl.total_uncertainty(Q) == cl.aleatoric_uncertainty(Q).upper == 0


def test_one_class_is_certain_whatever_its_row_sums_to():
    members = np.float32([[[0.9998], [1.0]], [[1.0002], [1.0]]])
    u = cl.quantify(members)
    values = [u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic]
    values += [cl.epistemic_uncertainty(members), cl.maximum_mean_imprecision(members)]
    for value in (*values, cl.imprecision_bound(members)):
        assert value.tolist() == [0, 0]


def test_a_diameter_between_bounds_comes_with_its_error():
    members = np.random.default_rng(0).dirichlet(np.full(41, 0.05), (50, 2))
    Q = cl.ProbabilityIntervals.from_members(members)
    with pytest.raises(ValueError, match="only certified to lie between"):
        cl.epistemic_uncertainty(Q)
    value, error = cl.epistemic_uncertainty(Q, return_error=True)
    u = cl.quantify(Q)
    assert_array_equal(u.epistemic, value)
    assert_array_equal(u.error, error)
    assert 0 < error.max() < 1e-2


def test_shapes_and_dtypes():
    P = dirichlet(6, 4, 5).reshape(2, 3, 4, 5)
    for family in ("entropy", "hartley"):
        for dtype in (np.float64, np.float32):
            u = cl.quantify(P.astype(dtype), family)
            parts = (u.total, u.aleatoric, u.epistemic, u.error)
            assert all(part.shape == (2, 3) and part.dtype == dtype for part in parts)
            one = cl.quantify(P[1, 2].astype(dtype), family)
            assert isinstance(one.total, dtype)
            assert one.total == u.total[1, 2]
        assert cl.quantify(P[:0], family).aleatoric.shape == (0, 3)


def test_inputs_are_not_written_to():
    P = dirichlet(6, 4, 5)
    before = P.copy()
    cl.quantify(P, FAMILIES)
    assert_array_equal(P, before)
    assert P.flags.writeable


def test_the_result_is_frozen():
    u = cl.quantify(np.eye(2))
    with pytest.raises(AttributeError, match="cannot assign"):
        u.total = 0


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "measure", ["shannon", "TV", "", None, 3, ["tv", "gini"], [None], [["tv"]]], ids=repr
)
def test_unknown_measures_are_refused(measure):
    with pytest.raises(ValueError, match=r"measure: is .*; choose one of .*'entropy', 'hartley'"):
        cl.quantify(np.eye(2), measure)


def test_unknown_measures_are_refused_before_anything_is_computed(calls):
    with pytest.raises(ValueError, match="measure: is 'gini'"):
        cl.quantify(np.eye(2), ["entropy", "gini"])
    assert calls == {}


def test_other_options_are_refused():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'n_sample'"):
        cl.quantify(np.eye(2), "hartley", n_sample=3)
    with pytest.raises(ValueError, match=r"base: is 0"):
        cl.quantify(np.eye(2), "entropy", base=0)
    with pytest.raises(ValueError, match=r"method: is 'guess'"):
        cl.quantify(np.eye(2), "hartley", method="guess")
    with pytest.raises(ValueError, match=r"random_state: is 'a'"):
        cl.quantify(np.eye(40), "hartley", random_state="a")
    with pytest.raises(ValueError, match=r"members: row 1 .*sums to 0\.9"):
        cl.quantify([[0.5, 0.5], [0.5, 0.4]], "entropy")


# ---------------------------------------------------------------- other array libraries


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    P = dirichlet(6, 4, 5)
    for dtype in (torch.float64, torch.float32):
        tensor = torch.from_numpy(P).to(dtype)
        expected = cl.quantify(tensor.numpy(), FAMILIES)
        u = cl.quantify(tensor, FAMILIES)
        for family in ("entropy", "hartley"):
            for part in ("total", "aleatoric", "epistemic", "error"):
                result = getattr(u[family], part)
                assert isinstance(result, torch.Tensor)
                assert result.dtype == dtype
                assert_array_equal(result.numpy(), getattr(expected[family], part))
        value, gap, p = cl.upper_entropy(tensor, return_error=True, return_distribution=True)
        assert value.dtype == gap.dtype == p.dtype == dtype
        assert isinstance(cl.generalized_hartley(tensor), torch.Tensor)
        assert_array_equal(cl.lower_entropy(tensor).numpy(), cl.lower_entropy(tensor.numpy()))


@pytest.mark.parametrize("measure", ["entropy", "hartley", ["tv", "entropy"]])
def test_warnings_point_at_the_caller(monkeypatch, measure):
    monkeypatch.setattr("credalens.measures.entropy.CERTIFIED_BITS", -1.0)
    with pytest.warns(RuntimeWarning, match="could not be certified") as caught:
        cl.quantify(disagreeing(3, 4, 5), measure)
    assert {warning.filename for warning in caught} == {__file__}


def test_results_keep_the_index_of_frames():
    pandas = pytest.importorskip("pandas")
    index = pandas.Index(["p1", "p2"], name="patient")
    frames = [pandas.DataFrame({"a": [0.9, a], "b": [0.1, 1 - a]}, index=index) for a in (0.2, 0.3)]
    u = cl.quantify(frames)
    assert u.to_pandas().index.equals(index)
    assert u[1:].to_pandas().index.tolist() == ["p2"]
    assert (
        cl.quantify(dict(zip("mn", frames, strict=True)), ["tv", "entropy"])["entropy"]
        .to_pandas()
        .index.equals(index)
    )
    assert u.aleatoric.to_pandas().index.equals(index)
    assert cl.aleatoric_uncertainty(frames).to_pandas().index.equals(index)
    assert cl.quantify(cl.ConvexHull.from_frames(frames)[:1]).to_pandas().index.tolist() == ["p1"]


def test_results_of_many_rows_are_short():
    u = cl.quantify(dirichlet(1000, 3, 4))
    assert len(u) == len(u.aleatoric) == 1000
    for result in (u, u.aleatoric):
        assert repr(result).count("\n") <= 12
        assert "1000 rows" in repr(result)
        assert result._repr_html_().count("<tr>") == 12
    assert repr(u[3]).startswith("Uncertainty(total=0.")
    assert_array_equal(u[5:8].total, u.total[5:8])
    assert_array_equal(u[u.total > 0.9].aleatoric.upper, u.aleatoric.upper[u.total > 0.9])
    with pytest.raises(TypeError, match="no len"):
        len(u[3])
    with pytest.raises(IndexError, match="cannot be indexed"):
        _ = u[3][0]


def test_intervals_have_two_ends():
    au = cl.quantify(dirichlet(5, 3, 4)).aleatoric
    assert_array_equal(np.asarray(au), np.stack([au.lower, au.upper], axis=-1))
    for operation in (
        lambda: au > 0.3, lambda: au <= au, lambda: au + 1, lambda: 2 * au, lambda: au / 2,
    ):  # fmt: skip
        with pytest.raises(TypeError, match="an Interval has two ends"):
            operation()
