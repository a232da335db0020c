// Matrix games: the upper aleatoric bound of a credal set given by its generators.
//
// For a nonnegative M x K matrix A of value v > 0,
//
//     v = min_{w in simplex} max_y (w^T A)_y = max_{q in simplex} min_m (A q)_m.
//
// A pure saddle point is found in one pass over A and has gap 0. Any other game is the linear
// program max sum x, A^T x <= 1, x >= 0  (optimum 1 / v, w = v x), solved by a dense simplex
// method: small games one per lane (small_games.hpp), others one after the other. The result is
// certified on A itself: `value` is attained by the weights, and no weights attain less than
// `value - gap`.
#pragma once

#include <cstddef>

namespace credalens {

// Solves n games; A is (n, M, K), C-contiguous, finite, nonnegative, of positive value (rows that
// sum to 1, or costs shifted into [1, 2]).
//
//   value    (n): max_y (w^T A)_y at the returned weights, in float64.
//   gap      (n): value - min_m A_m . q at the returned dual, in float64, never negative: the value
//   of
//            the game lies in [value - gap, value], up to the rounding of these two sums.
//   weights  (n, M) or nullptr: optimal w.
//   dual     (n, K) or nullptr: optimal q.
//
// The result of an instance does not depend on other instances, bit for bit. Cost: O(M K) at a pure
// saddle point; otherwise about 1 to 7 min(M, K) pivots of O(min(M, K) R) each, where R is max(M,
// K) or, beyond 64, the number of generated rows (a small multiple of min(M, K)).
template <class T>
void solve_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                 double* weights, double* dual, int threads);

// The same by the solver of single games, for any shape.
template <class T>
void solve_single_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                        double* weights, double* dual, int threads);

}  // namespace credalens
