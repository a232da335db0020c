// Isotonic regression, which gives the most uniform distribution of a possibility distribution.
#pragma once

#include <cstddef>

namespace credalens {

// The decreasing sequence nearest to each row of `values` (n, K), into `result` (n, K), by pooling
// adjacent violators: O(K) for each row.
//
// For the masses of the nested focal sets of a consonant belief function, classes in order of
// decreasing possibility, it is the distribution of the credal set that every other one majorises:
// the slopes of the least concave majorant of the lower probabilities of the focal sets.
void antitonic_regression(const double* values, std::size_t n, int K, double* result, int threads);

}  // namespace credalens
