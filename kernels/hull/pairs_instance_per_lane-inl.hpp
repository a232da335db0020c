// Part of simd/instance_per_lane-inl.hpp: pairs of rows, an instance a lane.

// What is added up over the classes, of the smallest and the largest entry of each: nothing, the
// smallest, or the difference, which for two rows is their distance.
enum class Over { nothing, lows, widths };

// What is to be known of the M rows of every instance before pairs of them are looked at: the
// largest of the smallest and of all entries of a class, the smallest of all, a sum over the classes
// and, if asked, the sums of rows. Four classes at a time: what is kept of a row is touched once for
// four entries.
template <bool kSums, Over kOver>
struct Survey {
    Lanes max_lower, max_upper, least, total;

    CREDALENS_INLINE void look(const Lanes* lanes, int M, int K, Lanes* sums) {
        max_lower = max_upper = least = lanes[0];
        total = Lanes{};
        if constexpr (kSums)
            for (int m = 0; m < M; ++m) sums[m] = Lanes{};
        int y = 0;
        for (; y + 4 <= K; y += 4) classes<4>(lanes + y, M, K, y == 0, sums);
        if (y + 2 <= K) classes<2>(lanes + y, M, K, y == 0, sums), y += 2;
        if (y < K) classes<1>(lanes + y, M, K, y == 0, sums);
    }

private:
    template <int kClasses>
    CREDALENS_INLINE void classes(const Lanes* lanes, int M, int K, bool first, Lanes* sums) {
        const Lanes one = Lanes{} + hidden_one();
        Lanes low[kClasses], high[kClasses];
        for (int i = 0; i < kClasses; ++i) low[i] = high[i] = lanes[i];
        for (int m = 0; m < M; ++m, lanes += K) {
            Lanes sum = lanes[0];
            for (int i = 0; i < kClasses; ++i) {
                const Lanes x = lanes[i];
                low[i] = smaller(x, low[i]);
                high[i] = larger(x, high[i]);
                if (kSums && i > 0) sum = plus(sum, x, one);
            }
            if constexpr (kSums) sums[m] = plus(sums[m], sum, one);
        }
        for (int i = 0; i < kClasses; ++i) {
            max_lower = first && i == 0 ? low[i] : larger(low[i], max_lower);
            max_upper = larger(high[i], max_upper);
            least = smaller(low[i], least);
            if constexpr (kOver == Over::lows) total += low[i];
            if constexpr (kOver == Over::widths) total += high[i] - low[i];
        }
    }
};

// Memory that is needed next, fetched bit by bit while pairs meet.
struct Ahead {
    const char *next = nullptr, *end = nullptr;

    Ahead() = default;
    template <class T>
    CREDALENS_INLINE Ahead(const T* from, std::size_t size)
        : next(reinterpret_cast<const char*>(from)),
          end(reinterpret_cast<const char*>(from + size)) {}

    // The vector of instances after the one that begins at P, where `left` are left.
    template <class T>
    CREDALENS_INLINE static Ahead after(const T* P, std::size_t size, std::size_t left) {
        const std::size_t here = left < kWidth ? left : kWidth;
        const std::size_t next = left - here < kWidth ? left - here : kWidth;
        return {P + here * size, next * size};
    }

    CREDALENS_INLINE void go_on() {
        if (next >= end) return;
        fetch(next);
        fetch(next + kLine);
        next += 2 * kLine;
    }
};

// The widest pair so far, in every lane.
struct Widest {
    Lanes best = {};
    Ahead ahead = {};

    CREDALENS_INLINE void meanwhile() { ahead.go_on(); }
    CREDALENS_INLINE void offer(const Lanes& here, int, int) { best = larger(here, best); }
};

// And where it is, as i M + j.
struct WidestPlace : Widest {
    int M;
    Marks place = {};

    CREDALENS_INLINE WidestPlace(int M) : M(M) {}
    CREDALENS_INLINE void offer(const Lanes& here, int i, int j) {
        place = here > best ? Marks{} + (static_cast<std::int64_t>(i) * M + j) : place;
        best = larger(here, best);
    }
};

// All of them in the marked lanes, that of i < j at i M + j.
struct Kept : Widest {
    int M;
    Lanes* all;
    Marks lanes;

    CREDALENS_INLINE Kept(int M, Lanes* all, const Marks& lanes) : M(M), all(all), lanes(lanes) {}
    CREDALENS_INLINE void offer(const Lanes& here, int i, int j) {
        Lanes& place = all[static_cast<std::size_t>(i) * M + j];
        place = lanes ? here : place;
        best = larger(here, best);
    }
};

