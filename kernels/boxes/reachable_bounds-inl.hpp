// Validation and reachability of bounds, for one target. Comparisons with NaN are false: operands
// are ordered so that a NaN reaches the sums, which then fail the comparisons.

#include "simd/transpose-inl.hpp"

struct Bounds {
    Vec low, high;
};

CREDALENS_INLINE Vec clip_to_unit(const Vec& x) {
    const Vec positive = clip_negative(x);
    return positive > 1.0 ? broadcast(1.0) : positive;
}

CREDALENS_INLINE Bounds clip_bounds(const Vec& l, const Vec& u) {
    const Vec low = clip_to_unit(l);
    return {low, max(low, clip_to_unit(u))};
}

CREDALENS_INLINE Vec violation(const Vec& l, const Vec& u) {
    return max(max(l - u, -l), u - 1.0);
}

CREDALENS_INLINE Bounds reachable(const Bounds& own, const Vec& lower_sum, const Vec& upper_sum) {
    const Vec low = min(max(own.low, 1.0 - (upper_sum - own.high)), own.high);
    return {low, max(min(own.high, 1.0 - (lower_sum - own.low)), low)};
}

// ----------------------------------------------------------------------- one instance per lane

// `count` instances on one thread; returns the first invalid one, or `count`. 2 K vectors of
// scratch memory.
template <class T>
std::size_t reachable_few_classes(const T* low, const T* high, std::size_t count, int K,
                                  double bound_tolerance, double sum_tolerance, T* lower, T* upper,
                                  T* max_bounds, double* scratch) {
    const std::size_t classes = K;
    Vec *l = reinterpret_cast<Vec*>(scratch), *u = l + K;
    std::size_t first_invalid = count;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        LanePointers<T>(low + first * classes, classes, left).load_all(classes, l);
        LanePointers<T>(high + first * classes, classes, left).load_all(classes, u);
        Vec lower_sum = {}, upper_sum = {}, worst = {};
        for (int y = 0; y < K; ++y) {
            worst = max(violation(l[y], u[y]), worst);
            const Bounds own = clip_bounds(l[y], u[y]);
            lower_sum += l[y] = own.low;
            upper_sum += u[y] = own.high;
        }
        const Mask valid = (worst <= bound_tolerance) & (lower_sum <= 1.0 + sum_tolerance) &
                           (upper_sum >= 1.0 - sum_tolerance);
        for (std::size_t i = 0; i < kLanes && i < left && first_invalid == count; ++i)
            if (!valid[i]) first_invalid = first + i;
        if (any(~((lower_sum <= 1.0) & (upper_sum >= 1.0)))) {
            // Division by 1 does not change the other lanes.
            const Vec by_lower = max(lower_sum, broadcast(1.0));
            const Vec by_upper = min(upper_sum, broadcast(1.0));
            lower_sum = upper_sum = Vec{};
            for (int y = 0; y < K; ++y) {
                lower_sum += l[y] /= by_lower;
                upper_sum += u[y] /= by_upper;
            }
        }
        Vec max_lower = {}, max_upper = {};
        for (int y = 0; y < K; ++y) {
            const Bounds tight = reachable({l[y], u[y]}, lower_sum, upper_sum);
            l[y] = tight.low;
            u[y] = tight.high;
            max_lower = max(l[y], max_lower);
            max_upper = max(u[y], max_upper);
        }
        store_transposed(lower + first * classes, l, K, left, classes);
        store_transposed(upper + first * classes, u, K, left, classes);
        store_strided(max_bounds + 2 * first, max_lower, left, 2);
        store_strided(max_bounds + 2 * first + 1, max_upper, left, 2);
    }
    return first_invalid;
}

// The quantities that `check_bounds` compares, with one instance per lane or with classes in lanes.
struct BoundsSummary {
    Vec lower_sum = {}, upper_sum = {}, max_lower = {}, max_upper = {}, max_width = {},
        smallest = {};

    CREDALENS_INLINE void add(const Vec& l, const Vec& u) {
        lower_sum += l;
        upper_sum += u;
        add_extremes(l, u);
    }

    CREDALENS_INLINE void add_extremes(const Vec& l, const Vec& u) {
        const Vec width = u - l;
        max_lower = max(l, max_lower);
        max_upper = max(u, max_upper);
        max_width = max(width, max_width);
        smallest = min(min(l, width), smallest);
    }

    CREDALENS_INLINE Mask valid(double bound_tolerance, double sum_tolerance) const {
        return (smallest >= -bound_tolerance) & (max_upper <= 1.0 + bound_tolerance) &
               (lower_sum <= 1.0 + sum_tolerance) & (upper_sum >= 1.0 - sum_tolerance);
    }

    // A class can be at both of its bounds if the others leave room for its width.
    CREDALENS_INLINE Mask is_reachable(double tolerance) const {
        return (smallest >= 0.0) & (max_upper <= 1.0) & (lower_sum <= 1.0 + tolerance) &
               (upper_sum >= 1.0 - tolerance) &
               (max_width <= min(upper_sum - 1.0, 1.0 - lower_sum) + tolerance);
    }
};

