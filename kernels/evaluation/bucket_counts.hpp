// Counts of values that are rounded to buckets of the bits of single precision, and of codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Adds the values to `counts`, by the bits of (value rounded to a multiple of 2^shift units in the
// last place) >> shift. Returns the number of NaN values, or minus the size
// that is needed, if it is above `size`; nothing is added then.
//
// `size` must be above the bitwise or of all buckets.
std::int64_t bucket_counts(const float* values, std::size_t n, int shift, std::int64_t* counts,
                           std::size_t size);

// Adds the codes to `counts`; those outside 0, ..., size - 1 are not counted.
void code_counts(const std::int32_t* codes, std::size_t n, std::int64_t* counts, std::size_t size);

}  // namespace credalens
