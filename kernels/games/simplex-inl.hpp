// Dense simplex tableau of a matrix game, for one target: part of matrix_game-inl.hpp.

CREDALENS_INLINE double* column(const GameWorkspace& g, int j) {
    return g.tableau + static_cast<std::size_t>(j) * g.stride;
}

CREDALENS_INLINE double* right_hand_side(const GameWorkspace& g) {
    return column(g, g.columns);
}

CREDALENS_INLINE double* game_column(const GameWorkspace& g, int j) {
    return g.game + static_cast<std::size_t>(j) * g.pitch;
}

CREDALENS_INLINE bool is_slack(const GameWorkspace& g, int variable) {
    return variable >= g.columns;
}

// The largest value for sign = 1, the smallest for sign = -1. The values are padded.
CREDALENS_INLINE double extreme(const double* values, int count, double sign) {
    const Vec first = sign * broadcast(values[0]);
    Vec best = first;
    int i = 0;
    for (; i + kLanes <= count; i += kLanes) best = max(best, sign * load(values + i));
    if (i < count) best = max(best, iota() < count - i ? sign * load(values + i) : first);
    return sign * reduce_max(best);
}

// Index of the first entry that equals a value; 0 if there is none, as for NaN.
CREDALENS_INLINE int index_of(double value, const double* values, int count) {
    for (int i = 0; i < count; i += kLanes)
        if (const unsigned bits = equal_bits(load(values + i), broadcast(value)))
            return i + __builtin_ctz(bits);
    return 0;
}

// Increases the stride of the tableau so that `needed` rows fit.
CREDALENS_INLINE void reserve_rows(GameWorkspace& g, int needed) {
    if (needed <= g.stride) return;
    const int wider = std::min(std::max(2 * g.stride, padded_size(needed)), g.pitch);
    for (int j = g.columns; j > 0; --j) {
        const double* source = column(g, j);
        std::memmove(g.tableau + static_cast<std::size_t>(j) * wider, source,
                     g.stride * sizeof(double));
    }
    g.stride = wider;
}

