// Steps of the active-set Newton method: part of max_entropy-inl.hpp.

// The upper triangle of B = P diag(1/p) P^T over the active set, and g - H as one more column.
CREDALENS_INLINE void build_system(Workspace& ws, int size, int columns) {
    ws.reserve_matrix(size, columns);
    for (int y = 0; y < ws.width; y += kLanes) store(ws.inverse_p + y, 1.0 / load(ws.here.p + y));
    const int* active = ws.active.data();
    const int last = size - 1;
    for (int i = 0; i < size; ++i) {
        double* B = ws.matrix.data() + static_cast<std::size_t>(i) * columns;
        const double* P = ws.row(active[i]);
        for (int y = 0; y < ws.width; y += kLanes)
            store(ws.scaled + y, load(P + y) * load(ws.inverse_p + y));
        for (int j = i / 4 * 4; j < size; j += 4)
            dot4(ws.scaled, ws.row(active[j]), ws.row(active[std::min(j + 1, last)]),
                 ws.row(active[std::min(j + 2, last)]), ws.row(active[std::min(j + 3, last)]),
                 ws.width, B + j);
        B[i] *= 1 + kRidge;
        for (int j = size; j < columns; ++j) B[j] = 0;
        B[size] = ws.g[active[i]] - ws.here.entropy;
    }
}

// The solution x of B x = g - H gives the Newton direction x - (sum x) w, which preserves the total
// weight because B w = 1.
CREDALENS_INLINE void newton_direction(Workspace& ws) {
    for (;;) {
        const int size = ws.active_count, columns = padded_size(size + 1);
        build_system(ws, size, columns);
        double* x = ws.direction;
        solve_system(ws.matrix.data(), size, columns, kRidge, x);
        double total = 0;
        for (int i = size - 1; i >= 0; --i) total += x[i];
        for (int i = 0; i < size; ++i) x[i] -= total * ws.w[ws.active[i]];
        if (!deactivate(ws, true)) return;
        evaluate(ws, ws.w, ws.here);
        price(ws, ws.here.log_p);
    }
}

// The quadratic model is poor where p_y decreases by orders of magnitude: a step must not go below
// lowest_p. Classes whose logarithm is negligible against the present gap are not limited, because
// each of them would delay all other weights.
CREDALENS_INLINE void limit_decrease(Workspace& ws, double gap) {
    const double* mean = ws.row(ws.M);
    for (int y = 0; y < ws.width; y += kLanes)
        store(ws.lowest_p + y,
              60.0 * ws.M * load(mean + y) > gap ? kMaxDecrease * load(ws.here.p + y) : Vec{});
}

// Evaluates trial_w, normalized over the active set; accepts it if H increases enough.
CREDALENS_INLINE bool try_weights(Workspace& ws) {
    double total = 0, promised = 0;
    for (int i = 0; i < ws.active_count; ++i) total += ws.trial_w[ws.active[i]];
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        ws.trial_w[m] /= total;
        promised += (ws.trial_w[m] - ws.w[m]) * (ws.g[m] - ws.here.entropy);
    }
    if (!(promised > 0)) return false;  // not an ascent direction, because of clipping or rounding
    evaluate(ws, ws.trial_w, ws.there);
    Mask below = {};
    for (int y = 0; y < ws.width; y += kLanes)
        below |= load(ws.there.p + y) < 0.99 * load(ws.lowest_p + y);
    // Close to the optimum the increase is lost in the rounding of H, but the gap still decreases.
    const double rounding = 4e-15 * (1 + ws.here.entropy);
    if (any(below) || !(ws.there.entropy - ws.here.entropy >= 1e-4 * promised - rounding))
        return false;
    std::swap(ws.here, ws.there);
    std::swap(ws.w, ws.trial_w);
    deactivate(ws, false);
    return true;
}

// The full Newton step, but no weight falls below `share` times itself. share = 0 removes several
// members at once; share > 0 lets the other weights change while one of them tends to zero.
CREDALENS_INLINE bool projected_step(Workspace& ws, double share) {
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        ws.trial_w[m] = std::max(share * ws.w[m], ws.w[m] + ws.direction[i]);
    }
    return try_weights(ws);
}

// In the Newton direction to the first weight that becomes zero or the first p_y that reaches
// lowest_p, with backtracking.
CREDALENS_INLINE bool boundary_step(Workspace& ws) {
    double* step_p = ws.step_p;
    std::fill(step_p, step_p + ws.width, 0.0);
    double step = 1;
    int blocking = -1;
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        const double d = ws.direction[i];
        add_scaled(step_p, ws.row(m), d, 0, ws.width);
        if (ws.w[m] + step * d < 0) step = -ws.w[m] / d, blocking = m;
    }
    for (int y = 0; y < ws.width; ++y)
        if (ws.here.p[y] + step * step_p[y] < ws.lowest_p[y])
            step = (ws.lowest_p[y] - ws.here.p[y]) / step_p[y], blocking = -1;
    for (int attempt = 0; attempt < 40; ++attempt, step *= 0.5, blocking = -1) {
        for (int i = 0; i < ws.active_count; ++i) {
            const int m = ws.active[i];
            ws.trial_w[m] = m == blocking ? 0 : std::max(0.0, ws.w[m] + step * ws.direction[i]);
        }
        if (try_weights(ws)) return true;
    }
    return false;
}

// d/dt H(p + t (P_a - P_b)).
CREDALENS_INLINE double pair_slope(const Workspace& ws, const double* Pa, const double* Pb,
                                   double t) {
    Vec slope = {};
    for (int y = 0; y < ws.width; y += kLanes) {
        const Vec change = load(Pa + y) - load(Pb + y);
        slope -= change * fast_log(max(load(ws.here.p + y) + t * change, load(ws.floor + y)));
    }
    return reduce_sum(slope);
}

// Fallback if the Newton system is too ill-conditioned for an ascent direction: moves weight from
// the worst active member to the best one, with a line search to machine precision. Such steps
// converge by themselves, slowly.
CREDALENS_INLINE bool pairwise_step(Workspace& ws, int best) {
    int worst = -1;
    for (int i = 0; i < ws.active_count; ++i) {
        const int m = ws.active[i];
        if (ws.w[m] > 0 && (worst < 0 || ws.g[m] < ws.g[worst])) worst = m;
    }
    if (worst < 0 || !(ws.g[worst] < ws.g[best])) return false;
    const double *Pa = ws.row(best), *Pb = ws.row(worst);
    double high = ws.w[worst], low = high;
    if (pair_slope(ws, Pa, Pb, high) < 0) {
        while (low > 1e-30 && pair_slope(ws, Pa, Pb, low) < 0) high = low, low /= 16;
        for (int i = 0; i < 40; ++i) {
            const double middle = 0.5 * (low + high);
            (pair_slope(ws, Pa, Pb, middle) < 0 ? high : low) = middle;
        }
    }
    activate(ws, best);
    ws.w[best] += low;
    ws.w[worst] = low == ws.w[worst] ? 0 : ws.w[worst] - low;
    evaluate(ws, ws.w, ws.here);
    deactivate(ws, false);
    return true;
}
