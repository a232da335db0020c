// Gradients of measures of a hull with respect to its members, from what the solvers found.
//
// A maximum or minimum over choices has the gradient of the term that was chosen (Danskin); where
// several terms tie, that of one of them, a generalised gradient. P is (n, M, K), C-contiguous;
// `gradient` has its shape and dtype, sums are kept in double precision.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// What total variation asks, each with the derivative of a loss by it, (n), or null:
//   max_lower = max_y min_m P_my, max_upper = max_y max_m P_my,
//   diameter  = |P_i - P_j|_1 for the pair (i, j) in `pairs`, (n, 2),
//   value     = w^T P q for the optimal weights (n, M) and dual (n, K) of the game on P.
struct TvCotangents {
    const double *max_lower, *max_upper, *diameter, *value;
    const std::int64_t* pairs;
    const double *weights, *dual;
};

template <class T>
void tv_vjp(const T* P, std::size_t n, int M, int K, const TvCotangents& loss, T* gradient,
                 int threads);

// The gradient of hartley_exact (events/subset_sums.hpp), times the derivative of a loss by it, (n). Rows are
// normalised there, and the gradient is taken through that. O(M 2^K).
template <class T>
void hartley_vjp(const T* P, std::size_t n, int M, int K, const double* w,
                      const double* cotangent, T* gradient, int threads);

}  // namespace credalens
