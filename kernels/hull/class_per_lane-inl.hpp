// Closed forms of one instance at a time with its classes in lanes: part of closed_forms-inl.hpp.

// Software prefetch of rows that are read four at a time, which hardware prefetchers do not follow:
// so many bytes ahead, for rows of so many classes or more.
constexpr std::size_t kPrefetchDistance = 4096;
constexpr int kMinPrefetchedRow = 32;

struct InstanceExtremes {
    double max_lower, max_upper, lower_sum;
    bool valid;

    // Stores the results, unless rows are validated and one of them is invalid: then returns false.
    CREDALENS_INLINE bool store_to(const ClosedForms& out, double tolerance) const {
        if (tolerance >= 0 && !valid) return false;
        if (out.max_lower) *out.max_lower = max_lower;
        if (out.max_upper) *out.max_upper = max_upper;
        if (out.lower_sum) *out.lower_sum = lower_sum;
        return true;
    }
};

// Sums of pairs in the order of accumulate_pairs, added to those of earlier classes.
struct PairList {
    bool first;
    Vec* sums;
    Prefetcher& prefetcher;

    CREDALENS_INLINE void prefetch_next() { prefetcher.prefetch_next(); }
    CREDALENS_INLINE void consume(const Vec& sum, int, int) {
        *sums = first ? sum : *sums + sum;
        ++sums;
    }
};

// Finds the first pair with a given sum, in the same order.
struct PairSearch {
    const double* sums;
    double wanted;
    std::int64_t* pair;
    bool found = false;

    CREDALENS_INLINE void prefetch_next() {}
    CREDALENS_INLINE void consume(const Vec&, int i, int j) {
        if (*sums++ == wanted && !found) pair[0] = i, pair[1] = j, found = true;
    }
};

// One instance of at least kLanes classes.
struct ClassPerLane {
    int M, K, vectors;  // the last vector of a row ends at class K and may overlap the previous one
    Mask repeated;
    Vec top = {}, best = {}, smallest = {}, lower_sum = {};
    Vec *sums, *half_sums, *low, *rows, *pairs;

    // Scratch memory of 2 M vectors and, for `read`, those of a row; for `diameter`, those of a
    // block of all rows and of all pairs.
    CREDALENS_INLINE ClassPerLane(int M, int K, Vec* scratch)
        : M(M), K(K), vectors((K + kLanes - 1) / kLanes), repeated(repeated_lanes(K)),
          sums(scratch), half_sums(sums + M), low(half_sums + M), rows(low + block()),
          pairs(rows + static_cast<std::size_t>(M) * block()) {}

    // Vectors of each row that are processed at a time, so that all rows stay in the first-level
    // cache.
    CREDALENS_INLINE int block() const { return class_block(M) / kLanes; }

    // Updates sums and extremes by vectors `from` to `to` of all rows; keeps them in `rows` if
    // kKeep.
    template <bool kKeep, class T>
    CREDALENS_INLINE void read(const T* P, int from, int to) {
        if (from == 0) top = load(P);
        int m = 0;
        for (; m + 4 <= M; m += 4) read_rows<4, kKeep>(P, m, from, to);
        for (; m < M; ++m) read_rows<1, kKeep>(P, m, from, to);
        for (int b = from; b < to; ++b) {
            const Vec x = low[b - from];
            best = b == 0 ? x : max(x, best);
            smallest = b == 0 ? x : min(x, smallest);
            const Vec counted_once = b + 1 == vectors ? zero_where(repeated, x) : x;
            lower_sum = b == 0 ? counted_once : lower_sum + counted_once;
        }
    }

    // The diameter and, unless `pair` is nullptr, the pair that attains it. The next instance is
    // prefetched unless this is the last one.
    template <class T>
    CREDALENS_INLINE double diameter(const T* P, bool last, std::int64_t* pair,
                                     const ReadObserver& observer) {
        const std::size_t size = static_cast<std::size_t>(M) * K;
        Prefetcher prefetcher(P + size, last ? 0 : size);
        if (!pair && M >= kMinMembersByMax) {
            const double largest =
                max_pair_sum(P, DifferenceByMax{half_sums}, prefetcher, observer);
            if (!(largest < kMinDistanceByMax * largest_row_sum())) return largest;
        }
        const double largest = max_pair_sum(P, AbsoluteDifference(), prefetcher, observer);
        if (pair) {
            pair[0] = pair[1] = 0;  // of a single row
            PairSearch search{reinterpret_cast<const double*>(pairs), largest, pair};
            accumulate_pairs(AbsoluteDifference(), rows, M, 0, search);
        }
        return largest;
    }

    CREDALENS_INLINE InstanceExtremes extremes(double tolerance) const {
        Mask valid = smallest >= 0.0;
        if (tolerance >= 0)
            for (int m = 0; m < M; m += kLanes)
                valid &= near_one(row_sums(sums + m, M - m), tolerance);
        return {reduce_max(best), reduce_max(top), reduce_sum(lower_sum), !any(~valid)};
    }

private:
    // The largest sum of a term over pairs of rows; reads all rows, as above.
    template <class Term, class T>
    CREDALENS_INLINE double max_pair_sum(const T* P, const Term& term, Prefetcher& prefetcher,
                                         const ReadObserver& observer) {
        for (int from = 0; from < vectors; from += block()) {
            const int to = vectors - from < block() ? vectors : from + block();
            read<true>(P, from, to);
            if (observer.function) observer.function(observer.context, std::min(to * kLanes, K));
            PairList list{from == 0, pairs, prefetcher};
            accumulate_pairs(term, rows, M, to - from, list);
        }
        return reduce_pairs();
    }

