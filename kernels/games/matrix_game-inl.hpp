// Matrix games by a dense simplex method with row generation, for one target. See
// game_workspace.hpp for the names of the two sides of a game.

#include "simd/padded_rows-inl.hpp"
#include "entropy/uniform_mixture-inl.hpp"
#include "games/simplex-inl.hpp"

// The distributions x and u of the present basis; false if they are not finite.
CREDALENS_INLINE bool read_basis(GameWorkspace& g) {
    double x_sum = 0.0, u_sum = 0.0;
    const double* b = right_hand_side(g);
    std::fill_n(g.x, g.columns, 0.0);
    for (int r = 0; r < g.rows; ++r)
        if (!is_slack(g, g.basic[r]) && b[r] > 0.0) x_sum += g.x[g.basic[r]] = b[r];
    for (int j = 0; j < g.columns; ++j)
        u_sum += g.u[j] = is_slack(g, g.nonbasic[j]) ? std::max(-g.reduced_costs[j], 0.0) : 0.0;
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

// The bound that x attains, evaluated on all rows of the game.
CREDALENS_INLINE double bound_of_x(GameWorkspace& g) {
    double* CREDALENS_RESTRICT image = g.image;
    const int pitch = g.pitch;
    std::fill_n(image, pitch, 0.0);
    for (int j = 0; j < g.columns; ++j) {
        const double weight = g.x[j];
        if (weight == 0.0) continue;
        const double* CREDALENS_RESTRICT source = game_column(g, j);
        for (int i = 0; i < pitch; i += kLanes)
            store(image + i, load(image + i) + weight * load(source + i));
    }
    return extreme(image, g.length, g.sign);
}

// The bound that u attains, evaluated on all columns of the game.
CREDALENS_INLINE double bound_of_u(GameWorkspace& g) {
    double best = kInfinity;
    const bool few_rows = g.pitch <= 4 * g.columns;  // less work than to gather the weights
    if (few_rows) {
        std::fill_n(g.by_row, g.pitch, 0.0);
        for (int k = 0; k < g.columns; ++k)
            if (g.u[k] > 0.0) g.by_row[game_row(g, k)] = g.u[k];
    }
    for (int j = 0; j < g.columns; ++j) {
        const double* source = game_column(g, j);
        double sum = 0.0;
        if (few_rows) {
            sum = dot_padded(g.by_row, source, g.pitch);
        } else {
            for (int k = 0; k < g.columns; ++k)
                if (g.u[k] > 0.0) sum += g.u[k] * source[game_row(g, k)];
        }
        best = std::min(best, g.sign * sum);
    }
    return g.sign * best;
}

// Keeps x and u if they improve their bound on the value.
CREDALENS_INLINE void keep_bounds(GameWorkspace& g, double by_x, double by_u) {
    double& best_by_x = g.swapped ? g.lower : g.upper;
    double& best_by_u = g.swapped ? g.upper : g.lower;
    if (g.sign * (best_by_x - by_x) > 0.0) {
        best_by_x = by_x;
        std::memcpy(g.swapped ? g.dual : g.weights, g.x, g.columns * sizeof(double));
    }
    if (g.sign * (by_u - best_by_u) > 0.0) {
        best_by_u = by_u;
        double* target = g.swapped ? g.weights : g.dual;
        std::fill_n(target, g.length, 0.0);
        for (int j = 0; j < g.columns; ++j)
            if (g.u[j] > 0.0) target[game_row(g, j)] = g.u[j];
    }
}

// Appends the rows that x violates most; false if there are none.
CREDALENS_INLINE bool generate_rows(GameWorkspace& g, double by_x, double by_u) {
    if (g.rows == g.length) return false;
    // Rows that are violated much less than the worst one are rarely tight in the end.
    const double level = std::fabs(by_x - by_u) > kGapGoal ? 0.5 * (by_x + by_u) : by_u;
    const double* image = g.image;
    const double sign = g.sign;
    int* list = g.list;
    int count = 0;
    for (int i = 0; i < g.length; ++i)
        if (sign * (image[i] - level) > 0.0 && !g.in_use[i]) list[count++] = i;
    if (count == 0) return false;
    const int batch = std::max(8, g.rows / 4);  // in proportion, so that there are few rounds
    if (count > batch) partition_by_violation(g, list, count, batch);
    append_rows(g, list, std::min(count, batch));
    return true;
}

// Starts from all rows or, in long games, from the best one for each column.
CREDALENS_INLINE void build_tableau(GameWorkspace& g) {
    int count = 0;
    int* list = g.list;
    std::fill_n(g.in_use, g.length, 0);
    if (g.length <= kGenerateBeyond) {
        while (count < g.length) list[count] = count, ++count;
    } else {
        for (int j = 0; j < g.columns; ++j) {
            const double* source = game_column(g, j);
            const int best = index_of(extreme(source, g.length, g.sign), source, g.length);
            if (g.in_use[best]) continue;
            g.in_use[best] = true;
            list[count++] = best;
        }
    }
    g.stride = std::min(std::max(64, padded_size(2 * count)), g.pitch);
    reset_tableau(g, list, count);
}

// Solves the linear program, starting from the best pure strategy of the short side.
CREDALENS_INLINE void solve_program(GameWorkspace& g, int first) {
    build_tableau(g);
    optimize(g, first, kLoose);
    for (int refactorings = 0;;) {
        if (read_basis(g)) {
            const double by_x = bound_of_x(g), by_u = bound_of_u(g);
            keep_bounds(g, by_x, by_u);
            if (g.upper - g.lower <= kGapGoal) return;
            if (generate_rows(g, by_x, by_u)) {
                optimize(g, -1, refactorings > 0 ? kStrict : kLoose);
                continue;
            }
        }
        if (refactorings++ == kMaxRefactorings) return;
        refactor(g);
        optimize(g, -1, kStrict);
    }
}

// Copies the game in float64, the long side contiguous.
template <class T>
CREDALENS_INLINE void load_game(const T* A, GameWorkspace& g) {
    const int columns = g.columns, length = g.length;
    if (g.swapped) {
        for (int i = 0; i < length; ++i)
            for (int j = 0; j < columns; ++j)
                game_column(g, j)[i] = A[static_cast<std::size_t>(i) * columns + j];
        return;
    }
    for (int j = 0; j < columns; ++j) {
        const T* source = A + static_cast<std::size_t>(j) * length;
        double* target = game_column(g, j);
        for (int i = 0; i < length; i += kLanes) store(target + i, load_n(source + i, length - i));
    }
}

// The best pure strategies and their bounds; returns that of the short side.
CREDALENS_INLINE int pure_bounds(GameWorkspace& g) {
    const double sign = g.sign = g.swapped ? -1.0 : 1.0;
    // The value of each strategy of the long side against the worst one of the short side.
    double* CREDALENS_RESTRICT guaranteed = g.image;
    const int pitch = g.pitch;
    std::fill_n(guaranteed, pitch, sign * kInfinity);
    double best = sign * kInfinity;
    int best_column = 0;
    for (int j = 0; j < g.columns; ++j) {
        const double* CREDALENS_RESTRICT source = game_column(g, j);
        for (int i = 0; i < pitch; i += kLanes)
            store(guaranteed + i, sign * min(sign * load(guaranteed + i), sign * load(source + i)));
        const double here = extreme(source, g.length, sign);
        if (sign * (best - here) > 0.0) best = here, best_column = j;
    }
    const double other = extreme(guaranteed, g.length, sign);
    const int row = index_of(other, guaranteed, g.length);
    // A swapped game is largest - A^T, of positive value since there is no saddle point.
    g.shift = g.swapped ? extreme(guaranteed, g.length, 1.0) : 0.0;
    g.upper = g.swapped ? other : best;
    g.lower = g.swapped ? best : other;
    std::fill_n(g.swapped ? g.dual : g.weights, g.columns, 0.0);
    std::fill_n(g.swapped ? g.weights : g.dual, g.length, 0.0);
    g.weights[g.swapped ? row : best_column] = g.dual[g.swapped ? best_column : row] = 1.0;
    return best_column;
}

// Whether the uniform distribution is a mixture of many members: then it is optimal, and so are
// uniform weights of the classes.
CREDALENS_INLINE bool is_uniform_mixture(GameWorkspace& g) {
    const int K = g.columns, M = g.length;
    if (!g.swapped || M < 2 * K || K > kMaxUniformClasses) return false;
    double* CREDALENS_RESTRICT sums = g.image;
    std::fill_n(sums, g.pitch, 0.0);
    for (int j = 0; j < K; ++j) add_scaled(sums, game_column(g, j), 1.0, 0, g.pitch);
    const double smallest_sum = extreme(sums, M, -1.0), largest_sum = extreme(sums, M, 1.0);
    if (std::fabs(smallest_sum - 1.0) > kGapGoal || std::fabs(largest_sum - 1.0) > kGapGoal)
        return false;
    double* w = g.image;
    if (!uniform_mixture(g.game, g.pitch, M, K, g.tableau, g.x, w)) return false;
    const double total = sum_padded(w, g.pitch);
    double largest = 0.0;
    for (int j = 0; j < K; ++j)
        largest = std::max(largest, dot_padded(w, game_column(g, j), g.pitch) / total);
    if (!(largest - smallest_sum / K <= kGapGoal)) return false;
    g.upper = largest;
    g.lower = smallest_sum / K;
    for (int m = 0; m < M; ++m) g.weights[m] = w[m] / total;
    std::fill_n(g.dual, K, 1.0 / K);
    return true;
}

template <class T>
void solve_game(const T* A, GameWorkspace& g) {
    load_game(A, g);
    const int first = pure_bounds(g);
    if (g.upper - g.lower <= kGapGoal) return;  // a saddle point, as for M = 1 and K = 1
    if (is_uniform_mixture(g)) return;
    solve_program(g, first);
}