// Appends rows of the game to the tableau, expressed in the present basis.
CREDALENS_INLINE void append_rows(GameWorkspace& g, const int* added, int count) {
    const int before = g.rows, after = before + count;
    const bool in_order = before == 0 && g.length <= kGenerateBeyond;
    reserve_rows(g, after);
    for (int j = 0; j <= g.columns; ++j) {
        double* CREDALENS_RESTRICT t = column(g, j);
        if (j == g.columns || is_slack(g, g.nonbasic[j])) {
            std::fill_n(t + before, count, j == g.columns ? 1.0 : 0.0);
            std::fill_n(t + after, padded_size(after) - after, 0.0);
            continue;
        }
        const double* CREDALENS_RESTRICT source = game_column(g, g.nonbasic[j]);
        const double shift = g.shift, sign = g.sign;
        if (in_order) {
            for (int k = 0; k < padded_size(count); k += kLanes)
                store(t + k, iota() < count - k ? shift + sign * load(source + k) : Vec{});
        } else {
            for (int k = 0; k < count; ++k) t[before + k] = shift + sign * source[added[k]];
            std::fill_n(t + after, padded_size(after) - after, 0.0);
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
        g.reduced_costs[j] = 1.0;
        g.nonbasic[j] = j;
    }
    g.reduced_costs[g.columns] = 0.0;
    append_rows(g, rows, count);
}

// Exchanges the variable of tableau row r with that of column c. Only whole vectors are stored,
// because the next pivot loads them at once: a scalar store into one of them would prevent store
// forwarding.
CREDALENS_INLINE void pivot(GameWorkspace& g, int r, int c) {
    const int columns = g.columns, rows = g.rows;
    const std::size_t stride = g.stride;
    double* tableau = g.tableau;
    double* reduced_costs = g.reduced_costs;
    double* entering = column(g, c);
    const double inverse = 1.0 / entering[r], cost = reduced_costs[c];
    for (int k = 0; k <= columns; k += kLanes) {
        Vec row;
        for (int l = 0; l < kLanes; ++l) row[l] = tableau[(k + l) * stride + r];
        const Vec left = load(reduced_costs + k) - row * (inverse * cost);
        store(reduced_costs + k, iota() == c - k ? broadcast(-inverse * cost) : left);
    }
    for (int j = 0; j <= columns; ++j) {
        double* other = tableau + j * stride;
        if (j == c || other[r] == 0.0) continue;
        const double factor = other[r] * inverse;
        for (int i = 0; i < rows; i += kLanes) {
            const Vec left = load(other + i) - factor * load(entering + i);
            store(other + i, iota() == r - i ? broadcast(factor) : left);
        }
    }
    for (int i = 0; i < rows; i += kLanes)
        store(entering + i, iota() == r - i ? broadcast(inverse) : -inverse * load(entering + i));
    const int leaving = g.basic[r];
    g.basic[r] = g.nonbasic[c];
    g.nonbasic[c] = leaving;
}

// Harris ratio test: of the rows that block within the tolerance, that of the largest pivot; -1 if
// none does. Selection is branch-free, since its outcome is unpredictable.
CREDALENS_INLINE int leaving_row(const GameWorkspace& g, int c, const Tolerance& tol) {
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    const Vec none = {};
    Vec steps = broadcast(kInfinity);
    for (int i = 0; i < g.rows; i += kLanes) {
        const Vec rate = load(t + i), slack = max(kRoundUp * load(b + i), none) + tol.harris;
        steps = min(steps, slack / (rate > tol.pivot ? rate : broadcast(1e-300)));
    }
    const Vec step = none - reduce_max(-steps);
    Vec largest = broadcast(tol.pivot);
    for (int i = 0; i < g.rows; i += kLanes) {
        const Vec rate = load(t + i);
        largest = max(largest, load(b + i) <= step * rate ? rate : none);
    }
    const double chosen = reduce_max(largest);
    if (chosen == tol.pivot) return -1;
    for (int i = 0; i < g.rows; i += kLanes) {
        const Vec rate = load(t + i), blocking = load(b + i) <= step * rate ? rate : none;
        if (const unsigned bits = equal_bits(blocking, broadcast(chosen)))
            return i + __builtin_ctz(bits);
    }
    return -1;
}

// Bland's rule: no tolerance; of ties, the variable of smallest index.
CREDALENS_INLINE int leaving_row_bland(const GameWorkspace& g, int c, const Tolerance& tol) {
    const double* t = column(g, c);
    const double* b = right_hand_side(g);
    int best = -1;
    double smallest = kInfinity;
    for (int i = 0; i < g.rows; ++i) {
        if (t[i] <= tol.pivot) continue;
        const double step = std::max(b[i], 0.0) / t[i];
        if (step > smallest || (step == smallest && g.basic[i] > g.basic[best])) continue;
        smallest = step;
        best = i;
    }
    return best;
}

// Dantzig's rule: the column of largest reduced cost. Bland's rule: that of smallest index. -1 if
// no reduced cost is positive.
CREDALENS_INLINE int entering_column(const GameWorkspace& g, bool bland, const Tolerance& tol) {
    if (!bland) {
        const double largest = extreme(g.reduced_costs, g.columns, 1.0);
        return largest > tol.reduced_cost ? index_of(largest, g.reduced_costs, g.columns) : -1;
    }
    int best = -1;
    for (int j = 0; j < g.columns; ++j)
        if (g.reduced_costs[j] > tol.reduced_cost && (best < 0 || g.nonbasic[j] < g.nonbasic[best]))
            best = j;
    return best;
}

// Primal pivots until no reduced cost is positive; the first one on column `first` unless that is
// -1.
CREDALENS_INLINE void primal_simplex(GameWorkspace& g, int first, const Tolerance& tol) {
    const int max_degenerate = g.columns + g.rows;
    int degenerate = 0;
    for (int step = 0; step < 50 * max_degenerate; ++step) {
        if (step % 16 == 15) check_interrupt();
        const bool bland = degenerate > max_degenerate;
        const int c = step == 0 && first >= 0 ? first : entering_column(g, bland, tol);
        if (c < 0) return;
        const int r = bland ? leaving_row_bland(g, c, tol) : leaving_row(g, c, tol);
        if (r < 0) {  // the program is bounded, so this reduced cost is rounding
            g.reduced_costs[c] = 0.0;
            continue;
        }
        degenerate = right_hand_side(g)[r] > tol.harris ? 0 : degenerate + 1;
        pivot(g, r, c);
    }
}

// The column of a dual pivot in row r by the Harris ratio test; -1 if there is none.
CREDALENS_INLINE int dual_entering_column(const GameWorkspace& g, int r, const Tolerance& tol) {
    double step = kInfinity;
    for (int j = 0; j < g.columns; ++j) {
        const double t = -column(g, j)[r];
        const double slack = kRoundUp * std::max(-g.reduced_costs[j], 0.0) + kStrict.harris;
        if (t > tol.pivot) step = std::min(step, slack / t);
    }
    int best = -1;
    double largest = tol.pivot;
    for (int j = 0; j < g.columns; ++j) {
        const double t = -column(g, j)[r];
        if (t <= largest || -g.reduced_costs[j] > step * t) continue;
        largest = t;
        best = j;
    }
    return best;
}

// Dual pivots until the right-hand side is feasible; false if there are too many.
CREDALENS_INLINE bool dual_simplex(GameWorkspace& g, const Tolerance& tol) {
    double* b = right_hand_side(g);
    for (int step = 0; step < 2 * (g.columns + g.rows) + 20; ++step) {
        if (step % 16 == 15) check_interrupt();
        const double lowest = extreme(b, g.rows, -1.0);
        if (!(lowest < -tol.negative)) return true;
        const int r = index_of(lowest, b, g.rows);
        const int c = dual_entering_column(g, r, tol);
        if (c >= 0) {
            pivot(g, r, c);
        } else {  // the program is feasible, so this infeasibility is rounding
            b[r] = 0.0;
        }
    }
    return false;
}

CREDALENS_INLINE void optimize(GameWorkspace& g, int first, const Tolerance& tol) {
    for (int round = 0; round < 4; ++round) {
        primal_simplex(g, round == 0 ? first : -1, tol);
        if (!(extreme(right_hand_side(g), g.rows, -1.0) < -tol.negative)) return;
        if (!dual_simplex(g, tol)) reset_tableau(g, g.row_index, g.rows);
    }
}

// Computes the tableau of the present basis again from the data: Gauss-Jordan elimination with
// complete pivoting on the block of the basic x and the tight rows. A singular rest is left out of
// the basis.
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
        check_interrupt();
        double largest = 1e-13;
        int best_column = -1, best_row = -1;
        for (int k = 0; k < size; ++k) {
            for (int i = 0; i < size; ++i) {
                const double entry = std::fabs(column(g, block_columns[k])[block_rows[i]]);
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
