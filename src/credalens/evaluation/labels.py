"""True classes, as names or indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._arrays import Array

#: Stands for a label that is no class.
UNKNOWN = -1


def label_indices(
    labels: Array, class_names: tuple[str, ...] | None, n_classes: int
) -> NDArray[np.intp]:
    """Return labels, given as names or indices, as indices; `UNKNOWN` where they are neither.

    Names come first: if the classes are called 1, 2, 3, then a label 1 is the first class.
    """
    numbered = class_names is not None and all(name.isdecimal() for name in class_names)
    if labels.dtype.kind in "iu" and not numbered:
        inside = (labels >= 0) & (labels < n_classes)
        return np.where(inside, labels, UNKNOWN).astype(np.intp)
    table = {str(i): i for i in range(n_classes)} if not numbered else {}
    table.update({name: i for i, name in enumerate(class_names or ())})
    return np.array([table.get(_text(label), UNKNOWN) for label in labels.tolist()], np.intp)


def _text(label: Any) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    return str(label).strip()
