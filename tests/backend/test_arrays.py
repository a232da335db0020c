"""Any array in, the same kind out: layouts, dtypes, libraries, blocks, memory, threads."""

import os
import subprocess
import sys
import textwrap
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens import _backend
from ensembles import ENSEMBLES, dirichlet, disagreeing

P = disagreeing(6, 5, 7)
P.flags.writeable = False


def numbers(u):
    return np.stack([u.total, *u.aleatoric, u.epistemic, u.error])


EXPECTED = numbers(cl.quantify(P))


# ---------------------------------------------------------------- layouts


def spread_out(array):
    """The same numbers in every second place of a larger array, backwards."""
    wide = np.full(tuple(2 * s for s in array.shape), np.nan)
    view = wide[::-2, ::-2, ::-2]
    view[...] = array
    return view


LAYOUTS = {
    "fortran": np.asfortranarray,
    "sliced": spread_out,
    "byte-swapped": lambda x: x.astype(">f8"),
    "byte-swapped fortran": lambda x: np.asfortranarray(x).astype(">f8"),
    "transposed": lambda x: np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0),
    "unaligned": lambda x: (
        np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:]
        .view(np.dtype([("v", "<f8")]))["v"]
        .reshape(x.shape)
    ),
    "read-only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    "subclass": lambda x: x.view(np.recarray),
    "list": lambda x: x.tolist(),
    "list of lists of arrays": lambda x: [list(rows) for rows in x],
    "hull": cl.ConvexHull,
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layout_changes_nothing(layout):
    x = layout(P)
    assert_array_equal(numbers(cl.quantify(x)), EXPECTED)
    assert_array_equal(cl.total_uncertainty(x), EXPECTED[0])
    assert_array_equal(cl.epistemic_uncertainty(x), EXPECTED[3])
    assert_array_equal(cl.majority_vote(x), cl.majority_vote(P))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layout_changes_nothing_for_the_hull(layout):
    Q, plain = cl.as_credal_set(layout(P)), cl.ConvexHull(P)
    assert_array_equal(Q.lower(), plain.lower())
    assert_array_equal(Q.upper(np.arange(7)), plain.upper(np.arange(7)))
    assert_array_equal(Q.contains(Q.center()), True)
    assert_array_equal(Q.extreme_points(), plain.extreme_points())
    for result in (Q.lower(), Q.upper(np.arange(7)), Q.center(), Q.extreme_points(),
                   Q.translate(np.zeros(7)).members):  # fmt: skip
        assert result.dtype.isnative


EVENTS = np.insert(np.random.default_rng(0).dirichlet(np.ones(7), 6), 0, 0.0, axis=1)
OTHER_SETS = {
    "intervals": (cl.ProbabilityIntervals, P.min(axis=1), P.max(axis=1)),
    "bounds that are not reached": (cl.ProbabilityIntervals, P.min(axis=1) / 4, P.max(axis=1)),
    "contamination": (cl.Contamination, P[:, 0], P[:, 1, 0]),
    "ball": (cl.TotalVariationBall, P[:, 0], P[:, 1, 0]),
    "lower probability": (cl.LowerProbability, cl.BeliefFunction(EVENTS).values),
    "belief function": (cl.BeliefFunction, EVENTS),
}


@pytest.mark.parametrize("layout", ["fortran", "byte-swapped", "unaligned", "read-only"])
@pytest.mark.parametrize("kind", OTHER_SETS)
def test_layout_changes_nothing_for_other_sets(kind, layout):
    make, *parts = OTHER_SETS[kind]
    parts = [np.ascontiguousarray(part) for part in parts]
    Q, plain = make(*map(LAYOUTS[layout], parts)), make(*parts)
    for family in ("tv", "ordinal", "entropy", "hartley"):
        ours, expected = (cl.quantify(x, family) for x in (Q, plain))
        for name in ("total", "epistemic", "error"):
            assert_array_equal(getattr(ours, name), getattr(expected, name))
    assert_array_equal(Q.lower(), plain.lower())
    assert_array_equal(Q.contains(LAYOUTS[layout](Q.center())), True)


MEASURES = [cl.total_uncertainty, cl.aleatoric_uncertainty, cl.epistemic_uncertainty]
SHAPES = [(1, 10, 10), (3, 10, 10), (4, 10, 10), (40, 2, 9), (9, 7, 1), (6, 1, 3), (2, 300, 4),
          (5, 12, 100), (0, 3, 4), (6, 4), (2, 3, 4, 5)]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("measure", MEASURES)