// Summaries of kLanes instances of many classes, put into one lane each.
template <class T>
CREDALENS_INLINE BoundsSummary summarize_rows(const T* low, const T* high, int K, int count) {
    const Mask repeated = repeated_lanes(K);
    Vec parts[6][kLanes];
    for (int i = 0; i < count; ++i, low += K, high += K) {
        BoundsSummary own;
        int y = 0;
        for (; y + kLanes <= K; y += kLanes) own.add(load(low + y), load(high + y));
        if (y < K) {
            const Vec l = load(low + K - kLanes), u = load(high + K - kLanes);
            own.add_extremes(l, u);
            own.lower_sum += zero_where(repeated, l);
            own.upper_sum += zero_where(repeated, u);
        }
        parts[0][i] = own.lower_sum;
        parts[1][i] = own.upper_sum;
        parts[2][i] = own.max_lower;
        parts[3][i] = own.max_upper;
        parts[4][i] = own.max_width;
        parts[5][i] = own.smallest;
    }
    return {row_sums(parts[0], count),   row_sums(parts[1], count),   row_maxima(parts[2], count),
            row_maxima(parts[3], count), row_maxima(parts[4], count), row_minima(parts[5], count)};
}

template <class T>
std::size_t check_range(const T* low, const T* high, std::size_t count, int K,
                        double bound_tolerance, double sum_tolerance, T* max_bounds,
                        std::uint8_t* not_reachable, double* scratch) {
    const std::size_t classes = K;
    Vec *l = reinterpret_cast<Vec*>(scratch), *u = l + K;
    std::size_t first_invalid = count;
    for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t left = count - first;
        const T *lows = low + first * classes, *highs = high + first * classes;
        BoundsSummary summary;
        if (K < kMinClassesInLanes) {
            LanePointers<T>(lows, classes, left).load_all(classes, l);
            LanePointers<T>(highs, classes, left).load_all(classes, u);
            for (int y = 0; y < K; ++y) summary.add(l[y], u[y]);
        } else {
            summary = summarize_rows(lows, highs, K,
                                     static_cast<int>(std::min<std::size_t>(left, kLanes)));
        }
        const Mask valid = summary.valid(bound_tolerance, sum_tolerance);
        for (std::size_t i = 0; any(~valid) && i < kLanes && i < left && first_invalid == count;
             ++i)
            if (!valid[i]) first_invalid = first + i;
        store_strided(not_reachable + first, summary.is_reachable(bound_tolerance) + 1, left, 1);
        store_strided(max_bounds + 2 * first, summary.max_lower, left, 2);
        store_strided(max_bounds + 2 * first + 1, summary.max_upper, left, 2);
    }
    return first_invalid;
}

// ---------------------------------------------------------------------------- classes in lanes

// Sums of clipped bounds, divided by `by_lower` and `by_upper` if kScaled, and the largest
// violation. The last vector ends at class K and may overlap the previous one.
template <bool kScaled, class T>
CREDALENS_INLINE double sum_bounds(const T* low, const T* high, int K, double by_lower,
                                   double by_upper, double& lower_sum, double& upper_sum) {
    Vec lower = {}, upper = {}, worst = {};
    const auto clipped = [&](int y) __attribute__((always_inline)) {
        const Vec l = load(low + y), u = load(high + y);
        worst = max(violation(l, u), worst);
        const Bounds own = clip_bounds(l, u);
        return kScaled ? Bounds{own.low / by_lower, own.high / by_upper} : own;
    };
    int y = 0;
    for (; y + kLanes <= K; y += kLanes) {
        const Bounds own = clipped(y);
        lower += own.low;
        upper += own.high;
    }
    if (y < K) {
        const Bounds own = clipped(K - kLanes);
        lower += zero_where(repeated_lanes(K), own.low);
        upper += zero_where(repeated_lanes(K), own.high);
    }
    lower_sum = reduce_sum(lower);
    upper_sum = reduce_sum(upper);
    return reduce_max(worst);
}

// One instance of at least kLanes classes; false if it is invalid.
template <class T>
CREDALENS_INLINE bool reachable_row(const T* low, const T* high, int K, double bound_tolerance,
                                    double sum_tolerance, T* lower, T* upper, T* max_bounds) {
    double L, U, by_lower = 1.0, by_upper = 1.0;
    const double worst = sum_bounds<false>(low, high, K, by_lower, by_upper, L, U);
    const bool valid =
        worst <= bound_tolerance && L <= 1.0 + sum_tolerance && U >= 1.0 - sum_tolerance;
    const bool scaled = !(L <= 1.0 && U >= 1.0);
    if (scaled) {
        by_lower = L > 1.0 ? L : 1.0;
        by_upper = U < 1.0 ? U : 1.0;
        sum_bounds<true>(low, high, K, by_lower, by_upper, L, U);
    }
    Vec max_lower = {}, max_upper = {};
    for (int y = 0; y < K; y = y + kLanes == K || y + 2 * kLanes <= K ? y + kLanes : K - kLanes) {
        Bounds own = clip_bounds(load(low + y), load(high + y));
        if (scaled) own = {own.low / by_lower, own.high / by_upper};
        const Bounds tight = reachable(own, broadcast(L), broadcast(U));
        store(lower + y, tight.low);
        store(upper + y, tight.high);
        max_lower = max(tight.low, max_lower);
        max_upper = max(tight.high, max_upper);
    }
    max_bounds[0] = static_cast<T>(reduce_max(max_lower));
    max_bounds[1] = static_cast<T>(reduce_max(max_upper));
    return valid;
}

template <class T>
std::size_t reachable_many_classes(const T* low, const T* high, std::size_t count, int K,
                                   double bound_tolerance, double sum_tolerance, T* lower, T* upper,
                                   T* max_bounds) {
    const std::size_t classes = K;
    std::size_t first_invalid = count;
    for (std::size_t i = 0; i < count; ++i)
        if (!reachable_row(low + i * classes, high + i * classes, K, bound_tolerance, sum_tolerance,
                           lower + i * classes, upper + i * classes, max_bounds + 2 * i))
            first_invalid = std::min(first_invalid, i);
    return first_invalid;
}
