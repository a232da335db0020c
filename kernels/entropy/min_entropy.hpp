// Lower entropy of the convex hull of a finite set of distributions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// min H(p) over p in conv(rows of P_i), in nats, for each instance P_i of P (n, M, K). Entropy is
// concave, so the minimum is attained by a row: O(M K) for each instance.
//
//   value   (n): the entropy of that row, divided by its sum.
//   member  (n) or nullptr: its index, the first one on a tie.
//
// Rows are validated as in `max_entropy`.
template <class T>
std::int64_t min_entropy(const T* P, std::size_t n, int M, int K, double* value,
                         std::int64_t* member, int threads, double tolerance);

}  // namespace credalens
