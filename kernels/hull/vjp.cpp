#include "hull/vjp.hpp"

#include <algorithm>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"
#include "events/subset_sums.hpp"

namespace credalens {
namespace {

// Bits of an event that are tabulated; the others are walked through.
constexpr int kLowBits = 8;

template <class T>
CREDALENS_INLINE void add_lower(const T* P, int M, int K, double g, double* lower, double* G) {
    for (int y = 0; y < K; ++y) lower[y] = P[y];
    for (int m = 1; m < M; ++m)
        for (int y = 0; y < K; ++y)
            lower[y] = std::min(lower[y], static_cast<double>(P[static_cast<std::size_t>(m) * K + y]));
    int best = 0, member = 0;
    for (int y = 1; y < K; ++y)
        if (lower[y] > lower[best]) best = y;
    while (static_cast<double>(P[static_cast<std::size_t>(member) * K + best]) != lower[best])
        ++member;
    G[static_cast<std::size_t>(member) * K + best] += g;
}

template <class T>
CREDALENS_INLINE void tv_instance(const T* P, int M, int K, std::size_t i,
                                  const TvCotangents& loss, double* lower, double* G) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    std::fill(G, G + size, 0.0);
    if (loss.value) {
        const double *w = loss.weights + i * M, *q = loss.dual + i * K;
        for (int m = 0; m < M; ++m) {
            const double share = loss.value[i] * w[m];
            if (share == 0) continue;
            for (int y = 0; y < K; ++y) G[static_cast<std::size_t>(m) * K + y] += share * q[y];
        }
    }
    if (loss.max_lower) add_lower(P, M, K, loss.max_lower[i], lower, G);
    if (loss.max_upper) G[std::max_element(P, P + size) - P] += loss.max_upper[i];
    if (loss.diameter) {
        const std::size_t a = loss.pairs[2 * i] * K, b = loss.pairs[2 * i + 1] * K;
        const double g = loss.diameter[i];
        for (int y = 0; y < K; ++y) {
            const double step = P[a + y] > P[b + y] ? g : P[a + y] < P[b + y] ? -g : 0.0;
            G[a + y] += step;
            G[b + y] -= step;
        }
    }
}

template <class T>
CREDALENS_INLINE void tv_instances(const T* P, std::size_t begin, std::size_t end, int M, int K,
                                   const TvCotangents& loss, T* gradient, double* lower,
                                   double* G) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = begin; i < end; ++i) {
        tv_instance(P + i * size, M, K, i, loss, lower, G);
        for (std::size_t e = 0; e < size; ++e) gradient[i * size + e] = static_cast<T>(G[e]);
    }
}

CREDALENS_CLONES void tv_range(const float* P, std::size_t begin, std::size_t end, int M, int K,
                               const TvCotangents& loss, float* gradient, double* lower,
                               double* G) {
    tv_instances(P, begin, end, M, K, loss, gradient, lower, G);
}

CREDALENS_CLONES void tv_range(const double* P, std::size_t begin, std::size_t end, int M, int K,
                               const TvCotangents& loss, double* gradient, double* lower,
                               double* G) {
    tv_instances(P, begin, end, M, K, loss, gradient, lower, G);
}

// Scratch memory of one thread for the sum over events.
struct Events {
    Events(int M, int K)
        : low(std::min(K, kLowBits)),
          width(std::size_t{1} << low),
          rows(whole_steps(K) * M),
          table(width * M),
          share(width * M),
          best(width),
          chosen(width),
          above(M),
          sums(static_cast<std::size_t>(M) * K) {}
    const int low;
    const std::size_t width;
    AlignedBuffer rows;          // the members, normalised
    std::vector<double> table;   // (M, width): sums over the events of the low classes
    std::vector<double> share;   // (M, width): weight of the events that a member decides
    std::vector<double> best;    // (width): smallest probability, and
    std::vector<int> chosen;     // (width): the first member that has it
    std::vector<double> above;   // (M): sums over the high classes of the events at hand
    std::vector<double> sums;    // (M, K): weight of the decided events that hold a class
};

