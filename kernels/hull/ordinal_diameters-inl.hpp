// Diameters on ordered classes with one instance per lane, for one target.

#include "simd/transpose-inl.hpp"
#include "hull/pairs-inl.hpp"

// `count` instances on one thread. The scratch memory has 2 K + 1 + M E vectors for E edges.
template <class T>
void tree_diameters(const T* P, std::size_t count, int M, int K, const EdgeList& edges,
                    double* diameter, double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* sums = reinterpret_cast<Vec*>(scratch);
    Vec *entries = sums + K + 1, *flows = entries + K;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        for (int m = 0; m < M; ++m) {
            LanePointers<T>(P + first * size + static_cast<std::size_t>(m) * K, size, left)
                .load_all(static_cast<std::size_t>(K), entries);
            sums[0] = Vec{};
            for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + entries[edges.order[y]];
            Vec* flow = flows + static_cast<std::size_t>(m) * edges.size;
            for (int e = 0; e < edges.size; ++e) {
                const std::int64_t start = edges.start[e], stop = edges.stop[e];
                // A single class is exact, without the rounding of two sums.
                const Vec side =
                    stop == start + 1 ? entries[edges.order[start]] : sums[stop] - sums[start];
                flow[e] = edges.length[e] * side;
            }
        }
        const Prefetcher prefetcher = Prefetcher::after(P + first * size, size, left);
        store_n(diameter + first, max_pair(AbsoluteDifference(), flows, M, edges.size, prefetcher),
                left);
    }
}

// 3 K vectors of scratch memory.
template <class T>
void cumulative_diameters(const T* P, std::size_t count, int M, int K, double* diameter,
                          double* scratch) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    Vec* entries = reinterpret_cast<Vec*>(scratch);
    Vec *low = entries + K, *high = low + K;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        for (int m = 0; m < M; ++m) {
            LanePointers<T>(P + first * size + static_cast<std::size_t>(m) * K, size, left)
                .load_all(static_cast<std::size_t>(K), entries);
            Vec sum = {};
            for (int y = 0; y + 1 < K; ++y) {
                sum += entries[y];
                low[y] = m == 0 ? sum : min(sum, low[y]);
                high[y] = m == 0 ? sum : max(sum, high[y]);
            }
        }
        Vec largest = {};
        for (int y = 0; y + 1 < K; ++y) largest = max(high[y] - low[y], largest);
        store_n(diameter + first, largest, left);
    }
}
