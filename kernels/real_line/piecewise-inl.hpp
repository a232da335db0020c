// Hulls of quantile functions that are linear between levels, for one target.

#include "real_line/sorted_rows-inl.hpp"

// The quantile functions of one instance, relative to an offset: M rows of L quantiles, padded with
// zeros.
struct PiecewiseMembers {
    const double* rows;
    int M, L, stride;
    const double* levels;
    const double* weight;  // of the trapezoidal rule, 0 in the padding

    const double* row(int m) const { return rows + static_cast<std::size_t>(m) * stride; }
    int count() const { return M; }
    double size() const { return static_cast<double>(M) * stride; }

    // The trapezoidal rule is exact but for the interval in which the quantile function crosses t.
    double crossing(int m, double t) const {
        const double *begin = row(m), *end = begin + L;
        const auto k = std::upper_bound(begin, end, t) - begin;
        if (k == 0 || k == L) return 0;
        const double below = t - begin[k - 1], above = begin[k] - t;
        return (levels[k] - levels[k - 1]) * below * (above / (below + above));
    }
    void deviations(double t, double* values) const {
        deviations_of_rows(rows, M, stride, weight, t, values);
        for (int m = 0; m < M; ++m) values[m] -= crossing(m, t);
    }
    double deviation(int m, double t) const {
        double value;
        sum_deviations<1>(row(m), stride, weight, t, &value);
        return value - crossing(m, t);
    }

    // The probability of values below t, or up to it.
    double probability(int m, double t, bool including) const {
        const double *begin = row(m), *end = begin + L;
        const auto k =
            (including ? std::upper_bound(begin, end, t) : std::lower_bound(begin, end, t)) - begin;
        if (k == 0) return 0;
        if (k == L) return 1;
        const double share = (t - begin[k - 1]) / (begin[k] - begin[k - 1]);
        return levels[k - 1] + share * (levels[k] - levels[k - 1]);
    }
    Slopes slopes(int m, double t) const {
        return {2 * probability(m, t, false) - 1, 2 * probability(m, t, true) - 1};
    }
    double quantile(int m, double level) const {
        const double* values = row(m);
        const auto k = std::lower_bound(levels, levels + L, level) - levels;
        if (k == 0 || k == L) return values[k == 0 ? 0 : L - 1];
        const double share = (level - levels[k - 1]) / (levels[k] - levels[k - 1]);
        return values[k - 1] + share * (values[k] - values[k - 1]);
    }
    double median(int m) const { return quantile(m, 0.5); }

    // The L1 distance of two quantile functions.
    double distance(int i, int j) const {
        const double *a = row(i), *b = row(j);
        double before = a[0] - b[0], sum = levels[0] * std::abs(before);
        for (int k = 1; k < L; ++k) {
            const double here = a[k] - b[k], length = std::abs(here) + std::abs(before);
            const double twice = here * before >= 0 ? length
                                                    : (here * here + before * before) / length;
            sum += (levels[k] - levels[k - 1]) * twice / 2;
            before = here;
        }
        return sum + (1 - levels[L - 1]) * std::abs(before);
    }
};

// The largest distance of a pair. The sums are those of the trapezoidal rule, which is too large
// for quantile functions that cross: pairs that it excludes need no more.
struct LargestDistance {
    const PiecewiseMembers& members;
    double best = 0;

    CREDALENS_INLINE void prefetch_next() {}
    CREDALENS_INLINE void consume(const Vec& sum, int i, int j) {
        if (reduce_sum(sum) * (1 + 1e-12) > best) best = std::max(best, members.distance(i, j));
    }
};

// The rows of one instance relative to the smallest entry, which is returned, padded with zeros.
template <class T>
CREDALENS_INLINE double relative_rows(const T* x, int M, int L, double* rows) {
    const int stride = padded_size(L);
    for (int m = 0; m < M; ++m)
        std::copy_n(x + static_cast<std::size_t>(m) * L, L,
                    rows + static_cast<std::size_t>(m) * stride);
    return subtract_smallest(rows, M, L, stride);
}

// `count` instances on one thread. The scratch memory has two copies of the rows of an instance,
// the weights of a row and M values.
template <class T>
void piecewise_range(const T* x, std::size_t count, int M, int L, const double* levels,
                     const RealLineResults& out, double* scratch) {
    const int stride = padded_size(L);
    const std::size_t size = static_cast<std::size_t>(M) * stride;
    double *rows = scratch, *scaled = rows + size, *weight = scaled + size;
    double* values = weight + stride;
    for (int k = 0; k < L; ++k) {
        const double low = k > 0 ? (levels[k] + levels[k - 1]) / 2 : 0;
        weight[k] = (k + 1 < L ? (levels[k + 1] + levels[k]) / 2 : 1) - low;
    }
    const PiecewiseMembers members{rows, M, L, stride, levels, weight};
    for (std::size_t i = 0; i < count; ++i, x += static_cast<std::size_t>(M) * L) {
        const RealLineResults to = out.from(i, M);
        const double offset = relative_rows(x, M, L, rows);
        if (to.lower || to.needs_search()) solve_deviation(members, offset, values, to);
        if (!to.diameter) continue;
        for (std::size_t k = 0; k < size; ++k) scaled[k] = weight[k % stride] * rows[k];
        LargestDistance largest{members};
        accumulate_pairs(AbsoluteDifference(), reinterpret_cast<const Vec*>(scaled), M,
                         stride / kLanes, largest);
        *to.diameter = largest.best;
    }
}

// The scratch memory has the rows of an instance.
template <class T>
void piecewise_quantile_range(const T* x, std::size_t count, int M, int L, const double* levels,
                              const MixtureQuantiles& wanted, double* scratch) {
    const PiecewiseMembers members{scratch, M, L, padded_size(L), levels, nullptr};
    for (std::size_t i = 0; i < count; ++i, x += static_cast<std::size_t>(M) * L) {
        const double offset = relative_rows(x, M, L, scratch);
        mixture_quantiles(members, offset, wanted.from(i, M));
    }
}
