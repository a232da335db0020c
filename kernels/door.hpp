// The check at the door: is every row a probability vector?
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Index of the first of `rows` rows of length K that has a negative or non-finite entry, or whose
// sum is off 1 by more than `tolerance`; -1 if there is none. One pass, float64 sums.
template <class T>
std::int64_t first_bad_row(const T* P, std::size_t rows, int K, double tolerance, int threads);

}  // namespace credalens
