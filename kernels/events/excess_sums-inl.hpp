// Excess sums by enumeration, for one target.

#include "events/event_weights-inl.hpp"

inline void excess_range(const double* weights, const double* threshold, std::size_t begin,
                         std::size_t end, int K, const double* weight_of_event, double* value) {
    alignas(64) double sums[1 << kMaxEnumeratedClasses];
    const int count = std::max(kLanes, 1 << K);
    for (std::size_t i = begin; i < end; ++i) {
        event_weights(weights + i * K, K, sums);
        Vec total = {};
        for (int s = 0; s < count; s += kLanes) {
            const Vec excess = load(sums + s) - threshold[i];
            total += max(excess, Vec{}) * load(weight_of_event + s);
        }
        value[i] = reduce_sum(total);
    }
}
