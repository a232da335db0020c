// Vectors of one instruction set: included by simd/foreach_target.hpp inside a namespace, with the number of
// lanes in CREDALENS_LANES. Nothing of the standard library is called: what it would instantiate here
// might be linked into code for lesser machines.

constexpr int kWidth = CREDALENS_LANES;
typedef double Lanes __attribute__((vector_size(8 * CREDALENS_LANES)));
typedef std::int64_t Marks __attribute__((vector_size(8 * CREDALENS_LANES)));

CREDALENS_INLINE Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
CREDALENS_INLINE Lanes smaller(const Lanes& a, const Lanes& b) { return a < b ? a : b; }

CREDALENS_INLINE Lanes load(const double* x) {
    Lanes v;
    __builtin_memcpy(&v, x, sizeof v);
    return v;
}

// The first so many of what is there, all lanes if that is more; 0 in the others.
CREDALENS_INLINE Lanes load_first(const double* x, int count) {
    if (count >= kWidth) return load(x);
#if CREDALENS_LANES == 8
    return (Lanes)_mm512_maskz_loadu_pd((1u << count) - 1, x);
#else
    Lanes v = {};
    for (int i = 0; i < kWidth; ++i)
        if (i < count) v[i] = x[i];
    return v;
#endif
}

CREDALENS_INLINE void store(double* to, const Lanes& v) { __builtin_memcpy(to, &v, sizeof v); }

#if CREDALENS_LANES < 8
CREDALENS_INLINE unsigned bits_of(const Marks& marks) {
#if CREDALENS_LANES == 4
    return _mm256_movemask_pd((__m256d)marks);
#else
    return (marks[0] & 1) | (marks[1] & 2);
#endif
}
#endif

// Which lanes of a are less than, or equal to, those of b: a bit each.
CREDALENS_INLINE unsigned less_bits(const Lanes& a, const Lanes& b) {
#if CREDALENS_LANES == 8
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
#else
    return bits_of(a < b);
#endif
}
CREDALENS_INLINE unsigned equal_bits(const Lanes& a, const Lanes& b) {
#if CREDALENS_LANES == 8
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
#else
    return bits_of(a == b);
#endif
}

// 0, 1, 2, ...
CREDALENS_INLINE Marks lanes() {
    Marks numbers;
    for (int i = 0; i < kWidth; ++i) numbers[i] = i;
    return numbers;
}

CREDALENS_INLINE double largest_lane(const Lanes& v) {
#if CREDALENS_LANES == 8
    return _mm512_reduce_max_pd((__m512d)v);
#else
    double best = v[0];
    for (int i = 1; i < kWidth; ++i) best = v[i] > best ? v[i] : best;
    return best;
#endif
}
