#include "games/matrix_game.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "games/game_workspace.hpp"
#include "games/small_games.hpp"
#include "games/wide_game.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

constexpr int kGenerateBeyond = 64;  // longer games start from a few rows
constexpr int kMaxRefactorings = 5;
constexpr double kGapGoal = 1e-13;        // certified gap at which the solver stops
constexpr double kRoundUp = 1.0 + 1e-15;  // the row that gives a ratio passes its own test
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Thresholds of zero. Those of the first solve are loose: rounding errors accumulate in its
// tableau, and a pivot on a rounding error is worse than a gap. Those after a refactoring are
// strict.
struct Tolerance {
    double harris;        // infeasibility that a ratio test accepts for a larger pivot
    double pivot;         // smallest pivot
    double reduced_cost;  // smallest reduced cost of an entering column
    double negative;      // smallest infeasibility of a dual pivot
};
constexpr Tolerance kLoose{1e-12, 1e-11, 1e-14, 1e-13};
constexpr Tolerance kStrict{1e-14, 1e-12, 1e-15, 1e-15};

// Puts the `first` rows that x violates most before the others.
void partition_by_violation(const GameWorkspace& g, int* list, int count, int first) {
    const double *image = g.image, sign = g.sign;
    std::nth_element(list, list + first, list + count, [image, sign](int a, int b) {
        return image[a] != image[b] ? sign * (image[a] - image[b]) > 0.0 : a < b;
    });
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "games/matrix_game-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

namespace {

// The buffers of one thread; those of all columns of a wide game are rarely needed.
struct WideWorkspace {
    WideWorkspace(int M, int K) : wide(M, K) {}
    WideGame wide;
    std::optional<GameWorkspace> dense;
};

template <class T>
void solve_wide_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                      double* weights, double* dual, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, Grain(1), threads, [&] { return WideWorkspace(M, K); },
        [&](WideWorkspace& own, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                WideGame& wide = own.wide;
                const bool solved = solve_wide_game(A + i * size, M, K, wide);
                if (!solved) {
                    if (!own.dense) own.dense.emplace(M, K);
                    CREDALENS_DISPATCH(solve_game, A + i * size, *own.dense);
                }
                value[i] = solved ? wide.value : own.dense->upper;
                gap[i] = solved ? wide.gap : std::max(value[i] - own.dense->lower, 0.0);
                if (weights)
                    std::copy_n(solved ? wide.weights.data() : own.dense->weights, M,
                                weights + i * M);
                if (!dual) continue;
                double* q = dual + i * K;
                if (!solved) {
                    std::copy_n(own.dense->dual, K, q);
                    continue;
                }
                std::fill_n(q, K, 0.0);
                for (std::size_t j = 0; j < wide.columns.size(); ++j)
                    q[wide.columns[j]] = wide.dual[j];
            }
        });
}

}  // namespace

template <class T>
void solve_single_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                        double* weights, double* dual, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, Grain(1 + 4096 / size), threads, [&] { return GameWorkspace(M, K); },
        [&](GameWorkspace& workspace, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                CREDALENS_DISPATCH(solve_game, A + i * size, workspace);
                value[i] = workspace.upper;
                gap[i] = std::max(workspace.upper - workspace.lower, 0.0);
                if (weights) std::copy_n(workspace.weights, M, weights + i * M);
                if (dual) std::copy_n(workspace.dual, K, dual + i * K);
            }
        });
}

template <class T>
void solve_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                 double* weights, double* dual, int threads) {
    if (is_wide(M, K)) return solve_wide_games(A, n, M, K, value, gap, weights, dual, threads);
    if (!is_small_game(M, K))
        return solve_single_games(A, n, M, K, value, gap, weights, dual, threads);
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(n, Grain::multiple_of_lanes((std::size_t{1} << 14) / size), threads,
                 [&](std::size_t begin, std::size_t end) {
                     solve_small_games(A + begin * size, end - begin, M, K,
                                       {nullptr, value + begin, gap + begin,
                                        weights ? weights + begin * M : nullptr,
                                        dual ? dual + begin * K : nullptr});
                 });
}

template void solve_games<float>(const float*, std::size_t, int, int, double*, double*, double*,
                                 double*, int);
template void solve_games<double>(const double*, std::size_t, int, int, double*, double*, double*,
                                  double*, int);
template void solve_single_games<float>(const float*, std::size_t, int, int, double*, double*,
                                        double*, double*, int);
template void solve_single_games<double>(const double*, std::size_t, int, int, double*, double*,
                                         double*, double*, int);

}  // namespace credalens