// Finds, for the events with the given high classes, the deciding member, and adds its weight.
CREDALENS_CLONES void add_events(const double* w, unsigned high, int M, int K, Events& ev) {
    const std::size_t width = ev.width;
    double* CREDALENS_RESTRICT best = ev.best.data();
    int* CREDALENS_RESTRICT chosen = ev.chosen.data();
    for (int m = 0; m < M; ++m) {
        const double* CREDALENS_RESTRICT row = ev.table.data() + m * width;
        const double base = ev.above[m];
        for (std::size_t b = 0; b < width; ++b) {
            const double here = base + row[b];
            const bool less = m == 0 || here < best[b];
            best[b] = less ? here : best[b];
            chosen[b] = less ? m : chosen[b];
        }
    }
    const int size = __builtin_popcount(high);
    std::fill(ev.above.begin(), ev.above.end(), 0.0);
    for (std::size_t b = 0; b < width; ++b) {
        const double weight = w[size + __builtin_popcount(static_cast<unsigned>(b))];
        ev.share[chosen[b] * width + b] += weight;
        ev.above[chosen[b]] += weight;
    }
    for (unsigned rest = high; rest; rest &= rest - 1) {
        const int y = ev.low + __builtin_ctz(rest);
        for (int m = 0; m < M; ++m) ev.sums[static_cast<std::size_t>(m) * K + y] += ev.above[m];
    }
}

template <class T>
void hartley_instance(const T* P, int M, int K, const double* w, double g, T* gradient,
                      Events& ev) {
    const std::size_t stride = whole_steps(K), width = ev.width;
    normalised_rows(P, M, K, ev.rows.data());
    std::fill(ev.share.begin(), ev.share.end(), 0.0);
    std::fill(ev.sums.begin(), ev.sums.end(), 0.0);
    for (int m = 0; m < M; ++m) {
        double* row = ev.table.data() + m * width;
        row[0] = 0;
        for (int y = 0; y < ev.low; ++y)
            for (std::size_t b = 0; b < (std::size_t{1} << y); ++b)
                row[(std::size_t{1} << y) + b] = row[b] + ev.rows.data()[m * stride + y];
    }
    for (unsigned high = 0; high < (1u << (K - ev.low)); ++high) {
        for (int m = 0; m < M; ++m) {
            ev.above[m] = 0;
            for (unsigned rest = high; rest; rest &= rest - 1)
                ev.above[m] += ev.rows.data()[m * stride + ev.low + __builtin_ctz(rest)];
        }
        add_events(w, high, M, K, ev);
    }
    for (int m = 0; m < M; ++m) {
        const double* p = ev.rows.data() + m * stride;
        double* sums = ev.sums.data() + static_cast<std::size_t>(m) * K;
        for (int y = 0; y < ev.low; ++y)
            for (std::size_t b = 0; b < width; ++b)
                if (b >> y & 1) sums[y] += ev.share[m * width + b];
        // Through the normalisation p = P / sum P: what moves all classes alike does nothing.
        double mean = 0, total = 0;
        for (int y = 0; y < K; ++y) {
            mean += sums[y] * p[y];
            total += P[static_cast<std::size_t>(m) * K + y];
        }
        for (int y = 0; y < K; ++y)
            gradient[static_cast<std::size_t>(m) * K + y] =
                static_cast<T>(-g * (sums[y] - mean) / total);
    }
}

}  // namespace

template <class T>
void tv_vjp(const T* P, std::size_t n, int M, int K, const TvCotangents& loss, T* gradient,
                 int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(n, 1 + (std::size_t{1} << 16) / size, threads,
                 [&](std::size_t begin, std::size_t end) {
                     std::vector<double> scratch(size + K);
                     tv_range(P, begin, end, M, K, loss, gradient, scratch.data() + size,
                              scratch.data());
                 });
}

template <class T>
void hartley_vjp(const T* P, std::size_t n, int M, int K, const double* w,
                      const double* cotangent, T* gradient, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t work = (static_cast<std::size_t>(M) << std::min(K, 20)) + size;
    parallel_for(
        n, 1 + (std::size_t{1} << 17) / work, threads,
        [&] { return Events(M, K); },
        [&](Events& events, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                hartley_instance(P + i * size, M, K, w, cotangent[i], gradient + i * size, events);
        });
}

template void tv_vjp(const float*, std::size_t, int, int, const TvCotangents&, float*, int);
template void tv_vjp(const double*, std::size_t, int, int, const TvCotangents&, double*, int);
template void hartley_vjp(const float*, std::size_t, int, int, const double*, const double*,
                               float*, int);
template void hartley_vjp(const double*, std::size_t, int, int, const double*, const double*,
                               double*, int);

}  // namespace credalens
