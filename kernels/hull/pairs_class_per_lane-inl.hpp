// Part of simd/instance_per_lane-inl.hpp: one instance at a time, classes or members in lanes.

// What is found of one instance whose rows or members fill vectors by themselves.
struct Extremes {
    double max_lower, max_upper, lower_sum;
    bool good;

    // Says whether the instance is good; if it is, or nobody asks, tells the rest.
    CREDALENS_INLINE bool tell(const ClosedForms& out, double tolerance) const {
        if (tolerance >= 0 && !good) return false;
        if (out.max_lower) *out.max_lower = max_lower;
        if (out.max_upper) *out.max_upper = max_upper;
        if (out.lower_sum) *out.lower_sum = lower_sum;
        return true;
    }
};

// The next kWidth classes of kRows rows; `counted` lanes are in the sums already. If they are kept,
// then with zeros in these.
template <int kRows, bool kKeep, class T>
CREDALENS_INLINE void look_along(const T* row, int K, bool first, const Marks& counted, Lanes& low,
                                 Lanes& top, Lanes* sums, Lanes* kept, int width, std::size_t far) {
    const Lanes one = Lanes{} + hidden_one();
    Lanes x[kRows];
    for (int r = 0; r < kRows; ++r) {
        const T* at = row + static_cast<std::size_t>(r) * K;
        x[r] = load(at);
        if (far) fetch(at + far);
    }
    Lanes least = x[0], most = x[0];
    for (int r = 0; r < kRows; ++r) {
        least = smaller(x[r], least);
        most = larger(x[r], most);
        const Lanes new_ones = without(x[r], counted);
        sums[r] = plus(sums[r], new_ones, one);
        if constexpr (kKeep) kept[static_cast<std::size_t>(r) * width] = new_ones;
    }
    low = first ? least : smaller(least, low);
    top = larger(most, top);
}

// What is found of one instance with its classes in lanes, at least as many as there are lanes.
struct Along {
    int M, K, vectors;  // a row has so many vectors, the last of them filled up with earlier classes
    Marks twice;
    Lanes top = {}, *sums, *low, *halves, *kept, *pairs;
    Counts *tallies, *counts;

    CREDALENS_INLINE Along(int M, int K, Lanes* scratch)
        : M(M), K(K), vectors((K + kWidth - 1) / kWidth), twice(held_twice(K)), sums(scratch),
          low(sums + M), halves(low + vectors), kept(halves + M),
          pairs(kept + static_cast<std::size_t>(M) * step()),
          tallies(reinterpret_cast<Counts*>(pairs + n_pairs() + 1)), counts(tallies + M) {}

    CREDALENS_INLINE int n_pairs() const { return M * (M - 1) / 2; }

    // Vectors of each row that are kept at a time, so that all of them stay in the first-level cache.
    CREDALENS_INLINE int step() const { return kept_along(M) / kWidth; }

    // Looks at vectors `from` to `to` of all rows.
    template <bool kKeep, class T>
    CREDALENS_INLINE void look(const T* P, int from, int to) {
        if (from == 0) top = load(P);
        int m = 0;
        for (; m + 4 <= M; m += 4) rows<4, kKeep>(P, m, from, to);
        for (; m < M; ++m) rows<1, kKeep>(P, m, from, to);
    }

    // The same, and counts them.
    template <class T>
    CREDALENS_INLINE void count(const T* P, int from, int to) {
        if (from == 0) top = load(P);
        int m = 0;
        for (; m + 4 <= M; m += 4) count_rows<4>(P, m, from, to);
        if (m + 2 <= M) count_rows<2>(P, m, from, to), m += 2;
        if (m < M) count_rows<1>(P, m, from, to);
    }

    // Adds up what `of` makes of each pair of rows; meanwhile fetches the next instance.
    template <class Of, class T>
    CREDALENS_INLINE void meet(const T* P, const Of& of, bool last) {
        const std::size_t size = static_cast<std::size_t>(M) * K;
        Ahead ahead(P + size, last ? 0 : size);
        for (int from = 0; from < vectors; from += step()) {
            const int to = vectors - from < step() ? vectors : from + step();
            Added added{from == 0, pairs, ahead};
            if constexpr (Of::kOfCounts) {
                count(P, from, to);
                each_pair(of, counts, M, to - from, added);
            } else {
                look<true>(P, from, to);
                each_pair(of, kept, M, to - from, added);
            }
        }
    }

    // The largest of these sums over lanes and, unless it is nullptr, which two rows it is of.
    CREDALENS_INLINE double widest(std::int64_t* pair) {
        const double wide = sum_up();
        if (pair) {
            pair[0] = pair[1] = 0;  // of a single row
            each_chosen(wide, [&](int i, int j) {
                if (pair[0] == pair[1]) pair[0] = i, pair[1] = j;
            });
        }
        return wide;
    }

