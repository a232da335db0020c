// Vector-Jacobian product of the total variation queries of a hull.
//
// The gradient of a maximum or minimum is that of the term that attains it (Danskin's theorem);
// where several terms tie, that of one of them, a generalised gradient.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// The derivative of a loss with respect to each result, (n), or null:
//   max_lower = max_y min_m P_my, max_upper = max_y max_m P_my,
//   diameter  = |P_i - P_j|_1 for the pair (i, j) in `pairs`, (n, 2),
//   value     = w^T P q for the optimal weights (n, M) and dual (n, K) of the game on P.
struct TvCotangents {
    const double *max_lower, *max_upper, *diameter, *value;
    const std::int64_t* pairs;
    const double *weights, *dual;
};

// The gradient with respect to P (n, M, K), C-contiguous, in its shape and dtype. Sums are float64.
template <class T>
void tv_vjp(const T* P, std::size_t n, int M, int K, const TvCotangents& loss, T* gradient,
            int threads);

}  // namespace credalens
