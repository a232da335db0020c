// Dense simplex for matrix games. See game.hpp for the problem and for the names of the two sides.
#include "game.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "even.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace credalens {
namespace {

constexpr int kGenerateBeyond = 64;  // longer games start from a few rows
constexpr int kRefactorings = 5;
constexpr double kGoal = 1e-13;           // certified gap at which a solve ends
constexpr double kRoundUp = 1.0 + 1e-15;  // lets the row that gives a ratio pass its own test
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What counts as zero. The first solve is loose: rounding piles up in its tableau, and a pivot on
// noise is worse than a gap. The solves after a refactoring are strict.
struct Tolerance {
    double harris;    // feasibility that a ratio test gives away for a larger pivot
    double pivot;     // smallest pivot
    double profit;    // smallest reduced profit worth a pivot
    double negative;  // smallest infeasibility worth a dual pivot
};
constexpr Tolerance kLoose{1e-12, 1e-11, 1e-14, 1e-13};
constexpr Tolerance kStrict{1e-14, 1e-12, 1e-15, 1e-15};

CREDALENS_INLINE double* column(const GameWorkspace& g, int j) {
    return g.tableau + static_cast<std::size_t>(j) * g.stride;
}

CREDALENS_INLINE double* right_hand_side(const GameWorkspace& g) { return column(g, g.columns); }

CREDALENS_INLINE double* game_column(const GameWorkspace& g, int j) {
    return g.game + static_cast<std::size_t>(j) * g.pitch;
}

CREDALENS_INLINE bool is_slack(const GameWorkspace& g, int variable) {
    return variable >= g.columns;
}

// The first of all places that `hit` says yes to, one of which must be there; `hit` may be asked of
// places up to the next whole vector.
template <class Hit>
CREDALENS_INLINE int first_place(const Hit& hit) {
    for (int i = 0;; i += kStep) {
        int any = 0;
#pragma omp simd reduction(| : any)
        for (int l = 0; l < kStep; ++l) any |= hit(i + l);
        if (!any) continue;
        while (!hit(i)) ++i;
        return i;
    }
}

CREDALENS_INLINE int index_of(double value, const double* values) {
    int i = 0;
    while (values[i] != value) ++i;
    return i;
}

// Moves the tableau columns apart until `needed` rows fit.
CREDALENS_INLINE void make_room(GameWorkspace& g, int needed) {
    if (needed <= g.stride) return;
    const int wider = std::min(std::max(2 * g.stride, whole_steps(needed)), g.pitch);
    for (int j = g.columns; j > 0; --j) {
        const double* source = column(g, j);
        std::copy_backward(source, source + g.stride,
                           g.tableau + static_cast<std::size_t>(j) * wider + g.stride);
    }
    g.stride = wider;
}

// Adds rows of the game to the tableau, in terms of the present basis.
CREDALENS_INLINE void append_rows(GameWorkspace& g, const int* added, int count) {
    const int before = g.rows, after = before + count;
    const bool in_order = before == 0 && g.length <= kGenerateBeyond;
    make_room(g, after);
    for (int j = 0; j <= g.columns; ++j) {
        double* CREDALENS_RESTRICT t = column(g, j);
        std::fill(t + before, t + after, j == g.columns ? 1.0 : 0.0);
        std::fill(t + after, t + whole_steps(after), 0.0);
        if (j == g.columns || is_slack(g, g.nonbasic[j])) continue;
        const double* CREDALENS_RESTRICT source = game_column(g, g.nonbasic[j]);
        const double shift = g.shift, sign = g.sign;
        if (in_order)
            for (int k = 0; k < count; ++k) t[k] = shift + sign * source[k];
        else
            for (int k = 0; k < count; ++k) t[before + k] = shift + sign * source[added[k]];
    }
    for (int i = 0; i < before; ++i) {
        if (is_slack(g, g.basic[i])) continue;
        const double* source = game_column(g, g.basic[i]);
        for (int j = 0; j <= g.columns; ++j) {
            double* t = column(g, j);
            for (int k = 0; k < count; ++k)
                t[before + k] -= (g.shift + g.sign * source[added[k]]) * t[i];
        }
    }
    for (int k = 0; k < count; ++k) {
        g.basic[before + k] = g.columns + before + k;
        g.row_index[before + k] = added[k];
        g.in_use[added[k]] = true;
    }
    g.rows = after;
}

// The tableau of the slack basis on the given rows.
CREDALENS_INLINE void reset_tableau(GameWorkspace& g, const int* rows, int count) {
    g.rows = 0;
    for (int j = 0; j < g.columns; ++j) {
        g.reduced[j] = 1.0;
        g.nonbasic[j] = j;
    }
    g.reduced[g.columns] = 0.0;
    append_rows(g, rows, count);
}

// Exchanges the variable of tableau row r with that of column c.
CREDALENS_INLINE void pivot(GameWorkspace& g, int r, int c) {
    const int end = whole_steps(g.rows);
    double* CREDALENS_RESTRICT entering = column(g, c);
    const double pivot_value = entering[r];
    for (int j = 0; j <= g.columns; ++j) {
        double* CREDALENS_RESTRICT other = column(g, j);
        if (j == c || other[r] == 0.0) continue;
        const double factor = other[r] / pivot_value;
        // Nested, so that the compiler knows there is no remainder.
        for (int i = 0; i < end; i += kStep)
            for (int l = 0; l < kStep; ++l) other[i + l] -= factor * entering[i + l];
        other[r] = factor;
        g.reduced[j] -= factor * g.reduced[c];
    }
    const double inverse = 1.0 / pivot_value;
    for (int i = 0; i < end; ++i) entering[i] *= -inverse;
    entering[r] = inverse;
    g.reduced[c] *= -inverse;
    std::swap(g.basic[r], g.nonbasic[c]);
}

// Harris: of the rows that block within the tolerance, that of the largest pivot; -1 if none does.
CREDALENS_INLINE int leaving_row(const GameWorkspace& g, int c, const Tolerance& tol) {
    const int end = whole_steps(g.rows);
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    const double least = tol.pivot, slack = tol.harris;
    double step = kInfinity;
#pragma omp simd reduction(min : step)
    for (int i = 0; i < end; ++i) {
        const double room = (b[i] > 0.0 ? kRoundUp * b[i] : 0.0) + slack;
        const double ratio = room / (t[i] > least ? t[i] : 1e-300);
        step = ratio < step ? ratio : step;
    }
    double largest = least;
#pragma omp simd reduction(max : largest)
    for (int i = 0; i < end; ++i) {
        const double candidate = b[i] <= step * t[i] ? t[i] : 0.0;
        largest = candidate > largest ? candidate : largest;
    }
    if (largest == least) return -1;
    return first_place([=](int i) { return t[i] == largest && b[i] <= step * t[i]; });
}

// Bland: no tolerance, ties to the variable of least index.
CREDALENS_INLINE int leaving_row_bland(const GameWorkspace& g, int c, const Tolerance& tol) {
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    int best = -1;
    double least = kInfinity;
    for (int i = 0; i < g.rows; ++i) {
        if (t[i] <= tol.pivot) continue;
        const double step = std::max(b[i], 0.0) / t[i];
        if (step > least || (step == least && g.basic[i] > g.basic[best])) continue;
        least = step;
        best = i;
    }
    return best;
}

// Dantzig: the column of largest profit. Bland: that of the least variable. -1 if none has any.
CREDALENS_INLINE int entering_column(const GameWorkspace& g, bool bland, const Tolerance& tol) {
    if (!bland) {
        const double most = extreme(g.reduced.data(), g.columns, 1.0);
        return most > tol.profit ? index_of(most, g.reduced.data()) : -1;
    }
    int best = -1;
    for (int j = 0; j < g.columns; ++j)
        if (g.reduced[j] > tol.profit && (best < 0 || g.nonbasic[j] < g.nonbasic[best])) best = j;
    return best;
}

// Primal pivots, on column `first` to begin with unless it is -1, until no column has a profit.
CREDALENS_INLINE void primal_simplex(GameWorkspace& g, int first, const Tolerance& tol) {
    const int patience = g.columns + g.rows;
    int degenerate = 0;
    for (int step = 0; step < 50 * patience; ++step) {
        const bool bland = degenerate > patience;
        const int c = step == 0 && first >= 0 ? first : entering_column(g, bland, tol);
        if (c < 0) return;
        const int r = bland ? leaving_row_bland(g, c, tol) : leaving_row(g, c, tol);
        if (r < 0) {  // the program is bounded, so this profit is noise
            g.reduced[c] = 0.0;
            continue;
        }
        degenerate = right_hand_side(g)[r] > tol.harris ? 0 : degenerate + 1;
        pivot(g, r, c);
    }
}

// The column for a dual pivot in row r, chosen as Harris does; -1 if there is none.
CREDALENS_INLINE int dual_entering_column(const GameWorkspace& g, int r, const Tolerance& tol) {
    double step = kInfinity;
    for (int j = 0; j < g.columns; ++j) {
        const double t = -column(g, j)[r];
        const double room = kRoundUp * std::max(-g.reduced[j], 0.0) + kStrict.harris;
        if (t > tol.pivot) step = std::min(step, room / t);
    }
    int best = -1;
    double largest = tol.pivot;
    for (int j = 0; j < g.columns; ++j) {
        const double t = -column(g, j)[r];
        if (t <= largest || -g.reduced[j] > step * t) continue;
        largest = t;
        best = j;
    }
    return best;
}

// Dual pivots until the right-hand side is feasible; false if that took too long.
CREDALENS_INLINE bool dual_simplex(GameWorkspace& g, const Tolerance& tol) {
    double* b = right_hand_side(g);
    for (int step = 0; step < 2 * (g.columns + g.rows) + 20; ++step) {
        const double lowest = extreme(b, g.rows, -1.0);
        if (!(lowest < -tol.negative)) return true;
        const int r = index_of(lowest, b);
        const int c = dual_entering_column(g, r, tol);
        if (c >= 0) {
            pivot(g, r, c);
        } else {  // the program is feasible, so this infeasibility is noise
            b[r] = 0.0;
        }
    }
    return false;
}

CREDALENS_INLINE void optimise(GameWorkspace& g, int first, const Tolerance& tol) {
    for (int round = 0; round < 4; ++round) {
        primal_simplex(g, round == 0 ? first : -1, tol);
        if (!(extreme(right_hand_side(g), g.rows, -1.0) < -tol.negative)) return;
        if (!dual_simplex(g, tol)) reset_tableau(g, g.row_index.data(), g.rows);
    }
}

// Rebuilds the tableau of the present basis from the data: Gauss-Jordan with complete pivoting on
// the block of the basic x and the tight rows. A singular rest is left out of the basis.
CREDALENS_INLINE void refactor(GameWorkspace& g) {
    int size = 0, tight = 0;
    int* block_columns = g.list.data();
    int* block_rows = block_columns + g.length;
    for (int r = 0; r < g.rows; ++r)
        if (!is_slack(g, g.basic[r])) block_columns[size++] = g.basic[r];
    for (int j = 0; j < g.columns; ++j)
        if (is_slack(g, g.nonbasic[j])) block_rows[tight++] = g.nonbasic[j] - g.columns;
    reset_tableau(g, g.row_index.data(), g.rows);
    for (; size > 0; --size) {
        double largest = 1e-13;
        int best_column = -1, best_row = -1;
        for (int k = 0; k < size; ++k) {
            for (int i = 0; i < size; ++i) {
                const double entry = std::abs(column(g, block_columns[k])[block_rows[i]]);
                if (entry <= largest) continue;
                largest = entry;
                best_column = k;
                best_row = i;
            }
        }
        if (best_column < 0) return;
        pivot(g, block_rows[best_row], block_columns[best_column]);
        block_columns[best_column] = block_columns[size - 1];
        block_rows[best_row] = block_rows[size - 1];
    }
}

// The distributions x and u of the present basis; false if it has none.
CREDALENS_INLINE bool read_basis(GameWorkspace& g) {
    double x_sum = 0.0, u_sum = 0.0;
    const double* b = right_hand_side(g);
    std::fill(g.x.begin(), g.x.end(), 0.0);
    for (int r = 0; r < g.rows; ++r)
        if (!is_slack(g, g.basic[r]) && b[r] > 0.0) x_sum += g.x[g.basic[r]] = b[r];
    for (int j = 0; j < g.columns; ++j)
        u_sum += g.u[j] = is_slack(g, g.nonbasic[j]) ? std::max(-g.reduced[j], 0.0) : 0.0;
    if (!(x_sum > 0.0 && x_sum < kInfinity && u_sum > 0.0 && u_sum < kInfinity)) return false;
    for (double& entry : g.x) entry /= x_sum;
    for (double& entry : g.u) entry /= u_sum;
    return true;
}

CREDALENS_INLINE int game_row(const GameWorkspace& g, int tableau_column) {
    return g.row_index[g.nonbasic[tableau_column] - g.columns];
}

// What x secures, evaluated on all rows of the game itself.
CREDALENS_INLINE double bound_of_x(GameWorkspace& g) {
    double* CREDALENS_RESTRICT image = g.image.data();
    const int pitch = g.pitch;
    std::fill(image, image + pitch, 0.0);
    for (int j = 0; j < g.columns; ++j) {
        const double weight = g.x[j];
        if (weight == 0.0) continue;
        const double* CREDALENS_RESTRICT source = game_column(g, j);
        for (int i = 0; i < pitch; ++i) image[i] += weight * source[i];
    }
    return extreme(image, g.length, g.sign);
}

// What u secures, evaluated on all columns of the game itself.
CREDALENS_INLINE double bound_of_u(const GameWorkspace& g) {
    double best = kInfinity;
    for (int j = 0; j < g.columns; ++j) {
        double sum = 0.0;
        for (int k = 0; k < g.columns; ++k)
            if (g.u[k] > 0.0) sum += g.u[k] * game_column(g, j)[game_row(g, k)];
        best = std::min(best, g.sign * sum);
    }
    return g.sign * best;
}

// Keeps whichever of x and u improves its bound on the value.
CREDALENS_INLINE void keep_bounds(GameWorkspace& g, double by_x, double by_u) {
    double& best_by_x = g.swapped ? g.lower : g.upper;
    double& best_by_u = g.swapped ? g.upper : g.lower;
    if (g.sign * (best_by_x - by_x) > 0.0) {
        best_by_x = by_x;
        std::copy(g.x.begin(), g.x.end(), (g.swapped ? g.dual : g.weights).begin());
    }
    if (g.sign * (by_u - best_by_u) > 0.0) {
        best_by_u = by_u;
        std::vector<double>& target = g.swapped ? g.weights : g.dual;
        std::fill(target.begin(), target.end(), 0.0);
        for (int j = 0; j < g.columns; ++j)
            if (g.u[j] > 0.0) target[game_row(g, j)] = g.u[j];
    }
}

// Adds the rows that x violates most, if there are any.
CREDALENS_INLINE bool generate_rows(GameWorkspace& g, double by_x, double by_u) {
    if (g.rows == g.length) return false;
    // Rows far less violated than the worst one rarely end up tight.
    const double level = std::abs(by_x - by_u) > kGoal ? 0.5 * (by_x + by_u) : by_u;
    const double* image = g.image.data();
    const double sign = g.sign;
    int* list = g.list.data();
    int count = 0;
    for (int i = 0; i < g.length; ++i)
        if (sign * (image[i] - level) > 0.0 && !g.in_use[i]) list[count++] = i;
    if (count == 0) return false;
    const int batch = std::max(8, g.rows / 4);  // a share of the rows, so that rounds stay few
    if (count > batch) {
        std::nth_element(list, list + batch, list + count, [image, sign](int a, int b) {
            return image[a] != image[b] ? sign * (image[a] - image[b]) > 0.0 : a < b;
        });
    }
    append_rows(g, list, std::min(count, batch));
    return true;
}

// Starts from all rows, or from the best one for each column.
CREDALENS_INLINE void build_tableau(GameWorkspace& g) {
    int count = 0;
    int* list = g.list.data();
    std::fill(g.in_use.begin(), g.in_use.end(), false);
    if (g.length <= kGenerateBeyond) {
        while (count < g.length) list[count] = count, ++count;
    } else {
        for (int j = 0; j < g.columns; ++j) {
            const double* source = game_column(g, j);
            const int best = index_of(extreme(source, g.length, g.sign), source);
            if (!std::exchange(g.in_use[best], true)) list[count++] = best;
        }
    }
    g.stride = std::min(std::max(64, whole_steps(2 * count)), g.pitch);
    reset_tableau(g, list, count);
}

// The linear program of the loaded game, from the best pure strategy of the short side.
CREDALENS_INLINE void solve_program(GameWorkspace& g, int first) {
    build_tableau(g);
    optimise(g, first, kLoose);
    for (int refactorings = 0;;) {
        if (read_basis(g)) {
            const double by_x = bound_of_x(g), by_u = bound_of_u(g);
            keep_bounds(g, by_x, by_u);
            if (g.upper - g.lower <= kGoal) return;
            if (generate_rows(g, by_x, by_u)) {
                optimise(g, -1, refactorings > 0 ? kStrict : kLoose);
                continue;
            }
        }
        if (refactorings++ == kRefactorings) return;
        refactor(g);
        optimise(g, -1, kStrict);
    }
}

// Copies the game in float64, the long side contiguous.
template <class T>
CREDALENS_INLINE void load_game(const T* CREDALENS_RESTRICT A, GameWorkspace& g) {
    const int columns = g.columns, length = g.length;
    if (g.swapped) {
        for (int i = 0; i < length; ++i)
            for (int j = 0; j < columns; ++j)
                game_column(g, j)[i] = A[static_cast<std::size_t>(i) * columns + j];
        return;
    }
    for (int j = 0; j < columns; ++j) {
        const T* CREDALENS_RESTRICT source = A + static_cast<std::size_t>(j) * length;
        double* CREDALENS_RESTRICT target = game_column(g, j);
        for (int i = 0; i < length; ++i) target[i] = source[i];
    }
}

// The best pure strategies and their bounds; returns the one of the short side.
CREDALENS_INLINE int pure_bounds(GameWorkspace& g) {
    const double sign = g.sign = g.swapped ? -1.0 : 1.0;
    // Each of the long side is worth what is worst for it, and so is each of the short side.
    double* CREDALENS_RESTRICT worth = g.image.data();
    std::fill(worth, worth + g.pitch, sign * kInfinity);
    double best = sign * kInfinity;
    int at = 0;
    for (int j = 0; j < g.columns; ++j) {
        const double* CREDALENS_RESTRICT source = game_column(g, j);
        for (int i = 0; i < g.pitch; ++i)
            worth[i] = sign * source[i] < sign * worth[i] ? source[i] : worth[i];
        const double here = extreme(source, g.length, sign);
        if (sign * (best - here) > 0.0) best = here, at = j;
    }
    const double other = extreme(worth, g.length, sign);
    const int place = index_of(other, worth);
    // A swapped game is turned into largest - A^T, of positive value as there is no saddle.
    g.shift = g.swapped ? extreme(worth, g.length, 1.0) : 0.0;
    g.upper = g.swapped ? other : best;
    g.lower = g.swapped ? best : other;
    std::fill(g.weights.begin(), g.weights.end(), 0.0);
    std::fill(g.dual.begin(), g.dual.end(), 0.0);
    g.weights[g.swapped ? place : at] = g.dual[g.swapped ? at : place] = 1.0;
    return at;
}

// Many distributions that are even on the whole: the best mixture may have even shares, which no
// choice of a class can be better against than even weights of the classes. Says whether it is so.
CREDALENS_INLINE bool even_game(GameWorkspace& g) {
    const int K = g.columns, M = g.length;
    if (!g.swapped || M < 2 * K || K > kMostEven) return false;
    double* CREDALENS_RESTRICT sums = g.image.data();
    std::fill(sums, sums + g.pitch, 0.0);
    for (int j = 0; j < K; ++j) add_scaled(sums, game_column(g, j), 1.0, 0, g.pitch);
    const double least = extreme(sums, M, -1.0);
    const double most = extreme(sums, M, 1.0);
    if (std::abs(least - 1.0) > kGoal || std::abs(most - 1.0) > kGoal) return false;
    double* w = g.image.data();
    if (!even_weights(g.game, g.pitch, M, K, g.tableau, g.x.data(), w)) return false;
    const double total = sum_by_lanes(w, g.pitch);
    double largest = 0.0;
    for (int j = 0; j < K; ++j)
        largest = std::max(largest, dot_by_lanes(w, game_column(g, j), g.pitch) / total);
    if (!(largest - least / K <= kGoal)) return false;
    g.upper = largest;
    g.lower = least / K;
    for (int m = 0; m < M; ++m) g.weights[m] = w[m] / total;
    std::fill(g.dual.begin(), g.dual.end(), 1.0 / K);
    return true;
}

template <class T>
CREDALENS_INLINE void solve_game(const T* A, GameWorkspace& g) {
    load_game(A, g);
    const int first = pure_bounds(g);
    if (g.upper - g.lower <= kGoal) return;  // a saddle; so are M = 1 and K = 1
    if (even_game(g)) return;
    solve_program(g, first);
}

}  // namespace

