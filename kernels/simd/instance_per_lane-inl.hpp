// What simd/instance_per_lane.hpp declares, for one instruction set: included by simd/foreach_target.hpp after simd/vector-inl.hpp.
// Nothing of the standard library is called here either.

typedef float Floats __attribute__((vector_size(4 * CREDALENS_LANES)));
typedef std::uint64_t Bits __attribute__((vector_size(8 * CREDALENS_LANES)));

CREDALENS_INLINE Lanes magnitude(const Lanes& v) { return (Lanes)((Marks)v & INT64_MAX); }

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

CREDALENS_INLINE Floats load_as_is(const float* x) {
    Floats v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}
CREDALENS_INLINE Lanes load(const float* x) { return widened(load_as_is(x)); }

// What is in double precision stays as it is.
CREDALENS_INLINE Lanes load_as_is(const double* x) { return load(x); }
CREDALENS_INLINE Lanes widened(const Lanes& v) { return v; }

// Whole numbers, as many as there are lanes: what is between 0 and 1, in units of 1 / kCounts.
typedef std::uint32_t Counts __attribute__((vector_size(4 * CREDALENS_LANES)));
constexpr double kCounts = 0x1p28;

#if CREDALENS_LANES == 8
CREDALENS_INLINE Counts counted(const Lanes& v) {
    return (Counts)_mm512_cvttpd_epi32((__m512d)(v * kCounts));
}
CREDALENS_INLINE Counts counted(const Floats& v) {
    return (Counts)_mm256_cvttps_epi32((__m256)(v * static_cast<float>(kCounts)));
}
CREDALENS_INLINE Lanes widened(const Counts& v) { return (Lanes)_mm512_cvtepi32_pd((__m256i)v); }
CREDALENS_INLINE Counts larger(const Counts& a, const Counts& b) {
    return (Counts)_mm256_max_epu32((__m256i)a, (__m256i)b);
}
#elif CREDALENS_LANES == 4
CREDALENS_INLINE Counts counted(const Lanes& v) {
    return (Counts)_mm256_cvttpd_epi32((__m256d)(v * kCounts));
}
CREDALENS_INLINE Counts counted(const Floats& v) {
    return (Counts)_mm_cvttps_epi32((__m128)(v * static_cast<float>(kCounts)));
}
CREDALENS_INLINE Lanes widened(const Counts& v) { return (Lanes)_mm256_cvtepi32_pd((__m128i)v); }
CREDALENS_INLINE Counts larger(const Counts& a, const Counts& b) {
    return (Counts)_mm_max_epu32((__m128i)a, (__m128i)b);
}
#else
template <class V>
CREDALENS_INLINE Counts counted(const V& v) {
    return __builtin_convertvector(v * static_cast<float>(kCounts), Counts);
}
CREDALENS_INLINE Lanes widened(const Counts& v) { return __builtin_convertvector(v, Lanes); }
CREDALENS_INLINE Counts larger(const Counts& a, const Counts& b) { return a > b ? a : b; }
#endif
CREDALENS_INLINE Counts plus(const Counts& sum, const Counts& x, const Lanes&) { return sum + x; }

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

CREDALENS_INLINE bool any(const Marks& marks) {
#if CREDALENS_LANES == 8
    return _mm512_test_epi64_mask((__m512i)marks, (__m512i)marks) != 0;
#elif CREDALENS_LANES == 4
    return !_mm256_testz_si256((__m256i)marks, (__m256i)marks);
#else
    return (marks[0] | marks[1]) != 0;
#endif
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
CREDALENS_INLINE Floats without(const Floats& v, const Marks& marks) {
    return (Floats)((Counts)v & ~__builtin_convertvector(marks, Counts));
}

// The number of an instance for the m-th of M members, in arrays of such numbers.
template <class V, class U>
CREDALENS_INLINE void write_member(const V& v, std::size_t count, int M, U* out) {
    for (std::size_t i = 0; i < kWidth && i < count; ++i) out[i * M] = static_cast<U>(v[i]);
}

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

#include "hull/pairs_instance_per_lane-inl.hpp"
#include "hull/pairs_class_per_lane-inl.hpp"
#include "hull/leave_one_out-inl.hpp"
#include "runtime/validate_rows-inl.hpp"
#include "entropy/entropy-inl.hpp"
#include "boxes/boxes_instance_per_lane-inl.hpp"
#include "boxes/boxes_class_per_lane-inl.hpp"
#include "boxes/reachable_bounds-inl.hpp"
#include "second_order/second_order-inl.hpp"
