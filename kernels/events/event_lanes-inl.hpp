// Events in lanes, for one target: lane i is the event over the first kLaneClasses classes that
// contains class y if bit y of i is set.

constexpr int kLaneClasses = kLanes == 8 ? 3 : kLanes == 4 ? 2 : 1;

#if CREDALENS_LANES == 8
#define CREDALENS_FLIP_0 1, 0, 3, 2, 5, 4, 7, 6
#define CREDALENS_FLIP_1 2, 3, 0, 1, 6, 7, 4, 5
#define CREDALENS_FLIP_2 4, 5, 6, 7, 0, 1, 2, 3
#define CREDALENS_WITHOUT_0 0, 2, 4, 6, 8, 10, 12, 14
#define CREDALENS_WITHOUT_1 0, 1, 4, 5, 8, 9, 12, 13
#define CREDALENS_WITHOUT_2 0, 1, 2, 3, 8, 9, 10, 11
#define CREDALENS_WITH_0 1, 3, 5, 7, 9, 11, 13, 15
#define CREDALENS_WITH_1 2, 3, 6, 7, 10, 11, 14, 15
#define CREDALENS_WITH_2 4, 5, 6, 7, 12, 13, 14, 15
#define CREDALENS_REVERSED 7, 6, 5, 4, 3, 2, 1, 0
#elif CREDALENS_LANES == 4
#define CREDALENS_FLIP_0 1, 0, 3, 2
#define CREDALENS_FLIP_1 2, 3, 0, 1
#define CREDALENS_WITHOUT_0 0, 2, 4, 6
#define CREDALENS_WITHOUT_1 0, 1, 4, 5
#define CREDALENS_WITH_0 1, 3, 5, 7
#define CREDALENS_WITH_1 2, 3, 6, 7
#define CREDALENS_REVERSED 3, 2, 1, 0
#else
#define CREDALENS_FLIP_0 1, 0
#define CREDALENS_WITHOUT_0 0, 2
#define CREDALENS_WITH_0 1, 3
#define CREDALENS_REVERSED 1, 0
#endif

// Each lane gets the value of the event that differs by class y.
template <int y>
CREDALENS_INLINE Vec flip(const Vec& v) {
    if constexpr (y == 0) return CREDALENS_SHUFFLE(v, v, CREDALENS_FLIP_0);
#if CREDALENS_LANES > 2
    if constexpr (y == 1) return CREDALENS_SHUFFLE(v, v, CREDALENS_FLIP_1);
#endif
#if CREDALENS_LANES > 4
    if constexpr (y == 2) return CREDALENS_SHUFFLE(v, v, CREDALENS_FLIP_2);
#endif
}

// f(A + y) - f(A) for all A without y, where x and `more` are the events without and with class
// kLaneClasses. In the result the classes after y move down by one bit.
template <int y>
CREDALENS_INLINE Vec lane_differences(const Vec& x, const Vec& more) {
    if constexpr (y == 0)
        return CREDALENS_SHUFFLE(x, more, CREDALENS_WITH_0) -
               CREDALENS_SHUFFLE(x, more, CREDALENS_WITHOUT_0);
#if CREDALENS_LANES > 2
    if constexpr (y == 1)
        return CREDALENS_SHUFFLE(x, more, CREDALENS_WITH_1) -
               CREDALENS_SHUFFLE(x, more, CREDALENS_WITHOUT_1);
#endif
#if CREDALENS_LANES > 4
    if constexpr (y == 2)
        return CREDALENS_SHUFFLE(x, more, CREDALENS_WITH_2) -
               CREDALENS_SHUFFLE(x, more, CREDALENS_WITHOUT_2);
#endif
}

CREDALENS_INLINE Vec reverse(const Vec& v) {
    return CREDALENS_SHUFFLE(v, v, CREDALENS_REVERSED);
}

// v in the lanes whose event contains class y, 0 in the others.
CREDALENS_INLINE Vec lanes_with(int y, const Vec& v) {
    return (iota() >> y & 1) != 0 ? v : Vec{};
}

#undef CREDALENS_FLIP_0
#undef CREDALENS_FLIP_1
#undef CREDALENS_FLIP_2
#undef CREDALENS_WITHOUT_0
#undef CREDALENS_WITHOUT_1
#undef CREDALENS_WITHOUT_2
#undef CREDALENS_WITH_0
#undef CREDALENS_WITH_1
#undef CREDALENS_WITH_2
#undef CREDALENS_REVERSED
