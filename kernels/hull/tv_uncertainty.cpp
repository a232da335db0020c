#include "hull/tv_uncertainty.hpp"

#include <algorithm>

#include "runtime/first_invalid.hpp"
#include "games/matrix_game.hpp"
#include "hull/closed_forms.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

// Instances whose data fill about half of a small second-level cache: what the closed forms read
// from memory, the game then finds in the cache.
std::size_t cache_block(std::size_t instance_bytes) {
    return 1 + (std::size_t{1} << 18) / instance_bytes;
}

// So many results are worth a thread.
constexpr std::size_t kManyResults = std::size_t{1} << 16;

// Turns probabilities into what is left to 1, which rounding must not make negative. A single class
// is certain, whatever its rows sum to.
CREDALENS_INLINE void take_from_one(double* x, std::size_t begin, std::size_t end, int K) {
    if (!x) return;
    if (K == 1) return std::fill(x + begin, x + end, 0.0);
    for (std::size_t i = begin; i < end; ++i) x[i] = std::max(1.0 - x[i], 0.0);
}

CREDALENS_INLINE void quarter(double* x, std::size_t begin, std::size_t end, int K) {
    if (!x) return;
    for (std::size_t i = begin; i < end; ++i) x[i] = K == 1 ? 0.0 : x[i] / 4;
}

// From what is in the places of the results: extremes, diameter and value.
CREDALENS_CLONES void settle(const Uncertainty& out, std::size_t begin, std::size_t end, int K) {
    take_from_one(out.total, begin, end, K);
    take_from_one(out.lower, begin, end, K);
    take_from_one(out.upper, begin, end, K);
    quarter(out.epistemic, begin, end, K);
}

}  // namespace

template <class T>
std::int64_t tv_uncertainty(const T* P, std::size_t n, int M, int K, const Uncertainty& out,
                            int threads, double tolerance) {
    const ClosedForms forms{out.total, out.lower, out.epistemic};
    if (!out.upper) {
        const std::int64_t bad =
            closed_forms(P, n, M, K, forms, PairMethod::automatic, threads, tolerance);
        if (bad < 0)
            parallel_for(n, kManyResults, threads, [&](std::size_t begin, std::size_t end) {
                settle(out, begin, end, K);
            });
        return bad;
    }
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstBad first;
    parallel_for(n, cache_block(size * sizeof(T)), threads,
                 [&](std::size_t begin, std::size_t end) {
        if (first.before(begin)) return;
        const T* block = P + begin * size;
        const std::int64_t bad = closed_forms(block, end - begin, M, K, forms.from(begin),
                                              PairMethod::automatic, 1, tolerance);
        if (bad >= 0) return first.see(begin + bad);
        solve_games(block, end - begin, M, K, out.upper + begin, out.gap + begin, nullptr, nullptr,
                    1);
        // True by definition: rounding must not break it.
        for (std::size_t i = begin; i < end; ++i)
            out.upper[i] = std::min(std::max(out.upper[i], out.total[i]), out.lower[i]);
        settle(out, begin, end, K);
    });
    return first.value();
}

template std::int64_t tv_uncertainty(const float*, std::size_t, int, int, const Uncertainty&, int,
                                     double);
template std::int64_t tv_uncertainty(const double*, std::size_t, int, int, const Uncertainty&, int,
                                     double);

}  // namespace credalens
