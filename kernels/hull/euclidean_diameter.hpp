// Euclidean diameters of members that are mixtures of points, one point per class.
#pragma once

#include <cstddef>

namespace credalens {

// For n instances P (n, M, K) and points V (K, r), all C-contiguous: the maximum over pairs of
// members of |(P_m - P_m') V|^2.
template <class T>
void squared_euclidean_diameter(const T* P, std::size_t n, int M, int K, const double* V, int r,
                                double* square, int threads);

}  // namespace credalens
