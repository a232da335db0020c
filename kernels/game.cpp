// Dense simplex for matrix games. See game.hpp for the problem and for the names of the two sides.
#include "game.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "parallel.hpp"
#include "simd.hpp"

namespace credalens {
namespace {

constexpr int kLanes = 8;             // tableau columns are padded with zero rows to whole vectors
constexpr int kGenerateBeyond = 128;  // longer games start from a few rows
constexpr double kGoal = 1e-13;       // certified gap at which a solve ends
constexpr int kRefactorings = 5;
constexpr double kRoundUp = 1.0 + 1e-15;  // a row that gives the ratio passes its own ratio test
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What counts as zero. The first solve is loose, as rounding has piled up in its tableau and a
// pivot on noise is worse than a gap; the solves after a refactoring may be strict.
struct Tolerance {
    double harris;   // primal feasibility that the ratio test gives away for a larger pivot
    double pivot;    // smallest pivot
    double profit;   // smallest reduced profit worth a pivot
    double negative; // infeasibility worth a dual pivot
};
constexpr Tolerance kLoose{1e-12, 1e-11, 1e-14, 1e-13};
constexpr Tolerance kStrict{1e-14, 1e-12, 1e-15, 1e-15};

CREDALENS_INLINE int padded(int count) { return (count + kLanes - 1) / kLanes * kLanes; }

CREDALENS_INLINE double* column(const GameWorkspace& g, int j) {
    return g.tableau + static_cast<std::size_t>(j) * g.stride;
}

CREDALENS_INLINE double* right_hand_side(const GameWorkspace& g) { return column(g, g.columns); }

CREDALENS_INLINE double smallest(const double* values, int count) {
    double best = values[0];
#pragma omp simd reduction(min : best)
    for (int i = 0; i < count; ++i) best = values[i] < best ? values[i] : best;
    return best;
}

CREDALENS_INLINE double largest(const double* values, int count) {
    double best = values[0];
#pragma omp simd reduction(max : best)
    for (int i = 0; i < count; ++i) best = values[i] > best ? values[i] : best;
    return best;
}

CREDALENS_INLINE int index_of(double value, const double* values) {
    int i = 0;
    while (values[i] != value) ++i;
    return i;
}

CREDALENS_INLINE double coefficient(const GameWorkspace& g, int j, int row) {
    return g.shift + g.sign * g.game[static_cast<std::size_t>(j) * g.pitch + row];
}

// Back to the slack basis of the rows in use.
CREDALENS_INLINE void reset_tableau(GameWorkspace& g) {
    const int rows = g.rows, end = padded(rows);
    for (int j = 0; j < g.columns; ++j) {
        double* CREDALENS_RESTRICT target = column(g, j);
        const double* CREDALENS_RESTRICT source = g.game + static_cast<std::size_t>(j) * g.pitch;
        if (g.length <= kGenerateBeyond) {
            for (int r = 0; r < rows; ++r) target[r] = g.shift + g.sign * source[r];
        } else {
            for (int r = 0; r < rows; ++r) target[r] = g.shift + g.sign * source[g.row_index[r]];
        }
        for (int r = rows; r < end; ++r) target[r] = 0.0;
        g.reduced[j] = 1.0;
        g.nonbasic[j] = j;
    }
    double* b = right_hand_side(g);
    for (int r = 0; r < rows; ++r) {
        b[r] = 1.0;
        g.basic[r] = g.columns + r;
    }
    for (int r = rows; r < end; ++r) b[r] = 0.0;
    g.reduced[g.columns] = 0.0;
}

// Exchanges the variable of tableau row r with that of column c.
CREDALENS_INLINE void pivot(GameWorkspace& g, int r, int c) {
    const int end = padded(g.rows);
    double* CREDALENS_RESTRICT entering = column(g, c);
    const double pivot_value = entering[r];
    for (int j = 0; j <= g.columns; ++j) {
        double* CREDALENS_RESTRICT other = column(g, j);
        if (j == c || other[r] == 0.0) continue;
        const double factor = other[r] / pivot_value;
        for (int i = 0; i < end; i += kLanes)
            for (int l = 0; l < kLanes; ++l) other[i + l] -= factor * entering[i + l];
        other[r] = factor;
        g.reduced[j] -= factor * g.reduced[c];
    }
    const double factor = -1.0 / pivot_value;
    for (int i = 0; i < end; ++i) entering[i] *= factor;
    entering[r] = -factor;
    g.reduced[c] *= factor;
    std::swap(g.basic[r], g.nonbasic[c]);
}

// Harris: among the rows that block within the tolerance, the one with the largest pivot; -1 if no
// row blocks.
CREDALENS_INLINE int leaving_row(const GameWorkspace& g, int c, const Tolerance& tol) {
    const int end = padded(g.rows);
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    const double smallest_pivot = tol.pivot, slack = tol.harris;
    double step = kInfinity;
#pragma omp simd reduction(min : step)
    for (int i = 0; i < end; ++i) {
        const double room = (b[i] > 0.0 ? kRoundUp * b[i] : 0.0) + slack;
        const double ratio = room / (t[i] > smallest_pivot ? t[i] : 1e-300);
        step = ratio < step ? ratio : step;
    }
    double largest = smallest_pivot;
#pragma omp simd reduction(max : largest)
    for (int i = 0; i < end; ++i) {
        const double candidate = b[i] <= step * t[i] ? t[i] : 0.0;
        largest = candidate > largest ? candidate : largest;
    }
    if (largest == smallest_pivot) return -1;
    int r = 0;
    while (t[r] != largest || b[r] > step * t[r]) ++r;
    return r;
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
        if (step < least || (step == least && g.basic[i] < g.basic[best])) {
            least = step;
            best = i;
        }
    }
    return best;
}

// Dantzig: the column of largest profit. Bland: the variable of least index that has one. -1 if
// there is none.
CREDALENS_INLINE int entering_column(const GameWorkspace& g, bool bland, const Tolerance& tol) {
    int best = -1;
    for (int j = 0; j < g.columns; ++j) {
        if (g.reduced[j] <= tol.profit) continue;
        if (best < 0 || (bland ? g.nonbasic[j] < g.nonbasic[best] : g.reduced[j] > g.reduced[best]))
            best = j;
    }
    return best;
}

// Primal pivots, from column `first` on if it is one, until no column has a profit.
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

// Dual pivots until the right-hand side is feasible; false if that took too long.
CREDALENS_INLINE bool dual_simplex(GameWorkspace& g, const Tolerance& tol) {
    double* b = right_hand_side(g);
    for (int step = 0; step < 2 * (g.columns + g.rows) + 20; ++step) {
        const double lowest = smallest(b, g.rows);
        if (!(lowest < -tol.negative)) return true;
        const int r = index_of(lowest, b);
        double ratio = kInfinity;
        for (int j = 0; j < g.columns; ++j) {
            const double t = -column(g, j)[r];
            const double room = kRoundUp * std::max(-g.reduced[j], 0.0) + kStrict.harris;
            if (t > tol.pivot) ratio = std::min(ratio, room / t);
        }
        int c = -1;
        double largest = tol.pivot;
        for (int j = 0; j < g.columns; ++j) {
            const double t = -column(g, j)[r];
            if (t > largest && -g.reduced[j] <= ratio * t) {
                largest = t;
                c = j;
            }
        }
        if (c < 0) {  // the program is feasible, so this infeasibility is noise
            b[r] = 0.0;
            continue;
        }
        pivot(g, r, c);
    }
    return false;
}

CREDALENS_INLINE void optimise(GameWorkspace& g, int first, const Tolerance& tol) {
    for (int round = 0; round < 4; ++round) {
        primal_simplex(g, first, tol);
        first = -1;
        if (smallest(right_hand_side(g), g.rows) >= -tol.negative) return;
        if (!dual_simplex(g, tol)) reset_tableau(g);
    }
}

// Rebuilds the tableau of the present basis from the data: Gauss-Jordan with complete pivoting on
// the block of the basic x and the tight rows. A singular rest is left out of the basis.
CREDALENS_INLINE void refactor(GameWorkspace& g) {
    int size = 0;
    int* wanted_columns = g.candidates;
    for (int r = 0; r < g.rows; ++r)
        if (g.basic[r] < g.columns) wanted_columns[size++] = g.basic[r];
    int* wanted_rows = wanted_columns + size;
    int tight = 0;
    for (int j = 0; j < g.columns; ++j)
        if (g.nonbasic[j] >= g.columns) wanted_rows[tight++] = g.nonbasic[j] - g.columns;
    reset_tableau(g);
    for (; size > 0; --size) {
        double largest = 1e-13;
        int best_column = -1, best_row = -1;
        for (int k = 0; k < size; ++k) {
            for (int i = 0; i < size; ++i) {
                const double entry = std::abs(column(g, wanted_columns[k])[wanted_rows[i]]);
                if (entry > largest) {
                    largest = entry;
                    best_column = k;
                    best_row = i;
                }
            }
        }
        if (best_column < 0) return;
        pivot(g, wanted_rows[best_row], wanted_columns[best_column]);
        wanted_columns[best_column] = wanted_columns[size - 1];
        wanted_rows[best_row] = wanted_rows[size - 1];
    }
}

// The distributions x and u of the present basis; false if it has none.
CREDALENS_INLINE bool read_basis(GameWorkspace& g) {
    double x_sum = 0.0, u_sum = 0.0;
    const double* b = right_hand_side(g);
    std::fill(g.x, g.x + g.columns, 0.0);
    for (int r = 0; r < g.rows; ++r)
        if (g.basic[r] < g.columns && b[r] > 0.0) x_sum += g.x[g.basic[r]] = b[r];
    for (int j = 0; j < g.columns; ++j) {
        const bool tight = g.nonbasic[j] >= g.columns && g.reduced[j] < 0.0;
        u_sum += g.u[j] = tight ? -g.reduced[j] : 0.0;
    }
    if (!(x_sum > 0.0 && x_sum < kInfinity && u_sum > 0.0 && u_sum < kInfinity)) return false;
    for (int j = 0; j < g.columns; ++j) {
        g.x[j] /= x_sum;
        g.u[j] /= u_sum;
    }
    return true;
}

CREDALENS_INLINE int game_row(const GameWorkspace& g, int tableau_column) {
    return g.row_index[g.nonbasic[tableau_column] - g.columns];
}

// Best entry for the player of the long side of the combination of the columns by x.
CREDALENS_INLINE double long_side_bound(GameWorkspace& g) {
    const int pitch = g.pitch;
    double* CREDALENS_RESTRICT image = g.image;
    std::fill(image, image + pitch, 0.0);
    for (int j = 0; j < g.columns; ++j) {
        const double weight = g.x[j];
        if (weight == 0.0) continue;
        const double* CREDALENS_RESTRICT source = g.game + static_cast<std::size_t>(j) * pitch;
        for (int i = 0; i < pitch; ++i) image[i] += weight * source[i];
    }
    return g.swapped ? smallest(image, g.length) : largest(image, g.length);
}

// Best entry for the player of the short side of the combination of the rows by u.
CREDALENS_INLINE double short_side_bound(const GameWorkspace& g) {
    double best = kInfinity;
    for (int j = 0; j < g.columns; ++j) {
        const double* source = g.game + static_cast<std::size_t>(j) * g.pitch;
        double sum = 0.0;
        for (int k = 0; k < g.columns; ++k)
            if (g.u[k] > 0.0) sum += g.u[k] * source[game_row(g, k)];
        best = std::min(best, g.sign * sum);
    }
    return g.sign * best;
}

// Evaluates x and u on the game itself and keeps whichever improves a bound. Returns the bound of
// the short side, which no row in use can exceed at the optimum of these rows.
CREDALENS_INLINE double certify(GameWorkspace& g) {
    const double by_x = long_side_bound(g), by_u = short_side_bound(g);
    const bool x_better = g.swapped ? by_x > g.lower : by_x < g.upper;
    const bool u_better = g.swapped ? by_u < g.upper : by_u > g.lower;
    if (x_better) {
        (g.swapped ? g.lower : g.upper) = by_x;
        std::copy(g.x, g.x + g.columns, g.swapped ? g.best_dual : g.best_weights);
    }
    if (u_better) {
        (g.swapped ? g.upper : g.lower) = by_u;
        double* target = g.swapped ? g.best_weights : g.best_dual;
        std::fill(target, target + g.length, 0.0);
        for (int j = 0; j < g.columns; ++j)
            if (g.u[j] > 0.0) target[game_row(g, j)] = g.u[j];
    }
    return by_u;
}

// Moves the tableau columns apart until `count` more rows fit.
CREDALENS_INLINE void make_room(GameWorkspace& g, int count) {
    const int needed = padded(g.rows + count);
    if (needed <= g.stride) return;
    const int wider = std::min(std::max(2 * g.stride, needed), g.pitch);
    for (int j = g.columns; j > 0; --j) {
        const double* source = column(g, j);
        std::copy_backward(source, source + g.stride,
                           g.tableau + static_cast<std::size_t>(j) * wider + g.stride);
    }
    g.stride = wider;
}

// Adds rows of the game to the tableau, in terms of the present basis.
CREDALENS_INLINE void append_rows(GameWorkspace& g, const int* added, int count) {
    make_room(g, count);
    const int before = g.rows, after = before + count;
    for (int j = 0; j <= g.columns; ++j) {
        double* t = column(g, j);
        std::fill(t + before, t + padded(after), j == g.columns ? 1.0 : 0.0);
        std::fill(t + after, t + padded(after), 0.0);
        if (j == g.columns || g.nonbasic[j] >= g.columns) continue;
        for (int k = 0; k < count; ++k) t[before + k] = coefficient(g, g.nonbasic[j], added[k]);
    }
    for (int i = 0; i < before; ++i) {
        if (g.basic[i] >= g.columns) continue;
        for (int k = 0; k < count; ++k) {
            const double factor = coefficient(g, g.basic[i], added[k]);
            for (int j = 0; j <= g.columns; ++j) column(g, j)[before + k] -= factor * column(g, j)[i];
        }
    }
    for (int k = 0; k < count; ++k) {
        g.basic[before + k] = g.columns + before + k;
        g.row_index[before + k] = added[k];
        g.in_use[added[k]] = true;
    }
    g.rows = after;
}

// Adds the rows that x violates most, if there are any.
CREDALENS_INLINE bool generate_rows(GameWorkspace& g, double bound) {
    if (g.rows == g.length) return false;
    // Rows far less violated than the worst one rarely end up tight.
    const double worst = g.swapped ? smallest(g.image, g.length) : largest(g.image, g.length);
    const double level = std::abs(worst - bound) > kGoal ? 0.5 * (worst + bound) : bound;
    int count = 0;
    for (int i = 0; i < g.length; ++i)
        if (g.sign * (g.image[i] - level) > 0.0 && !g.in_use[i]) g.candidates[count++] = i;
    const int batch = std::max(8, g.rows / 4);  // a share of the rows, so that rounds stay few
    if (count > batch) {
        std::nth_element(g.candidates, g.candidates + batch, g.candidates + count,
                         [&g](int a, int b) {
                             const double gain = g.sign * (g.image[a] - g.image[b]);
                             return gain > 0.0 || (gain == 0.0 && a < b);
                         });
        count = batch;
    }
    if (count > 0) append_rows(g, g.candidates, count);
    return count > 0;
}

// Rows to start from: all, or each column's best row.
CREDALENS_INLINE void choose_rows(GameWorkspace& g) {
    if (g.length <= kGenerateBeyond) {
        g.rows = g.length;
        g.stride = g.pitch;
        for (int i = 0; i < g.length; ++i) g.row_index[i] = i;
        return;
    }
    g.rows = 0;
    std::fill(g.in_use, g.in_use + g.length, false);
    for (int j = 0; j < g.columns; ++j) {
        const double* source = g.game + static_cast<std::size_t>(j) * g.pitch;
        const int best = index_of(
            g.swapped ? smallest(source, g.length) : largest(source, g.length), source);
        if (g.in_use[best]) continue;
        g.in_use[best] = true;
        g.row_index[g.rows++] = best;
    }
    g.stride = std::min(std::max(64, padded(2 * g.rows)), g.pitch);
}

// Copies the game in float64, the long side contiguous.
template <class T>
CREDALENS_INLINE void load_game(const T* CREDALENS_RESTRICT A, GameWorkspace& g) {
    const int columns = g.columns, length = g.length;
    double largest = 0.0;
    for (int j = 0; j < columns; ++j) {
        double* CREDALENS_RESTRICT target = g.game + static_cast<std::size_t>(j) * g.pitch;
        if (g.swapped) {
            for (int i = 0; i < length; ++i) {
                target[i] = A[static_cast<std::size_t>(i) * columns + j];
                largest = target[i] > largest ? target[i] : largest;
            }
        } else {
            const T* CREDALENS_RESTRICT source = A + static_cast<std::size_t>(j) * length;
            for (int i = 0; i < length; ++i) target[i] = source[i];
        }
    }
    // Without a saddle the value is below the largest entry, so the swapped game has a positive one.
    g.shift = g.swapped ? largest : 0.0;
    g.sign = g.swapped ? -1.0 : 1.0;
}

// The best pure strategies and their bounds, which are equal at a pure saddle. Returns the one
// of the short side.
template <class T>
CREDALENS_INLINE int pure_bounds(const T* CREDALENS_RESTRICT A, int M, int K, GameWorkspace& g) {
    double* CREDALENS_RESTRICT column_min = g.column_min;
    std::fill(column_min, column_min + K, kInfinity);
    int member = 0;
    g.upper = kInfinity;
    for (int m = 0; m < M; ++m) {
        const T* CREDALENS_RESTRICT row = A + static_cast<std::size_t>(m) * K;
        double row_max = row[0];
#pragma omp simd reduction(max : row_max)
        for (int y = 0; y < K; ++y) {
            const double entry = row[y];
            column_min[y] = entry < column_min[y] ? entry : column_min[y];
            row_max = entry > row_max ? entry : row_max;
        }
        if (row_max < g.upper) {
            g.upper = row_max;
            member = m;
        }
    }
    g.lower = largest(column_min, K);
    const int label = index_of(g.lower, column_min);
    std::fill(g.best_weights, g.best_weights + M, 0.0);
    std::fill(g.best_dual, g.best_dual + K, 0.0);
    g.best_weights[member] = g.best_dual[label] = 1.0;
    return g.swapped ? label : member;
}

// The linear program of the loaded game, from the best pure strategy of the short side.
CREDALENS_INLINE void solve_program(GameWorkspace& g, int first) {
    choose_rows(g);
    reset_tableau(g);
    optimise(g, first, kLoose);
    for (int refactorings = 0;;) {
        const Tolerance& tol = refactorings ? kStrict : kLoose;
        if (read_basis(g)) {
            const double bound = certify(g);
            if (g.upper - g.lower <= kGoal) return;
            if (generate_rows(g, bound)) {
                optimise(g, -1, tol);
                continue;
            }
        }
        if (refactorings++ == kRefactorings) return;
        refactor(g);
        optimise(g, -1, kStrict);
    }
}

template <class T>
CREDALENS_INLINE void solve_game(const T* A, int M, int K, GameWorkspace& g) {
    const int first = pure_bounds(A, M, K, g);
    if (g.upper - g.lower <= kGoal) return;
    load_game(A, g);
    solve_program(g, first);
}

}  // namespace

