// Enumeration of all subsets of the classes, for hartley_exact.cpp and lower_probabilities.cpp.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

constexpr int kMaxLowClasses = 9;
constexpr std::size_t kMaxTableWidth = std::size_t{1} << kMaxLowClasses;

// The classes are split: sums over the subsets of the `low` first ones are tabulated for each row;
// the subsets of the `high` others are enumerated, in chunks that threads may share. The split
// depends on the shape of the problem only, not on the threads or the batch.
struct SubsetSplit {
    int low, high;
    std::size_t width;   // of the table: 2^low, but at least eight
    std::size_t chunks;  // of equal size
    std::size_t chunk;   // number of high subsets in a chunk

    SubsetSplit(int classes, int rows) {
        // Tables of 20 KB leave space in the first-level cache for weights and results.
        low = kMaxLowClasses;
        while (low > 5 && (static_cast<std::size_t>(rows) << low) > 2560) --low;
        low = std::min(low, classes);
        high = classes - low;
        width = std::max<std::size_t>(std::size_t{1} << low, kMaxLanes);
        // With 2^14 subsets per chunk the time to build its table is small.
        const int chunk_bits = std::min(high, std::max(14 - low, high - 8));
        chunk = std::size_t{1} << chunk_bits;
        chunks = std::size_t{1} << (high - chunk_bits);
    }

    // Chunks that take some 100 microseconds together.
    std::size_t grain(int rows) const { return (std::size_t{1} << 20) / (rows * chunk * width); }
};

// The tables of one instance.
struct SubsetTables {
    SubsetTables(const SubsetSplit& split, int rows, int K)
        : split(split), rows(rows), stride(padded_size(rows)),
          normalized((rows + 1) * static_cast<std::size_t>(padded_size(K))),
          low(rows * split.width), high(static_cast<std::size_t>(std::max(split.high, 1)) * stride),
          levels((split.high + 1) * stride) {}

    const SubsetSplit split;
    const int rows;
    const std::size_t stride;  // rows, padded
    AlignedBuffer normalized;  // (rows + 1, padded K): the instance
    AlignedBuffer low;         // (rows, width): sums over the subsets of the low classes
    AlignedBuffer high;        // (high, stride): the high classes
    AlignedBuffer levels;      // (high + 1, stride): see advance_subset in subset_tables-inl.hpp
};

}  // namespace
}  // namespace credalens
