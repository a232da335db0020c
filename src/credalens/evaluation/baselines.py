"""Scores that do not use the credal set, which every evaluation is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credalens._backend import Array
from credalens.evaluation.scores import measure_families
from credalens.sets import CredalSet

#: Names and descriptions of the baselines. The names are those of the columns of `ScoreColumns`.
BASELINES: Mapping[str, str] = {
    "confidence_total": "confidence of the mean: 1 minus its largest probability",
    "information_total": "entropy of the mean",
    "information_epistemic": "mutual information",
}
#: The families of `quantify` that compute them.
BASELINE_FAMILIES = ("confidence", "information")


def baseline_scores(Q: CredalSet, measured: Mapping[str, Any] | None = None) -> dict[str, Array]:
    """Return the baselines of a batch of sets by name.

    `measured` has results of families that are already known.

    Examples
    --------
    >>> import credalens as cl
    >>> scores = baseline_scores(cl.ConvexHull([[[0.9, 0.1], [0.5, 0.5]]]))
    >>> {name: score.round(2).tolist() for name, score in scores.items()}
    {'confidence_total': [0.3], 'information_total': [0.88], 'information_epistemic': [0.15]}
    """
    known = dict(measured or {})
    missing = [family for family in BASELINE_FAMILIES if family not in known]
    known.update(measure_families(Q, missing))
    found = {}
    for name in BASELINES:
        family, _, component = name.rpartition("_")
        found[name] = getattr(known[family], component)
    return found
