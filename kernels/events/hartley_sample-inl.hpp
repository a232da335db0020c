// One pair of chains of events with one instance per lane, for one target.

#include "simd/padded_rows-inl.hpp"

// Writes the differences of an instance from its mean into lane `lane` of d (K, M, kBlockLanes).
// Differences from row 0 are computed first: for equal rows they are exactly zero, unlike those
// from a rounded mean. `rows` is (M, padded K).
template <class T>
void load_differences(const T* P, int M, int K, int lane, double* rows, double* d) {
    const std::size_t stride = padded_size(K);
    normalize_rows(P, M, K, rows);
    for (int y = 0; y < K; ++y) {
        double mean = 0.0;
        for (int m = 1; m < M; ++m) mean += rows[m * stride + y] - rows[y];
        mean /= M;
        for (int m = 0; m < M; ++m)
            d[(static_cast<std::size_t>(y) * M + m) * kBlockLanes + lane] =
                (rows[m * stride + y] - rows[y]) - mean;
    }
}

// The terms of the sizes 2 to K - 2 of a permutation and its reverse. The ranges start from 0, the
// difference of the control variate. `sums` has M vectors of kBlockLanes.
inline void sample_pair(const double* d, int M, int K, const double* half_v,
                        const std::uint32_t* order, double* sums, double* total) {
    const std::size_t size = static_cast<std::size_t>(M) * kBlockLanes;
    for (int lane = 0; lane < kBlockLanes; lane += kLanes) {
        for (std::size_t i = lane; i < size; i += kBlockLanes)
            store(sums + i, load(d + order[0] * size + i));
        Vec terms = {};
        for (int b = 2; b <= K - 2; ++b) {
            const double* step = d + order[b - 1] * size;
            if (K * size > kCachedNumbers && b + kAhead < K)
                for (std::size_t i = lane; i < size; i += kBlockLanes)
                    prefetch(d + order[b + kAhead] * size + i);
            Vec high = {}, low = {};
            for (std::size_t i = lane; i < size; i += kBlockLanes) {
                const Vec sum = load(sums + i) + load(step + i);
                store(sums + i, sum);
                high = max(sum, high);
                low = min(sum, low);
            }
            terms += half_v[K - b] * high - half_v[b] * low;
        }
        store(total + lane, terms);
    }
}
