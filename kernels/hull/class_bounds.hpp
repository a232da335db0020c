// Lower and upper probability of each class of a hull.
#pragma once

#include <cstddef>

namespace credalens {

// For n instances P (n, M, K), C-contiguous: lower_y = min_m P_my and upper_y = max_m P_my, (n, K)
// each. An output that is nullptr is not computed.
template <class T>
void class_bounds(const T* P, std::size_t n, int M, int K, double* lower, double* upper,
                  int threads);

}  // namespace credalens
