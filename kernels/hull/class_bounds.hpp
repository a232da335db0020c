// The smallest and the largest probability of each class among the members of a hull.
#pragma once

#include <cstddef>

namespace credalens {

// For each of n instances P (n, M, K), C-contiguous: lower_y = min_m P_my, upper_y = max_m P_my,
// (n, K) each. An output that is not wanted is nullptr and costs nothing.
template <class T>
void class_bounds(const T* P, std::size_t n, int M, int K, double* lower, double* upper, int threads);

}  // namespace credalens
