#include "boxes/reachable_bounds.hpp"

#include <algorithm>

#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// From so many classes on, the classes of one instance are in lanes: twice as fast at K = 100, and
// for reachable bounds, which are also written, 3.7 times.
constexpr int kMinClassesInLanes = 48;
constexpr int kMinReachableInLanes = 24;

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "boxes/reachable_bounds-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
std::int64_t reachable_bounds(const T* low, const T* high, std::size_t n, int K,
                              double bound_tolerance, double sum_tolerance, T* lower, T* upper,
                              T* max_bounds, int threads) {
    FirstInvalid invalid;
    const bool many = K >= kMinReachableInLanes;
    parallel_for(
        n,
        many ? Grain(1 + (std::size_t{1} << 15) / K)
             : Grain::multiple_of_lanes((std::size_t{1} << 16) / K),
        threads, [&] { return vector_scratch(many ? 0 : 2 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const std::size_t at = begin * K;
            const std::size_t valid =
                many ? CREDALENS_DISPATCH(reachable_many_classes, low + at, high + at, end - begin,
                                          K, bound_tolerance, sum_tolerance, lower + at, upper + at,
                                          max_bounds + 2 * begin)
                     : CREDALENS_DISPATCH(reachable_few_classes, low + at, high + at, end - begin,
                                          K, bound_tolerance, sum_tolerance, lower + at, upper + at,
                                          max_bounds + 2 * begin, scratch.data());
            if (begin + valid < end) invalid.record(begin + valid);
        });
    return invalid.value();
}

template <class T>
std::int64_t check_bounds(const T* low, const T* high, std::size_t n, int K, double bound_tolerance,
                          double sum_tolerance, T* max_bounds, std::uint8_t* not_reachable,
                          int threads) {
    FirstInvalid invalid;
    parallel_for(
        n, Grain::multiple_of_lanes((std::size_t{1} << 17) / K), threads,
        [K] { return vector_scratch(2 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const std::size_t at = begin * K;
            const std::size_t valid = CREDALENS_DISPATCH(
                check_range, low + at, high + at, end - begin, K, bound_tolerance, sum_tolerance,
                max_bounds + 2 * begin, not_reachable + begin, scratch.data());
            if (begin + valid < end) invalid.record(begin + valid);
        });
    return invalid.value();
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
