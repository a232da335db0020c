// What lanes.hpp declares, for one instruction set: included by lanes.cpp inside a namespace, with
// the width of its vectors in CREDALENS_LANES. Nothing of the standard library is called: what it
// would instantiate here might be linked into code for lesser machines.

constexpr int kWidth = CREDALENS_LANES;
typedef double Lanes __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef float Floats __attribute__((vector_size(4 * CREDALENS_LANES)));
typedef std::uint64_t Bits __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef std::int64_t Marks __attribute__((vector_size(8 * CREDALENS_LANES)));

CREDALENS_INLINE Lanes magnitude(const Lanes& v) { return (Lanes)((Marks)v & INT64_MAX); }
CREDALENS_INLINE Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
CREDALENS_INLINE Lanes smaller(const Lanes& a, const Lanes& b) { return a < b ? a : b; }

// sum + x: see `hidden_one`.
CREDALENS_INLINE Lanes plus(const Lanes& sum, const Lanes& x, const Lanes& one) {
#if CREDALENS_LANES == 8
    return (Lanes)_mm512_fmadd_pd((__m512d)x, (__m512d)one, (__m512d)sum);
#elif CREDALENS_LANES == 4
    return (Lanes)_mm256_fmadd_pd((__m256d)x, (__m256d)one, (__m256d)sum);
#else
    return sum + x;
#endif
}

CREDALENS_INLINE Lanes load(const double* x) {
    Lanes v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

// GCC makes several instructions of what is one in these, so they are named.
#if CREDALENS_LANES == 8
typedef float Doubled __attribute__((vector_size(64)));
typedef std::int32_t Places __attribute__((vector_size(64)));

CREDALENS_INLINE Lanes widened(const Floats& v) { return (Lanes)_mm512_cvtps_pd((__m256)v); }

CREDALENS_INLINE Lanes load(const double* x, const double* y) {
    return (Lanes)_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(x)),
                                     _mm256_loadu_pd(y), 1);
}

CREDALENS_INLINE Doubled load_whole(const float* x, const float* y) {
    return (Doubled)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(x)),
                                       _mm256_loadu_ps(y), 1);
}

template <int kPart>
CREDALENS_INLINE Floats half(const Doubled& v) {
    return (Floats)_mm512_extractf32x8_ps((__m512)v, kPart);
}
#else
CREDALENS_INLINE Lanes widened(const Floats& v) { return __builtin_convertvector(v, Lanes); }

template <class T>
CREDALENS_INLINE Lanes load(const T* x, const T* y) {
    Lanes v;
    for (int i = 0; i < kWidth / 2; ++i) v[i] = x[i], v[i + kWidth / 2] = y[i];
    return v;
}
#endif

CREDALENS_INLINE Lanes load(const float* x) {
    Floats v;
    __builtin_memcpy(&v, x, sizeof v);
    return widened(v);
}

