// Divergences between pairs of rows, for one target.

#include "simd/log-inl.hpp"
#include "simd/padded_rows-inl.hpp"

using Workspace = DivergenceWorkspace;

template <class T>
CREDALENS_INLINE void load_rows(const T* P, Workspace& ws) {
    for (int m = 0; m < ws.M; ++m, P += ws.K)
        for (int y = 0; y < ws.K; y += kLanes) store(ws.row(m) + y, load_n(P + y, ws.K - y));
}

// The logarithms of a row, 0 for 0; returns whether there are zeros. Numbers below kMinFastLog need
// the logarithm of the C library.
CREDALENS_INLINE bool log_row(const double* p, int K, double* log_p) {
    Mask zeros = {}, tiny = {};
    for (int y = 0; y < K; y += kLanes) {
        const Vec x = iota() < K - y ? load(p + y) : broadcast(1.0);
        const Mask below = x < kMinFastLog;
        zeros |= x == 0.0;
        tiny |= below & (x > 0.0);
        store(log_p + y, fast_log(below ? broadcast(1.0) : x));
    }
    if (any(tiny))
        for (int y = 0; y < K; ++y)
            if (p[y] > 0 && p[y] < kMinFastLog) log_p[y] = std::log(p[y]);
    return any(zeros);
}

// Whether a row has mass on a class that is marked in `marks`.
CREDALENS_INLINE bool has_mass_on_marked(Workspace& ws) {
    for (int m = 0; m < ws.M; ++m)
        if (dot_padded(ws.row(m), ws.marks(), ws.stride) > 0) return true;
    return false;
}

CREDALENS_INLINE double log_divergence(Workspace& ws) {
    for (int q = 0; q < ws.M; ++q) {
        if (q % 64 == 63) check_interrupt();
        if (!log_row(ws.row(q), ws.K, ws.log_row(q))) continue;
        for (int y = 0; y < ws.K; ++y) ws.marks()[y] = ws.row(q)[y] == 0;
        if (has_mass_on_marked(ws)) return __builtin_inf();
    }
    double best = 0;
    for (int m = 0; m < ws.M; ++m) {
        if (m % 16 == 15) check_interrupt();
        const double own = dot_padded(ws.row(m), ws.log_row(m), ws.stride);
        for (int q = 0; q < ws.M; ++q)
            best = std::max(best, own - dot_padded(ws.row(m), ws.log_row(q), ws.stride));
    }
    return best;
}

CREDALENS_INLINE double brier_divergence(Workspace& ws) {
    double best = 0;
    for (int m = 0; m < ws.M; ++m) {
        if (m % 16 == 15) check_interrupt();
        for (int q = m + 1; q < ws.M; ++q) {
            const double *a = ws.row(m), *b = ws.row(q);
            EightSums sums;
            for (int y = 0; y < ws.stride; y += 8)
                for (int i = 0; i < 8 / kLanes; ++i) {
                    const Vec x = load(a + y + i * kLanes) - load(b + y + i * kLanes);
                    sums.part[i] += x * x;
                }
            best = std::max(best, sums.total());
        }
    }
    return best;
}

CREDALENS_INLINE double spherical_divergence(Workspace& ws) {
    for (int m = 0; m < ws.M; ++m)
        ws.norm[m] = std::sqrt(dot_padded(ws.row(m), ws.row(m), ws.stride));
    double best = 0;
    for (int m = 0; m < ws.M; ++m) {
        if (m % 16 == 15) check_interrupt();
        for (int q = m + 1; q < ws.M; ++q) {
            const double product = dot_padded(ws.row(m), ws.row(q), ws.stride);
            best = std::max(
                {best, ws.norm[m] - product / ws.norm[q], ws.norm[q] - product / ws.norm[m]});
        }
    }
    return best;
}

template <class T>
double max_divergence(Divergence kind, const T* P, Workspace& ws) {
    if (kind == Divergence::log) {
        normalize_rows(P, ws.M, ws.K, ws.row(0));
        return log_divergence(ws);
    }
    load_rows(P, ws);
    return kind == Divergence::brier ? brier_divergence(ws) : spherical_divergence(ws);
}