def test_an_array_is_measured_like_the_set_that_it_stands_for(measure, shape, dtype):
    members = np.random.default_rng(3).dirichlet(np.full(shape[-1], 0.4), shape[:-1]).astype(dtype)
    directly, asked = measure(members), measure(cl.ConvexHull(members))
    if measure is cl.aleatoric_uncertainty:
        assert_array_equal(directly.lower, asked.lower, strict=True)
        directly, asked = directly.upper, asked.upper
    assert_array_equal(directly, asked, strict=True)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda members: members * 1.01,
        lambda members: -members,
        lambda members: members * np.nan,
        lambda members: members[..., :0],
        lambda members: members[:, :0],
        lambda members: members[0, 0],
        lambda members: members[0, 0, 0],
        lambda members: members.astype(str),
        lambda members: members.astype(complex),
    ],
)
def test_a_bad_array_is_refused_like_the_set_that_it_stands_for(measure, spoil):
    wrong = np.asarray(spoil(P))
    with pytest.raises(ValueError, match="members") as asked:
        measure(cl.ConvexHull(wrong))
    with pytest.raises(ValueError, match="members") as directly:
        measure(wrong)
    assert str(directly.value) == str(asked.value)


@pytest.mark.parametrize("of", [np.asarray, cl.ConvexHull], ids=["array", "set"])
def test_an_error_is_told_to_who_asked(monkeypatch, of):
    monkeypatch.setattr("credalens.measures.distance.CERTIFIED", -1.0)
    with pytest.warns(RuntimeWarning, match="6 of 6 instances are certified only to") as told:
        cl.aleatoric_uncertainty(of(P))
    assert [warning.filename for warning in told] == [__file__]


def test_broadcast_members():
    x = np.broadcast_to(P[:1], P.shape)
    assert_array_equal(numbers(cl.quantify(x)), np.tile(EXPECTED[:, :1], len(P)))


def test_every_way_of_arranging_leading_axes():
    for shape in ((6,), (2, 3), (1, 2, 3, 1), (6, 1, 1, 1, 1)):
        u = cl.quantify(P.reshape(*shape, 5, 7))
        assert u.total.shape == shape
        assert_array_equal(numbers(u).reshape(5, -1), EXPECTED)
    moved = np.moveaxis(P.reshape(2, 3, 5, 7), 0, 1)  # a view that is not contiguous
    u = cl.quantify(moved)
    assert_array_equal(u.total, EXPECTED[0].reshape(2, 3).T)
    assert_array_equal(u.epistemic, EXPECTED[3].reshape(2, 3).T)


def test_no_leading_axes_give_scalars():
    u = cl.quantify(P[0])
    for value in (u.total, *u.aleatoric, u.epistemic, u.error):
        assert isinstance(value, np.float64)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_empty_batches(shape, dtype):
    x = np.empty((*shape, 4, 5), dtype)
    u = cl.quantify(x)
    for value in (u.total, *u.aleatoric, u.epistemic, u.error, cl.total_uncertainty(x),
                  cl.epistemic_uncertainty(x), cl.aleatoric_uncertainty(x).upper):  # fmt: skip
        assert value.shape == shape
        assert value.dtype == dtype
    Q = cl.ConvexHull(x)
    assert cl.majority_vote(x).shape == shape
    assert Q.lower().shape == (*shape, 5)
    assert Q.upper(np.ones((2, 5))).shape == (*shape, 2)
    assert Q.center().shape == (*shape, 5)
    assert Q.contains(np.full(5, 0.2)).shape == shape
    assert Q.extreme_points().shape[: len(shape)] == shape
    assert Q.translate(np.zeros(5)).batch_shape == shape


# ---------------------------------------------------------------- dtypes


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_results_have_the_dtype_of_the_input(dtype):
    x = P.astype(dtype)
    Q = cl.ConvexHull(x)
    u = cl.quantify(x)
    dtype = np.float32 if dtype is np.float16 else dtype
    assert Q.members.dtype == Q.dtype == dtype
    for value in (u.total, *u.aleatoric, u.epistemic, u.error, Q.lower(), Q.upper(np.arange(7)),
                  Q.center(), Q.extreme_points(), cl.total_uncertainty(x),
                  cl.epistemic_uncertainty(x), *cl.aleatoric_uncertainty(x)):  # fmt: skip
        assert value.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("K", [5, 100, 1000])
