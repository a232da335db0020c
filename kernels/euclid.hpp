// Euclidean diameters: the largest distance between two of the points of an instance.
#pragma once

#include <cstddef>

namespace credalens {

// For each of n instances x (n, M, r), C-contiguous, the largest over pairs of points of
// sum_k (x_mk - x_m'k)^2.
void square_diameter(const double* x, std::size_t n, int M, int r, double* square, int threads);

}  // namespace credalens
