// Tables of subset sums, for one target.

#include "events/event_lanes-inl.hpp"

// Fills the tables from `rows` rows of `values`, `stride` apart.
CREDALENS_INLINE void fill_tables(const double* values, std::size_t stride, SubsetTables& tables) {
    const SubsetSplit& split = tables.split;
    for (int m = 0; m < tables.rows; ++m) {
        const double* row = values + m * stride;
        double* sums = tables.low.data() + m * split.width;
        Vec first = {};
        for (int y = 0; y < kLaneClasses; ++y) first += lanes_with(y, broadcast(*row++));
        store(sums, first);
        for (std::size_t half = kLanes; half < split.width; half *= 2) {
            const double value = *row++;
            for (std::size_t i = 0; i < half; i += kLanes)
                store(sums + half + i, load(sums + i) + value);
        }
        for (int j = 0; j < split.high; ++j)
            tables.high.data()[j * tables.stride + m] = values[m * stride + split.low + j];
    }
}

// Moves to a subset of the high classes. Level j holds the sums of every row over the classes >= j
// of the subset, so that few levels change in a step and rounding errors do not accumulate; level 0
// is the result. From the previous subset only the levels up to the lowest bit that is set change.
CREDALENS_INLINE const double* advance_subset(SubsetTables& tables, std::size_t subset,
                                              bool first) {
    int changed = tables.split.high;
    if (!first) {
        changed = 1;
        for (std::size_t rest = subset; (rest & 1) == 0 && changed < tables.split.high; rest >>= 1)
            ++changed;
    }
    const std::size_t stride = tables.stride;
    for (int j = changed - 1; j >= 0; --j) {
        const double taken = static_cast<double>(subset >> j & 1);
        const double* values = tables.high.data() + j * stride;
        double* level = tables.levels.data() + j * stride;
        for (std::size_t m = 0; m < stride; m += kLanes)
            store(level + m, load(level + stride + m) + taken * load(values + m));
    }
    return tables.levels.data();
}
