// Sums and small linear systems over rows that are padded with zeros to a multiple of eight.

// Eight partial sums, added in the same order on every target: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3
// + 7)). A single sum drifts: by 4e-13 for 2000 equal terms.
struct EightSums {
    Vec part[8 / kLanes] = {};

    CREDALENS_INLINE double total() const {
        if constexpr (kLanes == 8) return reduce_sum(part[0]);
        if constexpr (kLanes == 4) return reduce_sum(part[0] + part[4 / kLanes]);
        return reduce_sum((part[0] + part[4 / kLanes]) + (part[2 / kLanes] + part[6 / kLanes]));
    }
};

CREDALENS_INLINE double sum_padded(const double* x, int size) {
    EightSums sums;
    for (int y = 0; y < size; y += 8)
        for (int i = 0; i < 8 / kLanes; ++i) sums.part[i] += load(x + y + i * kLanes);
    return sums.total();
}

CREDALENS_INLINE double dot_padded(const double* a, const double* b, int size) {
    EightSums sums;
    for (int y = 0; y < size; y += 8)
        for (int i = 0; i < 8 / kLanes; ++i)
            sums.part[i] += load(a + y + i * kLanes) * load(b + y + i * kLanes);
    return sums.total();
}

// out[j] = a . b_j for four rows: four independent sums hide the latency of the additions.
CREDALENS_INLINE void dot4(const double* a, const double* b0, const double* b1, const double* b2,
                           const double* b3, int size, double* out) {
    Vec s0 = {}, s1 = {}, s2 = {}, s3 = {};
    for (int y = 0; y < size; y += kLanes) {
        const Vec x = load(a + y);
        s0 += x * load(b0 + y);
        s1 += x * load(b1 + y);
        s2 += x * load(b2 + y);
        s3 += x * load(b3 + y);
    }
    out[0] = reduce_sum(s0), out[1] = reduce_sum(s1);
    out[2] = reduce_sum(s2), out[3] = reduce_sum(s3);
}

// Copies one instance to float64, each row divided by its sum and padded with zeros. The padded
// copy is summed, not the input, so that equal rows are equal to the last bit.
template <class T>
CREDALENS_INLINE void normalize_rows(const T* P, int M, int K, double* rows) {
    const int stride = padded_size(K);
    for (int m = 0; m < M; ++m, P += K, rows += stride) {
        for (int y = 0; y < stride; y += kLanes) store(rows + y, load_n(P + y, std::max(K - y, 0)));
        const double sum = sum_padded(rows, stride);
        for (int y = 0; y < stride; y += kLanes) store(rows + y, load(rows + y) / sum);
    }
}

// y += a x from entry `begin`, rounded down to a multiple of eight, to entry `end`, rounded up.
CREDALENS_INLINE void add_scaled(double* CREDALENS_RESTRICT y, const double* CREDALENS_RESTRICT x,
                                 double a, int begin, int end) {
    for (int i = begin / 8 * 8; i < end; i += 8)
        for (int j = i; j < i + 8; j += kLanes) store(y + j, load(y + j) + a * load(x + j));
}

// Solves a positive definite system by elimination without pivoting. Rows of `columns` entries hold
// the upper triangle and, as one more column, the right-hand side. The diagonal includes a ridge, a
// share of each entry; a pivot below a tenth of that is rounding.
CREDALENS_INLINE void solve_system(double* matrix, int size, int columns, double ridge, double* x) {
    for (int i = 0; i < size; ++i) x[i] = matrix[static_cast<std::size_t>(i) * columns + i];
    for (int j = 0; j < size; ++j) {
        const double* row = matrix + static_cast<std::size_t>(j) * columns;
        const double smallest = 0.1 * ridge * x[j];
        const double inverse = 1 / (row[j] > smallest ? row[j] : smallest);
        x[j] = inverse;
        for (int i = j + 1; i < size; ++i)
            add_scaled(matrix + static_cast<std::size_t>(i) * columns, row, -row[i] * inverse, i,
                       size + 1);
    }
    for (int j = size - 1; j >= 0; --j) {
        const double* row = matrix + static_cast<std::size_t>(j) * columns;
        double rest = row[size];
        for (int i = j + 1; i < size; ++i) rest -= row[i] * x[i];
        x[j] *= rest;
    }
}
