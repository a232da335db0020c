// Lower probabilities of all events, for one target.

#include "simd/padded_rows-inl.hpp"
#include "events/subset_tables-inl.hpp"

template <class T>
void probability_tables(const T* P, int M, int K, SubsetTables& tables) {
    normalize_rows(P, M, K, tables.normalized.data());
    fill_tables(tables.normalized.data(), static_cast<std::size_t>(padded_size(K)), tables);
}

inline void lower_chunk(SubsetTables& tables, std::size_t chunk, double* values) {
    const SubsetSplit& split = tables.split;
    const std::size_t begin = chunk * split.chunk, end = begin + split.chunk;
    const std::size_t count = std::size_t{1} << split.low;
    for (std::size_t subset = begin; subset < end; ++subset) {
        const double* offset = advance_subset(tables, subset, subset == begin);
        for (std::size_t i = 0; i < count; i += kLanes) {
            // From 1 on, without the rounding errors of sums over nearly all classes.
            Vec lower = broadcast(1.0);
            for (int m = 0; m < tables.rows; ++m)
                lower = min(load(tables.low.data() + m * split.width + i) + offset[m], lower);
            store_n(values + subset * count + i, lower, count - i);
        }
    }
    if (begin == 0) values[0] = 0.0;
    if (chunk + 1 == split.chunks) values[end * count - 1] = 1.0;
}
