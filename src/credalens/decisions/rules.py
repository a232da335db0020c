"""Decision rules: one action, or all admissible actions, for each credal set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

from credalens import _validation
from credalens._backend import Array, TensorT, namespace, native, stop_gradient
from credalens.decisions.costs import as_cost
from credalens.decisions.listed_classes import admissible_listed, decide_listed, dense_mask
from credalens.sets import CredalSet, SetLike, TopKHull, set_function
from credalens.sets.decision_queries import tie_tolerance

DecisionRule = Literal["gamma_minimax", "gamma_minimin", "hurwicz", "minimax_regret"]
AdmissibilityRule = Literal["e_admissible", "maximal", "interval_dominance"]


def _hurwicz(Q: CredalSet, cost: Array | None, alpha: float) -> Any:
    lower, upper = Q.expected_costs(cost)
    return alpha * upper + (1 - alpha) * lower


#: The criterion ``(..., D)`` that each rule minimises: ``criterion(Q, cost, alpha)``.
DECISION_RULES: Mapping[str, Callable[[CredalSet, Array | None, float], Any]] = {
    "gamma_minimax": lambda Q, cost, alpha: Q.expected_costs(cost)[1],
    "gamma_minimin": lambda Q, cost, alpha: Q.expected_costs(cost)[0],
    "hurwicz": _hurwicz,
    "minimax_regret": lambda Q, cost, alpha: Q.max_regret(cost),
}


def _interval_dominance(Q: CredalSet, cost: Array | None) -> tuple[Any, Any]:
    lower, upper = Q.expected_costs(cost)
    limit = namespace(upper).min(upper, axis=-1, keepdims=True) + tie_tolerance(cost)
    kept = lower <= limit
    return kept, native.zeros_like(lower)


def _maximal(Q: CredalSet, cost: Array | None) -> tuple[Any, Any]:
    mask = Q.maximal_actions(cost)
    return mask, 0.0 * mask


#: The admissible actions ``(..., D)`` and the errors of each rule: ``rule(Q, cost)``.
ADMISSIBILITY_RULES: Mapping[str, Callable[[CredalSet, Array | None], tuple[Any, Any]]] = {
    "e_admissible": lambda Q, cost: Q.e_admissible_actions(cost),
    "maximal": _maximal,
    "interval_dominance": _interval_dominance,
}


@overload
def decide(
    Q: TensorT,
    cost: Any = ...,
    rule: DecisionRule = ...,
    *,
    alpha: float = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def decide(
    Q: SetLike,
    cost: Any = ...,
    rule: DecisionRule = ...,
    *,
    alpha: float = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@set_function()
def decide(
    Q: Any,
    cost: Any = None,
    rule: DecisionRule = "gamma_minimax",
    *,
    alpha: float = 0.5,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the action that a decision rule chooses for each credal set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    cost : array-like of shape (K, D), optional
        Cost of each of D actions (columns) for each class (rows); actions need not be classes. By
        default 0-1 costs: the actions are the classes, and an error costs 1.
    rule : {"gamma_minimax", "gamma_minimin", "hurwicz", "minimax_regret"}
        The criterion that is minimised; see Notes.
    alpha : float in [0, 1], default=0.5
        Weight of the largest expected cost in the Hurwicz criterion.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of int, shape (...)
        Indices of actions; of equal actions the first. Values of the criterion that differ by less
        than 1e-12 of the range of the costs are equal. For truncated predictions
        (`ConvexHull.from_topk`) the best of the listed classes, with probability 0 for members that
        do not list it.

    See Also
    --------
    admissible : all actions that are not excluded.

    Notes
    -----
    With the largest and the smallest expected cost of an action d over the set::

        rule            minimises
        gamma_minimax   max_p E_p[c_d]
        gamma_minimin   min_p E_p[c_d]
        hurwicz         alpha max_p E_p[c_d] + (1 - alpha) min_p E_p[c_d]
        minimax_regret  max_p (E_p[c_d] - min_d' E_p[c_d'])

    The Gamma-minimax risk is total uncertainty under total variation (0-1 costs) or under the
    Wasserstein distance with these costs. The largest regret of an action is attained at an extreme
    point. The cost is O(M K D) for a hull of M members.

    References
    ----------
    T. Augustin, F. Coolen, G. de Cooman, M. Troffaes (eds.), "Introduction to imprecise
    probabilities", 2014, chapter 8.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.6, 0.3, 0.1], [0.2, 0.45, 0.35]]
    >>> int(cl.decide(members)), int(cl.decide(members, rule="gamma_minimin"))
    (1, 0)

    Missing the second class is ten times as bad as any other error:

    >>> cost = [[0, 1, 1], [10, 0, 10], [1, 1, 0]]
    >>> int(cl.decide([[0.8, 0.15, 0.05], [0.7, 0.2, 0.1]], cost))
    1
    """
    _validation.one_of(rule, "rule", DECISION_RULES)
    weight = _validation.fraction(alpha, "alpha", zero=True, one=True)
    if isinstance(Q, TopKHull):
        _refuse_cost(cost)
        criterion = DECISION_RULES[rule]
        return decide_listed(Q, lambda hull, alpha: criterion(hull, None, alpha), weight)
    costs = as_cost(cost, Q.n_classes)
    return first_smallest(stop_gradient(DECISION_RULES[rule](Q, costs, weight)), costs)


