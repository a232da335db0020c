#include "entropy/max_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "entropy/max_entropy_workspace.hpp"
#include "entropy/min_entropy.hpp"
#include "runtime/parallel_for.hpp"
#include "runtime/validate_rows.hpp"

namespace credalens {
namespace {

// ln p and -p ln p of each class of the present point, with the logarithm of the C library.
void entropy_terms(MaxEntropyWorkspace& ws) {
    const double* p = ws.here.p;
    for (int y = 0; y < ws.width; ++y) {
        ws.here.log_p[y] = y < ws.classes ? std::log(p[y] + ws.floor[y]) : 0;
        ws.scaled[y] = -p[y] * ws.here.log_p[y];
    }
}

// Instances per chunk: some tens of microseconds, and enough to share a workspace.
Grain entropy_grain(std::size_t n, int threads) {
    return Grain(
        std::max<std::size_t>(8, std::min<std::size_t>(512, n / (8 * std::max(threads, 1)))));
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "entropy/max_entropy-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
std::int64_t max_entropy(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                         double* weights, double* distribution, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    threads = resolve_threads(threads, n);
    FirstInvalid invalid;
    parallel_for(
        n, entropy_grain(n, threads), threads, [&] { return MaxEntropyWorkspace(M, K); },
        [&](MaxEntropyWorkspace& ws, std::size_t begin, std::size_t end) {
            const auto solve = [&](std::size_t first, std::size_t last) {
                for (std::size_t i = first; i < last; ++i) {
                    CREDALENS_DISPATCH(solve_max_entropy, P + i * size, ws, value[i], gap[i]);
                    if (weights) std::copy(ws.w, ws.w + M, weights + i * M);
                    if (!distribution) continue;
                    double* p = distribution + i * K;
                    std::fill(p, p + K, 0.0);
                    for (int y = 0; y < ws.classes; ++y) p[ws.kept[y]] = ws.here.p[y];
                }
            };
            for_each_validated_block(P, begin, end, M, K, tolerance, invalid, solve);
        });
    // The bounds of a single member are equal to the bit.
    if (M == 1) min_entropy(P, n, M, K, value, nullptr, threads, -1.0);
    return invalid.value();
}

template std::int64_t max_entropy(const float*, std::size_t, int, int, double*, double*, double*,
                                  double*, int, double);
template std::int64_t max_entropy(const double*, std::size_t, int, int, double*, double*, double*,
                                  double*, int, double);

}  // namespace credalens
