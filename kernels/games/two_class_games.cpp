#include "games/two_class_games.hpp"

#include <vector>

#include "games/matrix_game.hpp"
#include "games/small_games.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "games/two_class_games-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void solve_two_class_games(const T* A, std::size_t n, int M, const double* lower, double* value,
                           double* gap) {
    AlignedBuffer scratch = vector_scratch(2 * static_cast<std::size_t>(M));
    std::vector<std::size_t> unsolved(n);
    const std::size_t failed = CREDALENS_DISPATCH(two_class_games, A, n, M, lower, value, gap,
                                                  kSmallGameGap, scratch.data(), unsolved.data());
    for (std::size_t j = 0; j < failed; ++j) {
        const std::size_t i = unsolved[j];
        solve_single_games(A + i * 2 * M, 1, M, 2, value + i, gap + i, nullptr, nullptr, 1);
    }
}

template void solve_two_class_games(const float*, std::size_t, int, const double*, double*,
                                    double*);
template void solve_two_class_games(const double*, std::size_t, int, const double*, double*,
                                    double*);

}  // namespace credalens
