// Input validation: whether rows are probability vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/first_invalid.hpp"

namespace credalens {

// Index of the first of `rows` rows of length K that has a negative or non-finite entry, or whose
// sum differs from 1 by more than `tolerance`; -1 if there is none. One pass, float64 sums.
template <class T>
std::int64_t first_invalid_row(const T* P, std::size_t rows, int K, double tolerance, int threads);

// The same on this thread; `rows` if there is none.
template <class T>
std::size_t first_invalid_row_serial(const T* P, std::size_t rows, int K, double tolerance);

// Instances that fit into half of a small first-level cache, a multiple of eight.
inline std::size_t cached_instances(std::size_t instance_bytes) {
    return 8 * (1 + (std::size_t{1} << 15) / instance_bytes);
}

// Calls body(first, last) for blocks of the instances from begin to end, until one of them has an
// invalid row, which is recorded. A block is still in the cache after it has been validated. Rows
// are not validated if `tolerance` is negative.
template <class T, class Body>
void for_each_validated_block(const T* P, std::size_t begin, std::size_t end, int M, int K,
                              double tolerance, FirstInvalid& invalid, const Body& body) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t block = cached_instances(size * sizeof(T));
    for (std::size_t i = begin; i < end && !invalid.found_up_to(i); i += block) {
        const std::size_t count = std::min(block, end - i), rows = count * M;
        if (tolerance >= 0) {
            const std::size_t row = first_invalid_row_serial(P + i * size, rows, K, tolerance);
            if (row < rows) return invalid.record(i + row / M);
        }
        body(i, i + count);
    }
}

}  // namespace credalens
