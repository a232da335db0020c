#include "runtime/gather_instances.hpp"

#include <algorithm>

#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// Instances that are written at a time stay in the first-level cache; at least a cache line of each
// plane is read.
constexpr std::size_t kTileBytes = std::size_t{1} << 14;
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kBytesPerThread = std::size_t{1} << 18;

}  // namespace

template <class T>
void gather_instances(const T* P, std::size_t n, int M, int K, std::ptrdiff_t member_stride,
                      std::ptrdiff_t class_stride, T* out, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t tile =
        std::max(kTileBytes / (size * sizeof(T)), kCacheLineBytes / sizeof(T));
    const Grain grain(kBytesPerThread / (size * sizeof(T)));
    parallel_for(n, grain, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t first = begin; first < end; first += tile) {
            const std::size_t count = std::min(tile, end - first);
            T* block = out + first * size;
            for (int m = 0; m < M; ++m)
                for (int y = 0; y < K; ++y, ++block) {
                    const T* plane = P + m * member_stride + y * class_stride + first;
                    for (std::size_t i = 0; i < count; ++i) block[i * size] = plane[i];
                }
        }
    });
}

template void gather_instances(const float*, std::size_t, int, int, std::ptrdiff_t, std::ptrdiff_t,
                               float*, int);
template void gather_instances(const double*, std::size_t, int, int, std::ptrdiff_t, std::ptrdiff_t,
                               double*, int);

}  // namespace credalens
