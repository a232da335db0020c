"""Small datasets that are part of scikit-learn."""

from __future__ import annotations

from credalens import _validation
from credalens._extras import require
from credalens.datasets.dat import Dataset

#: Names that `load_bundled` accepts.
BUNDLED = ("iris", "wine", "breast_cancer", "digits")


def load_bundled(name: str) -> Dataset:
    """Return a dataset of scikit-learn.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer", "digits"}
        One of `credalens.datasets.BUNDLED`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from credalens.datasets import load_bundled
    >>> load_bundled("iris")
    Dataset(name='iris', n=150, features=4, classes=3)
    """
    datasets = require("sklearn.datasets", "sklearn")
    found = getattr(datasets, f"load_{_validation.one_of(name, 'name', BUNDLED)}")()
    return Dataset(
        name,
        found.data,
        found.target,
        tuple(map(str, found.feature_names)),
        tuple(map(str, found.target_names)),
    )
