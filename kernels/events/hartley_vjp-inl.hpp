// Gradient of the exact Hartley measure, for one target.

#include "simd/padded_rows-inl.hpp"

// The sum is over all events of w[size] times the smallest probability of a member, so its gradient
// with respect to a member has, for each class, the weight of the events with the class in which
// the member attains the minimum. The events with the high classes `high` are processed here, given
// the sums `base` of the high classes.
CREDALENS_INLINE void add_events(const double* w, unsigned high, int M, int K, EventWorkspace& ws) {
    const std::size_t width = ws.width;
    for (std::size_t b = 0; b < width; b += kLanes) {
        Vec smallest = ws.base[0] + load(ws.table.data() + b);
        Mask member = {};
        for (int m = 1; m < M; ++m) {
            const Vec sum = ws.base[m] + load(ws.table.data() + m * width + b);
            member = sum < smallest ? Mask{} + m : member;
            smallest = min(sum, smallest);
        }
        __builtin_memcpy(ws.argmin.data() + b, &member, sizeof member);
    }
    const int size = __builtin_popcount(high);
    std::fill(ws.base.begin(), ws.base.end(), 0.0);
    for (std::size_t b = 0; b < std::size_t{1} << ws.low; ++b) {
        const double weight = w[size + __builtin_popcount(static_cast<unsigned>(b))];
        ws.share[ws.argmin[b] * width + b] += weight;
        ws.base[ws.argmin[b]] += weight;  // of the member, over all events
    }
    for (unsigned rest = high; rest; rest &= rest - 1) {
        const int y = ws.low + __builtin_ctz(rest);
        for (int m = 0; m < M; ++m) ws.sums[static_cast<std::size_t>(m) * K + y] += ws.base[m];
    }
}

template <class T>
void hartley_gradient(const T* P, int M, int K, const double* w, double g, T* gradient,
                      EventWorkspace& ws) {
    const std::size_t stride = padded_size(K), width = ws.width;
    const double* rows = ws.rows.data();
    normalize_rows(P, M, K, ws.rows.data());
    std::fill(ws.share.begin(), ws.share.end(), 0.0);
    std::fill(ws.sums.begin(), ws.sums.end(), 0.0);
    for (int m = 0; m < M; ++m) {
        double* table = ws.table.data() + m * width;
        table[0] = 0;
        for (int y = 0; y < ws.low; ++y)
            for (std::size_t b = 0; b < (std::size_t{1} << y); ++b)
                table[(std::size_t{1} << y) + b] = table[b] + rows[m * stride + y];
    }
    for (unsigned high = 0; high < (1u << (K - ws.low)); ++high) {
        for (int m = 0; m < M; ++m) {
            ws.base[m] = 0;
            for (unsigned rest = high; rest; rest &= rest - 1)
                ws.base[m] += rows[m * stride + ws.low + __builtin_ctz(rest)];
        }
        add_events(w, high, M, K, ws);
    }
    for (int m = 0; m < M; ++m) {
        const double* p = rows + m * stride;
        double* sums = ws.sums.data() + static_cast<std::size_t>(m) * K;
        for (int y = 0; y < ws.low; ++y)
            for (std::size_t b = 0; b < width; ++b)
                if (b >> y & 1) sums[y] += ws.share[m * width + b];
        // Through p = P / sum P: a change of all classes by the same factor has no effect.
        double mean = 0, total = 0;
        for (int y = 0; y < K; ++y) {
            mean += sums[y] * p[y];
            total += P[static_cast<std::size_t>(m) * K + y];
        }
        for (int y = 0; y < K; ++y)
            gradient[static_cast<std::size_t>(m) * K + y] =
                static_cast<T>(-g * (sums[y] - mean) / total);
    }
}