// What a pair of rows adds up, to which start, and what is made of its sum.
struct Summed {
    static constexpr bool kOfCounts = false;
    CREDALENS_INLINE Lanes start(int, int) const { return Lanes{}; }
    CREDALENS_INLINE Lanes of_pair(const Lanes& sum, int, int) const { return sum; }
};

struct Absolute : Summed {
    CREDALENS_INLINE Lanes operator()(const Lanes& a, const Lanes& b) const {
        return magnitude(a - b);
    }
};

struct Square : Summed {
    CREDALENS_INLINE Lanes operator()(const Lanes& a, const Lanes& b) const {
        const Lanes x = a - b;
        return x * x;
    }
};

// |a - b| = 2 (max(a, b) - a / 2 - b / 2), which is two operations in place of three. Its error is
// that of the sums of the rows, however small the difference.
struct Larger : Summed {
    const Lanes* sums;  // of the rows, by -1/2

    CREDALENS_INLINE Larger(const Lanes* sums) : sums(sums) {}
    CREDALENS_INLINE Lanes start(int i, int j) const { return sums[i] + sums[j]; }
    CREDALENS_INLINE Lanes operator()(const Lanes& a, const Lanes& b) const { return larger(a, b); }
    CREDALENS_INLINE Lanes of_pair(const Lanes& sum, int, int) const { return 2.0 * sum; }
};

// The same of whole numbers.
struct LargerCounts {
    static constexpr bool kOfCounts = true;
    const Counts* sums;  // of the rows

    CREDALENS_INLINE Counts start(int, int) const { return Counts{}; }
    CREDALENS_INLINE Counts operator()(const Counts& a, const Counts& b) const {
        return larger(a, b);
    }
    CREDALENS_INLINE Lanes of_pair(const Counts& sum, int i, int j) const {
        return widened(2 * sum - sums[i] - sums[j]);
    }
};

// Adds to each of them what is there, in the order of `each_pair`.
struct Added {
    bool first;
    Lanes* all;
    Ahead& ahead;

    CREDALENS_INLINE void meanwhile() { ahead.go_on(); }
    CREDALENS_INLINE void offer(const Lanes& here, int, int) {
        *all = first ? here : *all + here;
        ++all;
    }
};

// Calls `see` with every pair whose number is large enough, in the order of `each_pair`.
template <class See>
struct Chosen {
    const double* numbers;
    double least;
    const See& see;

    CREDALENS_INLINE void meanwhile() {}
    CREDALENS_INLINE void offer(const Lanes&, int i, int j) {
        if (*numbers++ >= least) see(i, j);
    }
};

// Rows i and i + 1 meet kOthers rows from j on and, if kOwn, each other: six loads for eight sums.
template <int kOthers, bool kOwn, class Of, class V, class Sink>
CREDALENS_INLINE void two_meet(const Of& of, const V* lanes, int K, int i, int j, Sink& sink) {
    const V* a = lanes + static_cast<std::size_t>(i) * K;
    const V* others = lanes + static_cast<std::size_t>(j) * K;
    const Lanes one = Lanes{} + hidden_one();
    V own = of.start(i, i + 1), first[kOthers + 1], second[kOthers + 1];
#pragma GCC unroll 4
    for (int n = 0; n < kOthers; ++n) {
        first[n] = of.start(i, j + n);
        second[n] = of.start(i + 1, j + n);
    }
    for (int y = 0; y < K; ++y) {
        const V x = a[y], z = a[K + y];
        sink.meanwhile();
        if (kOwn) own = plus(own, of(x, z), one);
#pragma GCC unroll 4
        for (int n = 0; n < kOthers; ++n) {
            const V other = others[static_cast<std::size_t>(n) * K + y];
            first[n] = plus(first[n], of(x, other), one);
            second[n] = plus(second[n], of(z, other), one);
        }
    }
    if (kOwn) sink.offer(of.of_pair(own, i, i + 1), i, i + 1);
#pragma GCC unroll 4
    for (int n = 0; n < kOthers; ++n) {
        sink.offer(of.of_pair(first[n], i, j + n), i, j + n);
        sink.offer(of.of_pair(second[n], i + 1, j + n), i + 1, j + n);
    }
}

