// Moves between the lanes of a vector. A lane's number is an event over three classes: bit y says
// whether class y is in it.
#pragma once

#include "vectors.hpp"

namespace credalens {

#if defined(__clang__)
#define CREDALENS_LANES(v, a, b, c, d, e, f, g, h) \
    __builtin_shufflevector(v, v, a, b, c, d, e, f, g, h)
#else
#define CREDALENS_LANES(v, a, b, c, d, e, f, g, h) \
    __builtin_shuffle(v, Int8{a, b, c, d, e, f, g, h})
#endif

// Each lane holds what the lane had whose event differs by class y.
template <int y>
CREDALENS_INLINE Double8 flipped(const Double8& v) {
    if constexpr (y == 0) return CREDALENS_LANES(v, 1, 0, 3, 2, 5, 4, 7, 6);
    if constexpr (y == 1) return CREDALENS_LANES(v, 2, 3, 0, 1, 6, 7, 4, 5);
    return CREDALENS_LANES(v, 4, 5, 6, 7, 0, 1, 2, 3);
}

CREDALENS_INLINE Double8 reversed(const Double8& v) {
    return CREDALENS_LANES(v, 7, 6, 5, 4, 3, 2, 1, 0);
}

// v in the lanes whose event has all of the classes, 0 in the others.
CREDALENS_INLINE Double8 lanes_with(const Double8& v, std::int64_t classes) {
    const Int8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (lane & classes) == classes ? v : Double8{};
}

// v from lane `first` on, 0 before.
CREDALENS_INLINE Double8 lanes_from(const Double8& v, std::int64_t first) {
    const Int8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return lane >= first ? v : Double8{};
}

// The largest and the smallest lane, in three steps.
CREDALENS_INLINE double top8(Double8 v) {
    v = max8(v, flipped<2>(v));
    v = max8(v, flipped<1>(v));
    return max8(v, flipped<0>(v))[0];
}

CREDALENS_INLINE double bottom8(Double8 v) {
    v = min8(v, flipped<2>(v));
    v = min8(v, flipped<1>(v));
    return min8(v, flipped<0>(v))[0];
}

}  // namespace credalens
