#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "real_line/minimax_deviation.hpp"
#include "real_line/mixture_quantiles.hpp"
#include "real_line/real_line.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "real_line/samples-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// Memory of one thread for instances that are sorted a few at a time, so that their rows fill the
// lanes of the sorting network and stay in the second-level cache.
struct SampleScratch {
    std::size_t block, size;

    SampleScratch(int M, int S) {
        const std::size_t stride = padded_size(S), rows = M * stride;
        block = std::clamp<std::size_t>(kMaxInstancePerLane / rows, 1, 8);
        size = block * rows + stride + kMaxLanes * static_cast<std::size_t>(S);
    }
};

double sorting_nanoseconds(int M, int S) {
    return 100 + 8.0 * M * S;
}

}  // namespace

template <class T>
void sample_uncertainty(const T* x, std::size_t n, int M, int S, const RealLineResults& results,
                        int threads) {
    const SampleScratch scratch(M, S);
    parallel_for(
        n, Grain::of_duration(sorting_nanoseconds(M, S) * (1 + 0.01 * M)), threads,
        [&] { return AlignedBuffer(scratch.size + padded_size(M)); },
        [&](AlignedBuffer& ws, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(sample_range, x + begin * M * S, end - begin, M, S,
                               results.from(begin, M), scratch.block, ws.data(),
                               ws.data() + scratch.size);
        });
}

template <class T>
void sample_quantiles(const T* x, std::size_t n, int M, int S, const MixtureQuantiles& wanted,
                      int threads) {
    const SampleScratch scratch(M, S);
    const double nanoseconds = sorting_nanoseconds(M, S) + 300.0 * M * wanted.count;
    parallel_for(
        n, Grain::of_duration(nanoseconds), threads,
        [&] {
            return std::pair(std::make_unique<AlignedBuffer>(scratch.size),
                             std::vector<const double*>(2 * static_cast<std::size_t>(M)));
        },
        [&](auto& ws, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(sample_quantile_range, x + begin * M * S, end - begin, M, S,
                               wanted.from(begin, M), scratch.block, ws.first->data(),
                               ws.second.data());
        });
}

template void sample_uncertainty(const float*, std::size_t, int, int, const RealLineResults&, int);
template void sample_uncertainty(const double*, std::size_t, int, int, const RealLineResults&, int);
template void sample_quantiles(const float*, std::size_t, int, int, const MixtureQuantiles&, int);
template void sample_quantiles(const double*, std::size_t, int, int, const MixtureQuantiles&, int);

}  // namespace credalens
