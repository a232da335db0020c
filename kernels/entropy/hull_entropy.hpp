// Upper and lower Shannon entropy of the convex hull of a finite set of distributions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Upper entropy: max H(p) over p in conv(rows of P_i), in nats, for each instance P_i of P.
//
//   P             (n, M, K), C-contiguous; rows are non-negative and sum to about 1, and are
//                 renormalised in double precision before use.
//   value         (n): H(p) at the feasible p that was found, hence a lower bound.
//   gap           (n): max_m g_m - H(p) >= 0 with g_m = -sum_y P_my ln p_y, the duality gap at
//                 that p: the maximum lies in [value, value + gap]. Computed from the data with
//                 the library logarithm, whatever the solver did.
//   weights       (n, M) or nullptr: p = sum_m weights_m P_m.
//   distribution  (n, K) or nullptr: p itself.
//
// Method: active-set Newton on the weights. An iteration costs O(M K + S^2 K + S^3) with S active
// members; S is at most about min(M, K), and about ten iterations are usual. 0 ln 0 = 0, and a
// class that is zero in every member plays no part. The result for an instance depends on that
// instance alone, bit for bit, whatever the batch and the number of threads.
//
// Rows are checked while they are read unless `tolerance` is negative: returns the first instance
// with a bad one (see runtime/validate_rows.hpp), or -1; the results are then of no use.
template <class T>
std::int64_t max_entropy(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                         double* weights, double* distribution, int threads, double tolerance);

// Lower entropy: min H(p) over the same hull, in nats. Entropy is concave, so the minimum is at a
// row: O(M K) an instance.
//
//   value   (n): the entropy of that row, renormalised.
//   member  (n) or nullptr: its index, the first one on a tie.
//
// Rows are checked as in `max_entropy`.
template <class T>
std::int64_t min_entropy(const T* P, std::size_t n, int M, int K, double* value,
                         std::int64_t* member, int threads, double tolerance);

}  // namespace credalens
