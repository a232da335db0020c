// What total variation says of hulls: the closed forms, and the game behind the upper aleatoric end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// What is found of each of n instances P (n, M, K), C-contiguous, with the extremes and the diameter
// of hull/closed_forms.hpp and the value and gap of games/matrix_game.hpp:
//   total     = 1 - max_lower,  lower = 1 - max_upper,  upper = 1 - value,
//   epistemic = diameter / 4,   gap   = that of the game.
// None is negative, lower <= upper <= total, and all are 0 for a single class. What is not wanted is
// nullptr and costs nothing; the upper end comes with total, lower and gap.
struct Uncertainty {
    double *total, *lower, *upper, *epistemic, *gap;
};

// The tolerance and what is returned are those of `closed_forms`.
template <class T>
std::int64_t tv_uncertainty(const T* P, std::size_t n, int M, int K, const Uncertainty& out,
                            int threads, double tolerance);

}  // namespace credalens