// Swaps the odd blocks of `kBlock` lanes of a with the even ones of b.
template <int kBlock>
CREDALENS_INLINE void exchange(Lanes& a, Lanes& b) {
#if CREDALENS_LANES > 2
    const Lanes x = a, y = b;
#if CREDALENS_LANES == 8
    if constexpr (kBlock == 2) {
        a = CREDALENS_MIX(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
        b = CREDALENS_MIX(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    } else {
        a = CREDALENS_MIX(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
        b = CREDALENS_MIX(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
    }
#else
    a = CREDALENS_MIX(x, y, 0, 4, 2, 6);
    b = CREDALENS_MIX(x, y, 1, 5, 3, 7);
#endif
#endif
}

template <int kBlock>
CREDALENS_INLINE void exchange_all(Lanes* v) {
    for (int i = 0; i < kWidth; ++i)
        if (!(i & kBlock)) exchange<kBlock>(v[i], v[i + kBlock]);
    if constexpr (kBlock > 1) exchange_all<kBlock / 2>(v);
}

// The columns of a square of entries that begins at `at` in each row. Halves are exchanged by the
// loads.
template <class T>
CREDALENS_INLINE void columns_of(const T* const* from, std::size_t at, Lanes* v) {
    constexpr int kHalf = kWidth / 2;
    for (int i = 0; i < kHalf; ++i) {
        v[i] = load(from[i] + at, from[i + kHalf] + at);
        v[i + kHalf] = load(from[i] + at + kHalf, from[i + kHalf] + at + kHalf);
    }
    if constexpr (kHalf > 1) exchange_all<kHalf / 2>(v);
}

#if CREDALENS_LANES == 8
// In single precision they are widened at last.
CREDALENS_INLINE void columns_of(const float* const* from, std::size_t at, Lanes* v) {
    constexpr Places kLeft = {0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27},
                     kRight = kLeft + 4,
                     kFirst = {0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23},
                     kSecond = kFirst + 8;
    Doubled rows[4];
    for (int i = 0; i < 4; ++i) rows[i] = load_whole(from[2 * i] + at, from[2 * i + 1] + at);
    const Doubled quarters[2][2] = {
        {__builtin_shuffle(rows[0], rows[1], kLeft), __builtin_shuffle(rows[2], rows[3], kLeft)},
        {__builtin_shuffle(rows[0], rows[1], kRight), __builtin_shuffle(rows[2], rows[3], kRight)}};
    for (int i = 0; i < 2; ++i) {
        const Doubled a = __builtin_shuffle(quarters[i][0], quarters[i][1], kFirst);
        const Doubled b = __builtin_shuffle(quarters[i][0], quarters[i][1], kSecond);
        v[4 * i] = widened(half<0>(a));
        v[4 * i + 1] = widened(half<1>(a));
        v[4 * i + 2] = widened(half<0>(b));
        v[4 * i + 3] = widened(half<1>(b));
    }
}
#endif

// What each lane reads: an instance of its own or, where there are fewer, the last one.
template <class T>
struct Sources {
    const T* from[kWidth];

    CREDALENS_INLINE Sources(const T* P, std::size_t stride, std::size_t count) {
        for (std::size_t i = 0; i < kWidth; ++i) from[i] = P + (i < count ? i : count - 1) * stride;
    }

    CREDALENS_INLINE Lanes operator[](std::size_t at) const {
        Lanes v;
        for (int i = 0; i < kWidth; ++i) v[i] = from[i][at];
        return v;
    }

    // As many entries as there are lanes, beginning at `at`.
    CREDALENS_INLINE void block(std::size_t at, Lanes* v) const { columns_of(from, at, v); }

    // Those so much further on will be read next: rows that are read side by side are not foreseen
    // by the machine.
    CREDALENS_INLINE void fetch_all(std::size_t at) const {
        for (int i = 0; i < kWidth; ++i) fetch(from[i] + at);
    }

    CREDALENS_INLINE void all(std::size_t size, Lanes* out, std::size_t far = 0) const {
        std::size_t e = 0;
        Lanes v[kWidth];
        for (; e + kWidth <= size; e += kWidth) {
            block(e, v);
            if (far) fetch_all(e + far);
            for (int i = 0; i < kWidth; ++i) out[e + i] = v[i];
        }
        if (e < size && size >= kWidth) {  // some of them a second time
            block(size - kWidth, v);
            for (int i = 0; i < kWidth; ++i) out[size - kWidth + i] = v[i];
        } else {
            for (; e < size; ++e) out[e] = (*this)[e];
        }
    }
};

CREDALENS_INLINE void write(const Lanes& v, std::size_t count, double* out) {
    if (count >= kWidth)
        __builtin_memcpy(out, &v, sizeof v);
    else
        for (std::size_t i = 0; i < count; ++i) out[i] = v[i];
}

// What is to be known of the M rows of every instance before pairs of them are looked at: the
// largest of the smallest and of all entries of a class, the smallest of all, the sum of those of
// the classes and, if asked, the sums of rows. Four classes at a time: what is kept of a row is
// touched once for four entries.
struct Survey {
    Lanes max_lower, max_upper, least, lower_sum;

    template <bool kSums>
    CREDALENS_INLINE void look(const Lanes* lanes, int M, int K, Lanes* sums) {
        max_lower = max_upper = least = lanes[0];
        lower_sum = Lanes{};
        if constexpr (kSums)
            for (int m = 0; m < M; ++m) sums[m] = Lanes{};
        int y = 0;
        for (; y + 4 <= K; y += 4) classes<4, kSums>(lanes + y, M, K, y == 0, sums);
        for (; y < K; ++y) classes<1, kSums>(lanes + y, M, K, y == 0, sums);
    }

private:
    template <int kClasses, bool kSums>
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
            lower_sum += low[i];
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
    CREDALENS_INLINE Lanes start(int, int) const { return Lanes{}; }
    CREDALENS_INLINE Lanes of_pair(const Lanes& sum) const { return sum; }
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
    CREDALENS_INLINE Lanes of_pair(const Lanes& sum) const { return 2.0 * sum; }
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

// The pair that comes after so many others in the order of `each_pair`.
struct Numbered {
    int left;
    std::int64_t* pair;

    CREDALENS_INLINE void meanwhile() {}
    CREDALENS_INLINE void offer(const Lanes&, int i, int j) {
        if (left-- == 0) pair[0] = i, pair[1] = j;
    }
};

// Rows i and i + 1 meet kOthers rows from j on and, if kOwn, each other: six loads for eight sums.
template <int kOthers, bool kOwn, class Of, class Sink>
CREDALENS_INLINE void two_meet(const Of& of, const Lanes* lanes, int K, int i, int j, Sink& sink) {
    const Lanes* a = lanes + static_cast<std::size_t>(i) * K;
    const Lanes* others = lanes + static_cast<std::size_t>(j) * K;
    const Lanes one = Lanes{} + hidden_one();
    Lanes own = of.start(i, i + 1), first[kOthers + 1], second[kOthers + 1];
#pragma GCC unroll 4
    for (int n = 0; n < kOthers; ++n) {
        first[n] = of.start(i, j + n);
        second[n] = of.start(i + 1, j + n);
    }
    for (int y = 0; y < K; ++y) {
        const Lanes x = a[y], z = a[K + y];
        sink.meanwhile();
        if (kOwn) own = plus(own, of(x, z), one);
#pragma GCC unroll 4
        for (int n = 0; n < kOthers; ++n) {
            const Lanes other = others[static_cast<std::size_t>(n) * K + y];
            first[n] = plus(first[n], of(x, other), one);
            second[n] = plus(second[n], of(z, other), one);
        }
    }
    if (kOwn) sink.offer(of.of_pair(own), i, i + 1);
#pragma GCC unroll 4
    for (int n = 0; n < kOthers; ++n) {
        sink.offer(of.of_pair(first[n]), i, j + n);
        sink.offer(of.of_pair(second[n]), i + 1, j + n);
    }
}

template <bool kOwn, class Of, class Sink>
CREDALENS_INLINE void rest_meets(const Of& of, const Lanes* lanes, int M, int K, int i, int j,
                                 Sink& sink) {
    if (M - j == 3) two_meet<3, kOwn>(of, lanes, K, i, j, sink);
    if (M - j == 2) two_meet<2, kOwn>(of, lanes, K, i, j, sink);
    if (M - j == 1) two_meet<1, kOwn>(of, lanes, K, i, j, sink);
    if (kOwn && M == j) two_meet<0, true>(of, lanes, K, i, j, sink);
}

// Offers, for all pairs of M rows, what `of` makes of them, summed over K entries.
template <class Of, class Sink>
CREDALENS_INLINE void each_pair(const Of& of, const Lanes* lanes, int M, int K, Sink& sink) {
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

CREDALENS_INLINE bool any(const Marks& marks) {
#if CREDALENS_LANES == 8
    return _mm512_test_epi64_mask((__m512i)marks, (__m512i)marks) != 0;
#elif CREDALENS_LANES == 4
    return !_mm256_testz_si256((__m256i)marks, (__m256i)marks);
#else
    return (marks[0] | marks[1]) != 0;
#endif
}

// The largest L1 distance. Pairs that are all close together are looked at again without sums, in
// their own lanes only: an instance is not to feel its neighbours.
Lanes diameter_of(const Lanes* lanes, int M, int K, Lanes* sums, const Ahead& ahead) {
    if (M < kMinSummed) return widest_pair<Absolute>({}, lanes, M, K, ahead);
    for (int m = 0; m < M; ++m) sums[m] *= -0.5;
    const Lanes wide = widest_pair<Larger>({sums}, lanes, M, K, ahead);
    const Marks close = wide < kCloseTogether;
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

CREDALENS_INLINE double largest_lane(const Lanes& v) {
    double best = v[0];
    for (int i = 1; i < kWidth; ++i) best = v[i] > best ? v[i] : best;
    return best;
}

CREDALENS_INLINE double sum_of(const Lanes& v) {
    double sum = 0;
    for (int i = 0; i < kWidth; ++i) sum += v[i];
    return sum;
}

// Of each of as many vectors as there are lanes; where there are fewer, of the last one again.
CREDALENS_INLINE Lanes sums_of(const Lanes* v, int count) {
    Lanes part[kWidth];
    Sources<double>(reinterpret_cast<const double*>(v), kWidth, count).block(0, part);
    for (int i = 1; i < kWidth; ++i) part[0] += part[i];
    return part[0];
}

// A NaN or an infinity shows as a sum that is not near 1.
CREDALENS_INLINE Marks near_one(const Lanes& sum, double tolerance) {
    return magnitude(sum - 1.0) <= tolerance;
}

// The lanes of the last vector of a row that the one before it holds as well.
CREDALENS_INLINE Marks held_twice(int K) {
    Marks marks = {};
    for (int i = 0; i < kWidth; ++i) marks[i] = K % kWidth && i < kWidth - K % kWidth ? -1 : 0;
    return marks;
}

CREDALENS_INLINE Lanes without(const Lanes& v, const Marks& marks) {
    return (Lanes)((Marks)v & ~marks);
}

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
            int place = 0;
            while (place + 1 < n && flat[place] != wide) ++place;
            Numbered numbered{place, pair};
            each_pair(Absolute(), kept, M, 0, numbered);
        }
        return wide;
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
        if (out.pairs || wide < kCloseTogether) {
            along.meet(P, Absolute(), last);
            wide = along.widest(out.pairs);
        }
        *out.diameter = wide;
        if (!along.extremes(tolerance).tell(out, tolerance)) return i;
    }
    return count;
}

template <class T>
std::size_t closed_forms(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                         double tolerance, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes* lanes = sums + M;
    const bool check = tolerance >= 0;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(P + first * size, size, left).all(size, lanes, kWidth * size);
        Survey survey;
        if (check || (out.diameter && !out.pairs && M >= kMinSummed))
            survey.look<true>(lanes, M, K, sums);
        else if (out.ends())
            survey.look<false>(lanes, M, K, nullptr);
        if (check) {
            Marks good = survey.least >= 0.0;
            for (int m = 0; m < M; ++m) good &= near_one(sums[m], tolerance);
            if (any(~good))
                for (std::size_t i = 0; i < kWidth && i < left; ++i)
                    if (!good[i]) return first + i;
        }
        if (out.max_lower) write(survey.max_lower, left, out.max_lower + first);
        if (out.max_upper) write(survey.max_upper, left, out.max_upper + first);
        if (out.lower_sum) write(survey.lower_sum, left, out.lower_sum + first);
        if (out.pairs)
            write(diameter_and_pair(lanes, M, K, left, out.pairs + 2 * first), left,
                  out.diameter + first);
        else if (out.diameter) {
            const std::size_t here = left < kWidth ? left : kWidth;
            const std::size_t next = left - here < kWidth ? left - here : kWidth;
            const Ahead ahead(P + (first + here) * size, next * size);
            write(diameter_of(lanes, M, K, sums, ahead), left, out.diameter + first);
        }
    }
    return count;
}

// The number of an instance for the m-th of M members, in arrays of such numbers.
template <class V, class U>
CREDALENS_INLINE void write_member(const V& v, std::size_t count, int M, U* out) {
    for (std::size_t i = 0; i < kWidth && i < count; ++i) out[i * M] = static_cast<U>(v[i]);
}

// The two smallest entries of kClasses classes and who holds the smallest: of equal ones the first.
// `raised` is how far leaving out a member raises the largest of the smallest, or less.
template <int kClasses>
CREDALENS_INLINE Lanes two_smallest(const Lanes* lanes, int M, int K, Lanes* raised) {
    Lanes low[kClasses], next[kClasses];
    Marks holder[kClasses] = {};
    for (int i = 0; i < kClasses; ++i) {
        low[i] = lanes[i];
        next[i] = Lanes{} + __builtin_inf();
    }
    for (int m = 1; m < M; ++m)
        for (int i = 0; i < kClasses; ++i) {
            const Lanes x = lanes[static_cast<std::size_t>(m) * K + i];
            next[i] = smaller(larger(x, low[i]), next[i]);
            holder[i] = x < low[i] ? Marks{} + m : holder[i];
            low[i] = smaller(x, low[i]);
        }
    Lanes best = low[0];
    for (int i = 1; i < kClasses; ++i) best = larger(low[i], best);
    for (int m = 0; m < M; ++m)
        for (int i = 0; i < kClasses; ++i)
            raised[m] = holder[i] == m ? larger(next[i], raised[m]) : raised[m];
    return best;
}

template <class T>
void leave_one_out(const T* P, std::size_t count, int M, int K, const LeaveOneOut& all,
                   double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes *raised = sums + M, *ties = raised + M, *distance = ties + M;
    Lanes* lanes = distance + static_cast<std::size_t>(M) * M;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const LeaveOneOut out = all.from(first, M);
        Sources<T>(P + first * size, size, left).all(size, lanes);
        for (int m = 0; m < M; ++m) {
            const Lanes* row = lanes + static_cast<std::size_t>(m) * K;
            Lanes sum = row[0], squares = sum * sum, best = sum;
            Marks top = {};
            for (int y = 1; y < K; ++y) {
                const Lanes x = row[y];
                sum += x;
                squares += x * x;
                top = x > best ? Marks{} + y : top;
                best = larger(x, best);
            }
            sums[m] = -0.5 * sum;
            raised[m] = ties[m] = Lanes{};
            write_member(squares, left, M, out.squares + m);
            write_member(top, left, M, out.top + m);
        }
        Lanes best = Lanes{} - __builtin_inf();
        int y = 0;
        for (; y + 4 <= K; y += 4)
            best = larger(two_smallest<4>(lanes + y, M, K, raised), best);
        for (; y < K; ++y) best = larger(two_smallest<1>(lanes + y, M, K, raised), best);
        write(best, left, out.max_lower);
        for (int m = 0; m < M; ++m)
            write_member(M > 1 ? larger(raised[m], best) - best : Lanes{}, left, M, out.lower + m);

        Kept kept(M, distance, ~Marks{});
        each_pair(Larger(sums), lanes, M, K, kept);
        const Marks close = kept.best < kCloseTogether;
        Lanes wide = kept.best;
        if (any(close)) {
            Kept again(M, distance, close);
            each_pair(Absolute(), lanes, M, K, again);
            wide = close ? again.best : wide;
        }
        write(wide, left, out.diameter);
        Lanes pairs = {};
        for (int i = 0; i < M; ++i)
            for (int j = i + 1; j < M; ++j) {
                const Lanes here = distance[static_cast<std::size_t>(i) * M + j];
                const Marks tied = (here >= kTie * wide) & (wide > 0.0);
                const Lanes one = tied ? Lanes{} + 1.0 : Lanes{};
                pairs += one;
                ties[i] += one;
                ties[j] += one;
            }
        // Only a member that is in every widest pair can narrow the set by leaving.
        for (int m = 0; m < M; ++m) {
            const Marks alone = (ties[m] == pairs) & (pairs > 0.0);
            Lanes spread = {};
            if (any(alone)) {
                Lanes rest = {};
                for (int i = 0; i < M; ++i)
                    for (int j = i + 1; j < M; ++j)
                        if (i != m && j != m)
                            rest = larger(distance[static_cast<std::size_t>(i) * M + j], rest);
                spread = alone ? wide - rest : spread;
            }
            write_member(spread, left, M, out.spread + m);
            write_member(ties[m] > 0.0 ? Lanes{} + 1.0 : Lanes{}, left, M, out.widest + m);
        }
    }
}

template <class T>
void edge_diameter(const T* P, std::size_t count, int M, int K, const EdgeList& edges,
                   double* diameter, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* sums = reinterpret_cast<Lanes*>(scratch);
    Lanes *entries = sums + K + 1, *across = entries + K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        for (int m = 0; m < M; ++m) {
            Sources<T>(P + first * size + static_cast<std::size_t>(m) * K, size, left)
                .all(static_cast<std::size_t>(K), entries);
            sums[0] = Lanes{};
            for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + entries[edges.order[y]];
            Lanes* sent = across + static_cast<std::size_t>(m) * edges.size;
            for (int e = 0; e < edges.size; ++e) {
                const std::int64_t start = edges.start[e], stop = edges.stop[e];
                // A class alone on its side is not to suffer from the rounding of two sums.
                const Lanes side = stop == start + 1 ? entries[edges.order[start]]
                                                     : sums[stop] - sums[start];
                sent[e] = edges.length[e] * side;
            }
        }
        write(widest_pair<Absolute>({}, across, M, edges.size), left, diameter + first);
    }
}

template <class T>
void cumulative_diameter(const T* P, std::size_t count, int M, int K, double* diameter,
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
void square_diameter(const T* P, std::size_t count, int M, int K, const double* V, int r,
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

// Eight sums and eight smallest entries of a row of eight classes or more: the same on every
// machine, whatever the width of a vector.
template <class T>
CREDALENS_INLINE void by_eights(const T* row, int K, double* sums, double* lows) {
    constexpr int kParts = 8 / kWidth;
    Lanes sum[kParts] = {}, low[kParts] = {};
    const auto add = [&](int part, const Lanes& x) {
        sum[part] += x;
        low[part] = smaller(x, low[part]);
    };
    int y = 0;
    for (; y + 8 <= K; y += 8)
        for (int part = 0; part < kParts; ++part) add(part, load(row + y + part * kWidth));
    if (y < K)  // the last eight, without those that were counted
        for (int part = 0; part < kParts; ++part) {
            const Lanes x = load(row + K - 8 + part * kWidth);
            Marks place;
            for (int i = 0; i < kWidth; ++i) place[i] = part * kWidth + i;
            add(part, place >= y - (K - 8) ? x : Lanes{});
        }
    __builtin_memcpy(sums, sum, sizeof sum);
    __builtin_memcpy(lows, low, sizeof low);
}

// The sum and the smallest entry, if below 0, of rows of K in every lane.
struct Tally {
    Lanes sum = {}, least = {};

    CREDALENS_INLINE void add(const Lanes& x) {
        sum += x;
        least = smaller(x, least);
    }

    template <class T>
    CREDALENS_INLINE void rows(const Sources<T>& entries, int K) {
        int y = 0;
        Lanes v[kWidth];
        for (; y + kWidth <= K; y += kWidth) {
            entries.block(y, v);
            for (int i = 0; i < kWidth; ++i) add(v[i]);
        }
        if (K - y > kWidth / 4 && K >= kWidth) {  // the last ones, without those that were counted
            entries.block(K - kWidth, v);
            for (int i = 0; i < kWidth; ++i)
                if (i >= y - (K - kWidth)) add(v[i]);
        } else {
            for (; y < K; ++y) add(entries[y]);
        }
    }

    template <class T>
    CREDALENS_INLINE void long_rows(const Sources<T>& entries, int K) {
        alignas(64) double sums[8 * kWidth], lows[8 * kWidth];
        for (int i = 0; i < kWidth; ++i)
            by_eights(entries.from[i], K, sums + 8 * i, lows + 8 * i);
        Lanes eight_sums[8], eight_lows[8];
        Sources<double>(sums, 8, kWidth).all(8, eight_sums);
        Sources<double>(lows, 8, kWidth).all(8, eight_lows);
        for (int i = 0; i < 8; ++i) {
            sum += eight_sums[i];
            least = smaller(eight_lows[i], least);
        }
    }
};

template <class T>
std::size_t first_bad(const T* P, std::size_t rows, int K, double tolerance) {
    for (std::size_t row = 0; row < rows; row += kWidth) {
        const std::size_t left = rows - row;
        const Sources<T> entries(P + row * K, static_cast<std::size_t>(K), left);
        Tally tally;
        if (K >= kLongRow)
            tally.long_rows(entries, K);
        else
            tally.rows(entries, K);
        const Marks good = (tally.least >= 0.0) & near_one(tally.sum, tolerance);
        if (!any(~good)) continue;
        for (std::size_t i = 0; i < kWidth && i < left; ++i)
            if (!good[i]) return row + i;
    }
    return rows;
}

template <class T>
void normalised_by_class(const T* P, int M, int K, double tiny, double* out, int list) {
    for (int m = 0; m < M; m += kWidth) {
        const Sources<T> rows(P + static_cast<std::size_t>(m) * K, static_cast<std::size_t>(K),
                              static_cast<std::size_t>(M - m));
        double* const here = out + m;
        Lanes part[8] = {};  // added up as rows are in entropy.cpp
        const auto keep = [&](int y, const Lanes& x) {
            part[y % 8] += x;
            __builtin_memcpy(here + static_cast<std::size_t>(y) * list, &x, sizeof x);
        };
        int y = 0;
        for (; y + kWidth <= K; y += kWidth) {
            Lanes v[kWidth];
            rows.block(y, v);
            for (int i = 0; i < kWidth; ++i) keep(y + i, v[i]);
        }
        for (; y < K; ++y) keep(y, rows[y]);
        const Lanes sum = ((part[0] + part[4]) + (part[2] + part[6])) +
                          ((part[1] + part[5]) + (part[3] + part[7]));
        const Lanes inverse = 1.0 / sum, least = tiny * sum;
        for (y = 0; y < K; ++y) {
            double* const at = here + static_cast<std::size_t>(y) * list;
            const Lanes x = load(at), scaled = x < least ? Lanes{} : x * inverse;
            __builtin_memcpy(at, &scaled, sizeof scaled);
        }
    }
    for (int y = 0; y < K; ++y)
        for (int m = M; m < list; ++m) out[static_cast<std::size_t>(y) * list + m] = 0;
}

#include "log_body.hpp"

CREDALENS_INLINE Lanes p_log_p(const Lanes& p) {
    return p * log_of<Lanes, Bits>(larger(p, Lanes{} + 1e-300));
}

// The entropies of rows, one a lane, divided by their sums: certainty is exactly 0.
template <class T>
CREDALENS_INLINE Lanes entropy_of(const Sources<T>& row, int K, Lanes* entries) {
    row.all(static_cast<std::size_t>(K), entries);
    Lanes sum = {}, entropy = {};
    for (int y = 0; y < K; ++y) sum += entries[y];
    for (int y = 0; y < K; ++y) entropy -= p_log_p(entries[y] / sum);
    return entropy < 0.0 ? Lanes{} : entropy;  // p = 1 + 1e-16 has none; a NaN stays one
}

template <class T>
void least_entropy(const T* P, std::size_t count, int M, int K, double* value,
                   std::int64_t* member, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Lanes* entries = reinterpret_cast<Lanes*>(scratch);
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T> rows(P + first * size, size, left);
        Lanes least = {};
        Marks place = {};
        for (int m = 0; m < M && M > 1; ++m) {
            Sources<T> row = rows;
            for (int i = 0; i < kWidth; ++i) row.from[i] += static_cast<std::size_t>(m) * K;
            row.all(static_cast<std::size_t>(K), entries);
            Lanes sum = {}, logs = {};
            for (int y = 0; y < K; ++y) {
                sum += entries[y];
                logs += p_log_p(entries[y]);
            }
            const Lanes here = log_of<Lanes, Bits>(sum) - logs / sum;
            if (m == 0) least = here;
            place = here < least ? Marks{} + m : place;
            least = smaller(here, least);
        }
        for (int i = 0; i < kWidth; ++i) rows.from[i] += static_cast<std::size_t>(place[i]) * K;
        write(entropy_of(rows, K, entries), left, value + first);
        for (std::size_t i = 0; member && i < kWidth && i < left; ++i) member[first + i] = place[i];
    }
}

CREDALENS_INLINE Lanes between(const Lanes& x, const Lanes& low, const Lanes& high) {
    return larger(smaller(x, high), low);
}

// Collects the entropies of distributions class by class and, unless it is nullptr, the
// distributions (count, K). Where many classes have the same probability, its logarithm is known.
struct EntropySum {
    double* where;
    std::size_t count;
    int K;
    Lanes level, of_level, sum = {};

    CREDALENS_INLINE EntropySum(double* distribution, std::size_t first, std::size_t left, int K,
                                const Lanes& level)
        : where(distribution ? distribution + first * K : nullptr), count(left), K(K),
          level(level), of_level(p_log_p(level)) {}

    CREDALENS_INLINE void add(int y, const Lanes& p) {
        const Marks off = p != level;
        sum -= any(off) ? (off ? p_log_p(p) : of_level) : of_level;
        if (where) write_member(p, count, K, where + y);
    }
    CREDALENS_INLINE void finish(double* value) const {
        write(sum < 0.0 ? Lanes{} : sum, count, value);  // p = 1 + 1e-16 has none
    }
};

// Boxes are looked at in two vectors: while a step of one waits for its sum, the other's is formed.
constexpr int kBoxes = 2;

// t with sum clip(t, l, u) = 1, of each vector of boxes. The sum is increasing but neither convex
// nor concave: Newton inside a bracket, bisection where a step would leave it. A lane that has its t
// keeps it.
CREDALENS_INLINE void clip_levels(const Lanes* l, const Lanes* u, int K, Lanes* t) {
    const Lanes one = Lanes{} + hidden_one();
    Lanes low[kBoxes] = {}, high[kBoxes];
    Marks going[kBoxes];
    for (int b = 0; b < kBoxes; ++b) {
        t[b] = Lanes{} + 1.0 / K;
        high[b] = Lanes{} + 1.0;
        going[b] = ~Marks{};
    }
    for (int step = 0; step < 200 && any(going[0] | going[1]); ++step) {
        Lanes sum[kBoxes] = {}, open[kBoxes] = {};
        for (int y = 0; y < K; ++y)
            for (int b = 0; b < kBoxes; ++b) {
                const int at = 2 * K * b + y;
                const Lanes p = between(t[b], l[at], u[at]);
                sum[b] = plus(sum[b], p, one);
                open[b] = p == t[b] ? open[b] + 1.0 : open[b];
            }
        for (int b = 0; b < kBoxes; ++b) {
            const Lanes excess = sum[b] - 1.0;
            const Marks flat = open[b] == 0.0;  // no other t near by has another sum
            going[b] &= magnitude(excess) > (flat ? Lanes{} + K * 0x1p-52 : Lanes{} + 0x1p-52);
            low[b] = going[b] & (excess < 0.0) ? t[b] : low[b];
            high[b] = going[b] & (excess > 0.0) ? t[b] : high[b];
            const Lanes middle = 0.5 * (low[b] + high[b]);
            Lanes next = flat ? middle : t[b] - excess / open[b];
            going[b] &= next != t[b];
            next = (next > low[b]) & (next < high[b]) ? next : middle;
            going[b] &= (next > low[b]) & (next < high[b]);
            t[b] = going[b] ? next : t[b];
        }
    }
}

void box_max_entropy(const double* bounds, std::size_t count, int K, double* value,
                     double* distribution, double* scratch) {
    const std::size_t size = 2 * static_cast<std::size_t>(K);
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kBoxes * kWidth) {
        for (int b = 0; b < kBoxes; ++b) {
            const std::size_t own = first + b * kWidth, at = own < count ? own : first;
            Sources<double>(bounds + at * size, size, count - at).all(size, l + size * b);
        }
        Lanes t[kBoxes];
        clip_levels(l, u, K, t);
        for (int b = 0; b < kBoxes && first + b * kWidth < count; ++b) {
            const std::size_t at = first + b * kWidth, left = count - at;
            EntropySum entropy(distribution, at, left, K, t[b]);
            for (int y = 0; y < K; ++y)
                entropy.add(y, between(t[b], l[size * b + y], u[size * b + y]));
            entropy.finish(value + at);
        }
    }
}

// t with sum max(0, t - sign x) = amount; the smallest of them for amount 0. Newton's steps from the
// right never pass the solution of a convex function, and end once the same entries are below t.
CREDALENS_INLINE Lanes fill_level(const Lanes* x, int K, double sign, const Lanes& amount) {
    Lanes sum = amount;
    for (int y = 0; y < K; ++y) sum += sign * x[y];
    Lanes t = sum / static_cast<double>(K);
    for (int step = 0; step < K; ++step) {
        Lanes held = amount, below = {};
        for (int y = 0; y < K; ++y) {
            const Lanes at = sign * x[y];
            const Marks under = at < t;
            held += under ? at : Lanes{};
            below += under ? Lanes{} + 1.0 : Lanes{};
        }
        const Lanes next = held / below;
        const Marks lower = next < t;
        if (!any(lower)) break;
        t = lower ? next : t;
    }
    return t;
}

// t with sum min(u, t) = 1: what the sum of u has above 1 is cut from the top.
void box_minimax(const double* bounds, std::size_t count, int K, double* value, double* scratch) {
    const std::size_t size = 2 * static_cast<std::size_t>(K);
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<double>(bounds + first * size, size, left).all(size, l);
        Lanes sum = {}, low = l[0], high = u[0];
        for (int y = 0; y < K; ++y) {
            sum += u[y];
            low = larger(l[y], low);
            high = larger(u[y], high);
        }
        const Lanes top = -fill_level(u, K, -1.0, larger(sum - 1.0, Lanes{}));
        write(larger(smaller(top, high), low), left, value + first);
    }
}