// Clones are made of plain functions only, hence one for each type.
CREDALENS_CLONES void solve_one_game(const float* A, GameWorkspace& g) {
    solve_game(A, g);
}

CREDALENS_CLONES void solve_one_game(const double* A, GameWorkspace& g) {
    solve_game(A, g);
}

GameWorkspace::GameWorkspace(int M, int K)
    : swapped(M > K), columns(std::min(M, K)), length(std::max(M, K)), pitch(whole_steps(length)),
      shift(0.0), sign(1.0), image(pitch), reduced(columns + 1), stride(pitch), rows(0),
      row_index(length), nonbasic(columns), basic(length), list(2 * length), in_use(length),
      x(columns), u(columns), upper(0.0), lower(0.0), weights(M), dual(K),
      storage_(static_cast<std::size_t>(pitch) * (2 * columns + 1) + kStep) {
    // The two large arrays start on a cache line.
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(storage_.data()) % 64;
    game = storage_.data() + (64 - offset) % 64 / sizeof(double);
    tableau = game + static_cast<std::size_t>(pitch) * columns;
}

template <class T>
void solve_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                 double* weights, double* dual, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, 1 + 4096 / size, threads, [&] { return GameWorkspace(M, K); },
        [&](GameWorkspace& workspace, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                solve_one_game(A + i * size, workspace);
                value[i] = workspace.upper;
                gap[i] = std::max(workspace.upper - workspace.lower, 0.0);
                if (weights) std::copy_n(workspace.weights.data(), M, weights + i * M);
                if (dual) std::copy_n(workspace.dual.data(), K, dual + i * K);
            }
        });
}

template void solve_games<float>(const float*, std::size_t, int, int, double*, double*, double*,
                                 double*, int);
template void solve_games<double>(const double*, std::size_t, int, int, double*, double*, double*,
                                  double*, int);

}  // namespace credalens
