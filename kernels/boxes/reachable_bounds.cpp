#include "boxes/reachable_bounds.hpp"

#include <vector>

#include "runtime/first_invalid.hpp"
#include "simd/instance_per_lane.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/shuffles.hpp"

namespace credalens {
namespace {

// Compiled without finite-math flags: a NaN must reach the sums, and fail the comparisons there. So
// `clipped` has the entry where a comparison that fails leaves it.
//
// The lanes are classes, and the last vector overlaps the one before. Sums leave out the lanes that
// were seen before.

// More classes than this fill vectors by themselves.
constexpr int kMostReachedInLanes = 15;

CREDALENS_INLINE Double8 all8(double x) { return Double8{} + x; }

CREDALENS_INLINE Double8 clipped(const Double8& x) { return min8(all8(1.0), max8(Double8{}, x)); }

CREDALENS_INLINE void put8(double* x, const Double8& v) { store8(x, v); }
CREDALENS_INLINE void put8(float* x, const Double8& v) {
    const Float8 narrow = __builtin_convertvector(v, Float8);
    std::memcpy(x, &narrow, sizeof narrow);
}

struct Ends {
    Double8 low, high;
};

CREDALENS_INLINE Ends inside(const Double8& l, const Double8& u) {
    const Double8 low = clipped(l);
    return {low, max8(low, clipped(u))};
}

CREDALENS_INLINE Double8 violation(const Double8& l, const Double8& u) {
    return max8(max8(l - u, -l), u - 1.0);
}

CREDALENS_INLINE Ends reached(const Ends& own, const Double8& L, const Double8& U) {
    const Double8 low = min8(max8(own.low, 1.0 - (U - own.high)), own.high);
    return {low, max8(min8(own.high, 1.0 - (L - own.low)), low)};
}

// Where the next vector of classes starts, or K.
CREDALENS_INLINE int following(int y, int K) {
    return y + kLanes == K ? K : (y + 2 * kLanes <= K ? y + kLanes : K - kLanes);
}

// One instance. False if it is bad.
template <class T>
CREDALENS_INLINE bool reach_many(const T* low, const T* high, int K, double slack,
                                 double tolerance, T* lower, T* upper, T* tops) {
    Double8 lows = {}, highs = {}, worst = {};
    for (int y = 0, seen = 0; y < K; seen = y + kLanes, y = following(y, K)) {
        const Double8 l = load8(low + y), u = load8(high + y);
        const Ends own = inside(l, u);
        worst = max8(violation(l, u), worst);
        lows += lanes_from(own.low, seen - y);
        highs += lanes_from(own.high, seen - y);
    }
    double L = sum8(lows), U = sum8(highs), shrink = 1.0, grow = 1.0;
    const bool good = top8(worst) <= slack && L <= 1.0 + tolerance && U >= 1.0 - tolerance;
    const bool off = !(L <= 1.0 && U >= 1.0);
    if (off) {  // by rounding: the bounds meet there
        shrink = L > 1.0 ? L : 1.0;
        grow = U < 1.0 ? U : 1.0;
        lows = highs = Double8{};
        for (int y = 0, seen = 0; y < K; seen = y + kLanes, y = following(y, K)) {
            const Ends own = inside(load8(low + y), load8(high + y));
            lows += lanes_from(own.low / shrink, seen - y);
            highs += lanes_from(own.high / grow, seen - y);
        }
        L = sum8(lows);
        U = sum8(highs);
    }
    Ends most = {};
    for (int y = 0; y < K; y = following(y, K)) {
        Ends own = inside(load8(low + y), load8(high + y));
        if (off) own = {own.low / shrink, own.high / grow};
        const Ends ends = reached(own, all8(L), all8(U));
        put8(lower + y, ends.low);
        put8(upper + y, ends.high);
        most = {max8(ends.low, most.low), max8(ends.high, most.high)};
    }
    tops[0] = static_cast<T>(top8(most.low));
    tops[1] = static_cast<T>(top8(most.high));
    return good;
}

template <class T>
CREDALENS_INLINE void reach_all(const T* low, const T* high, std::size_t begin, std::size_t end,
                                int K, double slack, double tolerance, T* lower, T* upper, T* tops,
                                FirstBad& first) {
    const std::size_t classes = K;
    for (std::size_t i = begin; i < end; ++i)
        if (!reach_many(low + i * classes, high + i * classes, K, slack, tolerance,
                        lower + i * classes, upper + i * classes, tops + 2 * i))
            first.see(i);
}

CREDALENS_CLONES void reach_range(const float* low, const float* high, std::size_t begin,
                                  std::size_t end, int K, double slack, double tolerance,
                                  float* lower, float* upper, float* tops, FirstBad& first) {
    reach_all(low, high, begin, end, K, slack, tolerance, lower, upper, tops, first);
}

CREDALENS_CLONES void reach_range(const double* low, const double* high, std::size_t begin,
                                  std::size_t end, int K, double slack, double tolerance,
                                  double* lower, double* upper, double* tops, FirstBad& first) {
    reach_all(low, high, begin, end, K, slack, tolerance, lower, upper, tops, first);
}

}  // namespace

template <class T>
std::int64_t reachable_bounds(const T* low, const T* high, std::size_t n, int K, double slack,
                              double tolerance, T* lower, T* upper, T* tops, int threads) {
    FirstBad first;
    if (K <= kMostReachedInLanes) {
        parallel_for(
            n, Grain::of_lanes((std::size_t{1} << 16) / K), threads,
            [K] { return std::vector<double>(lanes_scratch(2 * static_cast<std::size_t>(K))); },
            [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
                const std::size_t at = begin * K;
                const std::size_t bad =
                    begin + reachable_bounds_in_lanes(low + at, high + at, end - begin, K, slack,
                                                      tolerance, lower + at, upper + at,
                                                      tops + 2 * begin, scratch.data());
                if (bad < end) first.see(bad);
            });
        return first.value();
    }
    parallel_for(n, 1 + (std::size_t{1} << 15) / K, threads,
                 [&](std::size_t begin, std::size_t end) {
                     reach_range(low, high, begin, end, K, slack, tolerance, lower, upper, tops,
                                 first);
                 });
    return first.value();
}

template <class T>
std::int64_t check_bounds(const T* low, const T* high, std::size_t n, int K, double slack,
                          double tolerance, T* tops, std::uint8_t* loose, int threads) {
    FirstBad first;
    parallel_for(
        n, Grain::of_lanes((std::size_t{1} << 17) / K), threads,
        [K] { return std::vector<double>(lanes_scratch(2 * static_cast<std::size_t>(K))); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            const std::size_t at = begin * K;
            const std::size_t bad =
                begin + check_bounds_in_lanes(low + at, high + at, end - begin, K, slack, tolerance,
                                              tops + 2 * begin, loose + begin, scratch.data());
            if (bad < end) first.see(bad);
        });
    return first.value();
}

template std::int64_t reachable_bounds(const float*, const float*, std::size_t, int, double, double,
                                       float*, float*, float*, int);
template std::int64_t reachable_bounds(const double*, const double*, std::size_t, int, double,
                                       double, double*, double*, double*, int);
template std::int64_t check_bounds(const float*, const float*, std::size_t, int, double, double,
                                   float*, std::uint8_t*, int);
template std::int64_t check_bounds(const double*, const double*, std::size_t, int, double, double,
                                   double*, std::uint8_t*, int);

}  // namespace credalens
