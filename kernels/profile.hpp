// All that total variation asks of a hull: the closed forms and the game behind the upper aleatoric
// end, together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pairs.hpp"

namespace credalens {

// As `closed_forms` of pairs.hpp, both extremes of which are wanted, and `solve_games` of game.hpp
// without weights. The value of a game is never outside of the extremes.
template <class T>
std::int64_t tv_profile(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                        double* value, double* gap, int threads, double tolerance);

}  // namespace credalens