    // The largest distance of two rows by way of their sums, -1 if all are so close together that
    // these do not tell.
    template <class T>
    CREDALENS_INLINE double widest_by_sums(const T* P, bool last) {
        meet(P, Larger(halves), last);
        const double wide = sum_up();
        return wide < kCloseTogether * heaviest() ? -1 : wide;
    }

    // The same by way of counts, -1 if too many are as far apart, or if rows are no distributions. A
    // count is less than 1 below what it counts, so that the counted distance of a pair is less than
    // K off; those that may be the widest are measured.
    template <class T>
    CREDALENS_INLINE double widest_by_counts(const T* P, bool last) {
        meet(P, LargerCounts{tallies}, last);
        const double least = sum_up() - 2.0 * K - 1.0;
        int chosen = 0;
        for (int n = 0; n < n_pairs(); ++n) chosen += flat()[n] >= least;
        if (chosen > kMostMeasured * M || !countable()) return -1;
        double wide = 0;
        each_chosen(least, [&](int i, int j) {
            const double here = distance(P + static_cast<std::size_t>(i) * K,
                                         P + static_cast<std::size_t>(j) * K);
            wide = here > wide ? here : wide;
        });
        return wide;
    }

    // The largest sum of a row.
    CREDALENS_INLINE double heaviest() const {
        Lanes best = {};
        for (int m = 0; m < M; m += kWidth) best = larger(sums_of(sums + m, M - m), best);
        return largest_lane(best);
    }

    // Whether sums in single precision leave no doubt that all rows sum to 1.
    CREDALENS_INLINE bool sure(double tolerance) const {
        Marks good = ~Marks{};
        for (int m = 0; m < M; m += kWidth)
            good &= near_one(sums_of(sums + m, M - m), tolerance - vectors * 0x1p-22);
        return !any(~good);
    }

    CREDALENS_INLINE Extremes extremes(double tolerance) const {
        Lanes best = low[vectors - 1], least = best, sum = without(best, twice);
        for (int b = 0; b + 1 < vectors; ++b) {
            best = larger(low[b], best);
            least = smaller(low[b], least);
            sum += low[b];
        }
        Marks good = least >= 0.0;
        if (tolerance >= 0)
            for (int m = 0; m < M; m += kWidth)
                good &= near_one(sums_of(sums + m, M - m), tolerance);
        return {largest_lane(best), largest_lane(top), sum_of(sum), !any(~good)};
    }

private:
    // What pairs have added up, after `sum_up` over the lanes, in the order of `each_pair`.
    CREDALENS_INLINE double* flat() { return reinterpret_cast<double*>(pairs); }

    // Returns the largest.
    CREDALENS_INLINE double sum_up() {
        const int n = n_pairs();
        Lanes best = {};
        for (int first = 0; first < n; first += kWidth) {
            const Lanes sum = sums_of(pairs + first, n - first);
            best = larger(sum, best);
            write(sum, n - first, flat() + first);  // over what has been summed up
        }
        return largest_lane(best);
    }

    // Calls see(i, j) with every pair whose sum is at least so large.
    template <class See>
    CREDALENS_INLINE void each_chosen(double least, const See& see) {
        Chosen<See> chosen{flat(), least, see};
        each_pair(Absolute(), kept, M, 0, chosen);
    }

    // Whether no entry is negative and all sums of rows are small enough for counts.
    CREDALENS_INLINE bool countable() const {
        Marks good = ~Marks{};
        for (int b = 0; b < vectors; ++b) good &= low[b] >= 0.0;
        for (int m = 0; m < M; m += kWidth) good &= sums_of(sums + m, M - m) <= 1.5;
        return !any(~good);
    }

    template <class T>
    CREDALENS_INLINE double distance(const T* a, const T* b) const {
        const int whole = K / kWidth;
        Lanes sum = {};
        for (int v = 0; v < whole; ++v)
            sum += magnitude(load(a + v * kWidth) - load(b + v * kWidth));
        if (whole < vectors)
            sum += without(magnitude(load(a + K - kWidth) - load(b + K - kWidth)), twice);
        return sum_of(sum);
    }

