// Rows in increasing order, and sums over them, for one target.

#include "simd/transpose-inl.hpp"
#include "hull/pairs-inl.hpp"

CREDALENS_INLINE void exchange(Vec& a, Vec& b) {
    const Vec x = a, y = b;
    a = min(x, y);
    b = max(x, y);
}

// A network for eight vectors with 19 exchanges (Batcher), in registers.
CREDALENS_INLINE void sort_eight(Vec* to) {
    Vec v[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) v[i] = to[i];
    constexpr int kPairs[19][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6},
                                   {5, 7}, {1, 2}, {5, 6}, {0, 4}, {1, 5}, {2, 6}, {3, 7},
                                   {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
#pragma GCC unroll 19
    for (int i = 0; i < 19; ++i) exchange(v[kPairs[i][0]], v[kPairs[i][1]]);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) to[i] = v[i];
}

// Orders i with i + 2 h and then with i + h in blocks of 4 h, so that each vector is loaded once.
CREDALENS_INLINE void exchange_twice(Vec* v, int n, int h) {
    for (int start = 0; start + h < n; start += 4 * h) {
        Vec* w = v + start;
        const int size = n - start;
        int i = 0;
        for (; i < h && i + 3 * h < size; ++i) {
            Vec a = w[i], b = w[i + h], c = w[i + 2 * h], d = w[i + 3 * h];
            exchange(a, c), exchange(b, d), exchange(a, b), exchange(c, d);
            w[i] = a, w[i + h] = b, w[i + 2 * h] = c, w[i + 3 * h] = d;
        }
        for (; i < h && i + h < size; ++i) {
            if (i + 2 * h < size) exchange(w[i], w[i + 2 * h]);
            exchange(w[i], w[i + h]);
        }
    }
}

// Sorts n vectors, each lane on its own, by a bitonic network, which has no branches on the data:
// blocks of eight, then merges of two sorted blocks. All exchanges put the larger one behind, so
// that entries from n on, which would be infinite, are never moved and are left out.
void sort_lanes(Vec* v, int n) {
    int i = 0;
    for (; i + 8 <= n; i += 8) sort_eight(v + i);
    for (int last = n - 1; last > i; --last)
        for (int k = i; k < last; ++k) exchange(v[k], v[k + 1]);
    for (int k = 8; k < n; k *= 2) {
        for (int start = 0; start + k < n; start += 2 * k) {
            const int end = start + 2 * k;
            for (int at = end - n > 0 ? end - n : 0; at < k; ++at)
                exchange(v[start + at], v[end - 1 - at]);
        }
        int h = k / 2;
        bool odd = false;  // whether the number of the distances k / 2, ..., 1 is
        for (int d = h; d > 0; d /= 2) odd = !odd;
        if (odd) {
            for (int start = 0; start + h < n; start += 2 * h)
                for (int at = 0; at < h && start + at + h < n; ++at)
                    exchange(v[start + at], v[start + at + h]);
            h /= 2;
        }
        for (; h > 0; h /= 4) exchange_twice(v, n, h / 2);
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
