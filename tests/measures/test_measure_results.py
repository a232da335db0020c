"""`Uncertainty` handed to pandas, polars and xarray."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl
from ensembles import dirichlet

P = dirichlet(6, 4, 3)
TV = ["total", "aleatoric_lower", "aleatoric_upper", "epistemic", "error"]
SCALAR = ["total", "aleatoric", "epistemic", "error"]


def values(u):
    """Return the numbers in the order of the columns."""
    interval = isinstance(u.aleatoric, cl.Interval)
    return [u.total, *(u.aleatoric if interval else [u.aleatoric]), u.epistemic, u.error]


@pytest.mark.parametrize(("measure", "names"), [("tv", TV), ("entropy", SCALAR)])
@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_columns_have_the_names_and_numbers_of_the_fields(library, measure, names):
    pytest.importorskip(library)
    u = cl.quantify(P, measure)
    table = getattr(u, f"to_{library}")()
    assert list(getattr(table, "columns", table)) == names
    for name, wanted in zip(names, values(u), strict=True):
        got = table[name].to_numpy()
        assert got.shape == (6,)
        assert_array_equal(got, wanted)


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_precision_stays(library):
    pytest.importorskip(library)
    table = getattr(cl.quantify(P.astype(np.float32)), f"to_{library}")()
    assert table["total"].to_numpy().dtype == np.float32


def test_pandas_index():
    pandas = pytest.importorskip("pandas")
    u = cl.quantify(P)
    assert list(u.to_pandas().index) == list(range(6))
    assert list(u.to_pandas(index=list("abcdef")).index) == list("abcdef")
    ids = pandas.Index(range(10, 16), name="patient")
    assert u.to_pandas(ids).index.equals(ids)
    assert u.to_pandas(ids).index.name == "patient"
    with pytest.raises(ValueError, match="index: has 2 labels; pass one per row, 6"):
        u.to_pandas(index=["a", "b"])


def test_one_instance_is_one_row():
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    u = cl.quantify(P[0])
    assert u.to_pandas().shape == u.to_polars().shape == (1, 5)
    assert u.to_pandas()["total"][0] == u.total == u.to_polars()["total"][0]


def test_no_instance_is_no_row():
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    u = cl.quantify(P[:0])
    assert u.to_pandas().shape == u.to_polars().shape == (0, 5)


def test_several_axes():
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    u = cl.quantify(P.reshape(2, 3, 4, 3))
    frame = u.to_pandas()
    assert frame.index.names == ["axis_0", "axis_1"]
    table = u.to_polars()
    assert table.columns == ["axis_0", "axis_1", *TV]
    for i in range(2):
        for j in range(3):
            assert frame.loc[(i, j), "total"] == u.total[i, j]
            row = table.row(3 * i + j, named=True)
            assert (row["axis_0"], row["axis_1"], row["total"]) == (i, j, u.total[i, j])


def test_polars_index_is_a_column():
    polars = pytest.importorskip("polars")
    u = cl.quantify(P)
    assert u.to_polars(index=list("abcdef"))["index"].to_list() == list("abcdef")
    table = u.to_polars(index=polars.Series("patient", range(6)))
    assert table.columns == ["patient", *TV]
    with pytest.raises(ValueError, match="index: has 7 labels"):
        u.to_polars(index=range(7))


def test_xarray_axes():
    pytest.importorskip("xarray")
    data = cl.quantify(P).to_xarray(index=list("abcdef"))
    assert data.sizes == {"instance": 6}
    assert float(data["total"].sel(instance="c")) == cl.quantify(P).total[2]
    u = cl.quantify(P.reshape(2, 3, 4, 3))
    assert u.to_xarray().sizes == {"axis_0": 2, "axis_1": 3}
    data = u.to_xarray(dims=("site", "time"), index=["north", "south"])
    assert_array_equal(data["epistemic"].sel(site="south"), u.epistemic[1])
    assert cl.quantify(P[0]).to_xarray().sizes == {}
    assert cl.quantify(P).to_xarray("patient").sizes == {"patient": 6}
    with pytest.raises(ValueError, match=r"dims: is \('a',\); name each axis"):
        u.to_xarray(dims=("a",))
    with pytest.raises(ValueError, match=r"index: has 3 labels; pass one along the first axis"):
        u.to_xarray(index=range(3))


def lazily():
    array = pytest.importorskip("dask.array")
    calls = []

    def counted(block):
        calls.append(1)
        return block

    shared = array.from_array(np.arange(6.0), chunks=6).map_blocks(counted, dtype=float)
    interval = cl.Interval(shared + 1, shared + 2)
    calls.clear()
    return cl.Uncertainty(shared, interval, shared + 3, shared + 4), calls


def test_dask_is_computed_once_for_all_columns():
    pytest.importorskip("pandas")
    u, calls = lazily()
    frame = u.to_pandas()
    assert_array_equal(frame["aleatoric_upper"], np.arange(6.0) + 2)
    assert len(calls) == 1


def test_dask_stays_lazy_in_xarray():
    pytest.importorskip("xarray")
    u, calls = lazily()
    data = u.to_xarray()
    assert not calls
    assert_array_equal(data["epistemic"].to_numpy(), np.arange(6.0) + 3)


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_a_missing_library_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"to_{library}\(\) needs {library}: pip install"):
        getattr(cl.quantify(P), f"to_{library}")()