    // Sums are in the precision of the data.
    template <int kRows, class T>
    CREDALENS_INLINE void count_rows(const T* P, int m, int from, int to) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        const int whole = K / kWidth < to ? K / kWidth : to, width = to - from;
        Counts* place = counts + static_cast<std::size_t>(m) * width;
        decltype(load_as_is(row)) sum[kRows] = {}, most = load_as_is(row);
        Counts tally[kRows] = {};
        const auto vector = [&](int b, int at, const Marks& left_out) {
            decltype(load_as_is(row)) x[kRows];
            for (int r = 0; r < kRows; ++r)
                x[r] = load_as_is(row + static_cast<std::size_t>(r) * K + at);
            auto least = x[0], here = x[0];
            for (int r = 1; r < kRows; ++r) {
                least = x[r] < least ? x[r] : least;
                here = x[r] > here ? x[r] : here;
            }
            most = here > most ? here : most;
            for (int r = 0; r < kRows; ++r) {
                const auto new_ones = without(x[r], left_out);
                sum[r] += new_ones;
                const Counts count = counted(new_ones);
                tally[r] += count;
                place[static_cast<std::size_t>(r) * width] = count;
            }
            low[b] = m == 0 ? widened(least) : smaller(widened(least), low[b]);
            ++place;
        };
        for (int b = from; b < whole; ++b) vector(b, b * kWidth, Marks{});
        if (whole < to) vector(whole, K - kWidth, twice);
        top = larger(widened(most), top);
        for (int r = 0; r < kRows; ++r) {
            sums[m + r] = from == 0 ? widened(sum[r]) : sums[m + r] + widened(sum[r]);
            tallies[m + r] = tally[r];
        }
    }

    template <int kRows, bool kKeep, class T>
    CREDALENS_INLINE void rows(const T* P, int m, int from, int to) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        const int whole = K / kWidth < to ? K / kWidth : to, width = to - from;
        // Rows that are read four at a time are not foreseen by the machine. Kept ones meet: there is
        // time then.
        const std::size_t some = kFar / (K * sizeof(T)) / 4 * 4 + 4;
        const std::size_t far = !kKeep && K >= kMinFetched ? some * K : 0;
        Lanes* keep = kept + static_cast<std::size_t>(m) * width;
        Lanes sum[kRows] = {};
        for (int b = from; b < whole; ++b)
            look_along<kRows, kKeep>(row + b * kWidth, K, m == 0, Marks{}, low[b], top, sum, keep++,
                                     width, far);
        if (whole < to)
            look_along<kRows, kKeep>(row + (K - kWidth), K, m == 0, twice, low[whole], top, sum,
                                     keep, width, far);
        for (int r = 0; r < kRows; ++r) {
            sums[m + r] = from == 0 ? sum[r] : sums[m + r] + sum[r];
            if constexpr (kKeep) halves[m + r] = -0.5 * sum[r];
        }
    }
};

// Members in lanes: fewer classes than there are lanes.
template <class T>
CREDALENS_INLINE Extremes extremes_across(const T* P, int M, int K, double tolerance,
                                          Lanes* scratch) {
    Lanes *low = scratch, *row = scratch + K;
    Lanes top = Lanes{} + static_cast<double>(P[0]);
    Marks good = ~Marks{};
    for (int m = 0; m < M; m += kWidth) {
        Sources<T>(P + static_cast<std::size_t>(m) * K, static_cast<std::size_t>(K),
                   static_cast<std::size_t>(M - m))
            .all(static_cast<std::size_t>(K), row);
        Lanes sum = {};
        for (int y = 0; y < K; ++y) {
            low[y] = m == 0 ? row[y] : smaller(row[y], low[y]);
            top = larger(row[y], top);
            sum += row[y];
        }
        good &= near_one(sum, tolerance);
    }
    Lanes part[kWidth];
    Sources<double>(reinterpret_cast<const double*>(low), kWidth, K).block(0, part);
    Lanes best = part[0];
    for (int i = 1; i < kWidth; ++i) best = smaller(part[i], best);
    good &= best >= 0.0;
    double sum = 0;
    for (int y = 0; y < K; ++y) sum += best[y];
    return {largest_lane(best), largest_lane(top), sum, !any(~good)};
}

template <class T>
std::size_t extremes(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                     double tolerance, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* lanes = reinterpret_cast<Lanes*>(scratch);
    for (std::size_t i = 0; i < count; ++i) {
        const T* here = P + i * size;
        Extremes found;
        if (K >= kWidth) {
            Along along(M, K, lanes);
            along.look<false>(here, 0, along.vectors);
            found = along.extremes(tolerance);
        } else {
            found = extremes_across(here, M, K, tolerance, lanes);
        }
        if (!found.tell(out.from(i), tolerance)) return i;
    }
    return count;
}

template <class T>
std::size_t closed_forms_along(const T* P, std::size_t count, int M, int K, const ClosedForms& all,
                               double tolerance, double* scratch) {
    Along along(M, K, reinterpret_cast<Lanes*>(scratch));
    for (std::size_t i = 0; i < count; ++i, P += static_cast<std::size_t>(M) * K) {
        const ClosedForms out = all.from(i);
        const bool last = i + 1 == count;
        double wide = -1;
        if (!out.pairs && kWidth > 2) {
            wide = along.widest_by_counts(P, last);
            if (sizeof(T) < sizeof(double) && tolerance >= 0 && !along.sure(tolerance))
                along.template look<false>(P, 0, along.vectors);
        } else if (!out.pairs) {
            wide = along.widest_by_sums(P, last);
        }
        if (wide < 0) {
            along.meet(P, Absolute(), last);
            wide = along.widest(out.pairs);
        }
        *out.diameter = wide;
        if (!along.extremes(tolerance).tell(out, tolerance)) return i;
    }
    return count;
}
