"""Arrays with the classes on any axis: channels first, as tensors of images are."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import credalens as cl
from credalens import _kernels
from credalens._backend import plane_runs
from credalens._backend.batching import PLANES_BYTES

#: (M, N, K, H, W), as a stack of the predictions of five segmentation networks.
STACK = np.random.default_rng(0).dirichlet(np.ones(3), (5, 2, 6, 7)).transpose(0, 1, 4, 2, 3).copy()
MEMBERS = np.ascontiguousarray(STACK.transpose(1, 3, 4, 0, 2))

MEASURES = [
    cl.total_uncertainty,
    cl.epistemic_uncertainty,
    cl.upper_entropy,
    cl.lower_entropy,
    cl.generalized_hartley,
    cl.predictive_entropy,
    cl.expected_entropy,
    cl.mutual_information,
    cl.maximum_mean_imprecision,
    cl.imprecision_bound,
    cl.volume,
    cl.decide,
    cl.admissible,
]


def fields(u):
    return [u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic, u.error]


def assert_same(got, wanted):
    for one, other in zip(fields(got), fields(wanted), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantify_of_channels_first(dtype):
    stack, members = STACK.astype(dtype), MEMBERS.astype(dtype)
    u = cl.quantify(stack, axis=0, class_axis=2)
    assert u.total.shape == (2, 6, 7)
    assert u.total.dtype == dtype
    assert_same(u, cl.quantify(members))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_measures_and_decisions_accept_the_axes(measure):
    assert_array_equal(measure(STACK, axis=0, class_axis=2), measure(MEMBERS))


def test_aleatoric_uncertainty_and_sets_accept_the_axes():
    got = cl.aleatoric_uncertainty(STACK, axis=0, class_axis=-3)
    assert_array_equal(got.upper, cl.aleatoric_uncertainty(MEMBERS).upper)
    Q = cl.ConvexHull(STACK, axis=0, class_axis=2)
    assert np.shares_memory(Q.members, STACK)
    assert_array_equal(Q.members, MEMBERS)
    assert_array_equal(cl.as_credal_set(STACK, axis=0, class_axis=2).members, MEMBERS)
    logits = cl.ConvexHull.from_logits(np.log(STACK), axis=0, class_axis=2)
    assert_array_equal(logits.members, cl.ConvexHull.from_logits(np.log(MEMBERS)).members)


@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 4),
    st.permutations(range(5)), st.sampled_from([np.float32, np.float64]),
)  # fmt: skip
def test_every_order_of_the_axes_gives_the_same_bits(M, K, width, order, dtype):
    members = np.random.default_rng(M).dirichlet(np.ones(K), (2, 3, width, M)).astype(dtype)
    given = np.ascontiguousarray(members.transpose(order))
    axis, class_axis = order.index(3), order.index(4)
    # The axes of the batch are those that are left, in their order.
    batch = np.moveaxis(given, (axis, class_axis), (-2, -1))
    got = cl.quantify(given, axis=axis, class_axis=class_axis)
    assert_same(got, cl.quantify(np.ascontiguousarray(batch)))


def test_the_members_are_before_the_classes_by_default():
    first = MEMBERS[0].transpose(2, 3, 0, 1)  # (M, K, H, W)
    assert_same(cl.quantify(first, class_axis=1), cl.quantify(MEMBERS[0]))


def test_a_sequence_of_arrays_of_channels_first():
    got = cl.quantify(list(STACK), axis=0, class_axis=2)
    assert_same(got, cl.quantify(MEMBERS))


def test_views_of_parts_and_reversed_axes():
    for part in (STACK[:, :, ::-1], STACK[::-1, :, :, 1:5, 2:], STACK[..., ::2], STACK[..., ::-1]):
        members = np.ascontiguousarray(part.transpose(1, 3, 4, 0, 2))
        assert_same(cl.quantify(part, axis=0, class_axis=2), cl.quantify(members))


def test_a_stack_of_large_images_is_read_in_place():
    members = np.random.default_rng(2).dirichlet(np.ones(3), (3, 2, 20, 20, 5))
    stack = np.ascontiguousarray(members.transpose(4, 0, 1, 5, 2, 3))  # (M, N, N', K, H, W)
    assert len(plane_runs(np.moveaxis(stack, (0, 3), (-2, -1)))) == 6
    assert_same(cl.quantify(stack, axis=0, class_axis=3), cl.quantify(members))


@pytest.mark.parametrize("shape", [(40, 50), (9, 11, 13), (1, 1), (1, 70)])
def test_several_blocks(shape, monkeypatch):
    monkeypatch.setattr("credalens._backend.batching.PLANES_BYTES", 4000)
    monkeypatch.setattr("credalens._backend.batching.SMALL_BYTES", 1000)
    planes = np.random.default_rng(1).dirichlet(np.ones(4), (3, *shape)).astype(np.float32)
    stack = np.ascontiguousarray(np.moveaxis(planes, -1, 1))
    wanted = cl.quantify(np.ascontiguousarray(np.moveaxis(planes, 0, -2)))
    assert_same(cl.quantify(stack, axis=0, class_axis=1), wanted)


def test_an_invalid_voxel_is_found_with_its_index():
    bad = STACK.copy()
    bad[3, 1, :, 4, 2] = [0.5, 0.1, 0.1]
    for call in (cl.quantify, cl.ConvexHull):
        with pytest.raises(ValueError, match=r"members: row \(1, 4, 2, 3\).*sums to 0\.7"):
            call(bad, axis=0, class_axis=2)


def test_no_copy_of_the_whole_array():
    stack = np.full((5, 3, 64, 128, 128), 1 / 3, np.float32)  # 63 MB
    tracemalloc.start()
    u = cl.quantify(stack, axis=0, class_axis=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    results = sum(x.nbytes for x in fields(u))
    assert peak - results <= 3 * PLANES_BYTES, peak
    assert float(u.total.max()) == pytest.approx(2 / 3)


@pytest.mark.parametrize("class_axis", [5, -6, 1.0, True, "K"])
def test_class_axis_has_to_exist(class_axis):
    with pytest.raises(
        ValueError, match=r"class_axis: is .*\(5, 2, 3, 6, 7\).*the classes, 0 to 4"
    ):
        cl.quantify(STACK, axis=0, class_axis=class_axis)


def test_axes_that_cannot_be_used():
    with pytest.raises(ValueError, match=r"axis: is 2, as class_axis=2, of shape"):
        cl.quantify(STACK, axis=2, class_axis=2)
    with pytest.raises(ValueError, match=r"class_axis: is 0, the first one of shape .*pass axis="):
        cl.quantify(STACK, class_axis=0)
    with pytest.raises(ValueError, match="class_axis: is given for a ConvexHull"):
        cl.quantify(cl.ConvexHull(MEMBERS), class_axis=1)
    with pytest.raises(ValueError, match="axis: is given for a ProbabilityIntervals"):
        cl.quantify(cl.ProbabilityIntervals([0.1, 0.2], [0.5, 0.9]), axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "M", "K"), [(1, 1, 1), (7, 2, 3), (1000, 5, 3), (65, 40, 30)])
def test_gather_instances(n, M, K, dtype):
    stack = np.random.default_rng(0).random((M, K, n)).astype(dtype)
    for planes in (stack, stack[::-1], stack[:, ::-1]):
        out = np.full((n, M, K), np.nan, dtype)
        _kernels.gather_instances(planes.transpose(2, 0, 1), out, 2)
        assert_array_equal(out, planes.transpose(2, 0, 1))
    with pytest.raises(ValueError, match="same shape"):
        _kernels.gather_instances(stack.transpose(2, 0, 1), np.empty((n, M, K + 1), dtype), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("M", "K"),
    [(1, 1), (1, 3), (2, 1), (2, 2), (3, 4), (5, 3), (16, 16), (10, 24), (17, 2), (2, 25)],
)
def test_images_have_the_same_bits_as_rows(M, K, dtype):
    """Also games, ties, Dirac measures, single classes, and instances that do not fill a vector."""
    rng = np.random.default_rng(M * K)
    members = rng.dirichlet(np.full(K, 0.3), (701, M)).astype(dtype)
    members[:50] = np.eye(K, dtype=dtype)[rng.integers(K, size=(50, M))]
    members[50:60] = 1 / K
    members[60:80, :] = members[60:80, :1]
    stack = np.ascontiguousarray(members.transpose(1, 2, 0))
    wanted = cl.quantify(members)
    assert_same(cl.quantify(stack, axis=0, class_axis=1), wanted)
    ends = cl.aleatoric_uncertainty(stack, axis=0, class_axis=1)
    assert_array_equal(ends.upper, wanted.aleatoric.upper)
    oracle = [float(1 - np.min(P, axis=0).max()) for P in members.astype(np.float64)]
    if K > 1:
        np.testing.assert_allclose(wanted.total, oracle, atol=1e-6)


def test_rows_of_images_within_rounding_are_divided_by_their_sums():
    members = np.random.default_rng(0).dirichlet(np.ones(3), (400, 4)) * (1 + 1e-5)
    stack = np.ascontiguousarray(members.transpose(1, 2, 0))
    assert_same(cl.quantify(stack, axis=0, class_axis=1), cl.quantify(members))
    stack[1, :, 333] = np.nan
    with pytest.raises(ValueError, match=r"members: .*\(333, 1"):
        cl.quantify(stack, axis=0, class_axis=1)


@pytest.mark.parametrize("K", [2, 3, 4, 5])
def test_five_folds_find_invalid_and_close_instances(K):
    """Sizes for which there are functions of their own, with members that are nearly equal."""
    rng = np.random.default_rng(K)
    members = rng.dirichlet(np.ones(K), (999, 1)).repeat(5, axis=1)
    members[:, 1:] += 1e-9 * rng.random((999, 4, K))
    members /= members.sum(axis=-1, keepdims=True)
    stack = np.ascontiguousarray(members.transpose(1, 2, 0))
    assert_same(cl.quantify(stack, axis=0, class_axis=1), cl.quantify(members))
    for value in (np.nan, -0.5, 0.9, np.inf):
        bad = stack.copy()
        bad[4, 0, 998] = value
        with pytest.raises(ValueError, match=r"members: .*\(998, 4"):
            cl.quantify(bad, axis=0, class_axis=1)
