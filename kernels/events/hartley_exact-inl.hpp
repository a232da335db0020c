// Exact Hartley measure, for one target.

#include "simd/padded_rows-inl.hpp"
#include "events/subset_tables-inl.hpp"

// The tables of P_m - P_0 for m > 0.
template <class T>
void difference_tables(const T* P, int M, int K, SubsetTables& tables) {
    const std::size_t stride = padded_size(K);
    double* rows = tables.normalized.data();
    normalize_rows(P, M, K, rows);
    for (int m = 1; m < M; ++m)
        for (std::size_t y = 0; y < stride; y += kLanes)
            store(rows + m * stride + y, load(rows + m * stride + y) - load(rows + y));
    fill_tables(rows + stride, stride, tables);
}

// Extends [low, high] by the sums of kRows rows over the subsets at `table`, in registers.
template <int kRows>
CREDALENS_INLINE void extend_range(const double* table, std::size_t width, const double* offset,
                                   const Vec& one, Vec& high, Vec& low) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
        const Vec sum = add_by_fma(broadcast(offset[r]), load(table + r * width), one);
        high = max(sum, high);
        low = min(sum, low);
    }
}

// The terms of GH for one high subset and all low ones. The ranges start from 0, the difference of
// member 0 from itself.
template <int kRows>
CREDALENS_INLINE double sum_terms(const double* table, const double* offset, std::size_t width,
                                  const double* w_max, const double* w_min) {
    const Vec one = opaque_one();
    Vec sum = {};
    for (std::size_t i = 0; i < width; i += kLanes) {
        Vec high = {}, low = {};
        extend_range<kRows>(table + i, width, offset, one, high, low);
        sum += load(w_max + i) * high - load(w_min + i) * low;
    }
    return reduce_sum(sum);
}

// The same with the number of rows as a constant, up to kRows of them: 1.4 times faster at K >= 14,
// because the offsets stay in registers.
template <int kRows>
CREDALENS_INLINE double sum_few_rows(const double* table, const double* offset, int rows,
                                     std::size_t width, const double* w_max, const double* w_min) {
    if constexpr (kRows > 1)
        if (rows < kRows) return sum_few_rows<kRows - 1>(table, offset, rows, width, w_max, w_min);
    return sum_terms<kRows>(table, offset, width, w_max, w_min);
}

// Any number of rows, eight at a time.
CREDALENS_INLINE double sum_many_rows(const double* table, const double* offset, int rows,
                                      std::size_t width, const double* w_max, const double* w_min) {
    const Vec one = opaque_one();
    alignas(64) double most[kMaxTableWidth], least[kMaxTableWidth];
    std::fill(most, most + width, 0.0);
    std::fill(least, least + width, 0.0);
    for (int m = 0; m < rows; m += 8) {
        for (std::size_t i = 0; i < width; i += kLanes) {
            Vec high = load(most + i), low = load(least + i);
            const double* block = table + m * width + i;
            if (m + 8 <= rows)
                extend_range<8>(block, width, offset + m, one, high, low);
            else
                for (int r = 0; r < rows - m; ++r)
                    extend_range<1>(block + r * width, width, offset + m + r, one, high, low);
            store(most + i, high);
            store(least + i, low);
        }
    }
    Vec sum = {};
    for (std::size_t i = 0; i < width; i += kLanes)
        sum += load(w_max + i) * load(most + i) - load(w_min + i) * load(least + i);
    return reduce_sum(sum);
}

inline double hartley_chunk(SubsetTables& tables, const SubsetWeights& weights, std::size_t chunk) {
    const SubsetSplit& split = tables.split;
    const std::size_t begin = chunk * split.chunk, end = begin + split.chunk;
    const double* table = tables.low.data();
    double total = 0.0, sum = 0.0;
    for (std::size_t subset = begin; subset < end; ++subset) {
        const double* offset = advance_subset(tables, subset, subset == begin);
        const std::size_t size = __builtin_popcountll(subset) * split.width;
        const double *w_max = weights.of_max.data() + size, *w_min = weights.of_min.data() + size;
        sum += tables.rows <= kFewRows
                   ? sum_few_rows<kFewRows>(table, offset, tables.rows, split.width, w_max, w_min)
                   : sum_many_rows(table, offset, tables.rows, split.width, w_max, w_min);
        if (subset % 256 == 255) {  // two levels: a single sum of 2^15 terms loses three digits
            check_interrupt();
            total += sum;
            sum = 0.0;
        }
    }
    return total + sum;
}
