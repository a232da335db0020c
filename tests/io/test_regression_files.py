"""What the columns of files for real-valued targets are, and their targets."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credalens.io import PredictionFileError
from credalens.io.real_columns import find_layout, parse_distribution, quantile_levels
from credalens.io.real_ensemble import as_targets, open_real_ensemble


@pytest.mark.parametrize(
    ("names", "kind", "columns", "levels"),
    [
        (["id", "mean", "std", "y"], "normal", ("mean", "std"), ()),
        (["sigma", "mu"], "normal", ("mu", "sigma"), ()),
        (["Pred Mean", "Pred Std"], "normal", ("Pred Mean", "Pred Std"), ()),
        (["q0.9", "q0.1", "q0.5"], "quantiles", ("q0.1", "q0.5", "q0.9"), (0.1, 0.5, 0.9)),
        (["id", "p5", "p50", "p95"], "quantiles", ("p5", "p50", "p95"), (0.05, 0.5, 0.95)),
        (["quantile_0.25", "quantile-0.75"], "quantiles",
         ("quantile_0.25", "quantile-0.75"), (0.25, 0.75)),
        (["0.05", "0.95"], "quantiles", ("0.05", "0.95"), (0.05, 0.95)),
        (["q0_1", "q0_9", "mean"], "quantiles", ("q0_1", "q0_9"), (0.1, 0.9)),
        (["q1", "q50", "q99"], "quantiles", ("q1", "q50", "q99"), (0.01, 0.5, 0.99)),
    ],
)  # fmt: skip
def test_layouts_are_found_from_names(names, kind, columns, levels):
    found = find_layout("x.csv", names)
    assert (found.kind, found.columns, found.levels) == (kind, columns, levels)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["cat", "dog"], "has neither columns mean and std nor quantiles"),
        (["mean", "std", "q0.1", "q0.9"], "columns of a mean and of quantiles"),
        (["q0.5"], "has neither"),
        (["q0.5", "p0.5"], "has neither"),
        ([], "has no header"),
    ],
)
def test_unclear_names_are_refused(names, message):
    with pytest.raises(PredictionFileError, match=message):
        find_layout("x.csv", names)


@pytest.mark.parametrize("text", ["5,95", "0.9,0.1", "gamma", "", "0.1,x"])
def test_invalid_distributions_are_refused(text):
    with pytest.raises(ValueError, match="--distribution: is"):
        parse_distribution(text)


def test_other_names_are_no_levels():
    assert quantile_levels(["qa", "q", "p", "quantity", "q0.5x", "id5"]) == {}


def test_targets():
    targets, bad = as_targets(np.array([b"1.5", b"nan", b"", b"x", b"inf", b"-2"], "S3"))
    assert_array_equal(targets, [1.5, np.nan, np.nan, np.nan, np.inf, -2])
    assert_array_equal(bad, [0, 0, 0, 1, 1, 0])
    targets, bad = as_targets(np.array(["7", None, "-999"], object), ["-999"])
    assert_array_equal(targets, [7, np.nan, np.nan])
    assert_array_equal(as_targets(np.array([1, 2]))[0], [1.0, 2.0])


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return str(path)


def members(*files, **options):
    (chunk,) = open_real_ensemble(list(files), **options).chunks()
    return chunk


def test_values_are_those_of_the_files(tmp_path):
    one = write(tmp_path, "a.csv", "std,id,mean\n1,a,5\n2,b,6\n")
    two = write(tmp_path, "b.csv", "id,mean,std\nb,7,3\na,8,4\n")  # in another order
    chunk = members(one, two)
    assert_array_equal(chunk.members[0], [[5, 1], [8, 4]])
    assert_array_equal(chunk.hull().std, [[1, 4], [2, 3]])
    np.save(tmp_path / "x.npy", np.arange(24.0).reshape(4, 2, 3))
    assert members(str(tmp_path / "x.npy")).hull().n_samples == 3
    levels = members(str(tmp_path / "x.npy"), distribution="0.2,0.5,0.8").hull()
    assert_array_equal(levels.levels, [0.2, 0.5, 0.8])


def test_text_without_a_header(tmp_path):
    values = write(tmp_path, "v.csv", "1.0,2.0,4.0\n3,4,5\n")
    assert members(values, distribution="samples").members.shape == (2, 1, 3)
    with pytest.raises(PredictionFileError, match="has no header"):
        members(values)
    levels = write(tmp_path, "w.csv", "0.1,0.5,0.9\n3,4,5\n")
    assert members(levels).layout.levels == (0.1, 0.5, 0.9)
    picked = members(values, distribution="normal", options=_columns("2", "0")).members
    assert_array_equal(picked[:, 0], [[4, 1], [5, 3]])


def _columns(*names):
    from credalens.io import ReadOptions

    return ReadOptions(columns=names, header=False)


def test_quantiles_that_cross_are_sorted_and_reported(tmp_path):
    path = write(tmp_path, "q.csv", "q0.1,q0.9\n1,2\n4,3\n")
    ensemble = open_real_ensemble([path])
    (chunk,) = ensemble.chunks()
    assert_array_equal(chunk.members[:, 0], [[1, 2], [3, 4]])
    assert ensemble.notes == [f"{path}: quantiles of some rows cross; they are sorted"]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (["mean,std\n1,-2\n"], {}, "row 0 (zero-based): std is -2, a negative standard deviation"),
        (["mean,std\n1,1\n,2\n"], {}, "row 1 (zero-based): mean is missing or NaN"),
        (["mean,std\n1,1\n", "mean,std\n1,1\n2,2\n"], {}, "ends after 1 rows"),
        (["mean,std\n1,1\n", "q0.1,q0.9\n1,1\n"], {}, "has quantiles at 0.1, 0.9"),
        (["mean,std\n1,1\n"], {"distribution": "0.1,0.5,0.9"}, "has 2 values per row"),
        (["mean,std,target\n1,1,x\n"], {}, "has the target 'x', not a finite number"),
    ],
)
def test_invalid_files(tmp_path, files, options, message):
    paths = [write(tmp_path, f"{i}.csv", text) for i, text in enumerate(files)]
    with pytest.raises(PredictionFileError, match=re.escape(message)):
        members(*paths, **options)
