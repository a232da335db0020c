// Levels of clipped sums and entropies of their solutions, for one target. These structures have
// one instance per lane; with classes in lanes, all lanes hold the same instance.

CREDALENS_INLINE Vec clip(const Vec& x, const Vec& low, const Vec& high) {
    return max(min(x, high), low);
}

// t with sum clip(t, l, u) = 1. The sum is increasing but neither convex nor concave: Newton steps
// inside a bracket, bisection where a step would leave it. Lanes that have converged keep their t.
struct BoxLevel {
    Vec t, low = {}, high = broadcast(1.0);
    Mask active = ~Mask{};

    CREDALENS_INLINE explicit BoxLevel(int K) : t(broadcast(1.0 / K)) {}

    // If rounding has left the sum of the bounds on the wrong side of 1, all classes are at that
    // bound.
    CREDALENS_INLINE void finalize(const Vec& lower_sum, const Vec& upper_sum) {
        t = active & (upper_sum <= 1.0) ? broadcast(1.0) : t;
        t = active & (lower_sum >= 1.0) ? Vec{} : t;
        active &= (lower_sum < 1.0) & (upper_sum > 1.0);
    }

    // From the sum of clip(t, l, u) and the number of classes at t.
    CREDALENS_INLINE void step(const Vec& sum, const Vec& inside, int K) {
        const Vec excess = sum - 1.0;
        const Mask flat = inside == 0.0;  // the sum is constant near t
        active &= abs(excess) > (flat ? broadcast(K * 0x1p-52) : broadcast(0x1p-52));
        low = active & (excess < 0.0) ? t : low;
        high = active & (excess > 0.0) ? t : high;
        const Vec middle = 0.5 * (low + high);
        Vec next = flat ? middle : t - excess / inside;
        active &= next != t;
        next = (next > low) & (next < high) ? next : middle;
        active &= (next > low) & (next < high);
        t = active ? next : t;
    }
};

// Adds x to a sum in the lanes where a < b, and counts these lanes.
CREDALENS_INLINE void add_where_less(const Vec& x, const Vec& a, const Vec& b, Vec& sum,
                                     Mask& count) {
#if CREDALENS_LANES == 8
    const __mmask8 mask = _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
    sum = (Vec)_mm512_mask_add_pd((__m512d)sum, mask, (__m512d)sum, (__m512d)x);
    count = (Mask)_mm512_mask_add_epi64((__m512i)count, mask, (__m512i)count, _mm512_set1_epi64(1));
#else
    const Mask less = a < b;
    sum += less ? x : Vec{};
    count -= less;
#endif
}

// The same with a count over all lanes, which is returned.
CREDALENS_INLINE int add_where_less(const Vec& x, const Vec& a, const Vec& b, Vec& sum) {
#if CREDALENS_LANES == 8
    const __mmask8 mask = _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
    sum = (Vec)_mm512_mask_add_pd((__m512d)sum, mask, (__m512d)sum, (__m512d)x);
    return __builtin_popcount(mask);
#else
    const Mask less = a < b;
    sum += less ? x : Vec{};
    return __builtin_popcount(bits_of(less));
#endif
}

// The levels of a ball: up to `bottom` the radius is added to the smallest classes, down to `top`
// it is taken from the largest, sum max(0, bottom - x) = sum max(0, x - top) = radius. Newton steps
// on a convex function do not pass its solution, except for the first one.
struct BallLevels {
    Vec radius, bottom, top;
    double K;
    int steps = 0;
    Mask active = ~Mask{};

    CREDALENS_INLINE BallLevels(const Vec& radius, int K)
        : radius(radius), bottom((1.0 + radius) / K), top((1.0 - radius) / K), K(K) {}

    // From the sums and the numbers of the classes below `bottom` and above `top`.
    CREDALENS_INLINE void step(const Vec& low, const Vec& below, const Vec& high,
                               const Vec& above) {
        // If there are none, from the mean.
        const Vec down = below > 0.0 ? (low + radius) / below : (1.0 + radius) / K;
        const Vec up = above > 0.0 ? (high - radius) / above : (1.0 - radius) / K;
        const bool first = ++steps <= 2;
        const Mask falls = active & (first ? down != bottom : down < bottom);
        const Mask rises = active & (first ? up != top : up > top);
        bottom = falls ? down : bottom;
        top = rises ? up : top;
        active = falls | rises;
    }

    // The uniform distribution if it is in the ball.
    CREDALENS_INLINE void finalize() {
        const Mask uniform = bottom >= top;
        bottom = uniform ? broadcast(1.0 / K) : bottom;
        top = uniform ? broadcast(1.0 / K) : top;
    }
};

// t with sum max(0, t - sign x) = amount; the smallest one for amount 0. Newton steps from the
// right do not pass the solution of a convex function, and end when the set of entries below t does
// not change.
CREDALENS_INLINE Vec fill_level(const Vec* x, int K, double sign, const Vec& amount) {
    Vec sum = amount;
    for (int y = 0; y < K; ++y) sum += sign * x[y];
    Vec t = sum / static_cast<double>(K);
    for (int step = 0; step < K; ++step) {
        Vec held = amount, below = {};
        for (int y = 0; y < K; ++y) {
            const Vec value = sign * x[y];
            const Mask under = value < t;
            held += under ? value : Vec{};
            below += under ? broadcast(1.0) : Vec{};
        }
        const Vec next = held / below;
        const Mask lower = next < t;
        if (!any(lower)) break;
        t = lower ? next : t;
    }
    return t;
}

// Entropies of distributions with one instance per lane, which are stored unless `distribution`
// (count, K) is nullptr.
struct EntropySum {
    double* distribution;
    std::size_t count;
    int K;
    Vec sum = {};

    CREDALENS_INLINE EntropySum(double* distribution, std::size_t first, std::size_t count, int K)
        : distribution(distribution ? distribution + first * K : nullptr), count(count), K(K) {}

    CREDALENS_INLINE void add(int y, const Vec& p) {
        sum -= xlogx(p);
        if (distribution) store_strided(distribution + y, p, count, K);
    }
    CREDALENS_INLINE void store_to(double* value) const {
        store_n(value, clip_negative(sum), count);  // p = 1 + 1e-16 has a negative entropy
    }
};
