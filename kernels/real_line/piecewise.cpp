#include <algorithm>
#include <cmath>

#include "real_line/minimax_deviation.hpp"
#include "real_line/mixture_quantiles.hpp"
#include "real_line/real_line.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "real_line/piecewise-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void piecewise_uncertainty(const T* x, std::size_t n, int M, int L, const double* levels,
                          const RealLineResults& results, int threads) {
    const std::size_t stride = padded_size(L), rows = M * stride;
    const double nanoseconds = 500 + 2.0 * static_cast<double>(rows) * (2 + 0.05 * M);
    parallel_for(
        n, Grain::of_duration(nanoseconds), threads,
        [&] { return AlignedBuffer(2 * rows + stride + padded_size(M)); },
        [&](AlignedBuffer& ws, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(piecewise_range, x + begin * M * L, end - begin, M, L, levels,
                               results.from(begin, M), ws.data());
        });
}

template <class T>
void piecewise_quantiles(const T* x, std::size_t n, int M, int L, const double* levels,
                         const MixtureQuantiles& wanted, int threads) {
    parallel_for(
        n, Grain::of_duration(100 + 1000.0 * M * wanted.count), threads,
        [&] { return AlignedBuffer(static_cast<std::size_t>(M) * padded_size(L)); },
        [&](AlignedBuffer& ws, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(piecewise_quantile_range, x + begin * M * L, end - begin, M, L,
                               levels, wanted.from(begin, M), ws.data());
        });
}

template void piecewise_uncertainty(const float*, std::size_t, int, int, const double*,
                                    const RealLineResults&, int);
template void piecewise_uncertainty(const double*, std::size_t, int, int, const double*,
                                    const RealLineResults&, int);
template void piecewise_quantiles(const float*, std::size_t, int, int, const double*,
                                  const MixtureQuantiles&, int);
template void piecewise_quantiles(const double*, std::size_t, int, int, const double*,
                                  const MixtureQuantiles&, int);

}  // namespace credalens
