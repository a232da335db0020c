from collections.abc import Callable, Sequence
from typing import Any

from numpy import bool_, float32, float64, int32, int64, uint8
from numpy.typing import NDArray

_Float = NDArray[Any]
_Out = NDArray[float64]

def call_whole_array(
    kernel: Callable[..., Any],
    block: Any,
    shapes: Sequence[tuple[int, ...] | None],
    max_bytes: int,
    arguments: tuple[Any, ...] = (),
) -> tuple[Any, list[Any]] | None: ...
def gather_instances(planes: _Float, out: _Float, threads: int) -> None: ...
def first_invalid_row(rows: _Float, tolerance: float, threads: int) -> int: ...
def closed_forms(
    members: _Float,
    max_lower: _Out | None,
    max_upper: _Out | None,
    diameter: _Out | None,
    lower_sum: _Out | None,
    threads: int,
    tolerance: float = -1.0,
    pairs: NDArray[int64] | None = None,
    method: int = 0,
) -> int: ...
def class_bounds(members: _Float, lower: _Out | None, upper: _Out | None, threads: int) -> None: ...
def majority_vote(
    members: _Float, vote: NDArray[int64] | None, argmax: NDArray[int32] | None, threads: int
) -> None: ...
def kolmogorov_diameter(members: _Float, diameter: _Out, threads: int) -> None: ...
def tree_wasserstein_diameter(
    members: _Float,
    order: NDArray[int64],
    start: NDArray[int64],
    stop: NDArray[int64],
    length: _Out,
    diameter: _Out,
    threads: int,
) -> None: ...
def squared_euclidean_diameter(
    members: _Float, points: _Out, square: _Out, threads: int
) -> None: ...
def solve_games(
    payoff: _Float,
    value: _Out,
    gap: _Out,
    weights: _Out | None,
    dual: _Out | None,
    threads: int,
) -> None: ...
def maximal_actions(
    utilities: _Float, tolerance: float, status: NDArray[uint8], threads: int
) -> None: ...
def tv_uncertainty(
    members: _Float,
    total: _Out | None,
    lower: _Out | None,
    upper: _Out | None,
    epistemic: _Out | None,
    gap: _Out | None,
    threads: int,
    tolerance: float = -1.0,
    vote: NDArray[int64] | None = None,
) -> int: ...
def tv_planes(
    planes: _Float,
    total: _Float,
    lower: _Float,
    upper: _Float,
    epistemic: _Float | None,
    gap: _Float,
    threads: int,
    tolerance: float,
) -> int: ...
def leave_one_out(
    members: _Float,
    max_lower: _Out,
    diameter: _Out,
    max_lower_increase: _Out,
    diameter_decrease: _Out,
    in_widest_pair: NDArray[uint8],
    square_norm: _Out,
    argmax: NDArray[int32],
    threads: int,
) -> None: ...
def max_entropy(
    members: _Float,
    value: _Out,
    gap: _Out,
    weights: _Out | None,
    distribution: _Out | None,
    threads: int,
    tolerance: float = -1.0,
) -> int: ...
def min_entropy(
    members: _Float,
    value: _Out,
    member: NDArray[int64] | None,
    threads: int,
    tolerance: float = -1.0,
) -> int: ...
def hartley_weights(K: int, w: _Out, log_v: _Out) -> None: ...
def hartley_exact(members: _Float, w: _Out, value: _Out, threads: int) -> None: ...
def hartley_sample(
    members: _Float,
    log_v: _Out,
    seed: int,
    n_pairs: int,
    rtol: float,
    atol: float,
    max_pairs: int,
    value: _Out,
    error: _Out,
    threads: int,
) -> None: ...
def lower_probabilities(members: _Float, values: _Out, threads: int) -> None: ...
def reachable_bounds(
    low: _Float,
    high: _Float,
    bound_tolerance: float,
    sum_tolerance: float,
    lower: _Float,
    upper: _Float,
    max_bounds: _Float,
    threads: int,
) -> int: ...
def check_bounds(
    low: _Float,
    high: _Float,
    bound_tolerance: float,
    sum_tolerance: float,
    max_bounds: _Float,
    not_reachable: NDArray[bool_],
    threads: int,
) -> int: ...
def check_capacities(
    values: _Float, tolerance: float, limit: float, two_monotone: NDArray[bool_], threads: int
) -> int: ...
def belief_values(masses: _Float, values: _Float, threads: int) -> None: ...
def event_dot(values: _Float, weights: _Out, total: _Out, threads: int) -> None: ...
def max_class_bounds(values: _Float, lower: _Out, upper: _Out, threads: int) -> None: ...
def max_event_width(values: _Float, width: _Out, threads: int) -> None: ...
def max_event_mean(values: _Out, value: _Out, threads: int) -> None: ...
def capacity_max_entropy(
    values: _Out, value: _Out, distribution: _Out | None, threads: int
) -> None: ...
def capacity_min_entropy(
    values: _Float, value: _Out, extreme_point: _Out, threads: int
) -> None: ...
def box_widths(
    low: _Out, high: _Out, widths: _Out, lower_sum: _Out, upper_sum: _Out, threads: int
) -> None: ...
def box_minimax(low: _Out, high: _Out, value: _Out, threads: int) -> None: ...
def event_bounds(
    mass: _Out, rest: _Out, radius: _Out, upper: bool, bound: _Out, threads: int
) -> None: ...
def box_tv(low: _Out, high: _Out, total: _Out, lower: _Out, upper: _Out, threads: int) -> None: ...
def box_diameter(low: _Out, high: _Out, least: _Out, most: _Out, threads: int) -> None: ...
def box_hartley(low: _Out, high: _Out, value: _Out, size_weights: _Out, threads: int) -> None: ...
def neighbourhood_tv(
    center: _Out,
    size: _Out,
    total: _Out,
    lower: _Out,
    upper: _Out | None,
    ball: bool,
    threads: int,
) -> None: ...
def ball_diameter(center: _Out, radius: _Out, least: _Out, most: _Out, threads: int) -> None: ...
def ball_hartley(
    center: _Out, radius: _Out, value: _Out, size_weights: _Out, threads: int
) -> None: ...
def box_max_entropy(
    low: _Out, high: _Out, value: _Out, distribution: _Out | None, threads: int
) -> None: ...
def ball_minimax(center: _Out, radius: _Out, value: _Out, threads: int) -> None: ...
def ball_lower_sum(center: _Out, radius: _Out, value: _Out, threads: int) -> None: ...
def neighbourhood_entropy(
    ball: bool,
    upper: bool,
    center: _Out,
    size: _Out,
    value: _Out,
    distribution: _Out | None,
    threads: int,
) -> None: ...
def box_min_entropy(
    low: _Out,
    high: _Out,
    max_nodes: int,
    value: _Out,
    error: _Out,
    distribution: _Out | None,
    threads: int,
) -> None: ...
def balanced_partition(
    weights: _Out, cap: _Out, lower: _Out, upper: _Out, threads: int
) -> None: ...
def excess_sums(
    weights: _Out, threshold: _Out, size_weights: _Out, value: _Out, threads: int
) -> None: ...
def tv_vjp(
    members: _Float,
    max_lower: _Out | None,
    max_upper: _Out | None,
    diameter: _Out | None,
    value: _Out | None,
    pairs: NDArray[int64] | None,
    weights: _Out | None,
    dual: _Out | None,
    gradient: _Float,
    threads: int,
) -> None: ...
def hartley_vjp(
    members: _Float, w: _Out, cotangent: _Out, gradient: _Float, threads: int
) -> None: ...
def hull_line(
    members: _Float,
    order: NDArray[int64],
    position: _Out,
    total: _Out | None,
    lower: _Out | None,
    upper: _Out | None,
    gap: _Out | None,
    weights: _Out | None,
    decision: _Out | None,
    threads: int,
) -> None: ...
def tree_costs(
    members: _Float,
    order: NDArray[int64],
    start: NDArray[int64],
    stop: NDArray[int64],
    length: _Out,
    costs: _Out,
    threads: int,
) -> None: ...
def box_line(
    kolmogorov: bool,
    low: _Out,
    high: _Out,
    order: NDArray[int64],
    position: _Out,
    total: _Out | None,
    lower: _Out | None,
    upper: _Out | None,
    gap: _Out | None,
    diameter: _Out | None,
    threads: int,
) -> None: ...
def neighbourhood_line(
    kolmogorov: bool,
    is_ball: bool,
    center: _Out,
    size: _Out,
    order: NDArray[int64],
    position: _Out,
    total: _Out | None,
    lower: _Out | None,
    upper: _Out | None,
    gap: _Out | None,
    diameter: _Out | None,
    threads: int,
) -> None: ...
def possibility_line(
    kolmogorov: bool,
    rows: _Out,
    order: NDArray[int64],
    position: _Out,
    total: _Out | None,
    lower: _Out | None,
    upper: _Out | None,
    gap: _Out | None,
    diameter: _Out | None,
    threads: int,
) -> None: ...
def events_line(
    kolmogorov: bool,
    rows: _Out,
    order: NDArray[int64],
    position: _Out,
    total: _Out | None,
    lower: _Out | None,
    upper: _Out | None,
    gap: _Out | None,
    diameter: _Out | None,
    threads: int,
) -> None: ...
def instruction_set() -> str: ...
def default_num_threads() -> int: ...
def set_num_threads(threads: int) -> None: ...
def bucket_counts(values: NDArray[float32], shift: int, counts: NDArray[int64]) -> int: ...
def code_counts(codes: NDArray[int32], counts: NDArray[int64]) -> None: ...
def resampled_risks(
    order: NDArray[int32],
    last: NDArray[uint8],
    loss: _Out,
    weight: _Out | None,
    cut: _Out,
    seed: int,
    total_weight: _Out,
    total_loss: _Out,
    risk: _Out,
    generalized: _Out,
    cut_loss: _Out,
    cut_risk: _Out,
    threads: int,
) -> None: ...
def second_order(
    members: _Float,
    total: _Out | None,
    aleatoric: _Out | None,
    epistemic: _Out | None,
    threads: int,
    tolerance: float,
    loss: int,
    weights: _Out | None = None,
) -> int: ...
def labelwise(
    members: _Float,
    total: _Out | None,
    aleatoric: _Out | None,
    epistemic: _Out | None,
    threads: int,
    tolerance: float,
    loss: int,
    weights: _Out | None = None,
) -> int: ...
def median_distance(
    members: _Float, value: _Out, threads: int, tolerance: float, weights: _Out | None = None
) -> int: ...
def min_norm_point(
    members: _Float,
    value: _Out,
    gap: _Out,
    weights: _Out | None,
    point: _Out | None,
    threads: int,
    tolerance: float = -1.0,
) -> int: ...
def pair_divergence(
    members: _Float, value: _Out, threads: int, tolerance: float, kind: int
) -> int: ...
def topk_first_invalid(
    ids: NDArray[Any], probs: _Float, n_classes: int, tolerance: float, threads: int
) -> int: ...
def topk_widths(
    ids: NDArray[Any],
    probs: _Float,
    n_classes: int,
    width: NDArray[int64],
    rest: _Out,
    threads: int,
) -> None: ...
def topk_union(
    ids: NDArray[Any],
    probs: _Float,
    n_classes: int,
    classes: NDArray[int64] | None,
    lower: _Out,
    upper: _Out | None,
    threads: int,
) -> None: ...
def topk_vote(
    ids: NDArray[Any], probs: _Float, n_classes: int, winner: NDArray[int64], threads: int
) -> None: ...
def topk_tv(
    ids: NDArray[Any],
    probs: _Float,
    n_classes: int,
    total: _Out,
    lower: _Out,
    upper: _Out,
    epistemic: _Out,
    total_error: _Out,
    upper_error: _Out,
    epistemic_error: _Out,
    threads: int,
) -> None: ...
def topk_max_entropy(
    ids: NDArray[Any], probs: _Float, n_classes: int, value: _Out, error: _Out, threads: int
) -> None: ...
def topk_min_entropy(
    ids: NDArray[Any], probs: _Float, n_classes: int, value: _Out, error: _Out, threads: int
) -> None: ...
def topk_second_order(
    ids: NDArray[Any],
    probs: _Float,
    n_classes: int,
    weights: _Out | None,
    total: _Out,
    aleatoric: _Out,
    epistemic: _Out,
    total_error: _Out,
    aleatoric_error: _Out,
    epistemic_error: _Out,
    zero_one: bool,
    threads: int,
) -> None: ...
def contour_tv(contour: _Out, total: _Out, upper: _Out, threads: int) -> None: ...
def contour_hartley(contour: _Out, value: _Out, threads: int) -> None: ...
def contour_max_entropy(contour: _Out, value: _Out, threads: int) -> None: ...
def antitonic_regression(values: _Out, result: _Out, threads: int) -> None: ...
def sample_uncertainty(
    samples: _Float,
    total: _Out | None,
    lower: _Out | None,
    gap: _Out | None,
    decision: _Out | None,
    diameter: _Out | None,
    weights: _Out | None,
    threads: int,
) -> None: ...
def piecewise_uncertainty(
    values: _Float,
    levels: _Out,
    total: _Out | None,
    lower: _Out | None,
    gap: _Out | None,
    decision: _Out | None,
    diameter: _Out | None,
    weights: _Out | None,
    threads: int,
) -> None: ...
def normal_uncertainty(
    parameters: _Float,
    total: _Out | None,
    lower: _Out | None,
    gap: _Out | None,
    decision: _Out | None,
    diameter: _Out | None,
    weights: _Out | None,
    threads: int,
) -> None: ...
def sample_quantiles(
    samples: _Float, weights: _Out | None, wanted: _Out, quantiles: _Out, threads: int
) -> None: ...
def piecewise_quantiles(
    values: _Float,
    levels: _Out,
    weights: _Out | None,
    wanted: _Out,
    quantiles: _Out,
    threads: int,
) -> None: ...
def normal_quantiles(
    parameters: _Float,
    z: _Out,
    weights: _Out | None,
    wanted: _Out,
    quantiles: _Out,
    threads: int,
) -> None: ...
