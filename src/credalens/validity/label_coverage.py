"""Coverage of known label distributions by credal sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, to_numpy
from credalens._results import TableResult
from credalens.sets import CredalSet, as_credal_set
from credalens.validity.intervals import clopper_pearson

#: The numbers of a group by name.
COVERAGE_METRICS = ("coverage", "lower", "upper", "mean_distance", "max_distance")


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(TableResult):
    """Coverage of label distributions by credal sets; see `coverage`.

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.validity.coverage([[[0.6, 0.4], [0.5, 0.5]]], [[0.9, 0.1]])
    >>> found.coverage, round(found.mean_distance, 3)
    (0.0, 0.3)
    """

    #: Whether the set of each instance contains its distribution, ``(n,)``.
    covered: Array
    #: Total variation distance of each distribution to its set, 0 if covered, ``(n,)``.
    distance: Array
    #: Certified error of `distance`, ``(n,)``.
    error: Array
    #: Share of the instances that are covered.
    coverage: float
    #: Lower end of the confidence interval of `coverage`.
    lower: float
    #: Upper end of the confidence interval of `coverage`.
    upper: float
    #: Confidence level of the interval.
    confidence: float

    _repr_rows: ClassVar[int] = len(COVERAGE_METRICS)

    @property
    def n(self) -> int:
        """Number of instances."""
        return len(self.covered)

    @property
    def mean_distance(self) -> float:
        """Mean distance over all instances, those that are covered included."""
        return float(self.distance.mean())

    @property
    def max_distance(self) -> float:
        """Largest distance."""
        return float(self.distance.max())

    def _columns(self) -> dict[str, Any]:
        return {"value": [getattr(self, name) for name in COVERAGE_METRICS]}

    def _index(self) -> tuple[str, list[str]]:
        return "metric", list(COVERAGE_METRICS)

    def _summary(self) -> str:
        return f"Coverage(n={self.n}, confidence={self.confidence:g})"


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCoverage(TableResult):
    """Coverage of label distributions by group; see `coverage`.

    ``found[group]`` is a `Coverage`; `to_pandas` has one row per group.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[[0.6, 0.4], [0.5, 0.5]]] * 3
    >>> known = [[0.9, 0.1], [0.55, 0.45], [0.5, 0.5]]
    >>> found = cl.validity.coverage(members, known, groups=["a", "a", "b"])
    >>> found["a"].coverage, found["b"].coverage
    (0.5, 1.0)
    """

    groups: Mapping[Any, Coverage]

    def __getitem__(self, group: Any) -> Coverage:
        if group not in self.groups:
            _validation.raise_invalid(
                "group", f"is {group!r}", f"choose one of {', '.join(map(repr, self.groups))}"
            )
        return self.groups[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def _columns(self) -> dict[str, Any]:
        names = ("n", *COVERAGE_METRICS)
        return {name: [getattr(one, name) for one in self.groups.values()] for name in names}

    def _index(self) -> tuple[str, list[Any]]:
        return "group", list(self.groups)


@overload
def coverage(
    Q: Any,
    distributions: Any,
    groups: None = ...,
    *,
    confidence: float = ...,
    tolerance: float | None = ...,
) -> Coverage: ...
@overload
def coverage(
    Q: Any,
    distributions: Any,
    groups: Any,
    *,
    confidence: float = ...,
    tolerance: float | None = ...,
) -> GroupedCoverage: ...
def coverage(
    Q: Any,
    distributions: Any,
    groups: Any = None,
    *,
    confidence: float = 0.95,
    tolerance: float | None = None,
) -> Coverage | GroupedCoverage:
    """Return the share of the instances whose known label distribution lies in the credal set.

    Parameters
    ----------
    Q : CredalSet, or array-like of shape (n, M, K)
        The sets, or the predictions of M members.
    distributions : array-like of shape (n, K)
        Known distributions of the labels, such as the relative frequencies of the annotators.
    groups : array-like of shape (n,), optional
        Return the coverage of each group.
    confidence : float in (0, 1), default=0.95
        Level of the exact binomial (Clopper-Pearson) interval of the coverage.
    tolerance : float, optional
        Largest difference in a coordinate of a distribution that counts as covered; by default as
        in `CredalSet.contains`.

    Returns
    -------
    Coverage, or GroupedCoverage with `groups`

    Notes
    -----
    The distance of a distribution outside of its set is the total variation distance to the
    nearest member, ``min over q in Q of TV(q, p)``, in closed form or as a matrix game with a
    certified error.

    Relative frequencies of few annotators differ from the distribution that they were drawn from.
    They can lie outside of a set that contains it, so that the coverage of frequencies is a
    pessimistic estimate for small sets.

    References
    ----------
    C. Clopper, E. Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[[0.6, 0.4], [0.5, 0.5]]] * 4
    >>> cl.validity.coverage(members, [[0.9, 0.1], [0.55, 0.45], [0.5, 0.5], [0.6, 0.4]])
    Coverage(n=4, confidence=0.95)
    metric          value
    coverage         0.75
    lower          0.1941
    upper          0.9937
    mean_distance   0.075
    max_distance      0.3
    """
    sets = as_credal_set(Q).to_numpy_backed()
    confidence = _validation.fraction(confidence, "confidence")
    known = _checked(sets, distributions)
    inside = np.asarray(sets.contains(known, tolerance))
    distance, error = np.zeros((2, len(known)))
    outside = np.flatnonzero(~inside)
    if len(outside):
        distance[outside], error[outside] = sets[outside].tv_distance(known[outside])

    def summary(rows: Any) -> Coverage:
        hits, trials = int(inside[rows].sum()), len(inside[rows])
        low, high = clopper_pearson(hits, trials, confidence)
        return Coverage(
            inside[rows], distance[rows], error[rows], hits / trials, float(low), float(high),
            confidence,
        )  # fmt: skip

    if groups is None:
        return summary(slice(None))
    keys = to_numpy(groups, "groups")
    if keys.shape != inside.shape:
        _validation.raise_invalid("groups", f"has shape {keys.shape}", f"pass {inside.shape}")
    names, index = np.unique(keys, return_inverse=True)
    return GroupedCoverage({name: summary(index == i) for i, name in enumerate(names.tolist())})


def _checked(sets: CredalSet, distributions: Any) -> Array:
    """Return the distributions, one per set."""
    if len(sets.batch_shape) != 1 or not sets.batch_shape[0]:
        _validation.raise_invalid(
            "Q", f"has batch shape {sets.batch_shape}", "pass one set per instance, (n,)"
        )
    shape = (sets.batch_shape[0], sets.n_classes)
    given = to_numpy(distributions, "distributions")
    if given.shape != shape:
        _validation.raise_invalid(
            "distributions", f"has shape {given.shape}", f"pass one distribution per set, {shape}"
        )
    return _validation.distributions(distributions, "distributions")
