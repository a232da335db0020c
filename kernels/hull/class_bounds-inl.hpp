// Columnwise minima and maxima, for one target. Three rows at a time, so that the running result is
// loaded and stored once for three of them.

struct Min {
    CREDALENS_INLINE Vec operator()(const Vec& a, const Vec& b) const { return min(b, a); }
    CREDALENS_INLINE double operator()(double a, double b) const { return b < a ? b : a; }
};

struct Max {
    CREDALENS_INLINE Vec operator()(const Vec& a, const Vec& b) const { return max(b, a); }
    CREDALENS_INLINE double operator()(double a, double b) const { return b > a ? b : a; }
};

template <class Op, class T>
CREDALENS_INLINE void reduce_columns(const T* P, int M, int K, double* CREDALENS_RESTRICT out) {
    const Op op;
    const int whole = K / kLanes * kLanes;
    for (int y = 0; y < whole; y += kLanes) store(out + y, load(P + y));
    for (int y = whole; y < K; ++y) out[y] = P[y];
    int m = 1;
    for (; m + 3 <= M; m += 3) {
        const T *a = P + static_cast<std::size_t>(m) * K, *b = a + K, *c = b + K;
        for (int y = 0; y < whole; y += kLanes)
            store(out + y, op(load(out + y), op(op(load(a + y), load(b + y)), load(c + y))));
        for (int y = whole; y < K; ++y)
            out[y] = op(out[y], op(op(double(a[y]), double(b[y])), double(c[y])));
    }
    for (; m < M; ++m) {
        const T* a = P + static_cast<std::size_t>(m) * K;
        for (int y = 0; y < whole; y += kLanes) store(out + y, op(load(out + y), load(a + y)));
        for (int y = whole; y < K; ++y) out[y] = op(out[y], double(a[y]));
    }
}

template <class T>
void class_bounds_range(const T* P, std::size_t begin, std::size_t end, int M, int K, double* lower,
                        double* upper) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = begin; i < end; ++i) {
        if (lower) reduce_columns<Min>(P + i * size, M, K, lower + i * K);
        if (upper) reduce_columns<Max>(P + i * size, M, K, upper + i * K);
    }
}