// A vector of centres, and their sizes.
struct Neighbours {
    Lanes *x, size;

    CREDALENS_INLINE Neighbours(const double* center, const double* sizes, std::size_t first,
                                std::size_t left, int K, double* scratch)
        : x(reinterpret_cast<Lanes*>(scratch)) {
        Sources<double>(center + first * K, static_cast<std::size_t>(K), left)
            .all(static_cast<std::size_t>(K), x);
        size = Sources<double>(sizes + first, 1, left)[0];
    }

    // The most probable class: of equal ones the first, or the last.
    template <bool kLast>
    CREDALENS_INLINE Marks top(int K) const {
        Lanes best = x[0];
        Marks place = {};
        for (int y = 1; y < K; ++y) {
            place = (kLast ? x[y] >= best : x[y] > best) ? Marks{} + y : place;
            best = larger(x[y], best);
        }
        return place;
    }

    CREDALENS_INLINE void shrink(int K) {
        for (int y = 0; y < K; ++y) x[y] *= 1.0 - size;
    }
};

void ball_minimax(const double* center, const double* radius, std::size_t count, int K,
                  double* value, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        const Lanes top = -fill_level(ball.x, K, -1.0, ball.size);
        write(larger(top, Lanes{} + 1.0 / K), left, value + first);
    }
}

