// Balanced partitions by enumeration, for one target.

#include "events/event_weights-inl.hpp"

// An event and its complement score the same: only events without the last class are considered.
inline void balanced_range(const double* weights, const double* cap, std::size_t begin,
                           std::size_t end, int K, double* best) {
    alignas(64) double sums[1 << (kMaxEnumeratedClasses - 1)];
    const int count = std::max(kLanes, 1 << (K - 1));
    for (std::size_t i = begin; i < end; ++i) {
        const double* own = weights + i * K;
        event_weights(own, K - 1, sums);
        const double total = sums[count - 1] + own[K - 1];
        Vec largest = {};
        for (int s = 0; s < count; s += kLanes) {
            const Vec x = load(sums + s);
            largest = max(min(x, total - x), largest);
        }
        best[i] = std::min(reduce_max(largest), cap[i]);
    }
}
