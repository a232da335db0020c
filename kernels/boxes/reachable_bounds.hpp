// Bounds of class probabilities: feasibility and reachability.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// low and high are (n, K). Writes
//   lower, upper  (n, K): the reachable bounds. The given ones are clipped to [0, 1] and, if
//   rounding has left
//                 their sums on the wrong side of 1, divided by them; then
//                 max(l_y, 1 - sum of the other u) and min(u_y, 1 - sum of the other l).
//   max_bounds    (n, 2): the largest lower and the largest upper bound.
//
// Returns the first instance, or -1, with an entry that is not finite, below -bound_tolerance,
// above 1 + bound_tolerance, or a lower bound more than bound_tolerance above its upper bound; or
// with sum l > 1 + sum_tolerance or sum u < 1 - sum_tolerance. The results of such an instance are
// undefined. Templates exist for float and double.
template <class T>
std::int64_t reachable_bounds(const T* low, const T* high, std::size_t n, int K,
                              double bound_tolerance, double sum_tolerance, T* lower, T* upper,
                              T* max_bounds, int threads);

// Validates in the same way without writing bounds; max_bounds are those of the given ones.
//   not_reachable  (n): 0 for bounds in [0, 1] that are reachable up to bound_tolerance, else 1.
template <class T>
std::int64_t check_bounds(const T* low, const T* high, std::size_t n, int K, double bound_tolerance,
                          double sum_tolerance, T* max_bounds, std::uint8_t* not_reachable,
                          int threads);

}  // namespace credalens
