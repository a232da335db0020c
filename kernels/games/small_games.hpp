// Matrix games of a few members and classes: eight games at a time, one per lane.
#pragma once

#include <cstddef>

namespace credalens {

// Whether games of this shape are solved one per lane. For larger ones, the solver of single games
// is as fast.
constexpr int kMaxGameMembers = 16;
constexpr int kMaxGameClasses = 24;
// Certified gap that is accepted; pure strategies with this gap are the solution.
constexpr double kSmallGameGap = 1e-13;
constexpr bool is_small_game(int M, int K) {
    return M <= kMaxGameMembers && K <= kMaxGameClasses && M * K <= 256;
}

// Results as of `solve_games`, and the bounds of pure strategies, if they are known:
//   lower (n) or nullptr: max_y min_m A_my; `gap` is then min_m max_y A_my on input.
struct SmallGames {
    const double* lower;
    double *value, *gap, *weights = nullptr, *dual = nullptr;
};

// Solves n games on this thread. The result of an instance does not depend on other instances, bit
// for bit.
template <class T>
void solve_small_games(const T* A, std::size_t n, int M, int K, const SmallGames& out);

}  // namespace credalens
