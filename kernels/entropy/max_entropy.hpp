// Upper entropy of the convex hull of a finite set of distributions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// max H(p) over p in conv(rows of P_i), in nats, for each instance P_i of P.
//
//   P             (n, M, K), C-contiguous; rows are non-negative and sum to about 1, and are
//   divided by
//                 their sums in float64.
//   value         (n): H(p) at the feasible p that was found, hence a lower bound.
//   gap           (n): max_m g_m - H(p) >= 0 with g_m = -sum_y P_my ln p_y, the duality gap at that
//   p:
//                 the maximum lies in [value, value + gap]. Computed from the data with the
//                 logarithm of the C library.
//   weights       (n, M) or nullptr: p = sum_m weights_m P_m.
//   distribution  (n, K) or nullptr: p itself.
//
// Method: active-set Newton on the weights. An iteration costs O(M K + S^2 K + S^3) with S active
// members; S is at most about min(M, K), and about ten iterations are usual. 0 ln 0 = 0, and a
// class that is zero in every member is dropped. The result of an instance does not depend on other
// instances or the number of threads.
//
// Rows are validated while they are read unless `tolerance` is negative: returns the first instance
// with an invalid row, or -1; the results are then undefined.
template <class T>
std::int64_t max_entropy(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                         double* weights, double* distribution, int threads, double tolerance);

}  // namespace credalens
