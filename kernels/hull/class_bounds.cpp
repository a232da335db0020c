#include "hull/class_bounds.hpp"

#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

struct Least {
    CREDALENS_INLINE double operator()(double a, double b) const { return b < a ? b : a; }
};

struct Largest {
    CREDALENS_INLINE double operator()(double a, double b) const { return a < b ? b : a; }
};

// The best of each column of (M, K), three rows at a time.
template <class Best, class T>
CREDALENS_INLINE void reduce(const T* P, int M, int K, double* CREDALENS_RESTRICT out) {
    const Best best;
    for (int y = 0; y < K; ++y) out[y] = P[y];
    int m = 1;
    for (; m + 3 <= M; m += 3) {
        const T *a = P + static_cast<std::size_t>(m) * K, *b = a + K, *c = b + K;
        for (int y = 0; y < K; ++y) out[y] = best(out[y], best(best(a[y], b[y]), c[y]));
    }
    for (; m < M; ++m) {
        const T* a = P + static_cast<std::size_t>(m) * K;
        for (int y = 0; y < K; ++y) out[y] = best(out[y], a[y]);
    }
}

template <class T>
CREDALENS_INLINE void process(const T* P, std::size_t begin, std::size_t end, int M, int K,
                              double* lower, double* upper) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = begin; i < end; ++i) {
        if (lower) reduce<Least>(P + i * size, M, K, lower + i * K);
        if (upper) reduce<Largest>(P + i * size, M, K, upper + i * K);
    }
}

CREDALENS_CLONES void process_range(const float* P, std::size_t begin, std::size_t end, int M,
                                    int K, double* lower, double* upper) {
    process(P, begin, end, M, K, lower, upper);
}

CREDALENS_CLONES void process_range(const double* P, std::size_t begin, std::size_t end, int M,
                                    int K, double* lower, double* upper) {
    process(P, begin, end, M, K, lower, upper);
}

}  // namespace

template <class T>
void class_bounds(const T* P, std::size_t n, int M, int K, double* lower, double* upper,
                int threads) {
    const std::size_t grain = 1 + (std::size_t{1} << 19) / (static_cast<std::size_t>(M) * K + 1);
    parallel_for(n, grain, threads, [&](std::size_t begin, std::size_t end) {
        process_range(P, begin, end, M, K, lower, upper);
    });
}

template void class_bounds(const float*, std::size_t, int, int, double*, double*, int);
template void class_bounds(const double*, std::size_t, int, int, double*, double*, int);

}  // namespace credalens
