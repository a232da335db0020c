// Rows in increasing order, and sums over them, for one target.

#include "simd/transpose-inl.hpp"
#include "hull/pairs-inl.hpp"

// Orders v[i] and v[i + distance] for `count` consecutive i.
CREDALENS_INLINE void exchange_run(Vec* v, int count, int distance) {
    for (int i = 0; i < count; ++i) {
        const Vec a = v[i], b = v[i + distance];
        v[i] = min(a, b);
        v[i + distance] = max(a, b);
    }
}

// Sorts n vectors, each lane on its own, by merge exchange (Knuth, The Art of Computer Programming
// 3, algorithm 5.2.2M): a sorting network, which has no branches on the data.
CREDALENS_INLINE void sort_lanes(Vec* v, int n) {
    int top = 1;
    while (2 * top < n) top *= 2;
    for (int p = n > 1 ? top : 0; p > 0; p /= 2) {
        for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int i = r; i + d < n; i += 2 * p)
                exchange_run(v + i, p < n - d - i ? p : n - d - i, d);
            if (q == p) break;
        }
    }
}

// Rows of so many entries take long enough to look for signals.
constexpr int kMinInterrupted = 1000;

// Sorts `count` rows of S entries; entries up to the stride are not written. S vectors of scratch
// memory.
template <class T>
CREDALENS_INLINE void sort_rows(const T* x, std::size_t count, int S, double* rows, int stride,
                                Vec* scratch) {
    for (std::size_t first = 0; first < count; first += kLanes) {
        if (S > kMinInterrupted) check_interrupt();
        const std::size_t left = count - first;
        LanePointers<T>(x + first * S, static_cast<std::size_t>(S), left)
            .load_all(static_cast<std::size_t>(S), scratch);
        sort_lanes(scratch, S);
        store_transposed(rows + first * stride, scratch, S, left, static_cast<std::size_t>(stride));
    }
}

// Makes the first S entries of M increasing rows relative to the smallest one, which it returns,
// so that results do not depend on the order of rows and entries.
CREDALENS_INLINE double subtract_smallest(double* rows, int M, int S, int stride) {
    double smallest = rows[0];
    for (int m = 1; m < M; ++m)
        smallest = std::min(smallest, rows[static_cast<std::size_t>(m) * stride]);
    for (int m = 0; m < M; ++m, rows += stride)
        for (int k = 0; k < S; ++k) rows[k] -= smallest;
    return smallest;
}

// values[r] = sum_k weight_k |rows_rk - t|, over whole vectors.
template <int kRows>
CREDALENS_INLINE void sum_deviations(const double* rows, int stride, const double* weight, double t,
                                     double* values) {
    const Vec at = broadcast(t);
    Vec sum[kRows] = {};
    for (int k = 0; k < stride; k += kLanes) {
        const Vec w = load(weight + k);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r)
            sum[r] += w * abs(load(rows + static_cast<std::size_t>(r) * stride + k) - at);
    }
    for (int r = 0; r < kRows; ++r) values[r] = reduce_sum(sum[r]);
}

void deviations_of_rows(const double* rows, int M, int stride, const double* weight, double t,
                        double* values) {
    int m = 0;
    for (; m + 4 <= M; m += 4)
        sum_deviations<4>(rows + static_cast<std::size_t>(m) * stride, stride, weight, t,
                          values + m);
    for (; m < M; ++m)
        sum_deviations<1>(rows + static_cast<std::size_t>(m) * stride, stride, weight, t,
                          values + m);
}

// The largest L1 distance of two rows.
struct LargestSum {
    double best = 0;

    CREDALENS_INLINE void prefetch_next() {}
    CREDALENS_INLINE void consume(const Vec& sum, int, int) {
        best = std::max(best, reduce_sum(sum));
    }
};

double largest_l1_distance(const double* rows, int M, int stride) {
    LargestSum largest;
    accumulate_pairs(AbsoluteDifference(), reinterpret_cast<const Vec*>(rows), M, stride / kLanes,
                     largest);
    return largest.best;
}