// Clones are made of plain functions only, hence one for each type.
CREDALENS_CLONES void solve_one_game(const float* A, int M, int K, GameWorkspace& g) {
    solve_game(A, M, K, g);
}

CREDALENS_CLONES void solve_one_game(const double* A, int M, int K, GameWorkspace& g) {
    solve_game(A, M, K, g);
}

GameWorkspace::GameWorkspace(int M, int K)
    : swapped(M > K),
      columns(std::min(M, K)),
      length(std::max(M, K)),
      pitch(padded(std::max(M, K))) {
    const std::size_t width = pitch, short_width = padded(columns + 1);
    reals_.resize(width * (2 * columns + 2) + 3 * short_width + 3 * width + kLanes);
    integers_.resize(4 * width + 2 * short_width);
    flags_ = std::make_unique<bool[]>(length);
    // Whole cache lines: every array below takes a multiple of eight numbers.
    const auto address = reinterpret_cast<std::uintptr_t>(reals_.data());
    double* real = reals_.data() + (64 - address % 64) % 64 / sizeof(double);
    const auto take = [&real](std::size_t count) { return std::exchange(real, real + count); };
    game = take(width * columns);
    tableau = take(width * (columns + 1));
    image = take(width);
    reduced = take(short_width);
    x = take(short_width);
    u = take(short_width);
    column_min = take(width);
    best_weights = take(width);
    best_dual = take(width);
    int* integer = integers_.data();
    row_index = std::exchange(integer, integer + width);
    basic = std::exchange(integer, integer + width);
    nonbasic = std::exchange(integer, integer + short_width);
    candidates = integer;  // 2 * columns of them for the refactoring
    in_use = flags_.get();
}

