// Bounds of class probabilities: are they feasible, and which of them can be reached?
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// low and high are (n, K). Writes lower and upper (n, K), the reachable ends: clipped to [0, 1] and,
// where the sums are on the wrong side of 1 by rounding, divided by them; then max(l_y, 1 - sum of
// the other u) and min(u_y, 1 - sum of the other l). And tops (n, 2), the largest lower and the
// largest upper end.
//
// Returns the first instance, or -1, with an entry that is not finite, below -slack, above
// 1 + slack, or a lower one more than slack above its upper one; or with sum l > 1 + tolerance or
// sum u < 1 - tolerance. What is written for such an instance means nothing, but for the others it
// does. Templates exist for float and double.
template <class T>
std::int64_t reachable_bounds(const T* low, const T* high, std::size_t n, int K, double slack,
                              double tolerance, T* lower, T* upper, T* tops, int threads);

// Looks for such an instance only, and writes tops of the bounds as they are. And loose (n): 0 where
// they are in [0, 1] and reachable up to slack, so that they need not be made so, else 1.
template <class T>
std::int64_t check_bounds(const T* low, const T* high, std::size_t n, int K, double slack,
                          double tolerance, T* tops, std::uint8_t* loose, int threads);

}  // namespace credalens
