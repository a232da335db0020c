"""Data to try things on: the KEEL files of the paper, and what scikit-learn brings along."""

from credalens.datasets.bundled import BUNDLED, load_bundled
from credalens.datasets.dat import Dataset, MalformedFileError, read_dat
from credalens.datasets.keel import (
    KEEL,
    MissingDatasetError,
    Shape,
    find_keel,
    keel_name,
    load_keel,
)
from credalens.datasets.predictions import Predictions, read_members, read_predictions

__all__ = [
    "BUNDLED",
    "KEEL",
    "Dataset",
    "MalformedFileError",
    "MissingDatasetError",
    "Predictions",
    "Shape",
    "find_keel",
    "keel_name",
    "load_bundled",
    "load_keel",
    "read_dat",
    "read_members",
    "read_predictions",
]
