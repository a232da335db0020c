"""Data to try things on: the files of the paper, and what scikit-learn brings along."""

from credalens.datasets.bundled import BUNDLED, load_bundled
from credalens.datasets.dat import Dataset, MalformedFileError, read_dat
from credalens.datasets.idx import read_idx
from credalens.datasets.images import IMAGES, Images, load_images
from credalens.datasets.keel import (
    KEEL,
    MissingDatasetError,
    Shape,
    find_keel,
    keel_name,
    load_keel,
)
from credalens.datasets.predictions import Predictions, read_members, read_predictions
from credalens.datasets.svhn import read_svhn

__all__ = [
    "BUNDLED",
    "IMAGES",
    "KEEL",
    "Dataset",
    "Images",
    "MalformedFileError",
    "MissingDatasetError",
    "Predictions",
    "Shape",
    "find_keel",
    "keel_name",
    "load_bundled",
    "load_images",
    "load_keel",
    "read_dat",
    "read_idx",
    "read_members",
    "read_predictions",
    "read_svhn",
]
