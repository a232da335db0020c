// Hulls of samples, for one target.

#include "real_line/sorted_rows-inl.hpp"

// One instance: M rows in increasing order, padded with zeros, whose entries have the same weight.
struct SampleMembers {
    const double* rows;
    int M, S, stride;
    const double* weight;  // 1 / S, 0 in the padding

    const double* row(int m) const { return rows + static_cast<std::size_t>(m) * stride; }
    int count() const { return M; }
    double size() const { return static_cast<double>(M) * stride; }
    void deviations(double t, double* values) const {
        deviations_of_rows(rows, M, stride, weight, t, values);
    }
    double deviation(int m, double t) const {
        double value;
        sum_deviations<1>(row(m), stride, weight, t, &value);
        return value;
    }
    Slopes slopes(int m, double t) const {
        const double *begin = row(m), *end = begin + S;
        const double* below = std::lower_bound(begin, end, t);
        const double* up_to = std::upper_bound(below, end, t);
        return {2.0 * static_cast<double>(below - begin) / S - 1,
                2.0 * static_cast<double>(up_to - begin) / S - 1};
    }
    double median(int m) const { return row(m)[(S - 1) / 2]; }
};

// The smallest sample up to which the weighted share of samples is at least the level: those of
// every member that may be it are a range of its row, which a sample in the middle of the longest
// one divides. `ranges` has room for 2 M pointers.
CREDALENS_INLINE double pooled_quantile(const SampleMembers& members, const double* weights,
                                        double level, const double** ranges) {
    const int M = members.M;
    const double **first = ranges, **last = ranges + M;
    for (int m = 0; m < M; ++m) first[m] = members.row(m), last[m] = first[m] + members.S;
    double best = std::numeric_limits<double>::infinity();
    for (;;) {
        int widest = 0;
        for (int m = 1; m < M; ++m)
            if (last[m] - first[m] > last[widest] - first[widest]) widest = m;
        if (first[widest] == last[widest]) return best;
        const double pivot = first[widest][(last[widest] - first[widest]) / 2];
        double count = 0;
        for (int m = 0; m < M; ++m) {
            const double* to = std::upper_bound(first[m], last[m], pivot);
            count += (weights ? weights[m] : 1.0 / M) * static_cast<double>(to - members.row(m));
        }
        const bool reached = count >= level * members.S * (1 - kEqualProbability);
        if (reached) best = pivot;
        for (int m = 0; m < M; ++m) {
            if (reached)
                last[m] = std::lower_bound(first[m], last[m], pivot);
            else
                first[m] = std::upper_bound(first[m], last[m], pivot);
        }
    }
}

// Calls body(i, members, offset) for `count` instances on one thread, of which `block` are sorted
// at a time. The scratch memory has the rows of a block, the weights of a row and S vectors.
template <class T, class Body>
CREDALENS_INLINE void for_each_sample(const T* x, std::size_t count, int M, int S,
                                      std::size_t block, double* scratch, const Body& body) {
    const int stride = padded_size(S);
    const std::size_t size = static_cast<std::size_t>(M) * S;
    double *rows = scratch, *weight = rows + block * M * stride;
    Vec* vectors = reinterpret_cast<Vec*>(weight + stride);
    for (int k = 0; k < S; ++k) weight[k] = 1.0 / S;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t here = std::min(block, count - first);
        sort_rows(x + first * size, here * M, S, rows, stride, vectors);
        for (std::size_t i = 0; i < here; ++i) {
            double* own = rows + i * M * stride;
            const double offset = subtract_smallest(own, M, S, stride);
            body(first + i, SampleMembers{own, M, S, stride, weight}, offset);
        }
    }
}

// `values` has room for M numbers.
template <class T>
void sample_range(const T* x, std::size_t count, int M, int S, const RealLineResults& out,
                  std::size_t block, double* scratch, double* values) {
    for_each_sample(
        x, count, M, S, block, scratch,
        [&](std::size_t i, const SampleMembers& members, double offset) {
            const RealLineResults to = out.from(i, M);
            if (to.lower || to.needs_search()) solve_deviation(members, offset, values, to);
            if (to.diameter)
                *to.diameter = largest_l1_distance(members.rows, M, members.stride) / S;
        });
}

template <class T>
void sample_quantile_range(const T* x, std::size_t count, int M, int S,
                           const MixtureQuantiles& wanted, std::size_t block, double* scratch,
                           const double** ranges) {
    for_each_sample(x, count, M, S, block, scratch,
                    [&](std::size_t i, const SampleMembers& members, double offset) {
                        const MixtureQuantiles own = wanted.from(i, M);
                        for (int k = 0; k < own.count; ++k)
                            own.quantiles[k] = offset + pooled_quantile(members, own.weights,
                                                                        own.levels[k], ranges);
                    });
}
