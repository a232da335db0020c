// The vector type of one target: included by foreach_target.hpp, with the number of lanes in
// CREDALENS_LANES. The operators are those of the vector extensions of GCC and Clang; a comparison
// gives a Mask. Intrinsics are used only where GCC makes several instructions of an expression.

constexpr int kLanes = CREDALENS_LANES;
typedef double Vec __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef float FloatVec __attribute__((vector_size(4 * CREDALENS_LANES)));
typedef std::int64_t Mask __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef std::uint64_t Bits __attribute__((vector_size(8 * CREDALENS_LANES)));

// Lanes of two vectors by their indices.
#if defined(__clang__)
#define CREDALENS_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CREDALENS_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Mask{__VA_ARGS__})
#endif

// The maximum and the minimum return the second operand if one of them is NaN.
#if CREDALENS_LANES == 8
CREDALENS_INLINE Vec broadcast(double x) {
    return (Vec)_mm512_set1_pd(x);
}
CREDALENS_INLINE Vec max(const Vec& a, const Vec& b) {
    return (Vec)_mm512_max_pd((__m512d)a, (__m512d)b);
}
CREDALENS_INLINE Vec min(const Vec& a, const Vec& b) {
    return (Vec)_mm512_min_pd((__m512d)a, (__m512d)b);
}
#elif CREDALENS_LANES == 4
CREDALENS_INLINE Vec broadcast(double x) {
    return (Vec)_mm256_set1_pd(x);
}
CREDALENS_INLINE Vec max(const Vec& a, const Vec& b) {
    return (Vec)_mm256_max_pd((__m256d)a, (__m256d)b);
}
CREDALENS_INLINE Vec min(const Vec& a, const Vec& b) {
    return (Vec)_mm256_min_pd((__m256d)a, (__m256d)b);
}
#else
CREDALENS_INLINE Vec broadcast(double x) {
    return Vec{x, x};
}
CREDALENS_INLINE Vec max(const Vec& a, const Vec& b) {
    return a > b ? a : b;
}
CREDALENS_INLINE Vec min(const Vec& a, const Vec& b) {
    return a < b ? a : b;
}
#endif

CREDALENS_INLINE Vec abs(const Vec& v) {
    return (Vec)((Mask)v & INT64_MAX);
}

// Replaces negative lanes by 0; a NaN is kept.
CREDALENS_INLINE Vec clip_negative(const Vec& v) {
    return v < 0.0 ? Vec{} : v;
}

CREDALENS_INLINE Vec sqrt(const Vec& v) {
#if CREDALENS_LANES == 8
    return (Vec)_mm512_sqrt_pd((__m512d)v);
#elif CREDALENS_LANES == 4
    return (Vec)_mm256_sqrt_pd((__m256d)v);
#else
    return Vec{__builtin_sqrt(v[0]), __builtin_sqrt(v[1])};
#endif
}

// 0, 1, 2, ...
CREDALENS_INLINE Mask iota() {
    Mask numbers;
    for (int i = 0; i < kLanes; ++i) numbers[i] = i;
    return numbers;
}

CREDALENS_INLINE Vec zero_where(const Mask& mask, const Vec& v) {
    return (Vec)((Mask)v & ~mask);
}

// Rows of K >= kLanes entries in vectors: the last one ends at entry K, so that its first lanes may
// repeat the previous vector. These lanes are marked.
CREDALENS_INLINE Mask repeated_lanes(int K) {
    return K % kLanes ? iota() < kLanes - K % kLanes : Mask{};
}

// The lanes from `first` on, 0 in those before.
CREDALENS_INLINE Vec lanes_from(std::int64_t first, const Vec& v) {
    return iota() >= first ? v : Vec{};
}

// --------------------------------------------------------------------------- load and store

CREDALENS_INLINE Vec load(const double* x) {
    Vec v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

CREDALENS_INLINE Vec widen(const Vec& v) {
    return v;
}
CREDALENS_INLINE Vec widen(const FloatVec& v) {
#if CREDALENS_LANES == 8
    return (Vec)_mm512_cvtps_pd((__m256)v);
#else
    return __builtin_convertvector(v, Vec);
#endif
}

CREDALENS_INLINE Vec load(const float* x) {
    FloatVec v;
    __builtin_memcpy(&v, x, sizeof v);
    return widen(v);
}

// The first `count` lanes, all of them if that is more; 0 in the others.
template <class T>
CREDALENS_INLINE Vec load_n(const T* x, int count) {
    if (count >= kLanes) return load(x);
#if CREDALENS_LANES == 8
    const __mmask8 mask = static_cast<__mmask8>((1u << count) - 1);
    if constexpr (sizeof(T) == sizeof(double))
        return (Vec)_mm512_maskz_loadu_pd(mask, x);
    else
        return (Vec)_mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, x));
