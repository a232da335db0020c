#include "hull/pair_divergence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/validate_rows.hpp"
#include "entropy/uniform_mixture.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

#include "simd/log-inl.hpp"

constexpr double kLeastLog = 1e-300;  // smaller numbers go to the library logarithm

struct Workspace {
    int M, K, stride;
    std::vector<double> rows, others;  // (M, stride): p, and what is multiplied with it
    std::vector<double> zeros, own;    // (stride) and (M)

    Workspace(int members, int classes)
        : M(members), K(classes), stride(whole_steps(classes)),
          rows(static_cast<std::size_t>(M) * stride), others(rows.size()), zeros(stride), own(M) {}

    double* row(int m) { return rows.data() + static_cast<std::size_t>(m) * stride; }
    double* other(int m) { return others.data() + static_cast<std::size_t>(m) * stride; }
};

template <class T>
CREDALENS_INLINE void load(Workspace& ws, const T* P, bool normalise) {
    for (int m = 0; m < ws.M; ++m) {
        double* row = ws.row(m);
        const T* source = P + static_cast<std::size_t>(m) * ws.K;
        for (int y = 0; y < ws.K; ++y) row[y] = static_cast<double>(source[y]);
        if (!normalise) continue;
        const double sum = sum_by_lanes(row, ws.stride);
        for (int y = 0; y < ws.K; ++y) row[y] /= sum;
    }
}

// The logarithms of a row, 0 for 0; says whether there are zeros.
CREDALENS_INLINE bool log_row(const double* p, int K, double* log_p) {
    int zeros = 0, tiny = 0;
    for (int y = 0; y < K; ++y) {
        zeros += p[y] == 0;
        tiny += p[y] < kLeastLog;
        log_p[y] = log_of<double, std::uint64_t>(p[y] < kLeastLog ? 1.0 : p[y]);
    }
    if (tiny > zeros)
        for (int y = 0; y < K; ++y)
            if (p[y] > 0 && p[y] < kLeastLog) log_p[y] = std::log(p[y]);
    return zeros > 0;
}

// Whether a row has mass on a class that is marked in `zeros`.
CREDALENS_INLINE bool has_mass_on_zeros(Workspace& ws) {
    for (int m = 0; m < ws.M; ++m)
        if (dot_by_lanes(ws.row(m), ws.zeros.data(), ws.stride) > 0) return true;
    return false;
}

CREDALENS_INLINE double log_divergence(Workspace& ws) {
    for (int q = 0; q < ws.M; ++q) {
        if (!log_row(ws.row(q), ws.K, ws.other(q))) continue;
        for (int y = 0; y < ws.K; ++y) ws.zeros[y] = ws.row(q)[y] == 0;
        if (has_mass_on_zeros(ws)) return std::numeric_limits<double>::infinity();
    }
    double best = 0;
    for (int m = 0; m < ws.M; ++m) {
        const double own = dot_by_lanes(ws.row(m), ws.other(m), ws.stride);
        for (int q = 0; q < ws.M; ++q)
            best = std::max(best, own - dot_by_lanes(ws.row(m), ws.other(q), ws.stride));
    }
    return best;
}

CREDALENS_INLINE double brier_divergence(Workspace& ws) {
    double best = 0;
    for (int m = 0; m < ws.M; ++m)
        for (int q = m + 1; q < ws.M; ++q) {
            double *difference = ws.zeros.data(), *a = ws.row(m), *b = ws.row(q);
            for (int y = 0; y < ws.stride; ++y) difference[y] = a[y] - b[y];
            best = std::max(best, dot_by_lanes(difference, difference, ws.stride));
        }
    return best;
}

CREDALENS_INLINE double spherical_divergence(Workspace& ws) {
    for (int m = 0; m < ws.M; ++m)
        ws.own[m] = std::sqrt(dot_by_lanes(ws.row(m), ws.row(m), ws.stride));
    double best = 0;
    for (int m = 0; m < ws.M; ++m)
        for (int q = m + 1; q < ws.M; ++q) {
            const double product = dot_by_lanes(ws.row(m), ws.row(q), ws.stride);
            best = std::max({best, ws.own[m] - product / ws.own[q], ws.own[q] - product / ws.own[m]});
        }
    return best;
}

CREDALENS_INLINE double divergence(Divergence kind, Workspace& ws) {
    if (kind == Divergence::log) return log_divergence(ws);
    return kind == Divergence::brier ? brier_divergence(ws) : spherical_divergence(ws);
}

CREDALENS_CLONES double of_instance(Divergence kind, Workspace& ws, const float* P) {
    load(ws, P, kind == Divergence::log);
    return divergence(kind, ws);
}

CREDALENS_CLONES double of_instance(Divergence kind, Workspace& ws, const double* P) {
    load(ws, P, kind == Divergence::log);
    return divergence(kind, ws);
}

}  // namespace

template <class T>
std::int64_t pair_divergence(Divergence kind, const T* P, std::size_t n, int M, int K, double* value,
                             int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstBad bad;
    parallel_for(
        n, grain_of(0.2 * static_cast<double>(size) * (M + 8)), threads,
        [&] { return Workspace(M, K); },
        [&](Workspace& ws, std::size_t begin, std::size_t end) {
            checked_in_passing(P, begin, end, M, K, tolerance, bad,
                               [&](std::size_t first, std::size_t last) {
                                   for (std::size_t i = first; i < last; ++i)
                                       value[i] = of_instance(kind, ws, P + i * size);
                               });
        });
    return bad.value();
}

template std::int64_t pair_divergence(Divergence, const float*, std::size_t, int, int, double*, int,
                                      double);
template std::int64_t pair_divergence(Divergence, const double*, std::size_t, int, int, double*, int,
                                      double);

}  // namespace credalens
