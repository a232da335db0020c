// Part of lanes_body.hpp: one instance at a time, classes or members in lanes.

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

    CREDALENS_INLINE Along(int M, int K, Lanes* scratch)
        : M(M), K(K), vectors((K + kWidth - 1) / kWidth), twice(held_twice(K)), sums(scratch),
          low(sums + M), halves(low + vectors), kept(halves + M),
          pairs(kept + static_cast<std::size_t>(M) * step()) {}

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

    // Adds up what `of` makes of each pair of rows; meanwhile fetches the next instance.
    template <class Of, class T>
    CREDALENS_INLINE void meet(const T* P, const Of& of, bool last) {
        const std::size_t size = static_cast<std::size_t>(M) * K;
        Ahead ahead(P + size, last ? 0 : size);
        for (int from = 0; from < vectors; from += step()) {
            const int to = vectors - from < step() ? vectors : from + step();
            look<true>(P, from, to);
            Added added{from == 0, pairs, ahead};
            each_pair(of, kept, M, to - from, added);
        }
    }

    // The largest of these sums over lanes and, unless it is nullptr, which two rows it is of.
    CREDALENS_INLINE double widest(std::int64_t* pair) {
        const int n = M * (M - 1) / 2;
        double* flat = reinterpret_cast<double*>(pairs);
        Lanes best = {};
        for (int first = 0; first < n; first += kWidth) {
            const Lanes sum = sums_of(pairs + first, n - first);
            best = larger(sum, best);
            if (pair) write(sum, n - first, flat + first);  // over what has been summed up
        }
        const double wide = largest_lane(best);
        if (pair) {
            pair[0] = pair[1] = 0;  // of a single row
            int place = 0;
            while (place + 1 < n && flat[place] != wide) ++place;
            Numbered numbered{place, pair};
            each_pair(Absolute(), kept, M, 0, numbered);
        }
        return wide;
    }

    // The largest sum of a row.
    CREDALENS_INLINE double heaviest() const {
        Lanes best = {};
        for (int m = 0; m < M; m += kWidth) best = larger(sums_of(sums + m, M - m), best);
        return largest_lane(best);
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
        double wide = 0;
        if (!out.pairs) {
            along.meet(P, Larger(along.halves), last);
            wide = along.widest(nullptr);
        }
        // Pairs that are all close together are looked at again without sums.
        if (out.pairs || wide < kCloseTogether * along.heaviest()) {
            along.meet(P, Absolute(), last);
            wide = along.widest(out.pairs);
        }
        *out.diameter = wide;
        if (!along.extremes(tolerance).tell(out, tolerance)) return i;
    }
    return count;
}
