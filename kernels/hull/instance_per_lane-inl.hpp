// Closed forms with one instance per lane, in one pass, for one target.

#include "simd/transpose-inl.hpp"
#include "hull/pairs-inl.hpp"

// Instances (n, M, K), C-contiguous.
template <class T>
struct ContiguousInstances {
    const T* P;
    std::size_t size;

    CREDALENS_INLINE void load(std::size_t first, std::size_t left, Vec* rows) const {
        LanePointers<T>(P + first * size, size, left).load_all(size, rows, kLanes * size);
    }
    CREDALENS_INLINE Prefetcher prefetcher(std::size_t first, std::size_t left) const {
        return Prefetcher::after(P + first * size, size, left);
    }
};

// Instances of which entry (m, y) of instance i is P[i + m * member_stride + y * class_stride].
template <class T>
struct PlanesOfInstances {
    const T* P;
    int M, K;
    std::ptrdiff_t member_stride, class_stride;

    CREDALENS_INLINE void load(std::size_t first, std::size_t left, Vec* rows) const {
        const int count = static_cast<int>(left < kLanes ? left : kLanes);
        for (int m = 0; m < M; ++m)
            for (int y = 0; y < K; ++y)
                *rows++ = load_n(P + first + m * member_stride + y * class_stride, count);
    }
    CREDALENS_INLINE Prefetcher prefetcher(std::size_t, std::size_t) const { return {}; }
};

// Extremes over the M rows of every instance: the largest minimum of a class, the largest and the
// smallest maximum of a row, the smallest entry, the sum of the minima and, if kRowSums, the sums of
// the rows. Four classes at a time, so that what belongs to a row is loaded once for four entries.
template <bool kRowSums>
struct ClassExtremes {
    Vec max_lower, max_upper, min_upper, smallest, lower_sum;

    CREDALENS_INLINE void compute(const Vec* rows, int M, int K, Vec* sums, Vec* tops) {
        max_lower = smallest = rows[0];
        lower_sum = Vec{};
        for (int m = 0; m < M; ++m) {
            if constexpr (kRowSums) sums[m] = Vec{};
            tops[m] = rows[static_cast<std::size_t>(m) * K];
        }
        int y = 0;
        for (; y + 4 <= K; y += 4) add_classes<4>(rows + y, M, K, y == 0, sums, tops);
        if (y + 2 <= K) add_classes<2>(rows + y, M, K, y == 0, sums, tops), y += 2;
        if (y < K) add_classes<1>(rows + y, M, K, y == 0, sums, tops);
        max_upper = min_upper = tops[0];
        for (int m = 1; m < M; ++m) {
            max_upper = max(tops[m], max_upper);
            min_upper = min(tops[m], min_upper);
        }
    }

private:
    template <int kClasses>
    CREDALENS_INLINE void add_classes(const Vec* rows, int M, int K, bool first, Vec* sums,
                                      Vec* tops) {
        const Vec one = opaque_one();
        Vec low[kClasses];
        for (int i = 0; i < kClasses; ++i) low[i] = rows[i];
        for (int m = 0; m < M; ++m, rows += K) {
            Vec sum = rows[0], top = tops[m];
            for (int i = 0; i < kClasses; ++i) {
                const Vec x = rows[i];
                low[i] = min(x, low[i]);
                top = max(x, top);
                if (kRowSums && i > 0) sum = add_by_fma(sum, x, one);
            }
            tops[m] = top;
            if constexpr (kRowSums) sums[m] = add_by_fma(sums[m], sum, one);
        }
        for (int i = 0; i < kClasses; ++i) {
            max_lower = first && i == 0 ? low[i] : max(low[i], max_lower);
            smallest = min(low[i], smallest);
            lower_sum += low[i];
        }
    }
};

// The diameter of fewer than kMinMembersByMax = 4 members.
CREDALENS_INLINE Vec few_members_diameter(const Vec* rows, int M, int K) {
    MaxPair largest;
    accumulate_last_tile<true>(AbsoluteDifference(), rows, M, K, 0, 2, largest);
    return largest.best;
}

// The diameter, and the pair of members of each instance that attains it.
inline Vec diameter_and_pairs(const Vec* rows, int M, int K, std::size_t count,
                              std::int64_t* pairs) {
    ArgmaxPair largest(M);
    accumulate_pairs(AbsoluteDifference(), rows, M, K, largest);
    for (std::size_t i = 0; i < kLanes && i < count; ++i) {
        pairs[2 * i] = largest.index[i] / M;
        pairs[2 * i + 1] = largest.index[i] % M;
    }
    return largest.best;
}

// `count` instances on one thread; returns the first with an invalid row, or `count`. The scratch
// memory has M (K + 2) vectors.
template <bool kRowSums, class Instances>
std::size_t instance_per_lane(const Instances& instances, std::size_t count, int M, int K,
                              const ClosedForms& out, double tolerance, double* scratch) {
    const bool by_max = kRowSums && M >= kMinMembersByMax;
    Vec* sums = reinterpret_cast<Vec*>(scratch);
    Vec *tops = sums + M, *rows = tops + M;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        instances.load(first, left, rows);
        ClassExtremes<kRowSums> extremes;
        if (kRowSums || out.has_bounds()) extremes.compute(rows, M, K, sums, tops);
        if (kRowSums && tolerance >= 0) {
            Mask valid = extremes.smallest >= 0.0;
            for (int m = 0; m < M; ++m) valid &= near_one(sums[m], tolerance);
            if (any(~valid))
                for (std::size_t i = 0; i < kLanes && i < left; ++i)
                    if (!valid[i]) return first + i;
        }
        if (out.max_lower) store_n(out.max_lower + first, extremes.max_lower, left);
        if (out.max_upper) store_n(out.max_upper + first, extremes.max_upper, left);
        if (out.lower_sum) store_n(out.lower_sum + first, extremes.lower_sum, left);
        if (out.min_upper) store_n(out.min_upper + first, extremes.min_upper, left);
        if (!out.diameter) continue;
        const Prefetcher prefetcher = instances.prefetcher(first, left);
        store_n(out.diameter + first,
                out.pairs ? diameter_and_pairs(rows, M, K, left, out.pairs + 2 * first)
                : by_max && K == 2 ? signed_sum_diameter<2>(rows, M)
                : by_max && K == 3 ? signed_sum_diameter<3>(rows, M)
                : by_max           ? l1_diameter(rows, M, K, sums, prefetcher)
                                   : few_members_diameter(rows, M, K),
                left);
    }
    return count;
}

template <class Instances>
std::size_t instances_per_lane(const Instances& instances, std::size_t count, int M, int K,
                               const ClosedForms& out, double tolerance, double* scratch) {
    const bool by_max = out.diameter && !out.pairs && M >= kMinMembersByMax;
    return tolerance >= 0 || by_max
               ? instance_per_lane<true>(instances, count, M, K, out, tolerance, scratch)
               : instance_per_lane<false>(instances, count, M, K, out, tolerance, scratch);
}
