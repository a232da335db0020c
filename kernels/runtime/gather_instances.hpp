// Instances of arrays with the classes, or the members, before the axes of the batch.
#pragma once

#include <cstddef>

namespace credalens {

// Copies n instances to `out` (n, M, K), C-contiguous. Entry (m, y) of instance i is
// P[i + m * member_stride + y * class_stride]: images in a layout with channels first.
template <class T>
void gather_instances(const T* P, std::size_t n, int M, int K, std::ptrdiff_t member_stride,
                      std::ptrdiff_t class_stride, T* out, int threads);

}  // namespace credalens