#else
    Vec v = {};
    for (int i = 0; i < kLanes; ++i)
        if (i < count) v[i] = x[i];
    return v;
#endif
}

CREDALENS_INLINE void store(double* to, const Vec& v) {
    __builtin_memcpy(to, &v, sizeof v);
}

CREDALENS_INLINE void store(float* to, const Vec& v) {
    const FloatVec narrow = __builtin_convertvector(v, FloatVec);
    __builtin_memcpy(to, &narrow, sizeof narrow);
}

// The first `count` lanes, all of them if that is more.
CREDALENS_INLINE void store_n(double* to, const Vec& v, std::size_t count) {
    if (count >= kLanes)
        store(to, v);
    else
        for (std::size_t i = 0; i < count; ++i) to[i] = v[i];
}

CREDALENS_INLINE void prefetch(const void* address) {
    __builtin_prefetch(address, 0, 2);
}

// ------------------------------------------------------------------------------ comparisons

CREDALENS_INLINE bool any(const Mask& mask) {
#if CREDALENS_LANES == 8
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif CREDALENS_LANES == 4
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    return (mask[0] | mask[1]) != 0;
#endif
}

// One bit for each lane in which the comparison holds.
#if CREDALENS_LANES == 8
CREDALENS_INLINE unsigned less_bits(const Vec& a, const Vec& b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
}
CREDALENS_INLINE unsigned equal_bits(const Vec& a, const Vec& b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
}
#else
CREDALENS_INLINE unsigned bits_of(const Mask& mask) {
#if CREDALENS_LANES == 4
    return _mm256_movemask_pd((__m256d)mask);
#else
    return (mask[0] & 1) | (mask[1] & 2);
#endif
}
CREDALENS_INLINE unsigned less_bits(const Vec& a, const Vec& b) {
    return bits_of(a < b);
}
CREDALENS_INLINE unsigned equal_bits(const Vec& a, const Vec& b) {
    return bits_of(a == b);
}
#endif

// Whether sums of rows are 1 up to `tolerance`; false for a NaN.
CREDALENS_INLINE Mask near_one(const Vec& sum, double tolerance) {
    return abs(sum - 1.0) <= tolerance;
}

// ------------------------------------------------------------------------------- reductions

// Halves are added until one lane is left: for eight lanes ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 +
// 7)).
CREDALENS_INLINE double reduce_sum(const Vec& v) {
#if CREDALENS_LANES == 8
    return _mm512_reduce_add_pd((__m512d)v);
#elif CREDALENS_LANES == 4
    return (v[0] + v[2]) + (v[1] + v[3]);
#else
    return v[0] + v[1];
#endif
}

#if CREDALENS_LANES == 8
CREDALENS_INLINE double reduce_max(const Vec& v) {
    return _mm512_reduce_max_pd((__m512d)v);
}
CREDALENS_INLINE double reduce_min(const Vec& v) {
    return _mm512_reduce_min_pd((__m512d)v);
}
#else
CREDALENS_INLINE double reduce_max(const Vec& v) {
    double best = v[0];
    for (int i = 1; i < kLanes; ++i) best = v[i] > best ? v[i] : best;
    return best;
}
CREDALENS_INLINE double reduce_min(const Vec& v) {
    return -reduce_max(-v);
}
#endif

// ------------------------------------------------------------------------- multiply and add

// sum + x as the multiply-add x * one + sum, where `one` is `opaque_one()`. On CPUs that execute
// additions and comparisons on the same ports, and multiply-adds on others, a loop of both is
// faster: see the README.
CREDALENS_INLINE Vec add_by_fma(const Vec& sum, const Vec& x, const Vec& one) {
#if CREDALENS_LANES == 8
    return (Vec)_mm512_fmadd_pd((__m512d)x, (__m512d)one, (__m512d)sum);
#elif CREDALENS_LANES == 4
    return (Vec)_mm256_fmadd_pd((__m256d)x, (__m256d)one, (__m256d)sum);
#else
    (void)one;
    return sum + x;
#endif
}

// 1, as a value that the compiler does not fold.
CREDALENS_INLINE Vec opaque_one() {
    double one = 1.0;
#if CREDALENS_LANES > 2
    asm("" : "+x"(one));
#endif
    return broadcast(one);
}
