// Matrix games of two classes: eight games at a time, one per lane.
#pragma once

#include <cstddef>

namespace credalens {

// The value of the game is max over q of f(q) = min_m q A_m0 + (1 - q) A_m1, a concave function of
// one number that is the minimum of M lines. The two lines that attain it at q = 0 and at q = 1 are
// replaced, one at a time, by the line that is smallest where they cross: O(M) for each of a few
// steps, one if the rows sum to 1 exactly.
//
//   lower (n): max_y min_m A_my
//   gap   (n): min_m max_y A_my on input, the certified gap on output; see `solve_games`
//   value (n)
//
// Solves n games of M members on this thread. The result of an instance does not depend on other
// instances, bit for bit, nor on the order of its members.
template <class T>
void solve_two_class_games(const T* A, std::size_t n, int M, const double* lower, double* value,
                           double* gap);

}  // namespace credalens
