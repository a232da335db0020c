#include "hull/euclidean_diameter.hpp"

#include <algorithm>

#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "hull/euclidean_diameter-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

template <class T>
void large_squared_diameters(const T* P, std::size_t n, int M, int K, const double* V, int r,
                             double* square, Grain grain, int threads) {
    const std::size_t width = padded_size(r);
    AlignedBuffer padded(width * K);
    for (int y = 0; y < K; ++y)
        std::copy_n(V + static_cast<std::size_t>(y) * r, r, padded.data() + y * width);
    parallel_for(
        n, grain, threads, [&] { return AlignedBuffer(width * M); },
        [&](AlignedBuffer& points, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                square[i] =
                    CREDALENS_DISPATCH(squared_diameter, P + i * static_cast<std::size_t>(M) * K, M,
                                       K, padded.data(), static_cast<int>(width), points.data());
        });
}

}  // namespace

// The product with V is computed here: the threads of a BLAS would still wait for work, and occupy
// the CPUs, when those of the pool start.
template <class T>
void squared_euclidean_diameter(const T* P, std::size_t n, int M, int K, const double* V, int r,
                                double* square, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t entries = static_cast<std::size_t>(M) * (K + r);
    const std::size_t work = static_cast<std::size_t>(M) * r * (K + M / 2 + 8) / 8 + 1;
    const std::size_t count = (std::size_t{1} << 19) / work;
    if (entries > kMaxInstancePerLane)
        return large_squared_diameters(P, n, M, K, V, r, square, Grain(count), threads);
    parallel_for(
        n, Grain::multiple_of_lanes(count), threads, [&] { return vector_scratch(entries); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(squared_diameters, P + begin * size, end - begin, M, K, V, r,
                               square + begin, scratch.data());
        });
}

template void squared_euclidean_diameter(const float*, std::size_t, int, int, const double*, int,
                                         double*, int);
template void squared_euclidean_diameter(const double*, std::size_t, int, int, const double*, int,
                                         double*, int);

}  // namespace credalens
