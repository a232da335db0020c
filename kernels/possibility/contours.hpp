// Possibility distributions: measures that depend on the degrees of the classes in order.
//
// contour (n, K), C-contiguous, in [0, 1], the largest degree of an instance is 1. O(K log K) for
// each of a few classes; the sort is not vectorised.
#pragma once

#include <cstddef>

namespace credalens {

// Total variation: total uncertainty, the second largest degree, and the upper aleatoric end, (n)
// each. The i most possible classes have at least the probability that the others cannot have.
void contour_tv(const double* contour, std::size_t n, int K, double* total, double* upper,
                int threads);

// The generalized Hartley measure in bits, sum_i c_i log2(i / (i - 1)) in decreasing order.
void contour_hartley(const double* contour, std::size_t n, int K, double* value, int threads);

// The largest entropy in nats, that of the decreasing regression of the masses of the focal sets;
// see `antitonic_regression`.
void contour_max_entropy(const double* contour, std::size_t n, int K, double* value, int threads);

}  // namespace credalens
