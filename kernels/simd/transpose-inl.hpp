// Instances in lanes: loads that transpose kLanes instances, or rows, so that lane i belongs to
// instance i from beginning to end. Nothing is summed over lanes, and the result of an instance
// does not depend on the others.

// Exchanges the odd blocks of `kBlock` lanes of a with the even ones of b.
template <int kBlock>
CREDALENS_INLINE void exchange_blocks(Vec& a, Vec& b) {
#if CREDALENS_LANES > 2
    const Vec x = a, y = b;
#if CREDALENS_LANES == 8
    if constexpr (kBlock == 2) {
        a = CREDALENS_SHUFFLE(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
        b = CREDALENS_SHUFFLE(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    } else {
        a = CREDALENS_SHUFFLE(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
        b = CREDALENS_SHUFFLE(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
    }
#else
    a = CREDALENS_SHUFFLE(x, y, 0, 4, 2, 6);
    b = CREDALENS_SHUFFLE(x, y, 1, 5, 3, 7);
#endif
#else
    (void)a, (void)b;
#endif
}

template <int kBlock>
CREDALENS_INLINE void exchange_all(Vec* v) {
    for (int i = 0; i < kLanes; ++i)
        if (!(i & kBlock)) exchange_blocks<kBlock>(v[i], v[i + kBlock]);
    if constexpr (kBlock > 1) exchange_all<kBlock / 2>(v);
}

// Half a vector from each of two addresses.
template <class T>
CREDALENS_INLINE Vec load_halves(const T* x, const T* y) {
#if CREDALENS_LANES == 8
    __m256d low, high;
    if constexpr (sizeof(T) == sizeof(double))
        low = _mm256_loadu_pd(x), high = _mm256_loadu_pd(y);
    else
        low = _mm256_cvtps_pd(_mm_loadu_ps(x)), high = _mm256_cvtps_pd(_mm_loadu_ps(y));
    return (Vec)_mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
#else
    Vec v;
    for (int i = 0; i < kLanes / 2; ++i) v[i] = x[i], v[i + kLanes / 2] = y[i];
    return v;
#endif
}

// v[j] gets entry first + j of each of kLanes rows. The loads exchange the halves.
template <class T>
CREDALENS_INLINE void load_transposed(const T* const* rows, std::size_t first, Vec* v) {
    constexpr int kHalf = kLanes / 2;
    for (int i = 0; i < kHalf; ++i) {
        v[i] = load_halves(rows[i] + first, rows[i + kHalf] + first);
        v[i + kHalf] = load_halves(rows[i] + first + kHalf, rows[i + kHalf] + first + kHalf);
    }
    if constexpr (kHalf > 1) exchange_all<kHalf / 2>(v);
}

// One pointer per lane, `stride` apart. If there are fewer than kLanes instances, the last one is
// read in the other lanes.
template <class T>
struct LanePointers {
    const T* row[kLanes];

    CREDALENS_INLINE LanePointers(const T* first, std::size_t stride, std::size_t count) {
        for (std::size_t i = 0; i < kLanes; ++i)
            row[i] = first + (i < count ? i : count - 1) * stride;
    }

    // The rows at `count` addresses, likewise.
    CREDALENS_INLINE LanePointers(const T* const* rows, std::size_t count) {
        for (std::size_t i = 0; i < kLanes; ++i) row[i] = rows[i < count ? i : count - 1];
    }

    CREDALENS_INLINE void advance(std::size_t entries) {
        for (int i = 0; i < kLanes; ++i) row[i] += entries;
    }

    CREDALENS_INLINE Vec gather(std::size_t entry) const {
        std::conditional_t<sizeof(T) == sizeof(double), Vec, FloatVec> v;
        for (int i = 0; i < kLanes; ++i) v[i] = row[i][entry];
        return widen(v);
    }

    CREDALENS_INLINE void load_block(std::size_t first, Vec* v) const {
        load_transposed(row, first, v);
    }

    // Entries 0 to size - 1. Hardware prefetchers do not follow kLanes streams: if `ahead` is not
    // 0, the entries so much further on are prefetched.
    CREDALENS_INLINE void load_all(std::size_t size, Vec* out, std::size_t ahead = 0) const {
        std::size_t e = 0;
        Vec v[kLanes];
        for (; e + kLanes <= size; e += kLanes) {
            load_block(e, v);
            if (ahead)
                for (int i = 0; i < kLanes; ++i) prefetch(row[i] + e + ahead);
            for (int i = 0; i < kLanes; ++i) out[e + i] = v[i];
        }
        if (e < size && size >= kLanes) {  // overlaps the previous block
            load_block(size - kLanes, v);
            for (int i = 0; i < kLanes; ++i) out[size - kLanes + i] = v[i];
        } else {
            for (; e < size; ++e) out[e] = gather(e);
        }
    }
};

// Lane i goes to to[i * stride].
template <class V, class T>
CREDALENS_INLINE void store_strided(T* to, const V& v, std::size_t count, std::size_t stride) {
    for (std::size_t i = 0; i < kLanes && i < count; ++i) to[i * stride] = static_cast<T>(v[i]);
}

// The inverse of load_all: lane i of K vectors goes to row i, `stride` apart.
template <class T>
CREDALENS_INLINE void store_transposed(T* to, const Vec* v, int K, std::size_t count,
                                       std::size_t stride) {
    if (K < kLanes || count < kLanes) {
        for (int y = 0; y < K; ++y) store_strided(to + y, v[y], count, stride);
        return;
    }
    for (int y = 0;; y = y + 2 * kLanes <= K ? y + kLanes : K - kLanes) {
        const double* columns[kLanes];
        for (int i = 0; i < kLanes; ++i) columns[i] = reinterpret_cast<const double*>(v + y + i);
        Vec rows[kLanes];
        load_transposed(columns, 0, rows);
        for (std::size_t i = 0; i < kLanes; ++i) store(to + i * stride + y, rows[i]);
        if (y + kLanes == K) return;
    }
}

// Lane i of the result is the sum, the maximum or the minimum over the lanes of v[i]. If there are
// fewer than kLanes vectors, that of the last one is repeated.
CREDALENS_INLINE Vec row_sums(const Vec* v, int count) {
    Vec part[kLanes];
    LanePointers<double>(reinterpret_cast<const double*>(v), kLanes, count).load_block(0, part);
    for (int i = 1; i < kLanes; ++i) part[0] += part[i];
    return part[0];
}

CREDALENS_INLINE Vec row_maxima(const Vec* v, int count) {
    Vec part[kLanes];
    LanePointers<double>(reinterpret_cast<const double*>(v), kLanes, count).load_block(0, part);
    for (int i = 1; i < kLanes; ++i) part[0] = max(part[i], part[0]);
    return part[0];
}

CREDALENS_INLINE Vec row_minima(const Vec* v, int count) {
    Vec part[kLanes];
    LanePointers<double>(reinterpret_cast<const double*>(v), kLanes, count).load_block(0, part);
    for (int i = 1; i < kLanes; ++i) part[0] = min(part[i], part[0]);
    return part[0];
}