def _refuse_cost(cost: Any) -> None:
    """Raise if costs are passed for truncated predictions."""
    if cost is not None:
        _validation.raise_invalid(
            "cost",
            "is passed for truncated predictions, whose expected costs are not known",
            "leave it out for 0-1 costs, or pass all probabilities to ConvexHull",
        )


def first_smallest(criterion: Any, cost: Array | None) -> Any:
    """Return the index of the smallest entry ``(...)`` of a criterion ``(..., D)``.

    Entries that differ by the rounding of expected costs are equal; of these, the first is chosen.
    """
    xp = namespace(criterion)
    smallest = xp.min(criterion, axis=-1, keepdims=True)
    return xp.argmax(1.0 * (criterion <= smallest + tie_tolerance(cost)), axis=-1)


@overload
def admissible(
    Q: TensorT,
    cost: Any = ...,
    rule: AdmissibilityRule = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def admissible(
    Q: SetLike,
    cost: Any = ...,
    rule: AdmissibilityRule = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def admissible(
    Q: TensorT,
    cost: Any = ...,
    rule: AdmissibilityRule = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[TensorT, TensorT]: ...
@overload
def admissible(
    Q: SetLike,
    cost: Any = ...,
    rule: AdmissibilityRule = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Array, Array]: ...
@set_function()
def admissible(
    Q: Any,
    cost: Any = None,
    rule: AdmissibilityRule = "e_admissible",
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return which actions are admissible: with 0-1 costs, a set of labels for each instance.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    cost : array-like of shape (K, D), optional
        Costs as in `decide`.
    rule : {"e_admissible", "maximal", "interval_dominance"}
        The criterion; see Notes.
    return_error : bool, default=False
        Also return, for each action, the duality gap if it is undecided, and 0 otherwise.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of bool, shape (..., D), or (mask, error)
        At least one action is admissible. Undecided actions are returned as admissible, except, for
        truncated predictions (`ConvexHull.from_topk`), classes that no member lists.

    Notes
    -----
    An action d is::

        e_admissible        optimal for some p in Q:  min_p max_d' E_p[c_d - c_d'] <= 0
        maximal             not worse than another one under every p:
                            max_p E_p[c_d' - c_d] >= 0 for all d'
        interval_dominance  not worse than another one in the worst case:
                            min_p E_p[c_d] <= min_d' max_p E_p[c_d']

    Each set of actions contains the one above it. E-admissibility is a matrix game for each action,
    unless the action is optimal for a member or not maximal. The solution of the game is a
    certificate: a distribution for which the action is optimal, or a mixture of actions that is
    better under every distribution. Where the certified bounds of the value contain 0, the action
    is undecided. Expected costs that differ by less than 1e-12 of the range of the costs are equal.

    References
    ----------
    I. Levi, "The enterprise of knowledge", 1980 (E-admissibility). P. Walley, "Statistical
    reasoning with imprecise probabilities", 1991 (maximality). M. Troffaes, "Decision making under
    uncertainty using imprecise probabilities", International Journal of Approximate Reasoning
    45(1), 2007.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.6, 0.3, 0.1], [0.2, 0.45, 0.35]]
    >>> cl.admissible(members)
    array([ True,  True, False])

    A class that no member predicts can be optimal for a mixture of them, and a class that is
    maximal need not be optimal for any:

    >>> cl.admissible([[0.55, 0.4, 0.05], [0.05, 0.4, 0.55]])
    array([ True,  True,  True])
    >>> members = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
    >>> cl.admissible(members), cl.admissible(members, rule="maximal")
    (array([ True, False,  True]), array([ True,  True,  True]))
    """
    _validation.one_of(rule, "rule", ADMISSIBILITY_RULES)
    if isinstance(Q, TopKHull):
        _refuse_cost(cost)
        classes, mask, error = admissible_listed(Q, rule)
        mask = dense_mask(Q, classes, mask)
        return (mask, dense_mask(Q, classes, error)) if return_error else mask
    costs = as_cost(cost, Q.n_classes)
    if Q.backend.placement == "device" and rule != "interval_dominance":
        Q = Q.to_numpy_backed()
    mask, error = ADMISSIBILITY_RULES[rule](Q, costs)
    return (mask, error) if return_error else mask
