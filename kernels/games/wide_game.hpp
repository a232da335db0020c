// Matrix games of few rows and very many columns, most of which cannot be optimal.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace credalens {

// Columns of a block, whose largest column sum is stored.
constexpr int kColumnBlock = 64;

// Scratch memory of one thread, and the solution of the last game.
struct WideGame {
    explicit WideGame(int M, int K);

    double value = 0.0, gap = 0.0;
    std::vector<double> weights;  // (M): optimal w
    std::vector<int> columns;     // columns in use, and
    std::vector<double> dual;     // their optimal probabilities; those of other columns are 0

    std::vector<double> peak;         // (blocks): largest column sum of a block
    std::vector<double> largest;      // (M): largest entry of a row
    std::vector<int> largest_column;  // (M): first column of its block
    int surveyed = 0;                 // columns of the present game that these are known of
    std::vector<double> payoff, trial_weights, trial_dual;
    std::vector<std::pair<double, int>> violated;  // columns above the lower bound
};

// Whether games of this shape are tried.
bool is_wide(int M, int K);

// The first pass of `solve_wide_game` up to column `last`, rounded down to whole blocks, while these
// columns are in the cache.
template <class T>
void survey_wide_game(const T* A, int M, int K, int last, WideGame& game);

// Solves one game as games/matrix_game.hpp, of which some columns may be surveyed; returns false if
// more than a few blocks would have to be considered: then nothing is known.
//
// One pass computes column sums. Every (w^T A)_y is at most max_m w_m times the sum of column y, so
// that a block whose largest sum is small enough need not be read again. Columns that exceed the
// lower bound of the value are added to a few with large entries, until there are none.
template <class T>
bool solve_wide_game(const T* A, int M, int K, WideGame& game);

}  // namespace credalens
