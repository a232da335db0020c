// Part of games/matrix_game.cpp, for one instruction set: included by simd/foreach_target.hpp after simd/vector-inl.hpp. Nothing of
// the standard library is called here either.

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

// The largest value for sign = 1, the smallest for sign = -1. There is room for whole vectors.
CREDALENS_INLINE double extreme(const double* values, int count, double sign) {
    const Lanes first = sign * (Lanes{} + values[0]);
    Lanes best = first;
    int i = 0;
    for (; i + kWidth <= count; i += kWidth) best = larger(best, sign * load(values + i));
    if (i < count) best = larger(best, lanes() < count - i ? sign * load(values + i) : first);
    return sign * largest_lane(best);
}

// The first place of a value; 0 if it is nowhere, as a NaN is.
CREDALENS_INLINE int index_of(double value, const double* values, int count) {
    for (int i = 0; i < count; i += kWidth)
        if (const unsigned bits = equal_bits(load(values + i), Lanes{} + value))
            return i + __builtin_ctz(bits);
    return 0;
}

// Moves the tableau columns apart until `needed` rows fit.
CREDALENS_INLINE void make_room(GameWorkspace& g, int needed) {
    if (needed <= g.stride) return;
    const int wider = lesser(greater(2 * g.stride, whole_steps(needed)), g.pitch);
    for (int j = g.columns; j > 0; --j) {
        const double* source = column(g, j);
        __builtin_memmove(g.tableau + static_cast<std::size_t>(j) * wider, source,
                          g.stride * sizeof(double));
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
        if (j == g.columns || is_slack(g, g.nonbasic[j])) {
            fill(t + before, count, j == g.columns ? 1.0 : 0.0);
            fill(t + after, whole_steps(after) - after, 0.0);
            continue;
        }
        const double* CREDALENS_RESTRICT source = game_column(g, g.nonbasic[j]);
        const double shift = g.shift, sign = g.sign;
        if (in_order) {
            for (int k = 0; k < whole_steps(count); k += kWidth)
                store(t + k, lanes() < count - k ? shift + sign * load(source + k) : Lanes{});
        } else {
            for (int k = 0; k < count; ++k) t[before + k] = shift + sign * source[added[k]];
            fill(t + after, whole_steps(after) - after, 0.0);
        }
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

// Exchanges the variable of tableau row r with that of column c. What is written are whole vectors, as
// the next pivot reads them at once: a number written into one would have to reach the cache first.
CREDALENS_INLINE void pivot(GameWorkspace& g, int r, int c) {
    const int columns = g.columns, rows = g.rows;
    const std::size_t stride = g.stride;
    double* tableau = g.tableau;
    double* reduced = g.reduced;
    double* entering = column(g, c);
    const double inverse = 1.0 / entering[r], profit = reduced[c];
    for (int k = 0; k <= columns; k += kWidth) {
        Lanes row;
        for (int l = 0; l < kWidth; ++l) row[l] = tableau[(k + l) * stride + r];
        const Lanes left = load(reduced + k) - row * (inverse * profit);
        store(reduced + k, lanes() == c - k ? Lanes{} - inverse * profit : left);
    }
    for (int j = 0; j <= columns; ++j) {
        double* other = tableau + j * stride;
        if (j == c || other[r] == 0.0) continue;
        const double factor = other[r] * inverse;
        for (int i = 0; i < rows; i += kWidth) {
            const Lanes left = load(other + i) - factor * load(entering + i);
            store(other + i, lanes() == r - i ? Lanes{} + factor : left);
        }
    }
    for (int i = 0; i < rows; i += kWidth)
        store(entering + i, lanes() == r - i ? Lanes{} + inverse : -inverse * load(entering + i));
    const int leaving = g.basic[r];
    g.basic[r] = g.nonbasic[c];
    g.nonbasic[c] = leaving;
}

// Harris: of the rows that block within the tolerance, that of the largest pivot; -1 if none does.
CREDALENS_INLINE int leaving_row(const GameWorkspace& g, int c, const Tolerance& tol) {
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    const Lanes none = {};
    Lanes steps = none + kInfinity;
    for (int i = 0; i < g.rows; i += kWidth) {
        const Lanes rate = load(t + i), room = larger(kRoundUp * load(b + i), none) + tol.harris;
        steps = smaller(steps, room / (rate > tol.pivot ? rate : none + 1e-300));
    }
    const Lanes step = none - largest_lane(-steps);
    Lanes largest = none + tol.pivot;
    for (int i = 0; i < g.rows; i += kWidth) {
        const Lanes rate = load(t + i);
        largest = larger(largest, load(b + i) <= step * rate ? rate : none);
    }
    const double chosen = largest_lane(largest);
    if (chosen == tol.pivot) return -1;
    for (int i = 0; i < g.rows; i += kWidth) {
        const Lanes rate = load(t + i), blocking = load(b + i) <= step * rate ? rate : none;
        if (const unsigned bits = equal_bits(blocking, none + chosen))
            return i + __builtin_ctz(bits);
    }
    return -1;
}

// Bland: no tolerance, ties to the variable of least index.
CREDALENS_INLINE int leaving_row_bland(const GameWorkspace& g, int c, const Tolerance& tol) {
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    int best = -1;
    double least = kInfinity;
    for (int i = 0; i < g.rows; ++i) {
        if (t[i] <= tol.pivot) continue;
        const double step = greater(b[i], 0.0) / t[i];
        if (step > least || (step == least && g.basic[i] > g.basic[best])) continue;
        least = step;
        best = i;
    }
    return best;
}

// Dantzig: the column of largest profit. Bland: that of the least variable. -1 if none has any.
CREDALENS_INLINE int entering_column(const GameWorkspace& g, bool bland, const Tolerance& tol) {
    if (!bland) {
        const double most = extreme(g.reduced, g.columns, 1.0);
        return most > tol.profit ? index_of(most, g.reduced, g.columns) : -1;
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
        const double room = kRoundUp * greater(-g.reduced[j], 0.0) + kStrict.harris;
        if (t > tol.pivot) step = lesser(step, room / t);
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
        const int r = index_of(lowest, b, g.rows);
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
        if (!dual_simplex(g, tol)) reset_tableau(g, g.row_index, g.rows);
    }
}

// Rebuilds the tableau of the present basis from the data: Gauss-Jordan with complete pivoting on
// the block of the basic x and the tight rows. A singular rest is left out of the basis.
CREDALENS_INLINE void refactor(GameWorkspace& g) {
    int size = 0, tight = 0;
    int* block_columns = g.list;
    int* block_rows = block_columns + g.length;
    for (int r = 0; r < g.rows; ++r)
        if (!is_slack(g, g.basic[r])) block_columns[size++] = g.basic[r];
    for (int j = 0; j < g.columns; ++j)
        if (is_slack(g, g.nonbasic[j])) block_rows[tight++] = g.nonbasic[j] - g.columns;
    reset_tableau(g, g.row_index, g.rows);
    for (; size > 0; --size) {
        double largest = 1e-13;
        int best_column = -1, best_row = -1;
        for (int k = 0; k < size; ++k) {
            for (int i = 0; i < size; ++i) {
                const double entry = __builtin_fabs(column(g, block_columns[k])[block_rows[i]]);
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
    fill(g.x, g.columns, 0.0);
    for (int r = 0; r < g.rows; ++r)
        if (!is_slack(g, g.basic[r]) && b[r] > 0.0) x_sum += g.x[g.basic[r]] = b[r];
    for (int j = 0; j < g.columns; ++j)
        u_sum += g.u[j] = is_slack(g, g.nonbasic[j]) ? greater(-g.reduced[j], 0.0) : 0.0;
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

// What x secures, evaluated on all rows of the game itself.
CREDALENS_INLINE double bound_of_x(GameWorkspace& g) {
    double* CREDALENS_RESTRICT image = g.image;
    const int pitch = g.pitch;
    fill(image, pitch, 0.0);
    for (int j = 0; j < g.columns; ++j) {
        const double weight = g.x[j];
        if (weight == 0.0) continue;
        const double* CREDALENS_RESTRICT source = game_column(g, j);
        for (int i = 0; i < pitch; i += kWidth)
            store(image + i, load(image + i) + weight * load(source + i));
    }
    return extreme(image, g.length, g.sign);
}

// What u secures, evaluated on all columns of the game itself.
CREDALENS_INLINE double bound_of_u(GameWorkspace& g) {
    double best = kInfinity;
    const bool few_rows = g.pitch <= 4 * g.columns;  // less work than picking those with a weight
    if (few_rows) {
        fill(g.by_row, g.pitch, 0.0);
        for (int k = 0; k < g.columns; ++k)
            if (g.u[k] > 0.0) g.by_row[game_row(g, k)] = g.u[k];
    }
    for (int j = 0; j < g.columns; ++j) {
        const double* source = game_column(g, j);
        double sum = 0.0;
        if (few_rows) {
            sum = dot_by_lanes(g.by_row, source, g.pitch);
        } else {
            for (int k = 0; k < g.columns; ++k)
                if (g.u[k] > 0.0) sum += g.u[k] * source[game_row(g, k)];
        }
        best = lesser(best, g.sign * sum);
    }
    return g.sign * best;
}

// Keeps whichever of x and u improves its bound on the value.
CREDALENS_INLINE void keep_bounds(GameWorkspace& g, double by_x, double by_u) {
    double& best_by_x = g.swapped ? g.lower : g.upper;
    double& best_by_u = g.swapped ? g.upper : g.lower;
    if (g.sign * (best_by_x - by_x) > 0.0) {
        best_by_x = by_x;
        __builtin_memcpy(g.swapped ? g.dual : g.weights, g.x, g.columns * sizeof(double));
    }
    if (g.sign * (by_u - best_by_u) > 0.0) {
        best_by_u = by_u;
        double* target = g.swapped ? g.weights : g.dual;
        fill(target, g.length, 0.0);
        for (int j = 0; j < g.columns; ++j)
            if (g.u[j] > 0.0) target[game_row(g, j)] = g.u[j];
    }
}

// Adds the rows that x violates most, if there are any.
CREDALENS_INLINE bool generate_rows(GameWorkspace& g, double by_x, double by_u) {
    if (g.rows == g.length) return false;
    // Rows far less violated than the worst one rarely end up tight.
    const double level = __builtin_fabs(by_x - by_u) > kGoal ? 0.5 * (by_x + by_u) : by_u;
    const double* image = g.image;
    const double sign = g.sign;
    int* list = g.list;
    int count = 0;
    for (int i = 0; i < g.length; ++i)
        if (sign * (image[i] - level) > 0.0 && !g.in_use[i]) list[count++] = i;
    if (count == 0) return false;
    const int batch = greater(8, g.rows / 4);  // a share of the rows, so that rounds stay few
    if (count > batch) worst_first(g, list, count, batch);
    append_rows(g, list, lesser(count, batch));
    return true;
}

// Starts from all rows, or from the best one for each column.
CREDALENS_INLINE void build_tableau(GameWorkspace& g) {
    int count = 0;
    int* list = g.list;
    fill(g.in_use, g.length, 0);
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
    g.stride = lesser(greater(64, whole_steps(2 * count)), g.pitch);
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
        if constexpr (sizeof(T) == sizeof(double)) {
            for (int i = 0; i < length; i += kWidth)
                store(target + i, load_first(source + i, length - i));
        } else {
            for (int i = 0; i < length; ++i) target[i] = source[i];
        }
    }
}

// The best pure strategies and their bounds; returns the one of the short side.
CREDALENS_INLINE int pure_bounds(GameWorkspace& g) {
    const double sign = g.sign = g.swapped ? -1.0 : 1.0;
    // Each of the long side is worth what is worst for it, and so is each of the short side.
    double* CREDALENS_RESTRICT worth = g.image;
    const int pitch = g.pitch;
    fill(worth, pitch, sign * kInfinity);
    double best = sign * kInfinity;
    int at = 0;
    for (int j = 0; j < g.columns; ++j) {
        const double* CREDALENS_RESTRICT source = game_column(g, j);
        for (int i = 0; i < pitch; i += kWidth)
            store(worth + i, sign * smaller(sign * load(worth + i), sign * load(source + i)));
        const double here = extreme(source, g.length, sign);
        if (sign * (best - here) > 0.0) best = here, at = j;
    }
    const double other = extreme(worth, g.length, sign);
    const int place = index_of(other, worth, g.length);
    // A swapped game is turned into largest - A^T, of positive value as there is no saddle.
    g.shift = g.swapped ? extreme(worth, g.length, 1.0) : 0.0;
    g.upper = g.swapped ? other : best;
    g.lower = g.swapped ? best : other;
    fill(g.swapped ? g.dual : g.weights, g.columns, 0.0);
    fill(g.swapped ? g.weights : g.dual, g.length, 0.0);
    g.weights[g.swapped ? place : at] = g.dual[g.swapped ? at : place] = 1.0;
    return at;
}

// Many distributions that are even on the whole: the best mixture may have even shares, which no
// choice of a class can be better against than even weights of the classes. Says whether it is so.
CREDALENS_INLINE bool even_game(GameWorkspace& g) {
    const int K = g.columns, M = g.length;
    if (!g.swapped || M < 2 * K || K > kMostEven) return false;
    double* CREDALENS_RESTRICT sums = g.image;
    fill(sums, g.pitch, 0.0);
    for (int j = 0; j < K; ++j) add_scaled(sums, game_column(g, j), 1.0, 0, g.pitch);
    const double least = extreme(sums, M, -1.0);
    const double most = extreme(sums, M, 1.0);
    if (__builtin_fabs(least - 1.0) > kGoal || __builtin_fabs(most - 1.0) > kGoal) return false;
    double* w = g.image;
    if (!even_weights(g.game, g.pitch, M, K, g.tableau, g.x, w)) return false;
    const double total = sum_by_lanes(w, g.pitch);
    double largest = 0.0;
    for (int j = 0; j < K; ++j)
        largest = greater(largest, dot_by_lanes(w, game_column(g, j), g.pitch) / total);
    if (!(largest - least / K <= kGoal)) return false;
    g.upper = largest;
    g.lower = least / K;
    for (int m = 0; m < M; ++m) g.weights[m] = w[m] / total;
    fill(g.dual, K, 1.0 / K);
    return true;
}

template <class T>
void solve_game(const T* A, GameWorkspace& g) {
    load_game(A, g);
    const int first = pure_bounds(g);
    if (g.upper - g.lower <= kGoal) return;  // a saddle; so are M = 1 and K = 1
    if (even_game(g)) return;
    solve_program(g, first);
}
