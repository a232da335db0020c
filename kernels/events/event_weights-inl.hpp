// The weights of all events, for one target.

#include "events/event_lanes-inl.hpp"

// sums[A] = w(A) for all events over K classes, and at least kLanes of them: further classes weigh
// nothing.
CREDALENS_INLINE void event_weights(const double* weights, int K, double* sums) {
    Vec first = {};
    for (int y = 0; y < kLaneClasses && y < K; ++y) first += lanes_with(y, broadcast(weights[y]));
    store(sums, first);
    for (int y = kLaneClasses; y < K; ++y)
        for (int s = 0; s < 1 << y; s += kLanes)
            store(sums + s + (1 << y), load(sums + s) + weights[y]);
}
