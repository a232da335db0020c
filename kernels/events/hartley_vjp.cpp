#include <algorithm>
#include <vector>

#include "events/hartley.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Classes whose events are tabulated; the events of the others are enumerated.
constexpr int kLowClasses = 8;

// Scratch memory of one thread. The table is padded to eight events.
struct EventWorkspace {
    EventWorkspace(int M, int K)
        : low(std::min(K, kLowClasses)),
          width(std::max<std::size_t>(std::size_t{1} << low, kMaxLanes)),
          rows(static_cast<std::size_t>(padded_size(K)) * M), table(width * M), share(width * M),
          argmin(width), base(M), sums(static_cast<std::size_t>(M) * K) {}
    const int low;
    const std::size_t width;
    AlignedBuffer rows;         // (M, padded K): the normalized members
    std::vector<double> table;  // (M, width): sums over the events of the low classes
    std::vector<double> share;  // (M, width): weight of the events of which m has the minimum
    std::vector<std::int64_t> argmin;  // (width): first member with the smallest probability
    std::vector<double> base;          // (M): sums over the high classes
    std::vector<double> sums;          // (M, K): weight of such events that contain a class
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "events/hartley_vjp-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void hartley_vjp(const T* P, std::size_t n, int M, int K, const double* w, const double* cotangent,
                 T* gradient, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t work = (static_cast<std::size_t>(M) << std::min(K, 20)) + size;
    parallel_for(
        n, Grain(1 + (std::size_t{1} << 17) / work), threads, [&] { return EventWorkspace(M, K); },
        [&](EventWorkspace& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                CREDALENS_DISPATCH(hartley_gradient, P + i * size, M, K, w, cotangent[i],
                                   gradient + i * size, ws);
        });
}

template void hartley_vjp(const float*, std::size_t, int, int, const double*, const double*, float*,
                          int);
template void hartley_vjp(const double*, std::size_t, int, int, const double*, const double*,
                          double*, int);

}  // namespace credalens
