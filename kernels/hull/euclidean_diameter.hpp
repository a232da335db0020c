// Euclidean diameters: the largest distance between two members of an instance, each of them a
// mixture of points that stand for the classes.
#pragma once

#include <cstddef>

namespace credalens {

// For each of n instances P (n, M, K) and points V (K, r), all C-contiguous, the largest over pairs
// of members of |(P_m - P_m') V|^2.
template <class T>
void squared_euclidean_diameter(const T* P, std::size_t n, int M, int K, const double* V, int r,
                     double* square, int threads);

}  // namespace credalens
