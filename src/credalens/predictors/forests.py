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