void ball_lower_sum(const double* center, const double* radius, std::size_t count, int K,
                    double* value, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        Lanes sum = {};
        for (int y = 0; y < K; ++y) sum += larger(ball.x[y] - ball.size, Lanes{});
        write(sum, left, value + first);
    }
}

void contamination_max_entropy(const double* center, const double* epsilon, std::size_t count,
                               int K, double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Neighbours near(center, epsilon, first, left, K, scratch);
        near.shrink(K);
        const Lanes bottom = fill_level(near.x, K, 1.0, near.size);
        EntropySum entropy(distribution, first, left, K, bottom);
        for (int y = 0; y < K; ++y) entropy.add(y, larger(near.x[y], bottom));
        entropy.finish(value + first);
    }
}

void ball_max_entropy(const double* center, const double* radius, std::size_t count, int K,
                      double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        const Lanes bottom = fill_level(ball.x, K, 1.0, ball.size);
        const Lanes top = -fill_level(ball.x, K, -1.0, ball.size);
        const Marks even = bottom >= top;
        EntropySum entropy(distribution, first, left, K, bottom);
        for (int y = 0; y < K; ++y)
            entropy.add(y, even ? Lanes{} + 1.0 / K : between(ball.x[y], bottom, top));
        entropy.finish(value + first);
    }
}

