// Moves between the lanes of a vector. A lane's number is an event over three classes: bit y says
// whether class y is in it.
#pragma once

#include "simd/vector8.hpp"

namespace credalens {

// Lanes 0 to 7 of v and 8 to 15 of w, in any order.
#if defined(__clang__)
#define CREDALENS_SHUFFLE(v, w, ...) __builtin_shufflevector(v, w, __VA_ARGS__)
#else
#define CREDALENS_SHUFFLE(v, w, ...) __builtin_shuffle(v, w, Int8{__VA_ARGS__})
#endif

// Each lane holds what the lane had whose event differs by class y.
template <int y>
CREDALENS_INLINE Double8 flipped(const Double8& v) {
    if constexpr (y == 0) return CREDALENS_SHUFFLE(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    if constexpr (y == 1) return CREDALENS_SHUFFLE(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    return CREDALENS_SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
}

// What class y of four adds: two vectors are all events, x those without the fourth class. Lane by
// lane the gains at the events over the other three classes.
template <int y>
CREDALENS_INLINE Double8 gains_of(const Double8& x, const Double8& more) {
    if constexpr (y == 0) {
        return CREDALENS_SHUFFLE(x, more, 1, 3, 5, 7, 9, 11, 13, 15) -
               CREDALENS_SHUFFLE(x, more, 0, 2, 4, 6, 8, 10, 12, 14);
    }
    if constexpr (y == 1) {
        return CREDALENS_SHUFFLE(x, more, 2, 3, 6, 7, 10, 11, 14, 15) -
               CREDALENS_SHUFFLE(x, more, 0, 1, 4, 5, 8, 9, 12, 13);
    }
    return CREDALENS_SHUFFLE(x, more, 4, 5, 6, 7, 12, 13, 14, 15) -
           CREDALENS_SHUFFLE(x, more, 0, 1, 2, 3, 8, 9, 10, 11);
}

CREDALENS_INLINE Double8 reversed(const Double8& v) {
    return CREDALENS_SHUFFLE(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
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
