#include "simd/instance_per_lane.hpp"

#include "simd/target.hpp"

#if CREDALENS_SEVERAL_SETS
#include <immintrin.h>
#endif

namespace credalens {
namespace {

// Rows of so many classes or more are checked one after the other, as the machine foresees it, and
// not side by side.
constexpr int kLongRow = 48;

// So many members have enough pairs to be worth the sums of their rows.
constexpr int kMinSummed = 4;

// So many pairs for each row, which may be the widest, are measured one by one.
constexpr int kMostMeasured = 4;

// An L1 distance that is a smaller share of the largest sum of a row is not taken from such sums.
constexpr double kCloseTogether = 0x1p-26;

// Bytes that are fetched from memory at once; how far ahead, where the machine does not foresee what
// is read; and the least length of a row for it.
constexpr std::size_t kLine = 64, kFar = 4096;
constexpr int kMinFetched = 32;

CREDALENS_INLINE void fetch(const void* place) { __builtin_prefetch(place, 0, 2); }

// Classes of each row that are kept at a time where all rows meet: a whole number of vectors.
constexpr int kept_along(int M) { return 8 * (320 / M > 16 ? 320 / M : 16); }

// Lanes of two vectors by their places, in the notation of the compiler.
#if defined(__clang__)
#define CREDALENS_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CREDALENS_MIX(a, b, ...) __builtin_shuffle(a, b, Marks{__VA_ARGS__})
#endif

#define CREDALENS_BODY "simd/instance_per_lane-inl.hpp"
#include "simd/foreach_target.hpp"

constexpr std::size_t kAlignment = 64 / sizeof(double);

double* aligned(double* scratch) {
    const std::size_t off = reinterpret_cast<std::uintptr_t>(scratch) / sizeof(double) % kAlignment;
    return scratch + (kAlignment - off);
}

}  // namespace

std::size_t lanes_scratch(std::size_t entries) { return 8 * entries + kAlignment; }

template <class T>
std::size_t closed_forms_in_lanes(const T* P, std::size_t count, int M, int K,
                                  const ClosedForms& out, double tolerance, double* scratch) {
    return CREDALENS_BEST(closed_forms, P, count, M, K, out, tolerance, aligned(scratch));
}

std::size_t along_scratch(int M, int K) {
    const std::size_t rows = M;
    const std::size_t kept = rows * (kept_along(M) / 8), pairs = rows * rows / 2 + 1;
    return lanes_scratch(2 * rows + K / 8 + 2 + kept + pairs + 1 + (rows + kept) / 2 + 1);
}

template <class T>
std::size_t closed_forms_along(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                               double tolerance, double* scratch) {
    return CREDALENS_BEST(closed_forms_along, P, count, M, K, out, tolerance, aligned(scratch));
}

template <class T>
std::size_t extremes_in_lanes(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                              double tolerance, double* scratch) {
    return CREDALENS_BEST(extremes, P, count, M, K, out, tolerance, aligned(scratch));
}

template <class T>
void leave_one_out_in_lanes(const T* P, std::size_t count, int M, int K, const LeaveOneOut& out,
                            double* scratch) {
    CREDALENS_BEST(leave_one_out, P, count, M, K, out, aligned(scratch));
}

template <class T>
void tree_wasserstein_diameter_in_lanes(const T* P, std::size_t count, int M, int K, const EdgeList& edges,
                            double* diameter, double* scratch) {
    CREDALENS_BEST(tree_wasserstein_diameter, P, count, M, K, edges, diameter, aligned(scratch));
}

template <class T>
void kolmogorov_diameter_in_lanes(const T* P, std::size_t count, int M, int K, double* diameter,
                                  double* scratch) {
    CREDALENS_BEST(kolmogorov_diameter, P, count, M, K, diameter, aligned(scratch));
}

template <class T>
void squared_euclidean_diameter_in_lanes(const T* P, std::size_t count, int M, int K, const double* V, int r,
                              double* square, double* scratch) {
    CREDALENS_BEST(squared_euclidean_diameter, P, count, M, K, V, r, square, aligned(scratch));
}

template <class T>
void least_entropy(const T* P, std::size_t count, int M, int K, double* value,
                   std::int64_t* member, double* scratch) {
    CREDALENS_BEST(least_entropy, P, count, M, K, value, member, aligned(scratch));
}

template <class T>
void normalised_by_class(const T* P, int M, int K, double tiny, double* out, int list) {
    CREDALENS_BEST(normalised_by_class, P, M, K, tiny, out, list);
}

template <class T>
std::size_t first_bad_in_lanes(const T* P, std::size_t rows, int K, double tolerance) {
    return CREDALENS_BEST(first_bad, P, rows, K, tolerance);
}

template <class T>
std::size_t reachable_bounds_in_lanes(const T* low, const T* high, std::size_t count, int K,
                                      double slack, double tolerance, T* lower, T* upper,
                                      T* tops, double* scratch) {
    return CREDALENS_BEST(reachable_bounds, low, high, count, K, slack, tolerance, lower, upper,
                          tops, aligned(scratch));
}

template <class T>
std::size_t check_bounds_in_lanes(const T* low, const T* high, std::size_t count, int K,
                                  double slack, double tolerance, T* tops, std::uint8_t* loose,
                                  double* scratch) {
    return CREDALENS_BEST(check_bounds, low, high, count, K, slack, tolerance, tops, loose,
                          aligned(scratch));
}

void box_minimax_in_lanes(const double* low, const double* high, std::size_t count, int K,
                          double* value, double* scratch) {
    CREDALENS_BEST(box_minimax, low, high, count, K, value, aligned(scratch));
}

void box_max_entropy_in_lanes(const double* low, const double* high, std::size_t count, int K,
                              double* value, double* distribution, double* scratch) {
    double* const ws = aligned(scratch);
    if (K < kMinSetsAlong)
        CREDALENS_BEST(box_max_entropy, low, high, count, K, value, distribution, ws);
    else
        CREDALENS_BEST(box_max_entropy_along, low, high, count, K, value, distribution, ws);
}

void ball_minimax_in_lanes(const double* center, const double* radius, std::size_t count, int K,
                           double* value, double* scratch) {
    CREDALENS_BEST(ball_minimax, center, radius, count, K, value, aligned(scratch));
}

void ball_lower_sum_in_lanes(const double* center, const double* radius, std::size_t count, int K,
                             double* value, double* scratch) {
    CREDALENS_BEST(ball_lower_sum, center, radius, count, K, value, aligned(scratch));
}

void neighbourhood_entropy_in_lanes(Neighbourhood kind, bool largest, const double* center,
                                    const double* size, std::size_t count, int K, double* value,
                                    double* distribution, double* scratch) {
    double* const ws = aligned(scratch);
    if (kind == Neighbourhood::ball) {
        if (largest && K >= kMinSetsAlong)
            CREDALENS_BEST(ball_max_entropy_along, center, size, count, K, value, distribution, ws);
        else if (largest)
            CREDALENS_BEST(ball_max_entropy, center, size, count, K, value, distribution, ws);
        else
            CREDALENS_BEST(ball_min_entropy, center, size, count, K, value, distribution, ws);
    } else if (largest) {
        CREDALENS_BEST(contamination_max_entropy, center, size, count, K, value, distribution, ws);
    } else {
        CREDALENS_BEST(contamination_min_entropy, center, size, count, K, value, distribution, ws);
    }
}

template <class T>
std::size_t second_order_in_lanes(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                                  int K, const SecondOrder& out, double tolerance, double* scratch) {
    return CREDALENS_BEST(second_order, loss, P, weights, count, M, K, out, tolerance, aligned(scratch));
}

template <class T>
std::size_t labelwise_in_lanes(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                               int K, const SecondOrder& out, double tolerance, double* scratch) {
    return CREDALENS_BEST(labelwise, loss, P, weights, count, M, K, out, tolerance, aligned(scratch));
}

template <class T>
void median_distance_in_lanes(const T* P, std::size_t count, int M, int K, double* value,
                              double* scratch) {
    CREDALENS_BEST(median_distance, P, count, M, K, value, aligned(scratch));
}

template void median_distance_in_lanes(const float*, std::size_t, int, int, double*, double*);
template void median_distance_in_lanes(const double*, std::size_t, int, int, double*, double*);
template std::size_t second_order_in_lanes(Loss, const float*, const double*, std::size_t, int, int,
                                           const SecondOrder&, double, double*);
template std::size_t second_order_in_lanes(Loss, const double*, const double*, std::size_t, int, int,
                                           const SecondOrder&, double, double*);
template std::size_t labelwise_in_lanes(Loss, const float*, const double*, std::size_t, int, int,
                                        const SecondOrder&, double, double*);
template std::size_t labelwise_in_lanes(Loss, const double*, const double*, std::size_t, int, int,
                                        const SecondOrder&, double, double*);
template std::size_t reachable_bounds_in_lanes(const float*, const float*, std::size_t, int,
                                               double, double, float*, float*, float*, double*);
template std::size_t reachable_bounds_in_lanes(const double*, const double*, std::size_t, int,
                                               double, double, double*, double*, double*,
                                               double*);
template std::size_t check_bounds_in_lanes(const float*, const float*, std::size_t, int, double,
                                           double, float*, std::uint8_t*, double*);
template std::size_t check_bounds_in_lanes(const double*, const double*, std::size_t, int, double,
                                           double, double*, std::uint8_t*, double*);
template std::size_t closed_forms_in_lanes(const float*, std::size_t, int, int, const ClosedForms&,
                                           double, double*);
template std::size_t closed_forms_in_lanes(const double*, std::size_t, int, int,
                                           const ClosedForms&, double, double*);
template std::size_t closed_forms_along(const float*, std::size_t, int, int, const ClosedForms&,
                                        double, double*);
template std::size_t closed_forms_along(const double*, std::size_t, int, int, const ClosedForms&,
                                        double, double*);
template std::size_t extremes_in_lanes(const float*, std::size_t, int, int, const ClosedForms&,
                                       double, double*);
template std::size_t extremes_in_lanes(const double*, std::size_t, int, int, const ClosedForms&,
                                       double, double*);
template void leave_one_out_in_lanes(const float*, std::size_t, int, int, const LeaveOneOut&,
                                     double*);
template void leave_one_out_in_lanes(const double*, std::size_t, int, int, const LeaveOneOut&,
                                     double*);
template void tree_wasserstein_diameter_in_lanes(const float*, std::size_t, int, int, const EdgeList&, double*,
                                     double*);
template void tree_wasserstein_diameter_in_lanes(const double*, std::size_t, int, int, const EdgeList&, double*,
                                     double*);
template void kolmogorov_diameter_in_lanes(const float*, std::size_t, int, int, double*, double*);
template void kolmogorov_diameter_in_lanes(const double*, std::size_t, int, int, double*, double*);
template void squared_euclidean_diameter_in_lanes(const float*, std::size_t, int, int, const double*, int,
                                       double*, double*);
template void squared_euclidean_diameter_in_lanes(const double*, std::size_t, int, int, const double*, int,
                                       double*, double*);
template void least_entropy(const float*, std::size_t, int, int, double*, std::int64_t*, double*);
template void least_entropy(const double*, std::size_t, int, int, double*, std::int64_t*, double*);
template void normalised_by_class(const float*, int, int, double, double*, int);
template void normalised_by_class(const double*, int, int, double, double*, int);
template std::size_t first_bad_in_lanes(const float*, std::size_t, int, double);
template std::size_t first_bad_in_lanes(const double*, std::size_t, int, double);

}  // namespace credalens
