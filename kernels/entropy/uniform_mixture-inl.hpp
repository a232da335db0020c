// Weights of many members whose mixture is uniform, for one target. The uniform distribution has
// the largest entropy and the smallest maximum: if it is a mixture of the members, it solves both
// problems. Needs simd/padded_rows-inl.hpp.

constexpr int kMaxUniformClasses = 64;   // classes for which it is tried
constexpr double kMaxChiSquared = 0.05;  // of the mean member and the uniform distribution
constexpr double kUniformRidge = 1e-13;

// The smallest change of equal weights for which the mixture is uniform. Returns false if the mean
// member is not nearly uniform, or a weight would be negative. `by_class` (K, list) holds the
// members class by class, padded with zeros; `matrix` (K, padded K + 1) and `x` (K) are scratch
// memory; `w` has `list` entries.
CREDALENS_INLINE bool uniform_mixture(const double* by_class, int list, int M, int K,
                                      double* matrix, double* x, double* w) {
    const int columns = padded_size(K + 1);
    double deviation = 0;
    for (int y = 0; y < K; ++y) {
        double* row = matrix + static_cast<std::size_t>(y) * columns;
        __builtin_memset(row, 0, columns * sizeof(double));
        row[K] = 1.0 / K - sum_padded(by_class + static_cast<std::size_t>(y) * list, list) / M;
        deviation += row[K] * row[K];
    }
    if (!(K * deviation < kMaxChiSquared)) return false;
    for (int y = 0; y < K; ++y) {
        double* row = matrix + static_cast<std::size_t>(y) * columns;
        const double* members = by_class + static_cast<std::size_t>(y) * list;
        const auto class_members = [&](int z) {
            return by_class + static_cast<std::size_t>(std::min(z, K - 1)) * list;
        };
        for (int z = y; z < K; z += 4) {
            double products[4];
            dot4(members, class_members(z), class_members(z + 1), class_members(z + 2),
                 class_members(z + 3), list, products);
            std::copy_n(products, std::min(4, K - z), row + z);
        }
        row[y] *= 1 + kUniformRidge;
    }
    solve_system(matrix, K, columns, kUniformRidge, x);
    for (int m = 0; m < list; ++m) w[m] = m < M ? 1.0 / M : 0.0;
    for (int y = 0; y < K; ++y)
        add_scaled(w, by_class + static_cast<std::size_t>(y) * list, x[y], 0, list);
    bool negative = false;
    for (int m = 0; m < M; ++m) negative |= !(w[m] >= 0);
    for (int m = M; m < list; ++m) w[m] = 0;  // not NaN
    return !negative;
}
