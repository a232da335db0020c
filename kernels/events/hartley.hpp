// Generalized Hartley measure of a hull of M distributions, exact or by sampling, and its gradient.
//
// P is (n, M, K), C-contiguous, finite and non-negative with positive row sums; rows are divided by
// their sums in float64. Values are in bits. The value of an instance does not depend on other
// instances or the number of threads, bit for bit. Templates exist for float and double.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// The weights of GH = log2 K - sum_{0<|B|<K} w[|B|] lower(B), K + 1 entries:
//     w[b] = 1 / ln 2  int_0^inf e^{-bt} (1 - e^{-t})^{K-b} / t dt    for 0 < b < K,
// and w[0] = w[K] = 0. From about K = 1000 on, the smallest ones are below the normal range of a
// double, but not log_v (may be null): ln(w[b] C(K, b)), K + 1 entries, the first and the last
// unused (0). They satisfy sum_b b/K w[b] C(K, b) = log2 K. About 100 evaluations of the integrand
// for each b: 2 ms at K = 1000; the caller should cache the result.
void hartley_weights(int K, double* w, double* log_v);

// The exact measure for K <= 30; w from hartley_weights. O(M 2^K). Exactly zero if all members are
// equal. For K > 15 threads share an instance.
template <class T>
void hartley_exact(const T* P, std::size_t n, int M, int K, const double* w, double* value,
                   int threads);

// An unbiased estimate for any K with its standard error over n_pairs >= 2 pairs of a random
// permutation and its reverse, O(M K) per pair. log_v from hartley_weights.
//
// n_pairs = 0 is adaptive: 32 pairs, then twice as many in total, and so on, until
// standard_error <= max(rtol * value, atol) or max_pairs are used. All instances use the same
// permutations: the estimate depends on the instance, the seed and the number of pairs alone, but
// the errors of two instances are correlated. Stopping at the first error that is small enough
// favours small values, by up to a tenth of the error in trials. Equal members give 0 with error 0.
template <class T>
void hartley_sample(const T* P, std::size_t n, int M, int K, const double* log_v,
                    std::uint64_t seed, std::int64_t n_pairs, double rtol, double atol,
                    std::int64_t max_pairs, double* value, double* standard_error, int threads);

// Vector-Jacobian product of hartley_exact with the cotangents (n): the gradient with respect to P,
// in its shape and dtype. It includes the division of the rows by their sums. O(M 2^K).
template <class T>
void hartley_vjp(const T* P, std::size_t n, int M, int K, const double* w, const double* cotangent,
                 T* gradient, int threads);

}  // namespace credalens