def test_results_are_rounded_once(dtype, K):
    # The same numbers, held in float64: only the result may be rounded, sums may not.
    x = cl.ConvexHull(disagreeing(20, 6, K, seed=1).astype(dtype), normalize=True).members
    exact = cl.quantify(cl.ConvexHull(x.astype(np.float64), validate=False))
    u = cl.quantify(cl.ConvexHull(x, validate=False))
    eps = float(np.finfo(np.float32).eps)
    # One rounding of numbers below 1, two where a float32 is taken from 1.
    assert_allclose(u.epistemic, exact.epistemic, rtol=0.51 * eps)
    assert_allclose(u.total, exact.total, rtol=0, atol=0.51 * eps)
    assert_allclose(u.aleatoric.lower, exact.aleatoric.lower, rtol=0, atol=0.51 * eps)
    assert_allclose(u.aleatoric.upper, exact.aleatoric.upper, rtol=0, atol=1.01 * eps)


def test_float32_expectations_are_summed_in_float64():
    K = 4001
    x = np.full((1, K), 1 / K, np.float32)
    f = np.where(np.arange(K) % 2, 1e4, -1e4)
    f[0] = 0
    got = cl.ConvexHull(x).lower(f)
    assert got.dtype == np.float32
    # The terms cancel exactly in pairs; single-precision partial sums would leave some 1e-3.
    assert abs(float(got)) < 1e-9


# ---------------------------------------------------------------- inputs are never written to


def test_inputs_are_never_written_to():
    for name, array in ENSEMBLES.items():
        assert not array.flags.writeable, name
        x = array.copy()
        Q = cl.ConvexHull(x)
        cl.quantify(Q)
        cl.majority_vote(Q)
        Q.lower(np.ones(x.shape[-1]))
        Q.center()
        Q.contains(Q.center())
        Q.extreme_points()
        Q.translate(np.zeros(x.shape[-1]))
        cl.ConvexHull(x, normalize=True)
        cl.ConvexHull.from_logits(x, temperature=0.5)
        assert_array_equal(x, array)
        assert x.flags.writeable  # the caller's flag as well


def test_arrays_are_not_copied():
    x = P.copy()
    assert np.shares_memory(cl.ConvexHull(x).members, x)
    assert np.shares_memory(cl.ConvexHull(x)[2:].members, x)


# ---------------------------------------------------------------- other libraries


class OnlyDLPack:
    """An array of some other library: DLPack and nothing else."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnlyArray:
    """An object that knows how to become an array."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array if dtype is None else self._array.astype(dtype)


@pytest.mark.parametrize("wrapper", [OnlyDLPack, OnlyArray])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_libraries_come_in_numpy_comes_out(wrapper, dtype):
    x = P.astype(dtype)
    u = cl.quantify(wrapper(x))
    assert isinstance(u.total, np.ndarray)
    assert u.total.dtype == dtype
    assert_array_equal(numbers(u), numbers(cl.quantify(x)))
    with pytest.raises(ValueError, match=r"^members: row \(0, 0\)"):
        cl.quantify(wrapper(2 * x))


