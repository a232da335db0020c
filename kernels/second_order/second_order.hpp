// Measures that treat the members as a sample of a distribution over distributions: weights and
// duplicates count, unlike for a hull.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// The generalised entropy G of a scoring rule, a concave function of a distribution p:
//   log        -sum_y p_y ln p_y, of rows divided by their sums
//   brier      1 - |p|^2
//   spherical  1 - |p|
//   zero_one   1 - max_y p_y
enum class Loss { log, brier, spherical, zero_one };

// Results (n), or (n, K) for label-wise measures.
struct SecondOrder {
    double *total, *aleatoric, *epistemic;
};

// total = G(sum_m v_m p_m), aleatoric = sum_m v_m G(p_m), epistemic = total - aleatoric >= 0.
//
//   P        (n, M, K), C-contiguous.
//   weights  (n, M), non-negative, each row summing to 1; nullptr for equal weights.
//
// O(M K) for each instance, whose result does not depend on other instances. Rows are validated
// while they are read unless `tolerance` is negative: returns the first instance with an invalid
// row, or -1; the results are then undefined.
template <class T>
std::int64_t second_order(Loss loss, const T* P, const double* weights, std::size_t n, int M, int K,
                          const SecondOrder& out, int threads, double tolerance);

// The same for each class y, with G of the distribution (p_y, 1 - p_y): the binary entropy
// in nats (Loss::log) or p_y (1 - p_y) (Loss::brier). Results (n, K).
template <class T>
std::int64_t labelwise(Loss loss, const T* P, const double* weights, std::size_t n, int M, int K,
                       const SecondOrder& out, int threads, double tolerance);

// min_q sum_m v_m |p_m - q|_1 / 2 over all distributions q: the smallest expected total variation
// distance. The sum is separable, and linear in each q_y between two consecutive member values,
// with slope c - 1/2, where c is the weight of the members below. From the smallest values, the
// mass that q lacks is added in the order of the slopes. O(M K log(M K)) for each instance.
template <class T>
std::int64_t median_distance(const T* P, const double* weights, std::size_t n, int M, int K,
                             double* value, int threads, double tolerance);

}  // namespace credalens
