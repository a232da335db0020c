// Gradients of the total variation queries, for one target.

// Adds g to the entry that attains max_y min_m P_my; `lower` (K) is scratch memory.
template <class T>
CREDALENS_INLINE void add_max_lower(const T* P, int M, int K, double g, double* lower, double* G) {
    for (int y = 0; y < K; ++y) lower[y] = P[y];
    for (int m = 1; m < M; ++m)
        for (int y = 0; y < K; ++y) {
            const double p = P[static_cast<std::size_t>(m) * K + y];
            lower[y] = p < lower[y] ? p : lower[y];
        }
    const int best = static_cast<int>(std::max_element(lower, lower + K) - lower);
    int member = 0;
    while (static_cast<double>(P[static_cast<std::size_t>(member) * K + best]) != lower[best])
        ++member;
    G[static_cast<std::size_t>(member) * K + best] += g;
}

template <class T>
CREDALENS_INLINE void tv_gradient(const T* P, int M, int K, std::size_t i, const TvCotangents& loss,
                                  double* lower, double* G) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    std::fill(G, G + size, 0.0);
    if (loss.value) {
        const double *w = loss.weights + i * M, *q = loss.dual + i * K;
        for (int m = 0; m < M; ++m) {
            const double factor = loss.value[i] * w[m];
            if (factor == 0) continue;
            for (int y = 0; y < K; ++y) G[static_cast<std::size_t>(m) * K + y] += factor * q[y];
        }
    }
    if (loss.max_lower) add_max_lower(P, M, K, loss.max_lower[i], lower, G);
    if (loss.max_upper) G[std::max_element(P, P + size) - P] += loss.max_upper[i];
    if (loss.diameter) {
        const std::size_t a = loss.pairs[2 * i] * K, b = loss.pairs[2 * i + 1] * K;
        const double g = loss.diameter[i];
        for (int y = 0; y < K; ++y) {
            const double sign = P[a + y] > P[b + y] ? g : P[a + y] < P[b + y] ? -g : 0.0;
            G[a + y] += sign;
            G[b + y] -= sign;
        }
    }
}

// Instances begin to end; `G` (M, K) is scratch memory in float64.
template <class T>
void tv_gradients(const T* P, std::size_t begin, std::size_t end, int M, int K,
                  const TvCotangents& loss, T* gradient, double* lower, double* G) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = begin; i < end; ++i) {
        tv_gradient(P + i * size, M, K, i, loss, lower, G);
        for (std::size_t e = 0; e < size; ++e) gradient[i * size + e] = static_cast<T>(G[e]);
    }
}
