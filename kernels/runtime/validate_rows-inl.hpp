// Sums and smallest entries of rows, for one target.

#include "simd/transpose-inl.hpp"

// Rows of so many classes or more are read one after the other, as hardware prefetchers follow one
// stream: 2.2 times faster at K = 100 than one row per lane, for data in memory.
constexpr int kMinLongRow = 48;

// Eight sums and eight minima of a row of eight classes or more, independent of the number of
// lanes.
template <class T>
CREDALENS_INLINE void long_row(const T* row, int K, double* sums, double* minima) {
    constexpr int kParts = 8 / kLanes;
    Vec sum[kParts] = {}, low[kParts] = {};
    const auto add = [&](int part, const Vec& x) {
        sum[part] += x;
        low[part] = min(x, low[part]);
    };
    int y = 0;
    for (; y + 8 <= K; y += 8)
        for (int part = 0; part < kParts; ++part) add(part, load(row + y + part * kLanes));
    if (y < K)  // the last eight, without those that were added before
        for (int part = 0; part < kParts; ++part) {
            const Vec x = load(row + K - 8 + part * kLanes);
            add(part, lanes_from(y - (K - 8) - part * kLanes, x));
        }
    __builtin_memcpy(sums, sum, sizeof sum);
    __builtin_memcpy(minima, low, sizeof low);
}

// The sum and the smallest entry, at most 0, of one row per lane.
struct RowCheck {
    Vec sum = {}, smallest = {};

    CREDALENS_INLINE void add(const Vec& x) {
        sum += x;
        smallest = min(x, smallest);
    }

    template <class T>
    CREDALENS_INLINE void short_rows(const LanePointers<T>& rows, int K) {
        int y = 0;
        Vec v[kLanes];
        for (; y + kLanes <= K; y += kLanes) {
            rows.load_block(y, v);
            for (int i = 0; i < kLanes; ++i) add(v[i]);
        }
        if (K - y > kLanes / 4 && K >= kLanes) {  // the last ones, without those added before
            rows.load_block(K - kLanes, v);
            for (int i = 0; i < kLanes; ++i)
                if (i >= y - (K - kLanes)) add(v[i]);
        } else {
            for (; y < K; ++y) add(rows.gather(y));
        }
    }

    template <class T>
    CREDALENS_INLINE void long_rows(const LanePointers<T>& rows, int K) {
        alignas(64) double sums[8 * kLanes], minima[8 * kLanes];
        for (int i = 0; i < kLanes; ++i) long_row(rows.row[i], K, sums + 8 * i, minima + 8 * i);
        Vec eight_sums[8], eight_minima[8];
        LanePointers<double>(sums, 8, kLanes).load_all(8, eight_sums);
        LanePointers<double>(minima, 8, kLanes).load_all(8, eight_minima);
        for (int i = 0; i < 8; ++i) {
            sum += eight_sums[i];
            smallest = min(eight_minima[i], smallest);
        }
    }
};

template <class T>
std::size_t first_invalid(const T* P, std::size_t rows, int K, double tolerance) {
    for (std::size_t row = 0; row < rows; row += kLanes) {
        const std::size_t left = rows - row;
        const LanePointers<T> pointers(P + row * K, static_cast<std::size_t>(K), left);
        RowCheck check;
        if (K >= kMinLongRow)
            check.long_rows(pointers, K);
        else
            check.short_rows(pointers, K);
        // A NaN or an infinity makes the sum non-finite.
        const Mask valid = (check.smallest >= 0.0) & near_one(check.sum, tolerance);
        if (!any(~valid)) continue;
        for (std::size_t i = 0; i < kLanes && i < left; ++i)
            if (!valid[i]) return row + i;
    }
    return rows;
}
