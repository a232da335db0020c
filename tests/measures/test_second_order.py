"""Measures that treat the members as a sample: definitions, invariants, weights, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.measures import reference
from credalens.measures.families import FAMILY_TABLE
from credalens.measures.table_families import median_distances
from ensembles import ENSEMBLES, dirichlet, slack

FAMILIES = (
    "information",
    "variance",
    "zero_one",
    "spherical",
    "second_order_distance",
    "labelwise:entropy",
    "labelwise:variance",
)
LOSSES = ("log", "brier", "spherical", "zero_one")


def generalised_entropy(p, loss):
    """Literal, in nats, over the last axis."""
    if loss == "log":
        p = p / p.sum(axis=-1, keepdims=True)
        return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)
    if loss == "zero_one":
        return 1 - p.max(axis=-1)
    square = (p**2).sum(axis=-1)
    return 1 - (square if loss == "brier" else np.sqrt(square))


def random_weights(shape, seed=0):
    w = np.random.default_rng(seed).integers(0, 4, shape).astype(float)
    w[..., 0] += w.sum(axis=-1) == 0
    return w / w.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("loss", LOSSES)
def test_parts_are_the_entropy_of_the_mean_and_the_mean_entropy(name, loss):
    P = ENSEMBLES[name]
    wide = P.astype(np.float64)
    wide = wide / wide.sum(axis=-1, keepdims=True) if loss == "log" else wide
    for weights in (None, random_weights(P.shape[:2])):
        v = np.full(P.shape[:2], 1 / P.shape[1]) if weights is None else weights
        total, aleatoric, epistemic = cl.ConvexHull(P).second_order(loss, weights)
        expected = (v * generalised_entropy(wide, loss)).sum(axis=1)
        mean = generalised_entropy((v[..., None] * wide).sum(axis=1), loss)
        assert_allclose(total, mean, rtol=0, atol=slack(P))
        assert_allclose(aleatoric, expected, rtol=0, atol=slack(P))
        assert_allclose(epistemic, np.maximum(mean - expected, 0), rtol=0, atol=slack(P))
        assert (epistemic >= 0).all()


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_label_wise_parts_are_binary_ones(name, loss):
    P = ENSEMBLES[name]
    wide = np.clip(P.astype(np.float64), 0, 1)
    for weights in (None, random_weights(P.shape[:2])):
        v = np.full(P.shape[:2], 1 / P.shape[1]) if weights is None else weights
        total, aleatoric, epistemic = cl.ConvexHull(P).second_order_by_class(loss, weights)
        scale = 0.5 if loss == "brier" else 1.0

        def binary(p, scale=scale):
            pair = np.stack([p, 1 - p], axis=-1)
            return scale * generalised_entropy(pair, loss)

        mean, expected = (
            binary((v[..., None] * wide).sum(axis=1)),
            (v[..., None] * binary(wide)).sum(axis=1),
        )
        assert_allclose(total, mean, rtol=0, atol=1e-12)
        assert_allclose(aleatoric, expected, rtol=0, atol=1e-12)
        assert_allclose(epistemic, np.maximum(mean - expected, 0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_median_distance_is_the_least_over_all_distributions(name):
    P = ENSEMBLES[name]
    wide = P.astype(np.float64)
    value = cl.ConvexHull(P).median_distance()
    assert_allclose(value, median_distances(wide), rtol=0, atol=1e-12)
    # Counts as weights are duplicated members.
    counts = np.random.default_rng(1).integers(1, 4, P.shape[1])
    repeated = cl.ConvexHull(np.repeat(P, counts, axis=1)).median_distance()
    assert_allclose(cl.ConvexHull(P).median_distance(counts), repeated, rtol=0, atol=1e-12)
    for q in (wide.mean(axis=1), wide[:, 0]):
        assert (value <= np.abs(wide - q[:, None]).sum(axis=2).mean(axis=1) / 2 + 1e-12).all()
    if P.shape[1] * P.shape[2] <= 60:
        assert_allclose(value[0], reference.median_distance(wide[0]), rtol=0, atol=1e-8)


@st.composite
def samples(draw):
    n, M, K = (draw(st.integers(1, top)) for top in (3, 6, 6))
    entries = draw(
        st.sampled_from(
            [
                st.integers(0, 4).map(float),
                st.integers(-14, 0).map(lambda e: 10.0**e),
                st.floats(0, 1, width=32),
            ]
        )
    )
    P = draw(hnp.arrays(np.float64, (n, M, K), elements=entries)).copy()
    P[..., 0] += P.sum(axis=-1) <= 1e-30
    return P / P.sum(axis=-1, keepdims=True)


@pytest.mark.slow
@given(samples(), st.data())
def test_second_order_invariants(P, data):
    u = cl.quantify(P, list(FAMILIES))
    K = P.shape[-1]
    counts = data.draw(st.lists(st.integers(1, 3), min_size=P.shape[1], max_size=P.shape[1]))
    order = np.random.default_rng(len(counts)).permutation(K)
    for name, result in u.items():
        total, aleatoric, epistemic = result.total, result.aleatoric, result.epistemic
        assert (epistemic >= 0).all()
        assert (aleatoric <= total + 1e-12).all()
        assert (epistemic <= total + 1e-12).all()
        if name != "second_order_distance":
            assert_allclose(aleatoric + epistemic, total, rtol=0, atol=1e-12)
        moved = cl.quantify(P[..., order], name).total
        expected = total[..., order] if FAMILY_TABLE[name].by_class else total
        assert_allclose(moved, expected, rtol=0, atol=1e-12)
        same = cl.quantify(np.repeat(P[:, :1], 3, axis=1), name)
        assert_allclose(same.epistemic, 0, atol=1e-12)
        assert_allclose(same.total, same.aleatoric, rtol=0, atol=1e-12)
    # The sum of the label-wise variances is the variance family.
    by_class = u["labelwise:variance"]
    for part in ("total", "aleatoric", "epistemic"):
        summed = getattr(by_class, part).sum(axis=-1)
        assert_allclose(summed, getattr(u["variance"], part), rtol=0, atol=1e-12)
    # Weights are relative counts.
    repeated = cl.ConvexHull(np.repeat(P, counts, axis=1))
    for loss in LOSSES:
        for ours, theirs in zip(
            cl.ConvexHull(P).second_order(loss, counts), repeated.second_order(loss), strict=True
        ):
            assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_mutual_information_is_the_jensen_shannon_divergence():
    P = dirichlet(20, 2, 5)
    from scipy.spatial.distance import jensenshannon

    expected = [jensenshannon(p, q, base=2) ** 2 for p, q in P]
    assert_allclose(cl.mutual_information(P), expected, atol=1e-12)
    parts = cl.expected_entropy(P) + cl.mutual_information(P)
    assert_allclose(cl.predictive_entropy(P), parts, atol=1e-12)
    assert_allclose(cl.mutual_information(P, "e"), np.log(2) * cl.mutual_information(P))
    assert cl.predictive_entropy(P, "classes").max() <= 1


def test_a_value_does_not_depend_on_its_batch():
    for K in (3, 10, 47, 48, 130):
        P = dirichlet(19, 5, K, 0.3)
        whole = cl.quantify(P, list(FAMILIES))
        for i in (0, 7, 18):
            alone = cl.quantify(P[i], list(FAMILIES))
            for name in FAMILIES:
                for part in ("total", "aleatoric", "epistemic"):
                    assert_array_equal(
                        getattr(alone[name], part), getattr(whole[name], part)[i], err_msg=name
                    )


def test_sums_slightly_off_one_are_normalised_where_the_formula_needs_it():
    P = np.array([[[1.0, 0.0], [1.0, 0.0]]]) * (1 + 1e-9)
    u = cl.quantify(P, "information")
    assert_allclose([u.total, u.aleatoric, u.epistemic], 0, atol=1e-20)


@pytest.mark.parametrize("measure", FAMILIES)
@pytest.mark.parametrize(
    "Q",
    [
        cl.ProbabilityIntervals([0.1, 0.2], [0.8, 0.9]),
        cl.Contamination([0.5, 0.5], 0.1),
        cl.Possibility([1.0, 0.2]),
    ],
    ids=lambda Q: type(Q).__name__,
)
def test_sets_without_members_raise(Q, measure):
    message = f"^Q: is a {type(Q).__name__}, which has no members.*pass the predictions"
    with pytest.raises(ValueError, match=message):
        cl.quantify(Q, measure)
    assert cl.quantify(Q, "confidence").total == 1 - Q.center().max()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"weights: has shape \(2,\); pass one per member, \(\.\.\., 3\)"),
        ([1, -1, 0], r"weights: is -1 at index"),
        ([0, 0, 0], r"weights: sums to 0 .*; pass a positive weight"),
        ([1, np.nan, 0], "weights: .* NaN"),
        (np.ones((4, 3)), r"weights: has shape \(4, 3\); pass shape \(5, 3\)"),
    ],
)
def test_invalid_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        cl.ConvexHull(dirichlet(5, 3, 4)).second_order("log", weights)


def test_confidence_has_a_total_only():
    P = dirichlet(4, 3, 5)
    u = cl.quantify(P, "confidence")
    assert_allclose(u.total, 1 - P.mean(axis=1).max(axis=1), atol=1e-15)
    assert u.aleatoric is None
    assert u.epistemic is None
    assert list(u.to_pandas()) == ["total", "error"]
    assert u[1:].total.shape == (3,)
    assert repr(u[0]).startswith("Uncertainty(total=")
    assert "aleatoric" not in u._repr_html_()


def test_label_wise_results_of_labelled_instances():
    pandas = pytest.importorskip("pandas")
    index = pandas.Index(["p1", "p2"], name="patient")
    frames = [pandas.DataFrame({"a": [0.9, a], "b": [0.1, 1 - a]}, index=index) for a in (0.2, 0.3)]
    u = cl.quantify(frames, "labelwise")
    table = u.to_pandas()
    assert table.index.names == ["patient", "axis_1"]
    assert table.index.tolist() == [("p1", 0), ("p1", 1), ("p2", 0), ("p2", 1)]
    assert u[1:].to_pandas().index.tolist() == [("p2", 0), ("p2", 1)]
    assert u[0].to_pandas().index.tolist() == [0, 1]
    assert u[:, 1].to_pandas().index.tolist() == ["p1", "p2"]
    polars = pytest.importorskip("polars")
    frame = u.to_polars()
    assert frame.columns[:2] == ["axis_0", "axis_1"]
    assert frame["axis_0"].to_list() == ["p1", "p1", "p2", "p2"]
    assert isinstance(frame, polars.DataFrame)


def test_invalid_rows_are_found_while_they_are_read():
    P = dirichlet(40, 3, 4)
    P[17, 1] *= 1.5
    for measure in FAMILIES:
        with pytest.raises(ValueError, match=r"members: row \(17, 1\) .* sums to 1.5"):
            cl.quantify(P, measure)
