// Closed forms over the members of a hull: extreme class probabilities and the widest pair.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// How the widest pair is found; `automatic` picks by shape (see pairs.cpp), the others are there
// for tests and benchmarks. All are exact.
enum class PairMethod { automatic = 0, plain = 1, signs = 2, sorted = 3 };

// For each of n instances P (n, M, K), C-contiguous:
//   max_lower = max_y min_m P_my,  max_upper = max_y max_m P_my,
//   diameter  = max_{m<m'} sum_y |P_my - P_m'y|,
//   pairs     = the members m, m' of a widest pair, (n, 2); only together with the diameter.
// An output that is not wanted is nullptr and costs nothing.
template <class T>
void closed_forms(const T* P, std::size_t n, int M, int K, double* max_lower, double* max_upper,
                  double* diameter, PairMethod method, int threads,
                  std::int64_t* pairs = nullptr);

}  // namespace credalens
