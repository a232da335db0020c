"""Random forests that differ, as in the paper's experiments on tabular data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state

#: The space from which hyper-parameters are drawn. The paper does not print its own; this one came
#: closest to its Table 2.
N_ESTIMATORS = (50, 200)
MAX_DEPTH = (5, 10, 15, 20, None)


def random_forests(n_members: int, random_state: Any = None) -> list[RandomForestClassifier]:
    """Return unfitted forests with randomly chosen hyper-parameters.

    Each forest has between 50 and 200 trees (``n_estimators``, any number as likely as another), a
    ``max_depth`` of 5, 10, 15, 20 or none (equally likely), and a seed of its own. The rest is as
    in scikit-learn. González-García et al. (2026) do not print their space; this one came closest
    to their Table 2.

    Parameters
    ----------
    n_members : int
        Number of forests.
    random_state : int, RandomState or None
        Draws the hyper-parameters and the seeds.

    Returns
    -------
    list of RandomForestClassifier

    Examples
    --------
    >>> from credalens.predictors import random_forests
    >>> [forest.max_depth for forest in random_forests(3, random_state=0)]
    [5, 10, 15]
    """
    rng = check_random_state(random_state)
    return [
        RandomForestClassifier(
            n_estimators=int(rng.randint(N_ESTIMATORS[0], N_ESTIMATORS[1] + 1)),
            max_depth=MAX_DEPTH[rng.randint(len(MAX_DEPTH))],
            random_state=int(rng.randint(np.iinfo(np.int32).max)),
        )
        for _ in range(n_members)
    ]
