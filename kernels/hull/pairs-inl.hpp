// Sums over all pairs of M rows of vectors, for one target.
//
// `rows` is (M, K). Most kernels have one instance per lane, and row m holds member m; in
// class_per_lane-inl.hpp the lanes are classes of one instance.

constexpr std::size_t kCacheLine = 64;

// Prefetches the memory that is read after the pairs, two cache lines at a time.
struct Prefetcher {
    const char *next = nullptr, *end = nullptr;

    Prefetcher() = default;
    template <class T>
    CREDALENS_INLINE Prefetcher(const T* first, std::size_t size)
        : next(reinterpret_cast<const char*>(first)),
          end(reinterpret_cast<const char*>(first + size)) {}

    // The kLanes instances after those at P, of which `left` are left.
    template <class T>
    CREDALENS_INLINE static Prefetcher after(const T* P, std::size_t size, std::size_t left) {
        const std::size_t here = left < kLanes ? left : kLanes;
        const std::size_t more = left - here < kLanes ? left - here : kLanes;
        return {P + here * size, more * size};
    }

    CREDALENS_INLINE void prefetch_next() {
        if (next >= end) return;
        prefetch(next);
        prefetch(next + kCacheLine);
        next += 2 * kCacheLine;
    }
};

// Terms of the sums. Each has operator()(a, b), the initial value start(i, j) of the sum of rows i
// and j, and finish(sum).
struct PlainSum {
    CREDALENS_INLINE Vec start(int, int) const { return Vec{}; }
    CREDALENS_INLINE Vec finish(const Vec& sum) const { return sum; }
};

struct AbsoluteDifference : PlainSum {
    CREDALENS_INLINE Vec operator()(const Vec& a, const Vec& b) const { return abs(a - b); }
};

struct SquaredDifference : PlainSum {
    CREDALENS_INLINE Vec operator()(const Vec& a, const Vec& b) const {
        const Vec x = a - b;
        return x * x;
    }
};

// |a - b| = 2 (max(a, b) - a / 2 - b / 2): two operations in place of three, but the rounding error
// is that of the sums of the rows, however small the difference.
struct DifferenceByMax {
    const Vec* half_sums;  // of the rows, negative

    CREDALENS_INLINE Vec start(int i, int j) const { return half_sums[i] + half_sums[j]; }
    CREDALENS_INLINE Vec operator()(const Vec& a, const Vec& b) const { return max(a, b); }
    CREDALENS_INLINE Vec finish(const Vec& sum) const { return 2.0 * sum; }
};

// From so many members on, the sums of the rows are worth computing; and distances below this share
// of the largest row sum are computed again without them.
constexpr int kMinMembersByMax = 4;
constexpr double kMinDistanceByMax = 0x1p-26;
// The pairs of so many members take less than a second, whatever the number of classes.
constexpr int kMaxUninterrupted = 64;

// Consumers of the sums. Each has consume(sum, i, j) and prefetch_next().

// The largest sum in every lane.
struct MaxPair {
    Vec best = {};
    Prefetcher prefetcher = {};

    CREDALENS_INLINE void prefetch_next() { prefetcher.prefetch_next(); }
    CREDALENS_INLINE void consume(const Vec& sum, int, int) { best = max(sum, best); }
};

// The same with its index i M + j, the first one on a tie.
struct ArgmaxPair : MaxPair {
    int M;
    Mask index = {};

    CREDALENS_INLINE ArgmaxPair(int M) : M(M) {}
    CREDALENS_INLINE void consume(const Vec& sum, int i, int j) {
        index = sum > best ? Mask{} + (static_cast<std::int64_t>(i) * M + j) : index;
        best = max(sum, best);
    }
};

// All sums in an (M, M) matrix, above its diagonal.
struct PairMatrix : MaxPair {
    int M;
    Vec* matrix;

    CREDALENS_INLINE PairMatrix(int M, Vec* matrix) : M(M), matrix(matrix) {}
    CREDALENS_INLINE void consume(const Vec& sum, int i, int j) {
        matrix[static_cast<std::size_t>(i) * M + j] = sum;
        best = max(sum, best);
    }
};

