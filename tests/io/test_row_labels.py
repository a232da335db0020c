"""Labels of rows: every dtype, one-hot rows, distributions, missing and ignored labels."""

import numpy as np
import pytest

from credalens.evaluation.labels import UNKNOWN, UNLABELLED, label_distributions, label_indices
from credalens.io.row_labels import label_fix, row_labels

NAMES = ("Cat", "dog", "big fox")


@pytest.mark.parametrize("kind", "bBhHiIlLqQefdg")
def test_every_dtype_behaves_alike(kind):
    labels = np.array([0, 2, 3, 100, 1]).astype(kind)
    assert label_indices(labels, None, 3).tolist() == [0, 2, UNKNOWN, UNKNOWN, 1]
    assert label_indices(labels, NAMES, 3).tolist() == [0, 2, UNKNOWN, UNKNOWN, 1]
    found = row_labels(labels, None, 3, ["100", "3"])
    assert found.indices.tolist() == [0, 2, UNLABELLED, UNLABELLED, 1]
    assert (found.missing, found.ignored) == (0, 2)


def test_the_largest_unsigned_integers():
    for kind in ("u1", "u2", "u4", "u8"):
        labels = np.array([np.iinfo(kind).max, 1], kind)
        assert label_indices(labels, None, 3).tolist() == [UNKNOWN, 1]
        assert row_labels(labels, None, 3, [str(np.iinfo(kind).max)]).ignored == 1
        assert row_labels(labels, None, 3, ["-1"]).ignored == 0


def test_floats_that_are_not_integers():
    labels = np.array([0.5, np.nan, np.inf, -0.0, 1.0])
    assert label_indices(labels[[0, 2, 3, 4]], None, 3).tolist() == [UNKNOWN, UNKNOWN, 0, 1]
    found = row_labels(labels, None, 3)
    assert found.indices.tolist() == [UNKNOWN, UNLABELLED, UNKNOWN, 0, 1]
    assert found.missing == 1


def test_names_in_any_case_if_unambiguous():
    labels = np.array(["cat", "DOG", " Big  Fox", "cow"], object)
    assert label_indices(labels, NAMES, 3).tolist() == [0, 1, 2, UNKNOWN]
    both = label_indices(np.array(["a", "A", "B"]), ("a", "A", "b"), 3)
    assert both.tolist() == [0, 1, UNKNOWN]


def test_missing_labels():
    labels = np.array(["dog", None, "", "NaN", "n/a", float("nan"), b"dog", b"", "null"], object)
    found = row_labels(labels, NAMES, 3)
    expected = [1, *[UNLABELLED] * 5, 1, UNLABELLED, UNLABELLED]
    assert found.indices.tolist() == expected
    assert found.missing == 7
    assert row_labels(np.array(["NA", "b"]), ("na", "b"), 2).indices.tolist() == [0, 1]


def test_one_column_and_one_hot_rows():
    labels = np.array([2, 0, 1])
    for raw in (labels[:, None], np.eye(3, dtype=int)[labels], np.eye(3, dtype=bool)[labels]):
        found = row_labels(raw, None, 3)
        assert found.indices.tolist() == [2, 0, 1]
        assert found.distributions is None
    with pytest.raises(ValueError, match=r"shape \(rows, 2\); save one label per row, or one numb"):
        row_labels(np.ones((4, 2)), None, 3)


def test_distributions_and_counts():
    counts = np.array([[1, 1, 2], [0, 0, 0], [5, 0, 0], [3, 3, 0]])
    found = row_labels(counts, None, 3)
    assert found.indices.tolist() == [2, UNLABELLED, 0, 0]
    assert found.missing == 1
    rest = [0, 2, 3]
    expected = counts[rest] / counts[rest].sum(axis=1, keepdims=True)
    assert np.array_equal(found.distributions[rest], expected)
    assert np.isnan(found.distributions[1]).all()
    indices, _ = label_distributions(np.array([[0.5, -0.5], [np.inf, 1], [np.nan, 1]]))
    assert indices.tolist() == [UNKNOWN, UNKNOWN, UNLABELLED]


def test_what_to_do_about_a_label():
    from_one = np.array([1, 2, 3])
    assert label_fix(from_one, 3, None, 3).endswith("if these start at 1, pass --class-names 1-3")
    assert label_fix(np.array([0, 3]), 3, None, 3) == (
        "labels are 0 to 2; pass --ignore-label 3 or relabel"
    )
    assert label_fix(np.array(["a"]), "a", None, 3).startswith("the classes have no names: pass")
    assert label_fix(np.array(["a"]), "a", NAMES, 3) == (
        "labels are Cat, dog, big fox or 0 to 2; pass --ignore-label a or relabel"
    )
    assert label_fix(np.array([4]), 4, ("1", "2"), 2) == (
        "labels are 1, 2; pass --ignore-label 4 or relabel"
    )
