"""Total, aleatoric and epistemic uncertainty of a family of measures, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from credalens import _validation
from credalens._backend import Array, TensorT
from credalens.distances import NAMES, Distance, TotalVariation
from credalens.distances.real_wasserstein import DEFAULT, REAL_NAME, distance_on
from credalens.measures.entropy import Base
from credalens.measures.families import COMPONENTS, FAMILY_TABLE, SharedQueries
from credalens.measures.results import ComponentErrors, Interval, Uncertainty
from credalens.measures.rounding import with_rounding
from credalens.sets import SetLike, real_or_set_function
from credalens.sets.hull import tv_of_array

__all__ = ["COMPONENTS", "FAMILIES", "FAMILY_NAMES", "quantify"]

#: Families by name; "tv" stands for any distance.
FAMILIES = ("tv", *FAMILY_TABLE)
FAMILY_NAMES = frozenset({*NAMES, *FAMILIES})
#: Names for a `RealHull`.
REAL_MEASURES = (REAL_NAME, *(name for name, one in FAMILY_TABLE.items() if one.on_real_line))
_HARTLEY_OPTIONS = frozenset({"method", "n_samples", "rtol"})


def _quantify_array(members: Array) -> Any:
    found = tv_of_array(members, ((), (), (), (), ()))
    if found is None:
        return None
    total, lower, upper, epistemic, error = found
    return Uncertainty(total, Interval(lower, upper), epistemic, error)


@overload
def quantify(
    Q: SetLike | TensorT,
    measure: str | Distance = ...,
    *,
    base: Base = ...,
    random_state: Any = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
    **hartley: Any,
) -> Uncertainty: ...
@overload
def quantify(
    Q: SetLike | TensorT,
    measure: Sequence[str | Distance],
    *,
    base: Base = ...,
    random_state: Any = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
    **hartley: Any,
) -> dict[str | Distance, Uncertainty]: ...
@real_or_set_function(numpy_fast_path=_quantify_array)
def quantify(
    Q: Any,
    measure: str | Distance | Sequence[str | Distance] = DEFAULT,
    *,
    base: Base = 2,
    random_state: Any = None,
    axis: int | None = None,
    class_axis: int | None = None,
    **hartley: Any,
) -> Any:
    """Return total, aleatoric and epistemic uncertainty of each set.

    Parameters
    ----------
    Q : credal set, RealHull, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    measure : str, distance, or a sequence of these, default="tv"
        The family of measures; see Notes. For a `RealHull`, ``"wasserstein"``, the default, or
        ``"variance"``; otherwise a distance or its name, or one of

        - of the set: ``"entropy"``, ``"hartley"``, ``"scoring:log"``, ``"scoring:brier"``,
          ``"scoring:spherical"``, ``"scoring:zero_one"``, ``"labelwise:credal"``, and
          ``"confidence"``;
        - of the members as a sample (a hull, or an array): ``"information"``, ``"variance"``,
          ``"zero_one"``, ``"spherical"``, ``"second_order_distance"``, ``"labelwise:entropy"``
          (also ``"labelwise"``), ``"labelwise:variance"``.
    base : number > 1, "e" or "classes", default=2
        Unit of entropies and of the Hartley measure.
    random_state : int, RandomState, Generator or None
        Seed of the Hartley measure if it is sampled (more than about 20 classes).
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.
    **hartley
        Further arguments of `generalized_hartley`: ``method``, ``n_samples``, ``rtol``.

    Returns
    -------
    Uncertainty, or a dict of them for a sequence of measures
        With fields ``total``, ``aleatoric``, ``epistemic`` and ``error``, in the array library,
        dtype and device of the data; for truncated predictions (`ConvexHull.from_topk`) also
        ``errors``, the error of each. Results that families share are computed once; for total
        variation the data are read once. For Dask arrays one task per chunk computes all fields.

    Raises
    ------
    ValueError
        If a measure of the members is requested for a set without members.

    Notes
    -----
    With G the generalised entropy and D the divergence of a scoring rule (see below), and the mean
    m of the members::

        family                 total             aleatoric              epistemic
        a distance d           min_y max_p       [min_p, max_p] of      max_{p,q} d(p, q) / 2
                               d(p, delta_y)     min_y d(p, delta_y)
        entropy                S*                S_*                    S* - S_*
        hartley                S*                S* - GH                GH
        scoring:log, brier,    aleatoric plus    [min_p, max_p] of G(p) max_{p,q} D(p, q)
          spherical, zero_one  epistemic
        labelwise:credal       min(1 - a, b)     min(a, 1 - b)          b - a
        information            H(m)              mean of H(p)           mutual information
        variance               1 - |m|^2         mean of 1 - |p|^2      sum of the variances
        zero_one               1 - max m         mean of 1 - max p      their difference
        spherical              1 - |m|           mean of 1 - |p|        their difference
        second_order_distance  1 - max m         mean of 1 - max p      min_q mean of TV(p, q)
        labelwise:entropy      information of (p_y, 1 - p_y), for each class y
        labelwise:variance     m_y (1 - m_y)     mean of p_y (1 - p_y)  variance of p_y
        confidence             1 - max m         none                   none

    The four scoring rules have G: Shannon entropy, ``1 - |p|^2``, ``1 - |p|``, ``1 - max p``, and
    D: Kullback-Leibler divergence, ``|p - q|^2``, ``|p| - <p, q> / |q|``, ``max p - p_z`` with z
    the argmax of q. Both aleatoric ends, and D, are optima over the set, not over its generators
    only; ``error`` is the certified gap of the upper end. The logarithmic D is infinite if one
    extreme point has a zero that another has not. Label-wise results are ``(..., K)``, with a and b
    the lower and upper probability of a class. S* - GH can be negative (from K = 20 on) and is not
    clipped.

    For a `RealHull`, ``"wasserstein"`` is the row of a distance with ``min_t E_p|Y - t|``, where
    the upper aleatoric end equals the total, and ``"variance"`` the law of total variance: the
    variance of the mixture, the mean of the variances, and the variance of the means.

    Measures of the members as a sample depend on how often a member occurs; those of the set do
    not. The parts of a distance and of ``"second_order_distance"`` need not add up to the total.

    PyTorch tensors that require grad, and JAX arrays inside ``grad`` and ``jit``, are
    differentiated with respect to the members of a hull, both aleatoric ends included. The gradient
    of a solver is that of its objective at the solution (Danskin's theorem): for the upper
    aleatoric end the weights of the members times those of the classes in the game, for S* the
    gradient of the entropy at the maximiser, for GH the weight of each event at the member that
    attains its lower probability. Where choices tie, it is the gradient of one of them, or a mean
    of several: a generalised gradient. Entropies and GH divide rows by their sums first, and are
    differentiated through that; the derivative by a class with probability 0 in every member is 0.
    Solvers support first derivatives only. The sampled GH, and the aleatoric ends of distances
    other than total variation and Wasserstein, raise ValueError if a gradient is requested. JAX
    transformations cannot validate rows: pass ``ConvexHull(members, validate=False)`` or use
    `ConvexHull.from_logits`.

    References
    ----------
    González-García et al. (2026) for distances; Abellán and Moral (2000, 2005) for Hartley and
    entropy; Depeweg et al. (2018) for information; Hofman et al. (2024), "Quantifying aleatoric and
    epistemic uncertainty: a credal approach", for scoring rules; Sale et al. (2024), "Second-order
    uncertainty quantification: a distance-based approach" and "Label-wise aleatoric and epistemic
    uncertainty quantification"; Hüllermeier et al. (2022), "Quantification of credal uncertainty in
    machine learning", for label-wise intervals.

    Examples
    --------
    >>> import credalens as cl
    >>> u = cl.quantify([[0.6, 0.4], [0.2, 0.8]])
    >>> [round(float(x), 3) for x in (u.total, *u.aleatoric, u.epistemic)]
    [0.6, 0.2, 0.5, 0.2]
    >>> both = cl.quantify([[0.6, 0.4], [0.2, 0.8]], measure=["tv", "entropy"])
    >>> round(float(both["entropy"].total), 3)
    1.0

    Mutual information, and the Brier score over the set, whose upper end is at a mixture:

    >>> cl.quantify([[0.6, 0.4], [0.2, 0.8]], "information")
    Uncertainty(total=0.971, aleatoric=0.8464, epistemic=0.1245, error=0)
    >>> cl.quantify([[0.6, 0.4], [0.2, 0.8]], "scoring:brier").aleatoric
    Interval(lower=0.32, upper=0.5)
    """
    if measure is DEFAULT and not hartley:
        return _of_distance(Q, measure)
    unknown = hartley.keys() - _HARTLEY_OPTIONS
    if unknown:
        raise TypeError(f"quantify() got an unexpected keyword argument {min(unknown)!r}")
    single = isinstance(measure, str | Distance) or not isinstance(measure, Sequence)
    families: list[Any] = [measure] if single else list(measure)  # type: ignore[arg-type]
    for one in families:
        if Q.on_real_line:
            _check_real(one)
        elif not isinstance(one, Distance):
            _validation.one_of(one, "measure", FAMILY_NAMES)
    shared: SharedQueries | None = None
    results: dict[Any, Uncertainty] = {}
    for one in families:
        if isinstance(one, str) and one in FAMILY_TABLE:
            if shared is None:
                shared = SharedQueries(Q, base, {"random_state": random_state, **hartley})
            family = FAMILY_TABLE[one]
            results[one] = with_rounding(Q, family.function(shared), family.shift)
        else:
            results[one] = _of_distance(Q, one)
    return results[measure] if single else results


def _check_real(measure: Any) -> None:
    """Raise if a measure is not defined for real-valued targets."""
    known = isinstance(measure, str) and measure in REAL_MEASURES
    if measure is not DEFAULT and not known:
        _validation.raise_invalid(
            "measure",
            f"is {measure!r}, and Q is a RealHull, whose members are distributions on the real "
            "line",
            f"choose one of {', '.join(map(repr, REAL_MEASURES))}",
        )


def _of_distance(Q: Any, measure: Any) -> Uncertainty:
    distance = distance_on(Q, measure)
    total, lower, upper, epistemic, error = distance.decompose(Q)
    found, errors = distance.component_errors(Q), None
    if found is not None:
        errors = ComponentErrors(found[0], Interval(found[1], found[2]), found[3])
    u = Uncertainty(total, Interval(lower, upper), epistemic, error, errors)
    return with_rounding(Q, u, bounded=type(distance) is TotalVariation and errors is None)
