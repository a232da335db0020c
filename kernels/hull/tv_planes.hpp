// Uncertainty in total variation of instances whose batch is on the last axis: images and volumes
// with channels first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Results (n) as of `tv_uncertainty`, bit for bit, rounded to T; `epistemic` may be nullptr.
template <class T>
struct PlaneUncertainty {
    T *total, *lower, *upper, *epistemic, *gap;
};

// Entry (m, y) of instance i is P[i + m * member_stride + y * class_stride]. Games have to be small,
// see `is_small_game`. Rows are validated, and the first invalid instance returned, as by
// `closed_forms`.
template <class T>
std::int64_t tv_planes(const T* P, std::size_t n, int M, int K, std::ptrdiff_t member_stride,
                       std::ptrdiff_t class_stride, const PlaneUncertainty<T>& out, int threads,
                       double tolerance);

}  // namespace credalens
