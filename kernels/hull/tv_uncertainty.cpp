#include "hull/tv_uncertainty.hpp"

#include <algorithm>

#include "games/matrix_game.hpp"
#include "games/small_games.hpp"
#include "games/two_class_games.hpp"
#include "games/wide_game.hpp"
#include "hull/closed_forms.hpp"
#include "hull/majority_vote.hpp"
#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

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

// The value of the game between the extremes, and all results of the instances from begin to end.
void finish_games(const Uncertainty& out, std::size_t begin, std::size_t end, int K) {
    // Rounding must not violate the order of the bounds.
    for (std::size_t i = begin; i < end; ++i)
        out.upper[i] = std::min(std::max(out.upper[i], out.total[i]), out.lower[i]);
    finalize(out, begin, end, K);
}

// Instances that do not fit into the second-level cache: the first pass of the game follows that of
// the closed forms through the classes, so that memory is read once.
template <class T>
std::int64_t large_instances(const T* P, std::size_t n, int M, int K, const Uncertainty& out,
                             int threads, double tolerance) {
    struct Survey {
        const T* instance;
        WideGame& game;
        int M, K;
        static void read(void* context, int classes) {
            const Survey& own = *static_cast<Survey*>(context);
            survey_wide_game(own.instance, own.M, own.K, classes, own.game);
        }
    };
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid first;
    parallel_for(
        n, Grain(1), threads, [&] { return WideGame(M, K); },
        [&](WideGame& game, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end && !first.found_up_to(i); ++i) {
                const T* instance = P + i * size;
                Survey survey{instance, game, M, K};
                ClosedForms forms{out.total + i, out.lower + i,
                                  out.epistemic ? out.epistemic + i : nullptr};
                forms.observer = {&Survey::read, &survey};
                game.surveyed = 0;
                if (closed_forms(instance, 1, M, K, forms, PairMethod::automatic, 1, tolerance) >= 0)
                    return first.record(i);
                if (out.vote) majority_vote(instance, 1, M, K, out.vote + i, nullptr, 1);
                if (solve_wide_game(instance, M, K, game)) {
                    out.upper[i] = game.value;
                    out.gap[i] = game.gap;
                } else {
                    solve_games(instance, 1, M, K, out.upper + i, out.gap + i, nullptr, nullptr, 1);
                }
                finish_games(out, i, i + 1, K);
            }
        });
    return first.value();
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
    if (is_wide(M, K) && cache_block(size * sizeof(T)) == 1)
        return large_instances(P, n, M, K, out, threads, tolerance);
    const bool two_classes = K == 2 && size <= kMaxInstancePerLane;
    const bool small = two_classes || is_small_game(M, K);
    FirstInvalid first;
    parallel_for(
        n, cache_block(size * sizeof(T)), threads, [&](std::size_t begin, std::size_t end) {
            if (first.found_up_to(begin)) return;
            const T* block = P + begin * size;
            const std::size_t count = end - begin;
            double *upper = out.upper + begin, *gap = out.gap + begin;
            ClosedForms own = forms.from(begin);
            if (small) own.min_upper = gap;
            const std::int64_t invalid =
                closed_forms(block, count, M, K, own, PairMethod::automatic, 1, tolerance);
            if (invalid >= 0) return first.record(begin + invalid);
            if (out.vote) majority_vote(block, count, M, K, out.vote + begin, nullptr, 1);
            if (two_classes)
                solve_two_class_games(block, count, M, out.total + begin, upper, gap);
            else if (small)
                solve_small_games(block, count, M, K, {out.total + begin, upper, gap});
            else
                solve_games(block, count, M, K, upper, gap, nullptr, nullptr, 1);
            finish_games(out, begin, end, K);
        });
    return first.value();
}

template std::int64_t tv_uncertainty(const float*, std::size_t, int, int, const Uncertainty&, int,
                                     double);
template std::int64_t tv_uncertainty(const double*, std::size_t, int, int, const Uncertainty&, int,
                                     double);

}  // namespace credalens