    CREDALENS_INLINE double largest_row_sum() const {
        Vec largest = {};
        for (int m = 0; m < M; m += kLanes) largest = max(row_sums(sums + m, M - m), largest);
        return reduce_max(largest);
    }

    // Sums every vector of `pairs` over its lanes, in place, and returns the largest sum.
    CREDALENS_INLINE double reduce_pairs() {
        const int n = M * (M - 1) / 2;
        Vec best = {};
        for (int first = 0; first < n; first += kLanes) {
            const Vec sum = row_sums(pairs + first, n - first);
            best = max(sum, best);
            store_n(reinterpret_cast<double*>(pairs) + first, sum, n - first);
        }
        return reduce_max(best);
    }

    template <int kRows, bool kKeep, class T>
    CREDALENS_INLINE void read_rows(const T* P, int m, int from, int to) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        const int whole = K / kLanes < to ? K / kLanes : to, width = to - from;
        // Where pairs follow, they prefetch.
        const std::size_t distance = kPrefetchDistance / (K * sizeof(T)) / 4 * 4 + 4;
        const std::size_t ahead = !kKeep && K >= kMinPrefetchedRow ? distance * K : 0;
        Vec* keep = rows + static_cast<std::size_t>(m) * width;
        const Vec one = opaque_one();
        Vec sum[kRows] = {};
        const auto read_vector = [&](int b, int first, const Mask& counted) {
            Vec x[kRows];
            for (int r = 0; r < kRows; ++r) {
                const T* address = row + static_cast<std::size_t>(r) * K + first;
                x[r] = load(address);
                if (ahead) prefetch(address + ahead);
            }
            Vec smallest = x[0], largest = x[0];
            for (int r = 1; r < kRows; ++r) {
                smallest = min(x[r], smallest);
                largest = max(x[r], largest);
            }
            for (int r = 0; r < kRows; ++r) {
                const Vec counted_once = zero_where(counted, x[r]);
                sum[r] = add_by_fma(sum[r], counted_once, one);
                if constexpr (kKeep) keep[static_cast<std::size_t>(r) * width] = counted_once;
            }
            ++keep;
            low[b - from] = m == 0 ? smallest : min(smallest, low[b - from]);
            top = max(largest, top);
        };
        for (int b = from; b < whole; ++b) read_vector(b, b * kLanes, Mask{});
        if (whole < to) read_vector(whole, K - kLanes, repeated);
        for (int r = 0; r < kRows; ++r) {
            sums[m + r] = from == 0 ? sum[r] : sums[m + r] + sum[r];
            if constexpr (kKeep) half_sums[m + r] = -0.5 * sum[r];
        }
    }
};

// Extremes with members in lanes, for fewer classes than lanes.
template <class T>
CREDALENS_INLINE InstanceExtremes extremes_member_per_lane(const T* P, int M, int K,
                                                           double tolerance, Vec* scratch) {
    Vec *low = scratch, *row = scratch + K;
    Vec top = broadcast(P[0]);
    Mask valid = ~Mask{};
    for (int m = 0; m < M; m += kLanes) {
        LanePointers<T>(P + static_cast<std::size_t>(m) * K, static_cast<std::size_t>(K),
                        static_cast<std::size_t>(M - m))
            .load_all(static_cast<std::size_t>(K), row);
        Vec sum = {};
        for (int y = 0; y < K; ++y) {
            low[y] = m == 0 ? row[y] : min(row[y], low[y]);
            top = max(row[y], top);
            sum += row[y];
        }
        valid &= near_one(sum, tolerance);
    }
    const Vec best = row_minima(low, K);
    valid &= best >= 0.0;
    double sum = 0;
    for (int y = 0; y < K; ++y) sum += best[y];
    return {reduce_max(best), reduce_max(top), sum, !any(~valid)};
}

// As `closed_forms` without a diameter, on one thread; scratch memory as for ClassPerLane, or 2 K
// vectors for fewer classes than lanes. Returns the first instance with an invalid row, or `count`.
template <class T>
std::size_t extremes_class_per_lane(const T* P, std::size_t count, int M, int K,
                                    const ClosedForms& out, double tolerance, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* vectors = reinterpret_cast<Vec*>(scratch);
    for (std::size_t i = 0; i < count; ++i) {
        const T* instance = P + i * size;
        InstanceExtremes extremes;
        if (K >= kLanes) {
            ClassPerLane classes(M, K, vectors);
            classes.template read<false>(instance, 0, classes.vectors);
            extremes = classes.extremes(tolerance);
        } else {
            extremes = extremes_member_per_lane(instance, M, K, tolerance, vectors);
        }
        if (!extremes.store_to(out.from(i), tolerance)) return i;
    }
    return count;
}

// As `closed_forms` with a diameter, for at least eight classes.
template <class T>
std::size_t closed_forms_class_per_lane(const T* P, std::size_t count, int M, int K,
                                        const ClosedForms& out, double tolerance, double* scratch) {
    ClassPerLane classes(M, K, reinterpret_cast<Vec*>(scratch));
    for (std::size_t i = 0; i < count; ++i, P += static_cast<std::size_t>(M) * K) {
        const ClosedForms own = out.from(i);
        *own.diameter = classes.diameter(P, i + 1 == count, own.pairs, own.observer);
        if (!classes.extremes(tolerance).store_to(own, tolerance)) return i;
    }
    return count;
}