template <class T>
void solve_games_range(const T* A, std::size_t begin, std::size_t end, int M, int K,
                       double* value, double* gap, double* weights, double* dual,
                       GameWorkspace& workspace) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = begin; i < end; ++i) {
        solve_one_game(A + i * size, M, K, workspace);
        value[i] = workspace.upper;
        gap[i] = std::max(workspace.upper - workspace.lower, 0.0);
        if (weights) std::copy_n(workspace.best_weights, M, weights + i * M);
        if (dual) std::copy_n(workspace.best_dual, K, dual + i * K);
    }
}

template <class T>
void solve_games(const T* A, std::size_t n, int M, int K, double* value, double* gap,
                 double* weights, double* dual, int threads) {
    // Each worker makes one workspace and takes ranges until none is left.
    const std::size_t grain = 1 + 4096 / (static_cast<std::size_t>(M) * K);
    const std::size_t ranges = (n + grain - 1) / grain;
    const std::size_t workers = std::min<std::size_t>(std::max(threads, 1), ranges);
    std::atomic<std::size_t> next{0};
    parallel_for(workers, 1, static_cast<int>(workers), [&](std::size_t, std::size_t) {
        GameWorkspace workspace(M, K);
        for (std::size_t range; (range = next.fetch_add(1, std::memory_order_relaxed)) < ranges;) {
            solve_games_range(A, range * grain, std::min(n, (range + 1) * grain), M, K, value, gap,
                              weights, dual, workspace);
        }
    });
}

template void solve_games<float>(const float*, std::size_t, int, int, double*, double*, double*,
                                 double*, int);
template void solve_games<double>(const double*, std::size_t, int, int, double*, double*, double*,
                                  double*, int);
template void solve_games_range<float>(const float*, std::size_t, std::size_t, int, int, double*,
                                       double*, double*, double*, GameWorkspace&);
template void solve_games_range<double>(const double*, std::size_t, std::size_t, int, int, double*,
                                        double*, double*, double*, GameWorkspace&);

}  // namespace credalens
