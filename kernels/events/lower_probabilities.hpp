// Lower probabilities of all events of a hull.
#pragma once

#include <cstddef>

namespace credalens {

// lower(B) = min_m P_m(B) for every event B, (n, 2^K): class y is bit y of the index. P (n, M, K)
// as in events/hartley.hpp. lower(empty) = 0 and lower(all) = 1 exactly, and B in C implies
// lower(B) <= lower(C).
template <class T>
void lower_probabilities(const T* P, std::size_t n, int M, int K, double* values, int threads);

}  // namespace credalens
