// The check at the door: is every row a probability vector?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/first_invalid.hpp"
#include "simd/instance_per_lane.hpp"

namespace credalens {

// Index of the first of `rows` rows of length K that has a negative or non-finite entry, or whose
// sum is off 1 by more than `tolerance`; -1 if there is none. One pass, float64 sums.
template <class T>
std::int64_t first_invalid_row(const T* P, std::size_t rows, int K, double tolerance, int threads);

// Calls body(first, last) for the instances from begin to end, some at a time, until one of them
// is seen to have a bad row; none is looked for if `tolerance` is negative. They are few enough that
// what was checked is still in the cache when it is used, and a multiple of eight.
template <class T, class Body>
void checked_in_passing(const T* P, std::size_t begin, std::size_t end, int M, int K,
                        double tolerance, FirstBad& bad, const Body& body) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t few = 8 * (1 + (std::size_t{1} << 15) / (size * sizeof(T)));
    for (std::size_t i = begin; i < end && !bad.before(i); i += few) {
        const std::size_t count = std::min(few, end - i), rows = count * M;
        if (tolerance >= 0) {
            const std::size_t row = first_bad_in_lanes(P + i * size, rows, K, tolerance);
            if (row < rows) return bad.see(i + row / M);
        }
        body(i, i + count);
    }
}

}  // namespace credalens