template <bool kOwn, class Of, class V, class Sink>
CREDALENS_INLINE void rest_meets(const Of& of, const V* lanes, int M, int K, int i, int j,
                                 Sink& sink) {
    if (M - j == 3) two_meet<3, kOwn>(of, lanes, K, i, j, sink);
    if (M - j == 2) two_meet<2, kOwn>(of, lanes, K, i, j, sink);
    if (M - j == 1) two_meet<1, kOwn>(of, lanes, K, i, j, sink);
    if (kOwn && M == j) two_meet<0, true>(of, lanes, K, i, j, sink);
}

// Offers, for all pairs of M rows, what `of` makes of them, summed over K entries.
template <class Of, class V, class Sink>
CREDALENS_INLINE void each_pair(const Of& of, const V* lanes, int M, int K, Sink& sink) {
    for (int i = 0; i + 1 < M; i += 2) {
        int j = i + 2;
        if (M - j < 4) {
            rest_meets<true>(of, lanes, M, K, i, j, sink);
            continue;
        }
        two_meet<4, true>(of, lanes, K, i, j, sink);
        for (j += 4; M - j >= 4; j += 4) two_meet<4, false>(of, lanes, K, i, j, sink);
        rest_meets<false>(of, lanes, M, K, i, j, sink);
    }
}

template <class Of>
Lanes widest_pair(const Of& of, const Lanes* lanes, int M, int K, const Ahead& ahead = {}) {
    Widest widest{{}, ahead};
    each_pair(of, lanes, M, K, widest);
    return widest.best;
}

// The largest L1 distance. Pairs that are all close together are looked at again without sums, in
// their own lanes only: an instance is not to feel its neighbours.
Lanes diameter_of(const Lanes* lanes, int M, int K, Lanes* sums, const Ahead& ahead) {
    if (M < kMinSummed) return widest_pair<Absolute>({}, lanes, M, K, ahead);
    Lanes heaviest = {};
    for (int m = 0; m < M; ++m) {
        heaviest = larger(sums[m], heaviest);
        sums[m] *= -0.5;
    }
    const Lanes wide = widest_pair<Larger>({sums}, lanes, M, K, ahead);
    const Marks close = wide < kCloseTogether * heaviest;
    return any(close) ? (close ? widest_pair<Absolute>({}, lanes, M, K) : wide) : wide;
}

// The same, and which two rows they are of each instance.
Lanes diameter_and_pair(const Lanes* lanes, int M, int K, std::size_t count, std::int64_t* pairs) {
    WidestPlace widest(M);
    each_pair(Absolute(), lanes, M, K, widest);
    for (std::size_t i = 0; i < kWidth && i < count; ++i) {
        pairs[2 * i] = widest.place[i] / M;
        pairs[2 * i + 1] = widest.place[i] % M;
    }
    return widest.best;
}

// As `closed_forms` of hull/closed_forms.hpp, and which sums there are to be.
template <bool kSums, Over kOver, class T>
std::size_t surveyed(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                     double tolerance, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes* lanes = sums + M;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(P + first * size, size, left).all(size, lanes, kWidth * size);
        Survey<kSums, kOver> survey;
        if (kSums || out.ends() || kOver == Over::widths) survey.look(lanes, M, K, sums);
        if (kSums && tolerance >= 0) {
            Marks good = survey.least >= 0.0;
            for (int m = 0; m < M; ++m) good &= near_one(sums[m], tolerance);
            if (any(~good))
                for (std::size_t i = 0; i < kWidth && i < left; ++i)
                    if (!good[i]) return first + i;
        }
        if (out.max_lower) write(survey.max_lower, left, out.max_lower + first);
        if (out.max_upper) write(survey.max_upper, left, out.max_upper + first);
        if (kOver == Over::lows) write(survey.total, left, out.lower_sum + first);
        if (out.pairs) {
            write(diameter_and_pair(lanes, M, K, left, out.pairs + 2 * first), left,
                  out.diameter + first);
        } else if (kOver == Over::widths) {
            write(survey.total, left, out.diameter + first);
        } else if (out.diameter) {
            const Ahead ahead = Ahead::after(P + first * size, size, left);
            write(diameter_of(lanes, M, K, sums, ahead), left, out.diameter + first);
        }
    }
    return count;
}

