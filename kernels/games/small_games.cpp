#include "games/small_games.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "games/matrix_game.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Smallest reduced cost of an entering column, and smallest pivot.
constexpr double kMinReducedCost = 1e-13;
constexpr double kMinPivot = 1e-11;
// So many games are solved one after the other: in lanes they would take as long as eight.
constexpr std::size_t kMaxSingleGames = 2;

std::size_t game_vectors(int M, int K) {
    return 2 * static_cast<std::size_t>(M) * K + 5 * static_cast<std::size_t>(M) + 3 * K;
}

// The weights of the best pure strategies, the first ones on a tie.
template <class T>
void write_pure_weights(const T* A, int M, int K, double* weights, double* dual) {
    int member = 0, best_class = 0;
    T least = 0, most = 0;
    for (int m = 0; m < M; ++m) {
        const T top = *std::max_element(A + m * K, A + (m + 1) * K);
        if (m == 0 || top < least) least = top, member = m;
    }
    for (int y = 0; y < K; ++y) {
        T low = A[y];
        for (int m = 1; m < M; ++m) low = std::min(low, A[m * K + y]);
        if (y == 0 || low > most) most = low, best_class = y;
    }
    if (weights) std::fill_n(weights, M, 0.0), weights[member] = 1.0;
    if (dual) std::fill_n(dual, K, 0.0), dual[best_class] = 1.0;
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "games/small_games-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void solve_small_games(const T* A, std::size_t n, int M, int K, const SmallGames& out) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    AlignedBuffer scratch = vector_scratch(game_vectors(M, K));
    std::vector<double> found(out.lower ? 0 : n);
    std::vector<std::size_t> unsolved(n);
    const double* lower = out.lower;
    if (!lower) {
        CREDALENS_DISPATCH(pure_bounds, A, n, M, K, found.data(), out.gap, scratch.data());
        lower = found.data();
    }
    const auto weights = [&](std::size_t i) { return out.weights ? out.weights + i * M : nullptr; };
    const auto dual = [&](std::size_t i) { return out.dual ? out.dual + i * K : nullptr; };
    if (out.weights || out.dual)
        for (std::size_t i = 0; i < n; ++i)
            write_pure_weights(A + i * size, M, K, weights(i), dual(i));
    const std::size_t failed = CREDALENS_DISPATCH(games_in_lanes, A, n, M, K, lower, out,
                                                  scratch.data(), unsolved.data());
    for (std::size_t j = 0; j < failed; ++j) {
        const std::size_t i = unsolved[j];
        solve_single_games(A + i * size, 1, M, K, out.value + i, out.gap + i, weights(i), dual(i),
                           1);
    }
}

template void solve_small_games(const float*, std::size_t, int, int, const SmallGames&);
template void solve_small_games(const double*, std::size_t, int, int, const SmallGames&);

}  // namespace credalens
