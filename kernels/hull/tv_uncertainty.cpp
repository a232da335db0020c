#include "hull/tv_uncertainty.hpp"

#include <algorithm>

#include "games/matrix_game.hpp"
#include "hull/closed_forms.hpp"
#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// Instances that fill about half of a small second-level cache: the games read from the cache what
// the closed forms have read from memory.
std::size_t cache_block(std::size_t instance_bytes) {
    return 1 + (std::size_t{1} << 18) / instance_bytes;
}

constexpr std::size_t kResultsPerThread = std::size_t{1} << 16;

// 1 - x, not negative; 0 for a single class, whatever its rows sum to.
void complement(double* x, std::size_t begin, std::size_t end, int K) {
    if (!x) return;
    if (K == 1) return std::fill(x + begin, x + end, 0.0);
    for (std::size_t i = begin; i < end; ++i) x[i] = std::max(1.0 - x[i], 0.0);
}

// Converts, in place, extremes, diameter and value of the game to uncertainties.
void finalize(const Uncertainty& out, std::size_t begin, std::size_t end, int K) {
    complement(out.total, begin, end, K);
    complement(out.lower, begin, end, K);
    complement(out.upper, begin, end, K);
    if (!out.epistemic) return;
    for (std::size_t i = begin; i < end; ++i)
        out.epistemic[i] = K == 1 ? 0.0 : out.epistemic[i] / 4;
}

}  // namespace

template <class T>
std::int64_t tv_uncertainty(const T* P, std::size_t n, int M, int K, const Uncertainty& out,
                            int threads, double tolerance) {
    const ClosedForms forms{out.total, out.lower, out.epistemic};
    if (!out.upper) {
        const std::int64_t invalid =
            closed_forms(P, n, M, K, forms, PairMethod::automatic, threads, tolerance);
        if (invalid < 0)
            parallel_for(n, kResultsPerThread, threads,
                         [&](std::size_t begin, std::size_t end) { finalize(out, begin, end, K); });
        return invalid;
    }
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid first;
    parallel_for(
        n, cache_block(size * sizeof(T)), threads, [&](std::size_t begin, std::size_t end) {
            if (first.found_up_to(begin)) return;
            const T* block = P + begin * size;
            const std::int64_t invalid = closed_forms(block, end - begin, M, K, forms.from(begin),
                                                      PairMethod::automatic, 1, tolerance);
            if (invalid >= 0) return first.record(begin + invalid);
            solve_games(block, end - begin, M, K, out.upper + begin, out.gap + begin, nullptr,
                        nullptr, 1);
            // Rounding must not violate the order of the bounds.
            for (std::size_t i = begin; i < end; ++i)
                out.upper[i] = std::min(std::max(out.upper[i], out.total[i]), out.lower[i]);
            finalize(out, begin, end, K);
        });
    return first.value();
}

template std::int64_t tv_uncertainty(const float*, std::size_t, int, int, const Uncertainty&, int,
                                     double);
template std::int64_t tv_uncertainty(const double*, std::size_t, int, int, const Uncertainty&, int,
                                     double);

}  // namespace credalens