template <class T>
std::size_t closed_forms(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                         double tolerance, double* scratch) {
    const bool wide = out.diameter && !out.pairs;
    const bool sums = tolerance >= 0 || (wide && M >= kMinSummed);
    const auto run = out.lower_sum ? sums ? surveyed<true, Over::lows, T>
                                          : surveyed<false, Over::lows, T>
                     : wide && M == 2 ? sums ? surveyed<true, Over::widths, T>
                                             : surveyed<false, Over::widths, T>
                     : sums           ? surveyed<true, Over::nothing, T>
                                      : surveyed<false, Over::nothing, T>;
    return run(P, count, M, K, out, tolerance, scratch);
}

template <class T>
void tree_wasserstein_diameter(const T* P, std::size_t count, int M, int K, const EdgeList& edges,
                   double* diameter, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes *entries = sums + K + 1, *totals = entries + K, *across = totals + M;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        for (int m = 0; m < M; ++m) {
            Sources<T>(P + first * size + static_cast<std::size_t>(m) * K, size, left)
                .all(static_cast<std::size_t>(K), entries);
            Lanes total = sums[0] = Lanes{};
            for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + entries[edges.order[y]];
            Lanes* sent = across + static_cast<std::size_t>(m) * edges.size;
            for (int e = 0; e < edges.size; ++e) {
                const std::int64_t start = edges.start[e], stop = edges.stop[e];
                // A class alone on its side is not to suffer from the rounding of two sums.
                const Lanes side = stop == start + 1 ? entries[edges.order[start]]
                                                     : sums[stop] - sums[start];
                sent[e] = edges.length[e] * side;
                total += sent[e];
            }
            totals[m] = total;
        }
        const Ahead ahead = Ahead::after(P + first * size, size, left);
        write(diameter_of(across, M, edges.size, totals, ahead), left, diameter + first);
    }
}

template <class T>
void kolmogorov_diameter(const T* P, std::size_t count, int M, int K, double* diameter,
                         double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* entries = reinterpret_cast<Lanes*>(scratch);
    Lanes *low = entries + K, *high = low + K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        for (int m = 0; m < M; ++m) {
            Sources<T>(P + first * size + static_cast<std::size_t>(m) * K, size, left)
                .all(static_cast<std::size_t>(K), entries);
            Lanes below = {};
            for (int y = 0; y + 1 < K; ++y) {
                below += entries[y];
                low[y] = m == 0 ? below : smaller(below, low[y]);
                high[y] = m == 0 ? below : larger(below, high[y]);
            }
        }
        Lanes widest = {};
        for (int y = 0; y + 1 < K; ++y) widest = larger(high[y] - low[y], widest);
        write(widest, left, diameter + first);
    }
}

// points[m][k] = sum over y of rows[m][y] V[y][k] for kRows rows and kColumns columns.
template <int kRows, int kColumns>
CREDALENS_INLINE void multiply(const Lanes* rows, int K, const double* V, int r, Lanes* points) {
    Lanes sums[kRows][kColumns] = {};
    for (int y = 0; y < K; ++y)
        for (int m = 0; m < kRows; ++m) {
            const Lanes share = rows[static_cast<std::size_t>(m) * K + y];
            for (int k = 0; k < kColumns; ++k)
                sums[m][k] += share * V[static_cast<std::size_t>(y) * r + k];
        }
    for (int m = 0; m < kRows; ++m)
        for (int k = 0; k < kColumns; ++k) points[static_cast<std::size_t>(m) * r + k] = sums[m][k];
}

template <int kRows>
void multiply_rows(const Lanes* rows, int K, const double* V, int r, Lanes* points) {
    int k = 0;
    for (; k + 4 <= r; k += 4) multiply<kRows, 4>(rows, K, V + k, r, points + k);
    for (; k < r; ++k) multiply<kRows, 1>(rows, K, V + k, r, points + k);
}

template <class T>
void squared_euclidean_diameter(const T* P, std::size_t count, int M, int K, const double* V, int r,
                     double* square, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* lanes = reinterpret_cast<Lanes*>(scratch);
    Lanes* points = lanes + size;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(P + first * size, size, left).all(size, lanes);
        int m = 0;
        for (; m + 4 <= M; m += 4)
            multiply_rows<4>(lanes + static_cast<std::size_t>(m) * K, K, V, r,
                             points + static_cast<std::size_t>(m) * r);
        for (; m < M; ++m)
            multiply_rows<1>(lanes + static_cast<std::size_t>(m) * K, K, V, r,
                             points + static_cast<std::size_t>(m) * r);
        write(widest_pair<Square>({}, points, M, r), left, square + first);
    }
}
