// The largest divergence between two members.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// D(p, q) of a scoring rule: log sum_y p_y ln(p_y / q_y), of rows divided by their sums, infinite
// if q_y = 0 < p_y for some y; Brier |p - q|^2; spherical |p| - <p, q> / |q|.
enum class Divergence { log, brier, spherical };

// The largest D(p, q) over ordered pairs of rows of each instance of P (n, M, K), which is the
// largest over their convex hull. O(M^2 K).
//
// Rows are validated while they are read unless `tolerance` is negative: returns the first instance
// with an invalid row, or -1; the results are then undefined.
template <class T>
std::int64_t pair_divergence(Divergence kind, const T* P, std::size_t n, int M, int K,
                             double* value, int threads, double tolerance);

}  // namespace credalens
