// Credal sets that are boxes, {p : l <= p <= u, sum p = 1}.
//
// low and high are (n, K), C-contiguous: the bounds of each class. They are finite, in [0, 1], and
// feasible and reachable up to rounding; sums that rounding has left on the wrong side of 1 are
// treated as 1. The value of an instance does not depend on other instances or the number of
// threads. A `distribution` (n, K) that is nullptr is not computed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// max(u - l, 0) of every class, (n, K), and the sums of the lower and of the upper bounds, (n)
// each.
void box_widths(const double* low, const double* high, std::size_t n, int K, double* widths,
                double* lower_sum, double* upper_sum, int threads);

// min over p of max_y p_y = max(max l, t), with t the smallest solution of sum min(u, t) = 1. O(K)
// for each of a few Newton steps.
void box_minimax(const double* low, const double* high, std::size_t n, int K, double* value,
                 int threads);

// Total variation: total uncertainty 1 - max l and both aleatoric ends, 1 - max u and 1 minus the
// value of `box_minimax`, (n) each.
void box_tv(const double* low, const double* high, std::size_t n, int K, double* total,
            double* lower, double* upper, int threads);

// Bounds of the diameter in total variation, (n) each; see `balanced_partition`.
void box_diameter(const double* low, const double* high, std::size_t n, int K, double* least,
                  double* most, int threads);

// The generalized Hartley measure in bits; see `excess_sums`.
void box_hartley(const double* low, const double* high, std::size_t n, int K,
                 const double* size_weights, double* value, int threads);

// Upper entropy in nats: p = clip(t, l, u) with t such that sum p = 1. O(K) for each of a few
// steps.
void box_max_entropy(const double* low, const double* high, std::size_t n, int K, double* value,
                     double* distribution, int threads);

// Lower entropy in nats by best-first branch and bound. The secants of -p ln p over the intervals
// of a node give a fractional knapsack problem; its one fractional class is split at its value.
//
//   value  (n): H(p) at the p that was found, hence an upper bound.
//   error  (n): the minimum lies in [value - error, value]; at most 1e-12 unless max_nodes were
//   opened.
//
// If the interval of one class dominates that of another, it is filled first: an exchange never
// increases a concave sum. So equal and nested intervals do not multiply the nodes.
void box_min_entropy(const double* low, const double* high, std::size_t n, int K,
                     std::int64_t max_nodes, double* value, double* error, double* distribution,
                     int threads);

}  // namespace credalens
