// Uncertainty of hulls in total variation: closed forms, and a matrix game for the upper aleatoric
// bound.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Results (n) for instances P (n, M, K), C-contiguous, from hull/closed_forms.hpp and
// games/matrix_game.hpp:
//   total     = 1 - max_lower,  lower = 1 - max_upper,  upper = 1 - value of the game,
//   epistemic = diameter / 4,   gap   = duality gap of the game.
// No result is negative, lower <= upper <= total, and all are 0 for a single class. An output that
// is nullptr is not computed; `upper` requires total, lower and gap. `vote` is the majority vote, for
// which instances are read while they are in the cache; it requires `upper`.
struct Uncertainty {
    double *total, *lower, *upper, *epistemic, *gap;
    std::int64_t* vote = nullptr;
};

// Validates rows, and returns, as `closed_forms`.
template <class T>
std::int64_t tv_uncertainty(const T* P, std::size_t n, int M, int K, const Uncertainty& out,
                            int threads, double tolerance);

}  // namespace credalens
