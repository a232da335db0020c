// Events with additive weights, w(A) = sum of the weights of the classes in A.
//
// The value of an instance does not depend on other instances or the number of threads.
#pragma once

#include <cstddef>

namespace credalens {

// max over A of min(w(A), w(all) - w(A), cap), the total variation diameter of a box (w = u - l)
// and of a ball. weights (n, K) >= 0, cap (n) >= 0.
//
// lower <= maximum <= upper. They are equal if one weight is more than half of all, if a greedy
// subset attains min(cap, w(all) / 2), and if both halves of the classes have at most 2^20
// different sums (K <= 40, or equal weights): then the maximum is found by meet in the middle, up
// to 10 classes by enumeration.
void balanced_partition(const double* weights, const double* cap, std::size_t n, int K,
                        double* lower, double* upper, int threads);

// sum over 0 < |B| < K of size_weights[|B|] max(0, w(B) - threshold), by meet in the middle:
// O(K 2^(K/2)) time and 2^(K/2 + 1) doubles per thread; up to 12 classes by enumeration.
// size_weights has K + 1 entries.
void excess_sums(const double* weights, const double* threshold, std::size_t n, int K,
                 const double* size_weights, double* value, int threads);

}  // namespace credalens
