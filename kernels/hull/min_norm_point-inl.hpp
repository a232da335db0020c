// Wolfe's method, for one target.

#include "simd/padded_rows-inl.hpp"

using Workspace = MinNormWorkspace;

template <class T>
CREDALENS_INLINE void load_rows(const T* P, Workspace& ws) {
    for (int m = 0; m < ws.M; ++m) {
        double* row = ws.rows.data() + static_cast<std::size_t>(m) * ws.stride;
        const T* source = P + static_cast<std::size_t>(m) * ws.K;
        for (int y = 0; y < ws.K; y += kLanes) store(row + y, load_n(source + y, ws.K - y));
    }
}

// p = sum_m w_m P_m over the active members.
CREDALENS_INLINE void combine(Workspace& ws) {
    std::fill(ws.p.begin(), ws.p.end(), 0.0);
    for (const int m : ws.active) add_scaled(ws.p.data(), ws.row(m), ws.w[m], 0, ws.stride);
}

// <p, P_m> of every member; returns the first member with the smallest.
CREDALENS_INLINE int price(Workspace& ws) {
    const int last = ws.M - 1;
    for (int m = 0; m < ws.M; m += 4) {
        double products[4];
        dot4(ws.p.data(), ws.row(m), ws.row(std::min(m + 1, last)), ws.row(std::min(m + 2, last)),
             ws.row(std::min(m + 3, last)), ws.stride, products);
        std::copy_n(products, std::min(4, ws.M - m), ws.dots.begin() + m);
    }
    return static_cast<int>(std::min_element(ws.dots.begin(), ws.dots.end()) - ws.dots.begin());
}

// Adds a member with weight 0, and its products with the others.
CREDALENS_INLINE void activate(Workspace& ws, int m) {
    int free = 0;
    while (std::find(ws.slot.begin(), ws.slot.end(), free) != ws.slot.end()) ++free;
    ws.active.push_back(m), ws.slot.push_back(free);
    ws.is_active[m] = 1;
    for (std::size_t i = 0; i < ws.active.size(); ++i) {
        const double product = dot_padded(ws.row(m), ws.row(ws.active[i]), ws.stride);
        ws.product(free, ws.slot[i]) = ws.product(ws.slot[i], free) = product;
    }
}

CREDALENS_INLINE void deactivate(Workspace& ws, std::size_t i) {
    const int m = ws.active[i];
    ws.is_active[m] = 0, ws.w[m] = 0;
    ws.active.erase(ws.active.begin() + i), ws.slot.erase(ws.slot.begin() + i);
}

// The weights, summing to 1, of the nearest point of the affine hull: proportional to the solution
// of (Gram matrix) x = 1.
CREDALENS_INLINE void nearest_affine(Workspace& ws) {
    const int size = static_cast<int>(ws.active.size()), columns = padded_size(size + 1);
    for (int i = 0; i < size; ++i) {
        double* row = ws.matrix.data() + static_cast<std::size_t>(i) * columns;
        std::fill(row, row + columns, 0.0);
        for (int j = i; j < size; ++j) row[j] = ws.product(ws.slot[i], ws.slot[j]);
        row[i] *= 1 + kRidge;
        row[size] = 1;
    }
    solve_system(ws.matrix.data(), size, columns, kRidge, ws.solution.data());
    double total = 0;
    for (int i = 0; i < size; ++i) total += ws.solution[i];
    for (int i = 0; i < size; ++i) ws.solution[i] /= total;
}

// Moves the weights to the nearest point of the affine hull of some active members, the largest set
// of them for which it is in their convex hull.
CREDALENS_INLINE void reduce(Workspace& ws) {
    while (ws.active.size() > 1) {
        nearest_affine(ws);
        double step = 1;
        for (std::size_t i = 0; i < ws.active.size(); ++i) {
            const double from = ws.w[ws.active[i]], to = ws.solution[i];
            if (to < kNoWeight && from - to > 0) step = std::min(step, from / (from - to));
        }
        for (std::size_t i = 0; i < ws.active.size(); ++i) {
            double& w = ws.w[ws.active[i]];
            w += step * (ws.solution[i] - w);
        }
        const std::size_t before = ws.active.size();
        for (std::size_t i = ws.active.size(); i-- > 0;)
            if (!(ws.w[ws.active[i]] > kNoWeight)) deactivate(ws, i);
        if (ws.active.size() == before) break;
    }
    double total = 0;
    for (const int m : ws.active) total += ws.w[m];
    for (const int m : ws.active) ws.w[m] /= total;
}

// The gap at the present weights.
CREDALENS_INLINE double evaluate(Workspace& ws, int& best, double& square) {
    combine(ws);
    best = price(ws);
    square = dot_padded(ws.p.data(), ws.p.data(), ws.stride);
    return square - ws.dots[best];
}

CREDALENS_INLINE void solve(Workspace& ws, double& value, double& gap) {
    ws.active.clear(), ws.slot.clear();
    std::fill(ws.w.begin(), ws.w.end(), 0.0);
    std::fill(ws.is_active.begin(), ws.is_active.end(), 0);
    int best = 0;
    double smallest = 0;
    for (int m = 0; m < ws.M; ++m) {
        const double square = dot_padded(ws.row(m), ws.row(m), ws.stride);
        if (m == 0 || square < smallest) best = m, smallest = square;
    }
    activate(ws, best);
    ws.w[best] = 1;
    gap = evaluate(ws, best, value);
    // Every iteration decreases |p|^2 and reaches the optimum of another active set.
    for (int left = 50 + 20 * ws.max_active; left > 0 && gap > kGapGoal * value; --left) {
        if (ws.is_active[best] || static_cast<int>(ws.active.size()) == ws.max_active) break;
        const double before = value;
        if (left % 4 == 0) check_interrupt();
        activate(ws, best);
        reduce(ws);
        gap = evaluate(ws, best, value);
        if (!(value < before)) break;
    }
    gap = gap < 0 ? 0 : gap;
}

template <class T>
void solve_min_norm(const T* P, Workspace& ws, double& value, double& gap) {
    load_rows(P, ws);
    solve(ws, value, gap);
}
