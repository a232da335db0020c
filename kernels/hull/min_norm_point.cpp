#include "hull/min_norm_point.hpp"

#include <algorithm>
#include <vector>

#include "runtime/validate_rows.hpp"
#include "entropy/uniform_mixture.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

// The gap at which an instance is solved, relative to |p|^2: above the rounding of the products.
constexpr double kGoal = 1e-14;

// Ridge of the Gram matrix. At weights between 0 and 1 it changes <p, P_m> by at most this share.
constexpr double kRidge = 1e-14;

// A weight below this is 0.
constexpr double kNoWeight = 1e-15;

// Buffers for instances of one shape, reused from one to the next.
struct Workspace {
    int M, K, stride, most;               // most: active members that are possible
    std::vector<double> rows, p;          // (M, stride) and (stride), padded with zeros
    std::vector<double> w, gram, matrix;  // by member; (most, most) by slot; for a system
    std::vector<double> solution, dots;   // by position in `active`; by member
    std::vector<int> active, slot;        // members, and where `gram` has them
    std::vector<char> is_active;

    Workspace(int members, int classes)
        : M(members), K(classes), stride(whole_steps(classes)),
          most(std::min(members, classes + 1) + 1), rows(static_cast<std::size_t>(M) * stride),
          p(stride), w(M), gram(static_cast<std::size_t>(most) * most),
          matrix(static_cast<std::size_t>(most) * whole_steps(most + 1)),
          solution(whole_steps(most)), dots(M), is_active(M) {
        active.reserve(most), slot.reserve(most);
    }

    const double* row(int m) const { return rows.data() + static_cast<std::size_t>(m) * stride; }
    double& product(int i, int j) { return gram[static_cast<std::size_t>(i) * most + j]; }
};

template <class T>
CREDALENS_INLINE void load(Workspace& ws, const T* P) {
    for (int m = 0; m < ws.M; ++m) {
        double* row = ws.rows.data() + static_cast<std::size_t>(m) * ws.stride;
        const T* source = P + static_cast<std::size_t>(m) * ws.K;
        for (int y = 0; y < ws.K; ++y) row[y] = static_cast<double>(source[y]);
    }
}

// p = sum_m w_m P_m over the active members.
CREDALENS_INLINE void combine(Workspace& ws) {
    std::fill(ws.p.begin(), ws.p.end(), 0.0);
    for (const int m : ws.active) add_scaled(ws.p.data(), ws.row(m), ws.w[m], 0, ws.stride);
}

// <p, P_m> of every member; returns the first member with the smallest.
CREDALENS_INLINE int price(Workspace& ws) {
    int best = 0;
    for (int m = 0; m < ws.M; ++m) {
        ws.dots[m] = dot_by_lanes(ws.p.data(), ws.row(m), ws.stride);
        if (ws.dots[m] < ws.dots[best]) best = m;
    }
    return best;
}

// Adds a member with weight 0, and its products with the others.
CREDALENS_INLINE void activate(Workspace& ws, int m) {
    int free = 0;
    while (std::find(ws.slot.begin(), ws.slot.end(), free) != ws.slot.end()) ++free;
    ws.active.push_back(m), ws.slot.push_back(free);
    ws.is_active[m] = 1;
    for (std::size_t i = 0; i < ws.active.size(); ++i) {
        const double product = dot_by_lanes(ws.row(m), ws.row(ws.active[i]), ws.stride);
        ws.product(free, ws.slot[i]) = ws.product(ws.slot[i], free) = product;
    }
}

CREDALENS_INLINE void deactivate(Workspace& ws, std::size_t i) {
    const int m = ws.active[i];
    ws.is_active[m] = 0, ws.w[m] = 0;
    ws.active.erase(ws.active.begin() + i), ws.slot.erase(ws.slot.begin() + i);
}

// The weights, summing to 1, of the nearest point of the affine hull: proportional to the solution of
// (Gram matrix) x = 1.
CREDALENS_INLINE void nearest_affine(Workspace& ws) {
    const int size = static_cast<int>(ws.active.size()), columns = whole_steps(size + 1);
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
    square = dot_by_lanes(ws.p.data(), ws.p.data(), ws.stride);
    return square - ws.dots[best];
}

CREDALENS_INLINE void solve(Workspace& ws, double& value, double& gap) {
    ws.active.clear(), ws.slot.clear();
    std::fill(ws.w.begin(), ws.w.end(), 0.0);
    std::fill(ws.is_active.begin(), ws.is_active.end(), 0);
    int best = 0;
    double least = 0;
    for (int m = 0; m < ws.M; ++m) {
        const double square = dot_by_lanes(ws.row(m), ws.row(m), ws.stride);
        if (m == 0 || square < least) best = m, least = square;
    }
    activate(ws, best);
    ws.w[best] = 1;
    gap = evaluate(ws, best, value);
    // Every iteration decreases |p|^2 and reaches the optimum of another active set.
    for (int left = 50 + 20 * ws.most; left > 0 && gap > kGoal * value; --left) {
        if (ws.is_active[best] || static_cast<int>(ws.active.size()) == ws.most) break;
        const double before = value;
        activate(ws, best);
        reduce(ws);
        gap = evaluate(ws, best, value);
        if (!(value < before)) break;
    }
    gap = gap < 0 ? 0 : gap;
}

CREDALENS_CLONES void solve_instance(Workspace& ws, const float* P, double& value, double& gap) {
    load(ws, P);
    solve(ws, value, gap);
}

CREDALENS_CLONES void solve_instance(Workspace& ws, const double* P, double& value, double& gap) {
    load(ws, P);
    solve(ws, value, gap);
}

}  // namespace

template <class T>
std::int64_t min_norm_point(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                            double* weights, double* point, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstBad bad;
    parallel_for(
        n, grain_of(200.0 + 4.0 * static_cast<double>(size)), threads,
        [&] { return Workspace(M, K); },
        [&](Workspace& ws, std::size_t begin, std::size_t end) {
            checked_in_passing(
                P, begin, end, M, K, tolerance, bad, [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; ++i) {
                        solve_instance(ws, P + i * size, value[i], gap[i]);
                        if (weights) std::copy(ws.w.begin(), ws.w.end(), weights + i * M);
                        if (point) std::copy(ws.p.begin(), ws.p.begin() + K, point + i * K);
                    }
                });
        });
    return bad.value();
}

template std::int64_t min_norm_point(const float*, std::size_t, int, int, double*, double*, double*,
                                     double*, int, double);
template std::int64_t min_norm_point(const double*, std::size_t, int, int, double*, double*,
                                     double*, double*, int, double);

}  // namespace credalens