def test_pandas_like_frames_come_in():
    pa = pytest.importorskip("pyarrow")
    column = pa.array([0.25, 0.75])
    assert cl.TotalVariation()(column, [0.5, 0.5]) == 0.25


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.mark.parametrize("name", ["float16", "float32", "float64"])
    def test_tensors_in_tensors_out(self, torch, name):
        dtype = getattr(torch, name)
        x = torch.from_numpy(P.copy()).to(dtype)
        u = cl.quantify(x)
        interval, gap = cl.aleatoric_uncertainty(x, return_error=True)
        for value in (u.total, *u.aleatoric, u.epistemic, u.error, *interval, gap,
                      cl.total_uncertainty(x), cl.epistemic_uncertainty(x)):  # fmt: skip
            assert isinstance(value, torch.Tensor)
            assert value.dtype == (torch.float32 if name == "float16" else dtype)
            assert value.shape == (6,)
        expected = cl.quantify(x.numpy())
        assert_array_equal(u.total.numpy(), expected.total)
        assert_array_equal(u.aleatoric.upper.numpy(), expected.aleatoric.upper)

    def test_bfloat16(self, torch):
        x = torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.bfloat16)
        u = cl.quantify(x)
        assert u.total.dtype == torch.float32
        assert u.total.item() == 0.5
        assert u.epistemic.item() == 0.125

    def test_scalars_are_tensors(self, torch):
        value = cl.total_uncertainty(torch.tensor([[0.5, 0.5]]))
        assert isinstance(value, torch.Tensor)
        assert value.shape == ()

    def test_integers_give_float64(self, torch):
        assert cl.total_uncertainty(torch.eye(2, dtype=torch.int64)).dtype == torch.float64

    def test_hull_methods_give_tensors(self, torch):
        x = torch.from_numpy(P.copy()).float()
        Q = cl.ConvexHull(x)
        for value in (Q.members, Q.lower(), Q.upper(torch.arange(7.0)), Q.center(),
                      Q.lower_probability([0, 2]), Q.extreme_points(),
                      Q[0].upper()):  # fmt: skip
            assert isinstance(value, torch.Tensor)
            assert value.dtype == torch.float32
        assert Q.contains(Q.center()).dtype == torch.bool
        assert cl.majority_vote(x).dtype == torch.int64
        assert isinstance(Q.translate(torch.zeros(7)).members, torch.Tensor)
        assert isinstance(cl.ConvexHull.from_logits(x).members, torch.Tensor)
        assert isinstance(cl.TotalVariation()(x[:, 0], x[:, 1]), torch.Tensor)

    def test_tensors_are_not_changed(self, torch):
        x = torch.from_numpy(P.copy())
        Q = cl.ConvexHull(x)
        result = Q.lower()
        result += 1  # a caller may do with results what it likes
        members = Q.members
        members += 1
        assert_array_equal(x.numpy(), P)

    def test_strided_and_negated_views(self, torch):
        x = torch.from_numpy(P.copy()).transpose(1, 2).contiguous().transpose(1, 2)
        assert_array_equal(cl.total_uncertainty(x).numpy(), EXPECTED[0])

    def test_bad_rows_are_named(self, torch):
        with pytest.raises(ValueError, match=r"^members: row 1 \(zero-based\) sums to 0.75; "):
            cl.quantify(torch.tensor([[0.5, 0.5], [0.5, 0.25]]))

    def test_scores_may_be_tensors(self, torch):
        x = torch.from_numpy(P.copy()).float()
        u = cl.quantify(x)
        assert_array_equal(
            cl.rejection_order(u.aleatoric),
            cl.rejection_order(cl.Interval(*(end.numpy() for end in u.aleatoric))),
        )
        assert sorted(cl.rejection_order(u.total).tolist()) == list(range(6))


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize("block_bytes", [1, 300, 2000])
@pytest.mark.parametrize("layout", ["fortran", "sliced", "byte-swapped", "transposed"])
def test_blocks_do_not_change_results(monkeypatch, block_bytes, layout):
    monkeypatch.setattr(_backend.batching, "BLOCK_BYTES", block_bytes)
    x = LAYOUTS[layout](P)
    assert_array_equal(numbers(cl.quantify(x)), EXPECTED)
    shaped = x.reshape(2, 3, 5, 7)
    assert_array_equal(cl.quantify(shaped).total.ravel(), EXPECTED[0])
    assert_array_equal(cl.ConvexHull(shaped).contains(cl.ConvexHull(shaped).center()), True)
    wrong = x.astype(float)
    wrong[4, 3] = 0
    with pytest.raises(ValueError, match=r"^members: row \(4, 3\) "):
        cl.quantify(wrong)
    with pytest.raises(ValueError, match=r"^members: row \(1, 1, 3\) "):
        cl.quantify(wrong.reshape(2, 3, 5, 7))


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 25])
@pytest.mark.parametrize("rows", [None, 1, 4])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 2), ()])
def test_blocks_cover_everything_once_in_order(monkeypatch, block_bytes, rows, shape):
    monkeypatch.setattr(_backend.batching, "BLOCK_BYTES", block_bytes)
    n = int(np.prod(shape))
    array = np.arange(n * 6.0).reshape(*shape, 2, 3)
    seen = 0
    for start, stop, (block,) in _backend.blocks((array,), (2,), rows=rows):
        assert start == seen
        assert block.shape == (stop - start, 2, 3)
        assert block.flags.c_contiguous
        assert_array_equal(block, array.reshape(-1, 2, 3)[start:stop])
        if rows is not None:
            assert stop - start <= rows
        seen = stop
    assert seen == n


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["plain", "fortran", "byte-swapped", "sliced", "many axes"])
def test_extra_memory_is_at_most_half_of_the_input(layout):
    x = np.random.default_rng(0).dirichlet(np.ones(40), (8000, 10)).astype(np.float32)
    x = {
        "plain": lambda: x,
        "fortran": lambda: np.asfortranarray(x),
        "byte-swapped": lambda: x.astype(">f4"),
        "sliced": lambda: np.repeat(x, 2, axis=0)[::2],
        "many axes": lambda: np.asfortranarray(x.reshape(2, 4000, 10, 40)),
    }[layout]()
    results = 5 * 8 * 8000
    for measure in (cl.total_uncertainty, cl.quantify, cl.lower_entropy):
        tracemalloc.start()
        try:
            measure(x)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= 0.5 * x.nbytes + results


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5, 0.5])
def test_what_a_kernel_has_left_of_a_bad_batch_is_not_looked_at(bad):
    x = np.full((20, 4, 3), 1 / 3, np.float32)
    x[5, 0, 0] += bad
    for _ in range(50):
        litter = np.full(20, 1e300)  # what other code may leave where outputs come to lie
        del litter
        with np.errstate(all="raise"), pytest.raises(ValueError, match=r"^members: .*\(5, 0"):
            cl.quantify(x)


