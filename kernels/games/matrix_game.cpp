// Dense simplex for matrix games. See games/matrix_game.hpp for the problem and for the names of the two sides.
#include "games/matrix_game.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "entropy/uniform_mixture.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

#if CREDALENS_SEVERAL_SETS
#include <immintrin.h>
#endif

namespace credalens {
namespace {

constexpr int kGenerateBeyond = 64;  // longer games start from a few rows
constexpr int kRefactorings = 5;
constexpr double kGoal = 1e-13;           // certified gap at which a solve ends
constexpr double kRoundUp = 1.0 + 1e-15;  // lets the row that gives a ratio pass its own test
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What counts as zero. The first solve is loose: rounding piles up in its tableau, and a pivot on
// noise is worse than a gap. The solves after a refactoring are strict.
struct Tolerance {
    double harris;    // feasibility that a ratio test gives away for a larger pivot
    double pivot;     // smallest pivot
    double profit;    // smallest reduced profit worth a pivot
    double negative;  // smallest infeasibility worth a dual pivot
};
constexpr Tolerance kLoose{1e-12, 1e-11, 1e-14, 1e-13};
constexpr Tolerance kStrict{1e-14, 1e-12, 1e-15, 1e-15};

template <class T>
CREDALENS_INLINE T lesser(T a, T b) {
    return b < a ? b : a;
}

template <class T>
CREDALENS_INLINE T greater(T a, T b) {
    return a < b ? b : a;
}

template <class T>
CREDALENS_INLINE void fill(T* x, int count, T value) {
    for (int i = 0; i < count; ++i) x[i] = value;
}

// Puts the `first` rows that x violates most before the others.
void worst_first(const GameWorkspace& g, int* list, int count, int first) {
    const double *image = g.image, sign = g.sign;
    std::nth_element(list, list + first, list + count, [image, sign](int a, int b) {
        return image[a] != image[b] ? sign * (image[a] - image[b]) > 0.0 : a < b;
    });
}

#define CREDALENS_BODY "games/matrix_game-inl.hpp"
#include "simd/foreach_target.hpp"

}  // namespace

GameWorkspace::GameWorkspace(int M, int K)
    : swapped(M > K), columns(std::min(M, K)), length(std::max(M, K)), pitch(whole_steps(length)),
      shift(0.0), sign(1.0), stride(pitch), rows(0), upper(0.0), lower(0.0) {
    const int across = whole_steps(columns + 1);
    numbers_.resize(static_cast<std::size_t>(pitch) * (columns + across + 3) + 4 * across + kStep);
    places_.resize(static_cast<std::size_t>(length) * 5 + columns);
    // The large arrays start on a cache line.
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(numbers_.data()) % 64;
    double* number = numbers_.data() + (64 - offset) % 64 / sizeof(double);
    const auto numbers = [&](std::size_t size) { return std::exchange(number, number + size); };
    game = numbers(static_cast<std::size_t>(pitch) * columns);
    tableau = numbers(static_cast<std::size_t>(pitch) * across);
    image = numbers(pitch);
    by_row = numbers(pitch);
    reduced = numbers(across);
    x = numbers(across);
    u = numbers(across);
    double* short_side = numbers(across);
    double* long_side = numbers(pitch);
    weights = swapped ? long_side : short_side;
    dual = swapped ? short_side : long_side;
    int* place = places_.data();
    const auto places = [&](int size) { return std::exchange(place, place + size); };
    row_index = places(length);
    basic = places(length);
    in_use = places(length);
    list = places(2 * length);
    nonbasic = places(columns);
}

template <class T>
void solve_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                 double* weights, double* dual, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, 1 + 4096 / size, threads, [&] { return GameWorkspace(M, K); },
        [&](GameWorkspace& workspace, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                CREDALENS_BEST(solve_game, A + i * size, workspace);
                value[i] = workspace.upper;
                gap[i] = std::max(workspace.upper - workspace.lower, 0.0);
                if (weights) std::copy_n(workspace.weights, M, weights + i * M);
                if (dual) std::copy_n(workspace.dual, K, dual + i * K);
            }
        });
}

template void solve_games<float>(const float*, std::size_t, int, int, double*, double*, double*,
                                 double*, int);
template void solve_games<double>(const double*, std::size_t, int, int, double*, double*, double*,
                                  double*, int);

}  // namespace credalens