// Rows i and i + 1 with kOthers rows from j on and, if kOwn, with each other: six loads for eight
// sums.
template <int kOthers, bool kOwn, class Term, class Consumer>
CREDALENS_INLINE void accumulate_tile(const Term& term, const Vec* rows, int K, int i, int j,
                                      Consumer& consumer) {
    const Vec* a = rows + static_cast<std::size_t>(i) * K;
    const Vec* others = rows + static_cast<std::size_t>(j) * K;
    const Vec one = opaque_one();
    Vec own = term.start(i, i + 1), first[kOthers + 1], second[kOthers + 1];
#pragma GCC unroll 4
    for (int n = 0; n < kOthers; ++n) {
        first[n] = term.start(i, j + n);
        second[n] = term.start(i + 1, j + n);
    }
    for (int y = 0; y < K; ++y) {
        const Vec x = a[y], z = a[K + y];
        consumer.prefetch_next();
        if (kOwn) own = add_by_fma(own, term(x, z), one);
#pragma GCC unroll 4
        for (int n = 0; n < kOthers; ++n) {
            const Vec other = others[static_cast<std::size_t>(n) * K + y];
            first[n] = add_by_fma(first[n], term(x, other), one);
            second[n] = add_by_fma(second[n], term(z, other), one);
        }
    }
    if (kOwn) consumer.consume(term.finish(own), i, i + 1);
#pragma GCC unroll 4
    for (int n = 0; n < kOthers; ++n) {
        consumer.consume(term.finish(first[n]), i, j + n);
        consumer.consume(term.finish(second[n]), i + 1, j + n);
    }
}

template <bool kOwn, class Term, class Consumer>
CREDALENS_INLINE void accumulate_last_tile(const Term& term, const Vec* rows, int M, int K, int i,
                                           int j, Consumer& consumer) {
    if (M - j == 3) accumulate_tile<3, kOwn>(term, rows, K, i, j, consumer);
    if (M - j == 2) accumulate_tile<2, kOwn>(term, rows, K, i, j, consumer);
    if (M - j == 1) accumulate_tile<1, kOwn>(term, rows, K, i, j, consumer);
    if (kOwn && M == j) accumulate_tile<0, true>(term, rows, K, i, j, consumer);
}

// Passes sum_y term(rows[i][y], rows[j][y]) for all i < j to the consumer.
template <class Term, class Consumer>
void accumulate_pairs(const Term& term, const Vec* rows, int M, int K, Consumer& consumer) {
    for (int i = 0; i + 1 < M; i += 2) {
        if (M > kMaxUninterrupted) check_interrupt();
        int j = i + 2;
        if (M - j < 4) {
            accumulate_last_tile<true>(term, rows, M, K, i, j, consumer);
            continue;
        }
        accumulate_tile<4, true>(term, rows, K, i, j, consumer);
        for (j += 4; M - j >= 4; j += 4) accumulate_tile<4, false>(term, rows, K, i, j, consumer);
        accumulate_last_tile<false>(term, rows, M, K, i, j, consumer);
    }
}

template <class Term>
Vec max_pair(const Term& term, const Vec* rows, int M, int K, const Prefetcher& prefetcher = {}) {
    MaxPair largest{{}, prefetcher};
    accumulate_pairs(term, rows, M, K, largest);
    return largest.best;
}

// The largest L1 distance in every lane, which is an instance. `sums` are those of the rows; they
// are overwritten. Distances that are small relative to them are computed again, in their own lanes
// only, so that an instance does not depend on the others.
CREDALENS_INLINE Vec l1_diameter(const Vec* rows, int M, int K, Vec* sums,
                                 const Prefetcher& prefetcher) {
    Vec largest_sum = {};
    for (int m = 0; m < M; ++m) {
        largest_sum = max(sums[m], largest_sum);
        sums[m] *= -0.5;
    }
    const Vec diameter = max_pair(DifferenceByMax{sums}, rows, M, K, prefetcher);
    const Mask close = diameter < kMinDistanceByMax * largest_sum;
    if (!any(close)) return diameter;
    return close ? max_pair(AbsoluteDifference(), rows, M, K) : diameter;
}

// The same for two or three classes, by the range of every signed sum: O(M) instead of O(M^2).
template <int K>
CREDALENS_INLINE Vec signed_sum_diameter(const Vec* rows, int M) {
    constexpr int kSums = 1 << (K - 1);
    Vec high[kSums], low[kSums];
    for (int m = 0; m < M; ++m, rows += K) {
        const Vec plus = rows[0] + rows[1], minus = rows[0] - rows[1];
        Vec sum[kSums] = {plus, minus};
        if constexpr (K == 3) {
            sum[0] = plus + rows[2], sum[1] = plus - rows[2];
            sum[2] = minus + rows[2], sum[3] = minus - rows[2];
        }
        for (int i = 0; i < kSums; ++i) {
            high[i] = m == 0 ? sum[i] : max(sum[i], high[i]);
            low[i] = m == 0 ? sum[i] : min(sum[i], low[i]);
        }
    }
    Vec diameter = {};
    for (int i = 0; i < kSums; ++i) diameter = max(high[i] - low[i], diameter);
    rows -= static_cast<std::size_t>(M) * K;
    const Mask close = diameter < kMinDistanceByMax * high[0];
    if (!any(close)) return diameter;
    return close ? max_pair(AbsoluteDifference(), rows, M, K) : diameter;
}
