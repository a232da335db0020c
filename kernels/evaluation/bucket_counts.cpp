#include "evaluation/bucket_counts.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace credalens {
namespace {

// Neighbouring values increment different tables: an increment that reads the result of the one
// before it would wait for store forwarding.
constexpr std::size_t kTables = 4;
// Values whose buckets are computed together, in SIMD registers.
constexpr std::size_t kBlock = 1024;
constexpr std::uint32_t kInfinity = 0x7f800000u;

// Writes the buckets of a block; NaN has the bucket `missing`. Returns the bitwise or of the others,
// which the baseline instruction set computes faster than the maximum.
std::uint32_t find_buckets(const float* values, std::size_t n, int shift, std::uint32_t missing,
                           std::uint32_t* buckets) {
    const std::uint32_t half = (1u << shift) >> 1;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        const std::uint32_t bucket = (bits + half) >> shift;
        const bool is_nan = (bits & 0x7fffffffu) > kInfinity;
        buckets[i] = is_nan ? missing : bucket;
        any |= is_nan ? 0u : bucket;
    }
    return any;
}

}  // namespace

std::int64_t bucket_counts(const float* values, std::size_t n, int shift, std::int64_t* counts,
                           std::size_t size) {
    const std::uint32_t missing = 1u << (32 - shift);
    const std::size_t stride = missing + 1;
    thread_local std::vector<std::uint32_t> tables;
    tables.resize(kTables * stride);  // zero but for the first call, and cleared below
    std::uint32_t buckets[kBlock];
    std::uint32_t largest = 0;
    for (std::size_t first = 0; first < n; first += kBlock) {
        const std::size_t length = std::min(kBlock, n - first);
        largest |= find_buckets(values + first, length, shift, missing, buckets);
        for (std::size_t i = 0; i < length; ++i) ++tables[(i % kTables) * stride + buckets[i]];
    }
    const bool fits = largest < size;
    std::int64_t n_missing = 0;
    for (std::size_t t = 0; t < kTables; ++t) {
        std::uint32_t* table = tables.data() + t * stride;
        n_missing += table[missing];
        table[missing] = 0;
        if (fits) {
            for (std::size_t b = 0; b <= largest; ++b) counts[b] += table[b];
        }
        std::fill(table, table + largest + 1, 0u);
    }
    return fits ? n_missing : -static_cast<std::int64_t>(largest) - 1;
}

void code_counts(const std::int32_t* codes, std::size_t n, std::int64_t* counts, std::size_t size) {
    const std::size_t stride = size + 1;  // the last entry counts codes outside
    std::vector<std::int64_t> tables(kTables * stride);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t code = static_cast<std::uint32_t>(codes[i]);
        ++tables[(i % kTables) * stride + std::min(code, size)];
    }
    for (std::size_t t = 0; t < kTables; ++t) {
        for (std::size_t k = 0; k < size; ++k) counts[k] += tables[t * stride + k];
    }
}

}  // namespace credalens