void contamination_min_entropy(const double* center, const double* epsilon, std::size_t count,
                               int K, double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Neighbours near(center, epsilon, first, left, K, scratch);
        const Marks top = near.top<false>(K);
        near.shrink(K);
        EntropySum entropy(distribution, first, left, K, Lanes{});
        for (int y = 0; y < K; ++y)
            entropy.add(y, top == y ? near.x[y] + near.size : near.x[y]);
        entropy.finish(value + first);
    }
}

// The radius is taken from the least probable classes, one after the other, and given to the most
// probable one.
void ball_min_entropy(const double* center, const double* radius, std::size_t count, int K,
                      double* value, double* distribution, double* scratch) {
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        const Neighbours ball(center, radius, first, left, K, scratch);
        const Marks top = ball.top<true>(K);
        Lanes wanted = ball.size, given = {};
        for (int step = 1; step < K && any(wanted > 0.0); ++step) {
            Lanes least = Lanes{} + __builtin_inf();
            Marks from = ~Marks{};
            for (int y = 0; y < K; ++y) {
                const Lanes x = ball.x[y];
                const Marks less = (x > 0.0) & (x < least) & (top != y);
                from = less ? Marks{} + y : from;
                least = less ? x : least;
            }
            const Lanes taken = from >= 0 ? smaller(least, wanted) : Lanes{};
            for (int y = 0; y < K; ++y) ball.x[y] -= from == y ? taken : Lanes{};
            given += taken;
            wanted = from >= 0 ? wanted - taken : Lanes{};
        }
        EntropySum entropy(distribution, first, left, K, Lanes{});
        for (int y = 0; y < K; ++y)
            entropy.add(y, top == y ? ball.x[y] + given : ball.x[y]);
        entropy.finish(value + first);
    }
}

