"""Identifiers of rows in another file."""

import numpy as np
import pytest

from credalens.io import PredictionFileError
from credalens.io.ids import IdIndex, first_difference


def positions(own, wanted):
    index = IdIndex("y.csv", np.array(own, object), np.array(wanted, object))
    return index.positions(np.array(wanted, object)).tolist(), index.by_stem


def test_numbers_and_text():
    assert positions([3, 1, 2], ["1", "2.0", b"3"]) == ([1, 2, 0], False)
    assert first_difference(np.array([1, 2]), np.array(["1.0", "2"])) is None
    assert first_difference(np.array(["a", "b"]), np.array(["a", "c"])) == 1


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (["a.png", "b.png"], ["b", "a"]),
        (["b", "a"], ["x/a.jpg", "x/b.jpg"]),
        (["s1.nii.gz", "s2.nii.gz"], [r"C:\scans\s2.npz", r"C:\scans\s1.npz"]),
    ],
)
def test_folders_and_extensions_are_ignored_if_nothing_matches_otherwise(own, wanted):
    found, by_stem = positions(own, wanted)
    assert by_stem
    assert sorted(found) == [0, 1]
    assert positions([*own, *wanted], wanted)[1] is False


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (["a.png", "a.jpg"], ["a"]),  # not unique without extensions
        (["1.2.840.10", "1.2.840.11"], ["1.2.840.12"]),  # an instance UID, not an extension
        (["c"], ["a.png"]),
    ],
)
def test_different_ids_stay_different(own, wanted):
    assert positions(own, wanted) == ([-1] * len(wanted), False)


def test_an_id_twice():
    with pytest.raises(PredictionFileError, match=r"^y.csv: has the id 'a' twice, .* make ids uni"):
        positions(["a", "b", "a"], ["a"])
