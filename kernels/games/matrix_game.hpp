// Matrix games: the upper aleatoric end of a credal set given by its generators.
//
// For a nonnegative M x K matrix A of value v > 0,
//
//     v = min_{w in simplex} max_y (w^T A)_y = max_{q in simplex} min_m (A q)_m.
//
// A pure saddle point costs one pass over A, and has gap 0. Any other game is the linear
// program  max sum x, A^T x <= 1, x >= 0  (optimum 1 / v, w = v x), solved by a dense simplex.
// Whatever the simplex did, the answer is certified on A itself: `value` is attained by the
// weights, no weights can do better than `value - gap`.
#pragma once

#include <cstddef>
#include <vector>

namespace credalens {

// Scratch memory for games of one shape; one for each thread, used again for every instance.
// The solver names the two sides of a game by their length: the short side ("columns", the
// variables x of the program) and the long side ("rows", its constraints), which is contiguous.
struct GameWorkspace {
    GameWorkspace(int M, int K);
    GameWorkspace(const GameWorkspace&) = delete;
    GameWorkspace& operator=(const GameWorkspace&) = delete;

    const bool swapped;  // M > K: columns are classes, rows are members
    const int columns;   // min(M, K)
    const int length;    // max(M, K)
    const int pitch;     // length, padded to whole vectors

    double* game;        // (columns, pitch): A, or its transpose if swapped, in float64
    double shift, sign;  // the program's coefficients are shift + sign * game
    double* image;       // (pitch): the columns of the game combined by x, or by the worst of them

    double* tableau;   // (columns + 1, stride): nonbasic columns, right-hand side; room for whole
                       // vectors of columns, of which nobody uses what is in the last ones
    double* reduced;   // (columns + 1): profit of each nonbasic column
    int stride;        // grows with the number of rows in use, up to pitch
    int rows;          // rows in use: all of them, or those generated so far
    int* row_index;    // (length): tableau row -> row of the game
    int* nonbasic;     // (columns): variable of each tableau column; x_j is j
    int* basic;        // (length): variable of each tableau row; slack r is columns + r
    int* list;         // (2 length): indices to work on
    int* in_use;       // (length): whether a row of the game is in the tableau

    double* x;         // (columns): primal distribution of the last basis
    double* u;         // (columns): dual one, on the row of each tableau column
    double* by_row;    // (pitch): the dual one, on the rows of the game

    double upper, lower;  // best certified bounds so far, attained by
    double* weights;      // (M) and
    double* dual;         // (K)

private:
    // In two pieces, as a small game takes less long to solve than many pieces to find. Arrays of
    // double precision have room for whole vectors.
    std::vector<double> numbers_;
    std::vector<int> places_;
};

// Solves n games; A is (n, M, K), C-contiguous, finite, nonnegative, of positive value (rows that
// sum to 1, or costs shifted into [1, 2]).
//
// value:   (n), max_y (w^T A)_y at the returned weights, in float64.
// gap:     (n), value - min_m A_m . q at the returned dual, in float64, never negative: the value
//          of the game lies in [value - gap, value], up to the rounding of these two sums.
// weights: (n, M), optimal w, or null.
// dual:    (n, K), optimal q, or null.
//
// The result for an instance depends on that instance alone, bit for bit.
// Cost: O(M K) at a pure saddle; otherwise about 1 to 7 min(M, K) pivots of O(min(M, K) R) each,
// where R is max(M, K), or beyond 64 the number of rows generated (some multiple of min(M, K)).
template <class T>
void solve_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                 double* weights, double* dual, int threads);

extern template void solve_games<float>(const float*, std::size_t, int, int, double*, double*,
                                        double*, double*, int);
extern template void solve_games<double>(const double*, std::size_t, int, int, double*, double*,
                                         double*, double*, int);

}  // namespace credalens