CREDALENS_INLINE void store(double* to, const Lanes& v) { __builtin_memcpy(to, &v, sizeof v); }
CREDALENS_INLINE void store(float* to, const Lanes& v) {
    const Floats narrow = __builtin_convertvector(v, Floats);
    __builtin_memcpy(to, &narrow, sizeof narrow);
}

// Writes the K entries of each lane as a row, `stride` apart; a square of them at a time.
template <class T>
CREDALENS_INLINE void write_rows(const Lanes* v, int K, std::size_t count, std::size_t stride,
                                 T* out) {
    if (K < kWidth || count < kWidth) {
        for (int y = 0; y < K; ++y)
            for (std::size_t i = 0; i < kWidth && i < count; ++i)
                out[i * stride + y] = static_cast<T>(v[y][i]);
        return;
    }
    for (int y = 0;; y = y + 2 * kWidth <= K ? y + kWidth : K - kWidth) {
        const double* from[kWidth];
        for (int i = 0; i < kWidth; ++i) from[i] = reinterpret_cast<const double*>(v + y + i);
        Lanes rows[kWidth];
        columns_of(from, 0, rows);
        for (std::size_t i = 0; i < kWidth; ++i) store(out + i * stride + y, rows[i]);
        if (y + kWidth == K) return;
    }
}

