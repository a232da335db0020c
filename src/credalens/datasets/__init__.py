"""Load the datasets of the paper, and small datasets of scikit-learn."""

from credalens.datasets.bundled import BUNDLED, load_bundled
from credalens.datasets.dat import Dataset, MalformedFileError, read_dat
from credalens.datasets.images import IMAGES, Images, load_images, read_idx, read_svhn
from credalens.datasets.keel import (
    KEEL,
    MissingDatasetError,
    Shape,
    find_keel,
    keel_name,
    load_keel,
)

__all__ = [
    "BUNDLED",
    "IMAGES",
    "KEEL",
    "Dataset",
    "Images",
    "MalformedFileError",
    "MissingDatasetError",
    "Shape",
    "find_keel",
    "keel_name",
    "load_bundled",
    "load_images",
    "load_keel",
    "read_dat",
    "read_idx",
    "read_svhn",
]
