// The point of a convex hull that is nearest to the origin.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// min |p|^2 over p in conv(rows of P_i), for each instance P_i of P.
//
//   P        (n, M, K), C-contiguous.
//   value    (n): |p|^2 at the feasible p that was found, hence an upper bound.
//   gap      (n): max_m <p, p - P_m> >= 0. Every q of the hull has <p, q> >= |p|^2 - gap, hence
//            |q| >= |p| - gap / |p| and |q|^2 >= |p|^2 - 2 gap. Computed from the data.
//   weights  (n, M) or nullptr: p = sum_m weights_m P_m.
//   point    (n, K) or nullptr: p itself.
//
// Method: Wolfe (1976), "Finding the nearest point in a polytope": the member of the smallest
// <p, P_m> joins an active set of affinely independent members, which is reduced until the nearest
// point of its affine hull is in its convex hull. An iteration costs O(M K + S^2 K + S^3) with S <=
// K active members; S is at most about ten for ten classes. The rows lie in a hyperplane that does
// not contain the origin, so that the Gram matrix of affinely independent members is positive
// definite.
//
// Rows are validated while they are read unless `tolerance` is negative: returns the first instance
// with an invalid row, or -1; the results are then undefined.
template <class T>
std::int64_t min_norm_point(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                            double* weights, double* point, int threads, double tolerance);

}  // namespace credalens