// A NaN stays where a comparison with it fails, reaches the sums, and fails there.
CREDALENS_INLINE Lanes in_unit(const Lanes& x) {
    return smaller(Lanes{} + 1.0, larger(Lanes{}, x));
}

template <class T>
std::size_t reachable_bounds(const T* low, const T* high, std::size_t count, int K, double slack,
                             double tolerance, T* bounds, T* tops, double* scratch) {
    const std::size_t classes = K;
    const Lanes one = Lanes{} + 1.0;
    Lanes *l = reinterpret_cast<Lanes*>(scratch), *u = l + K;
    std::size_t first_bad = count;
    for (std::size_t first = 0; first < count; first += kWidth) {
        const std::size_t left = count - first;
        Sources<T>(low + first * classes, classes, left).all(classes, l);
        Sources<T>(high + first * classes, classes, left).all(classes, u);
        Lanes lows = {}, highs = {}, worst = {};
        for (int y = 0; y < K; ++y) {
            worst = larger(larger(larger(l[y] - u[y], -l[y]), u[y] - 1.0), worst);
            lows += l[y] = in_unit(l[y]);
            highs += u[y] = larger(l[y], in_unit(u[y]));
        }
        const Marks good =
            (worst <= slack) & (lows <= 1.0 + tolerance) & (highs >= 1.0 - tolerance);
        for (std::size_t i = 0; i < kWidth && i < left && first_bad == count; ++i)
            if (!good[i]) first_bad = first + i;
        if (any(~((lows <= 1.0) & (highs >= 1.0)))) {
            // By rounding: the bounds meet there. Dividing by 1 leaves the other lanes as they are.
            const Lanes shrink = larger(lows, one), grow = smaller(highs, one);
            lows = highs = Lanes{};
            for (int y = 0; y < K; ++y) {
                lows += l[y] /= shrink;
                highs += u[y] /= grow;
            }
        }
        Lanes most_low = {}, most_high = {};
        for (int y = 0; y < K; ++y) {
            const Lanes own = l[y];
            l[y] = smaller(larger(own, 1.0 - (highs - u[y])), u[y]);
            u[y] = larger(smaller(u[y], 1.0 - (lows - own)), l[y]);
            most_low = larger(l[y], most_low);
            most_high = larger(u[y], most_high);
        }
        T* const here = bounds + 2 * first * classes;
        write_rows(l, K, left, 2 * classes, here);
        write_rows(u, K, left, 2 * classes, here + K);
        write_member(most_low, left, 2, tops + 2 * first);
        write_member(most_high, left, 2, tops + 2 * first + 1);
    }
    return first_bad;
}