# ---------------------------------------------------------------- threads


def test_two_python_threads_at_once():
    inputs = [disagreeing(300, 6, 8, seed=s) for s in range(8)]
    expected = [numbers(cl.quantify(x)) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for got, want in zip(pool.map(lambda x: numbers(cl.quantify(x)), inputs), expected,
                                 strict=True):  # fmt: skip
                assert_array_equal(got, want)


def test_number_of_threads_changes_nothing(monkeypatch):
    x = disagreeing(5000, 6, 8, seed=3)
    results = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("CREDALENS_NUM_THREADS", threads)
        assert cl.get_num_threads() == int(threads)
        results.append(numbers(cl.quantify(x)))
    assert_array_equal(results[0], results[1])
    assert_array_equal(results[0], results[2])


def test_which_number_of_threads_is_used(monkeypatch):
    for name in ("CREDALENS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    cores = cl.get_num_threads()
    assert 1 <= cores <= os.cpu_count()
    for text, expected in (("5", 5), ("3,2", 3), ("", cores), ("x", cores), ("0", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert cl.get_num_threads() == expected
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setenv("CREDALENS_NUM_THREADS", "7")
    assert cl.get_num_threads() == 7
    monkeypatch.setenv("CREDALENS_NUM_THREADS", "")
    assert cl.get_num_threads() == 5
    with cl.limit_threads(2):
        assert cl.get_num_threads() == 2
        with cl.limit_threads(1):
            assert cl.get_num_threads() == 1
        assert cl.get_num_threads() == 2
    assert cl.get_num_threads() == 5
    for n in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match=r"^n: is .*; pass a whole number >= 1, or None"):
            cl.set_num_threads(n)


def _threads_in_worker():
    return cl.get_num_threads()


@pytest.mark.slow
def test_workers_of_joblib_limit_the_threads(monkeypatch):
    monkeypatch.delenv("CREDALENS_NUM_THREADS", raising=False)
    joblib = pytest.importorskip("joblib")
    workers = 2 * os.cpu_count()  # more than there are cores: one thread each
    with joblib.parallel_config("loky", n_jobs=workers):
        assert set(joblib.Parallel()(joblib.delayed(_threads_in_worker)() for _ in range(4))) == {1}


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", " "])
def test_bad_number_of_threads(monkeypatch, text):
    monkeypatch.setenv("CREDALENS_NUM_THREADS", text)
    match = rf"^CREDALENS_NUM_THREADS: is '{text}'; set it to a whole number >= 1$"
    with pytest.raises(ValueError, match=match):
        cl.quantify(disagreeing(20_000, 6, 8))


@pytest.mark.slow
def test_fork_after_use():
    script = """
        import os, sys
        import numpy as np
        import credalens as cl
        P = np.random.default_rng(0).dirichlet(np.ones(6), (20000, 5))
        before = cl.quantify(P)
        child = os.fork()
        if child == 0:
            after = cl.quantify(P)
            same = all(np.array_equal(a, b) for a, b in (
                (before.total, after.total), (before.epistemic, after.epistemic),
                (before.aleatoric.upper, after.aleatoric.upper)))
            os._exit(0 if same else 1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        cl.quantify(P)
        sys.exit(status)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_threads_are_kept_and_a_child_has_its_own():
    script = """
        import os, sys
        os.environ.update(CREDALENS_NUM_THREADS="3", OPENBLAS_NUM_THREADS="1")
        import numpy as np
        import credalens as cl
        P = np.random.default_rng(0).dirichlet(np.ones(6), (20000, 5))
        threads = lambda: len(os.listdir("/proc/self/task"))
        seen = [threads()]
        for _ in range(3):
            cl.quantify(P)
            seen.append(threads())
        child = os.fork()
        if child == 0:
            here = [threads(), cl.quantify(P) and threads()]
            os._exit(here != [1, 3])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.exit(f"{seen}, child {status}" if status or seen != [1, 3, 3, 3] else 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_blocks_are_views_where_the_layout_allows():
    x = dirichlet(100, 4, 5)
    for start, stop, (block,) in _backend.blocks((x,), (2,)):
        assert np.shares_memory(block, x[start:stop])
