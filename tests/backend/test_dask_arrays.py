"""Dask arrays in, Dask arrays out: every measure and set, chunk by chunk, when asked for."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens import _kernels
from ensembles import ENSEMBLES, FEW_CLASSES, disagreeing

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

P = disagreeing(23, 5, 4)
METRIC = np.abs(np.subtract.outer([0, 1, 4, 9], [0, 1, 4, 9])).astype(float)
EVENTS = cl.ConvexHull(P).lower_probabilities()


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(x, n=7):
    """A Dask array, cut along its first axis."""
    return da.from_array(x, chunks=(n, *(-1,) * (x.ndim - 1)))


def leaves(answer):
    if isinstance(answer, dict):
        return [leaf for value in answer.values() for leaf in leaves(value)]
    if isinstance(answer, cl.Uncertainty):
        return leaves((answer.total, answer.aleatoric, answer.epistemic, answer.error))
    return ([leaf for value in answer for leaf in leaves(value)]
            if isinstance(answer, tuple | list | cl.Interval) else [answer])  # fmt: skip


def check(got, expected, atol=0.0):
    """Compare lazy answers with those at once: values, and what was said of them before."""
    got, expected = leaves(got), leaves(expected)
    assert len(got) == len(expected)
    for ours, computed, theirs in zip(got, dask.compute(*got), expected, strict=True):
        assert isinstance(ours, da.Array)
        assert ours.dtype == ours._meta.dtype == computed.dtype == np.asarray(theirs).dtype
        assert ours.shape == np.shape(computed) == np.shape(theirs)
        assert_allclose(computed, theirs, atol=atol, rtol=0)


#: Sets over four classes from members, as any library may hold them.
SETS = {
    "hull": lambda x: cl.ConvexHull(x),
    "logits": lambda x: cl.ConvexHull.from_logits(x, temperature=0.5),
    "intervals": lambda x: cl.ProbabilityIntervals(x[:, 0] * 0.5, x[:, 0] * 0.5 + 0.5),
    "box round members": lambda x: cl.ProbabilityIntervals.from_members(x),
    "contamination": lambda x: cl.Contamination(x[:, 0], 0.25),
    "contamination by instance": lambda x: cl.Contamination(x[:, 0], epsilon=x[:, 1, 0]),
    "ball": lambda x: cl.TotalVariationBall(x[:, 0], radius=0.125),
    "lower probability": lambda x: cl.LowerProbability(cl.ConvexHull(x).lower_probabilities()),
    "belief": lambda x: cl.BeliefFunction.possibility(x[:, 0] / x[:, 0].max(axis=-1)[:, None]),
    "hull of a box": lambda x: SETS["intervals"](x).to_hull(),
    "box of a hull": lambda x: cl.ConvexHull(x).to_intervals(),
}
MEASURES = {
    "total": cl.total_uncertainty,
    "aleatoric": cl.aleatoric_uncertainty,
    "epistemic": lambda Q: cl.epistemic_uncertainty(Q, return_error=True),
    "ordinal": lambda Q: cl.quantify(Q, "ordinal"),
    "metric": lambda Q: cl.epistemic_uncertainty(Q, cl.Wasserstein(METRIC)),
    "kolmogorov": lambda Q: cl.quantify(Q, "kolmogorov"),
    "mmd": lambda Q: cl.total_uncertainty(Q, cl.MMD(np.eye(4))),
    "upper entropy": lambda Q: cl.upper_entropy(Q, return_error=True, return_distribution=True),
    "lower entropy": lambda Q: cl.lower_entropy(Q, base="e", return_distribution=True),
    "hartley": lambda Q: cl.generalized_hartley(Q, return_error=True),
    "imprecision": lambda Q: cl.maximum_mean_imprecision(Q, "ordinal", return_error=True),
    "bound": cl.imprecision_bound,
    "quantify": lambda Q: cl.quantify(Q, measure=["tv", "entropy", "hartley"]),
    "questions": lambda Q: (
        Q.lower(), Q.upper(), Q.lower([0, 1, 2, 3.5]), Q.upper(np.eye(4)[:3]), Q.center(),
        Q.lower_probability([0, 3]), Q.lower_probabilities(), Q.choquet([0, 1, 2, 3.5]),
        Q.is_two_monotone(), Q.contains([0.25] * 4), Q.maximin(),
        Q.tv_uncertainty(), Q.tv_closed_forms(epistemic=True),
    ),
}  # fmt: skip


#: Each of its sets takes some linear programmes.
SLOW = pytest.param("lower probability", marks=pytest.mark.slow)


def test_one_lazy_argument_makes_the_set_lazy():
    center, size = P[:11, 0], P[:11, 1, 0]
    expected = cl.upper_entropy(cl.Contamination(center, size))
    check(cl.upper_entropy(cl.Contamination(center, epsilon=lazy(size, 4))), expected)
    check(cl.upper_entropy(cl.Contamination(lazy(center, 4), list(size))), expected)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles(name):
    E = ENSEMBLES[name]
    wanted = ["tv", "entropy"] + ["hartley"] * (name in FEW_CLASSES)
    check(cl.quantify(lazy(E, 3), wanted), cl.quantify(E, wanted))


def test_float32_stays():
    x = P.astype(np.float32)
    check(cl.quantify(lazy(x)), cl.quantify(x))
    assert cl.quantify(lazy(x)).total.dtype == np.float32
    assert cl.ConvexHull(lazy(x)).dtype == np.float32


# ---------------------------------------------------------------- the graph


def test_one_task_a_chunk(monkeypatch):
    calls = []
    plain = _kernels.tv_uncertainty
    monkeypatch.setattr(
        _kernels, "tv_uncertainty", lambda P, *rest: calls.append(len(P)) or plain(P, *rest)
    )
    u = cl.quantify(lazy(P))
    assert calls == []  # nothing is computed before it is asked for
    dask.compute(u.total, *u.aleatoric, u.epistemic, u.error)
    assert sorted(calls) == [2, 7, 7, 7]


@pytest.mark.parametrize("n_chunks", [10, 200])
def test_the_graph_grows_with_the_chunks_only(n_chunks):
    x = da.zeros((n_chunks, 5, 4), chunks=(1, 5, 4))
    u = cl.quantify(x, ["tv", "entropy", "hartley"])
    outputs = leaves(u)
    graph = dask.base.collections_to_expr(outputs).optimize().__dask_graph__()
    # For each chunk: the data, where it starts, the answer, and picking each of 13 arrays.
    assert len(graph) <= (3 + len(outputs)) * n_chunks + 1


def test_metadata_need_no_data():
    def explode(block):
        raise AssertionError("computed")

    x = lazy(P).map_blocks(explode, dtype=P.dtype, meta=np.empty((0, 0, 0)))
    Q = cl.ConvexHull(x)
    assert (Q.batch_shape, Q.n_members, Q.n_classes, len(Q)) == ((23,), 5, 4, 23)
    assert repr(Q) == "ConvexHull(batch_shape=(23,), n_members=5, n_classes=4, dtype=float64)"
    u = cl.quantify(Q)
    assert u.total.chunks == ((7, 7, 7, 2),)
    assert u.aleatoric.width.shape == (23,)
    assert cl.summarize(u.aleatoric, "midpoint").shape == (23,)
    assert Q.lower().chunks == ((7, 7, 7, 2), (4,))
    with pytest.raises(AssertionError, match="computed"):
        u.total.compute()


def test_more_leading_axes():
    x = P[:12].reshape(3, 4, 5, 4)
    y = da.from_array(x, chunks=(2, 3, -1, -1))
    check(cl.quantify(y), cl.quantify(x))
    assert cl.quantify(y).total.chunks == ((2, 1), (3, 1))


def test_a_single_set():
    x = da.from_array(P[0], chunks=-1)
    check(cl.quantify(x), cl.quantify(P[0]))
    Q = cl.ConvexHull(x)
    assert Q.batch_shape == ()
    check(Q.lower(), cl.ConvexHull(P[0]).lower())
    check(Q.contains(P[1]), cl.ConvexHull(P[0]).contains(P[1]))
    with pytest.raises(IndexError, match="single"):
        Q[0]
    with pytest.raises(TypeError, match="no len"):
        len(Q)


@pytest.mark.parametrize("index", [3, slice(2, 9), [1, 5, 20], slice(None, None, -1), ...])
def test_indexing(index):
    Q, plain = cl.ConvexHull(lazy(P))[index], cl.ConvexHull(P)[index]
    assert Q.batch_shape == plain.batch_shape
    check(cl.quantify(Q), cl.quantify(plain))
    ball, plain_ball = (SETS["ball"](x)[index] for x in (lazy(P), P))
    check(cl.quantify(ball), cl.quantify(plain_ball))
    with pytest.raises(IndexError):
        cl.ConvexHull(lazy(P))[0, 0]


@pytest.mark.parametrize("chunks", [(7, 2, 4), (23, 5, 1), (5, 3, 2)])
def test_split_members_and_classes_are_brought_together(chunks):
    x = da.from_array(P, chunks=chunks)
    with pytest.warns(
        UserWarning, match=r"^members: its last 2 axes are split into \d x \d chunks"
    ):
        u = cl.quantify(x)
    check(u, cl.quantify(P))
    assert u.total.chunks == (x.chunks[0],)


def test_arrays_that_are_cut_otherwise_are_matched():
    low, high = P[:, 0] * 0.5, P[:, 0] * 0.5 + 0.5
    expected = cl.quantify(cl.ProbabilityIntervals(low, high))
    for lower, upper in (
        (lazy(low, 7), lazy(high, 5)),
        (low, lazy(high)),
        (lazy(low), high),
    ):
        check(cl.quantify(cl.ProbabilityIntervals(lower, upper)), expected)
    constant = cl.ProbabilityIntervals(np.full(4, 0.05), lazy(high))
    check(cl.quantify(constant), cl.quantify(cl.ProbabilityIntervals(np.full(4, 0.05), high)))
    check(cl.ConvexHull(lazy(P)).contains(P[:, 1]), np.ones(23, bool))
    check(cl.ConvexHull(lazy(P)).contains(lazy(P[:, 1], 4)), np.ones(23, bool))
    shift = np.zeros((23, 4))
    check(cl.quantify(cl.ConvexHull(lazy(P)).translate(shift)), cl.quantify(P))


def test_unknown_chunk_sizes():
    keep = P[:, 0, 0] > 0.4
    x = lazy(P)[lazy(P)[:, 0, 0] > 0.4]
    u = cl.quantify(x)
    assert np.isnan(u.total.shape[0])
    assert_array_equal(u.total.compute(), cl.quantify(P[keep]).total)
    Q = cl.Contamination(x[:, 0], 0.25)
    assert np.isnan(Q.batch_shape[0])
    expected = cl.Contamination(P[keep][:, 0], 0.25)
    assert_array_equal(cl.quantify(Q).epistemic.compute(), cl.quantify(expected).epistemic)
    pair = cl.ProbabilityIntervals(x[:, 0] / 2, x[:, 0] / 2 + 0.5)
    assert cl.quantify(pair).total.compute().shape == (keep.sum(),)


def test_frames_and_stacks():
    stack = lazy(np.ascontiguousarray(P.transpose(1, 0, 2)), 5)  # (M, N, K)
    check(cl.quantify(cl.ConvexHull(stack, axis=0)), cl.quantify(P))
    check(cl.quantify(cl.ConvexHull([lazy(P[:, m]) for m in range(5)], axis=0)), cl.quantify(P))


# ---------------------------------------------------------------- what is wrong is named


def test_bad_rows_are_named_as_in_the_whole_array():
    bad = P.copy()
    bad[17, 2, 3] = np.nan
    with pytest.raises(
        ValueError, match=r"^members: entry at index \(17, 2, 3\) \(zero-based\) is"
    ):
        cl.quantify(lazy(bad)).total.compute()
    bad = P.copy()
    bad[9, 4] *= 2
    with pytest.raises(ValueError, match=r"^members: row \(9, 4\) \(zero-based\) sums to 2"):
        cl.quantify(lazy(bad)).total.compute()
    deep = da.from_array(bad[:20].reshape(4, 5, 5, 4), chunks=(1, 2, -1, -1))
    with pytest.raises(ValueError, match=r"^members: row \(1, 4, 4\) \(zero-based\) sums to 2"):
        cl.quantify(deep).total.compute()
    low = P[:, 0] / 2
    low[12, 1] = 0.9
    with pytest.raises(ValueError, match=r"^lower: is 0.9 at index \(12, 1\)"):
        cl.ProbabilityIntervals(lazy(low), np.full(4, 0.8)).lower().compute()
    epsilon = np.full(23, 0.1)
    epsilon[20] = 2
    with pytest.raises(ValueError, match=r"^epsilon: is 2 at index 20 \(zero-based\)"):
        cl.Contamination(P[:, 0], lazy(epsilon)).lower().compute()


def test_bad_rows_of_unknown_place():
    bad = P.copy()
    bad[17, 2, 3] = np.nan
    x = lazy(bad)[lazy(P)[:, 0, 0] > -1]
    message = r"^members: entry at index \(3, 2, 3\) .* \(index within chunk 2, zero-based; "
    with pytest.raises(ValueError, match=message):
        cl.quantify(x).total.compute()


def test_wrong_arguments_are_refused_at_once():
    Q = cl.ConvexHull(lazy(P))
    with pytest.raises(ValueError, match=r"^measure: is 'nonsense'"):
        cl.quantify(Q, "nonsense")
    with pytest.raises(ValueError, match=r"^base: is 0"):
        cl.upper_entropy(Q, base=0)
    with pytest.raises(ValueError, match=r"^f: is NaN at index 1 "):
        Q.lower([0, np.nan, 1, 2])
    with pytest.raises(ValueError, match=r"^members: has shape \(23,\); it must have 2 trailing"):
        cl.quantify(lazy(P[:, 0, 0]))
    with pytest.raises(ValueError, match=r"^temperature: is 0"):
        cl.ConvexHull.from_logits(lazy(P), temperature=0)
    with pytest.raises(ValueError, match=r"^extreme_points: the number of points depends on"):
        Q.extreme_points()
    for ask in (lambda: cl.ConvexHull(P) >= Q, lambda: cl.diagnose_members(Q), lambda: cl.trim(Q)):
        with pytest.raises(TypeError, match=r"^the set holds Dask arrays, .* compute them first"):
            ask()


def test_no_rows_are_checked_without_validation():
    bad = 2 * P
    got = cl.total_uncertainty(cl.ConvexHull(lazy(bad), validate=False)).compute()
    assert_array_equal(got, cl.total_uncertainty(cl.ConvexHull(bad, validate=False)))
    check(cl.quantify(cl.ConvexHull(lazy(bad), normalize=True)), cl.quantify(P), atol=1e-15)


# ---------------------------------------------------------------- chance


@pytest.mark.parametrize("state", [0, np.random.RandomState(0), np.random.default_rng(0)])
def test_chance_does_not_depend_on_the_chunks(state):
    x = disagreeing(9, 4, 30)
    results = []
    for n in (2, 9):
        seed = pickle.loads(pickle.dumps(state))
        results.append(
            cl.generalized_hartley(lazy(x, n), 2, "sample", 100, seed, return_error=True)
        )
    check(results[0], dask.compute(*results[1]))
    seed = pickle.loads(pickle.dumps(state))
    expected = cl.generalized_hartley(x, 2, "sample", 100, seed, return_error=True)
    check(results[0], expected)


def test_chance_is_drawn_once():
    x = disagreeing(4, 4, 30)
    u = cl.quantify(lazy(x, 2), "hartley", n_samples=50)
    once, again = u.epistemic.compute(), u.epistemic.compute()
    assert_array_equal(once, again)
    assert_allclose(u.total.compute() - once, u.aleatoric.compute(), atol=1e-12)


# ---------------------------------------------------------------- elsewhere


@pytest.mark.parametrize(
    "d", [cl.TotalVariation(), cl.Wasserstein(METRIC), cl.MMD(np.eye(4)), cl.Kolmogorov()]
)
def test_distances_between_distributions(d):
    p, q = P[:, 0], P[:, 1]
    # A matrix product over fewer rows may be rounded otherwise.
    check(d(lazy(p), lazy(q, 4)), d(p, q), atol=1e-15)
    check(d(lazy(p), q[0]), d(p, q[0]), atol=1e-15)
    check(d(da.from_array(p[0]), q[0]), d(p[0], q[0]))


def test_sets_are_sent_to_other_processes():
    Q = pickle.loads(pickle.dumps(cl.ConvexHull(lazy(P))))
    check(cl.quantify(Q), cl.quantify(P))
    assert cl.ConvexHull(lazy(P)).to_intervals().batch_shape == (23,)


@pytest.mark.slow
def test_a_cluster():
    distributed = pytest.importorskip("distributed")
    d = cl.Wasserstein(METRIC)
    patient = {f"distributed.comm.timeouts.{what}": "120s" for what in ("connect", "tcp")}
    with (
        dask.config.set(patient),  # on a busy machine a worker takes long to start
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=True,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        answers = [
            cl.quantify(lazy(P), ["tv", "entropy"]),
            cl.quantify(lazy(P), d),
            cl.ConvexHull(lazy(P)).upper([0, 1, 2, 3.5]),
            cl.quantify(cl.ConvexHull.from_logits(lazy(P))),
        ]
        got = client.gather(client.compute(leaves(answers)))
    plain = [
        cl.quantify(P, ["tv", "entropy"]),
        cl.quantify(P, d),
        cl.ConvexHull(P).upper([0, 1, 2, 3.5]),
        cl.quantify(cl.ConvexHull.from_logits(P)),
    ]
    for ours, theirs in zip(got, leaves(plain), strict=True):
        assert_array_equal(ours, theirs)
