#include "hull/closed_forms.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Largest number of classes for which the sign form is considered: it has 2^(K-1) sums.
constexpr int kMaxSignClasses = 20;
// Members whose stack of partial sums fits into the first-level cache.
constexpr int kSignMembers = 128;
// Smallest number of members that are sorted; members that are compared first, to estimate how many
// pairs are skipped; and the largest share of pairs for which sorting is faster than all pairs.
constexpr int kMinSortedMembers = 200;
constexpr int kProbedMembers = 16;
constexpr double kMaxSortedShare = 0.35;
// Smallest number of classes, and largest number of members, for which the classes of one instance
// are in lanes: the sum over the lanes of each pair is then small in comparison.
constexpr int kMinClassesInLanes = 96;
constexpr int kMaxMembersOfClassesInLanes = 16;
// Largest instance of which the extremes alone are computed with one instance per lane, for rows
// that fill a vector and for shorter ones.
constexpr std::size_t kMaxExtremesPerLane = 512;
constexpr std::size_t kMaxShortExtremesPerLane = 2048;
// Fewer instances leave most lanes empty.
constexpr std::size_t kMinInstancesInLanes = 4;

// Classes of each row that are processed at a time if classes are in lanes.
constexpr int class_block(int M) {
    return kMaxLanes * std::max(320 / M, 16);
}

std::size_t class_per_lane_vectors(int M) {
    const std::size_t rows = M, block = class_block(M) / kMaxLanes;
    return 2 * rows + (rows + 1) * block + rows * rows / 2 + 1;
}

std::size_t extremes_vectors(int M, int K) {
    const std::size_t rows = M;
    return 2 * rows + 2 * std::min(K, kMaxLanes) + K / kMaxLanes + 2;
}

// Scratch memory of one thread for instances that are processed one after the other.
struct DiameterWorkspace {
    DiameterWorkspace(int M, int K, PairMethod method, bool diameter)
        : extremes(vector_scratch(extremes_vectors(M, K))),
          rows(diameter && method != PairMethod::signs
                   ? static_cast<std::size_t>(M) * padded_size(K)
                   : 0),
          centroid(padded_size(K)) {
        if (diameter && method == PairMethod::sorted) {
            radius.resize(M);
            order.resize(M);
        }
        if (diameter && method == PairMethod::signs) {
            columns.resize(static_cast<std::size_t>(K) * kSignMembers);
            levels.resize(columns.size());
            high.resize(std::size_t{1} << (K - 1));
            low.resize(high.size());
        }
    }
    AlignedBuffer extremes;
    AlignedBuffer rows;      // (M, padded K): an instance
    AlignedBuffer centroid;  // (padded K)
    std::vector<double> radius;
    std::vector<int> order;
    std::vector<double> columns;    // (K, kSignMembers): some members, transposed
    std::vector<double> levels;     // (K, kSignMembers): partial sums
    std::vector<double> high, low;  // (2^(K-1)): range of each signed sum
};

// Largest difference of one class.
template <class T>
double range(const T* P, int M, std::int64_t* pair) {
    const T *top = std::max_element(P, P + M), *bottom = std::min_element(P, P + M);
    if (pair) pair[0] = top - P, pair[1] = bottom - P;
    return static_cast<double>(*top) - *bottom;
}

// The members with the largest and the smallest signed sum. The sign of the last class is bit 0 of
// `signs`, that of class 1 the highest bit.
template <class T>
void find_sign_pair(const T* P, int M, int K, std::size_t signs, std::int64_t* pair) {
    double high = 0, low = 0;
    for (int m = 0; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        double sum = row[0];
        for (int y = 1; y < K; ++y) sum += (signs >> (K - 1 - y)) & 1u ? -row[y] : row[y];
        if (m == 0 || sum > high) high = sum, pair[0] = m;
        if (m == 0 || sum < low) low = sum, pair[1] = m;
    }
}

void sort_by_radius(const double* radius, int M, int* order) {
    for (int m = 0; m < M; ++m) order[m] = m;
    std::sort(order, order + M, [radius](int a, int b) {
        return radius[a] != radius[b] ? radius[a] > radius[b] : a < b;
    });
}

// The share of pairs whose radii sum to more than `best`.
double share_of_pairs_above(double best, const double* radius, const int* order, int M) {
    double pairs = 0;
    for (int i = 0, j = M - 1; i < M; ++i) {
        while (j >= 0 && radius[order[i]] + radius[order[j]] <= best) --j;
        pairs += std::max(0, j - i);
    }
    return pairs / (0.5 * M * (M - 1.0));
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "hull/closed_forms-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// A sum of the sign form costs about as much as four entries of a pair, and as seventeen of pairs
// with one instance per lane.
PairMethod select_method(int M, int K) {
    const bool many = M >= kMinSortedMembers;
    const double cost = many ? 0.25 : 0.06;
    if (K <= kMaxSignClasses && (1 << (K - 1)) < cost * M * K) return PairMethod::signs;
    return many ? PairMethod::sorted : PairMethod::all_pairs;
}

// One pass, with one instance per lane or with the classes of one instance in lanes.
template <class T>
std::int64_t in_one_pass(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                         bool classes_in_lanes, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t work = size * (out.diameter ? 4 + M / 2 : 4);
    const std::size_t grain = (std::size_t{1} << 20) / work;
    FirstInvalid invalid;
    parallel_for(
        n, classes_in_lanes ? Grain(1 + grain) : Grain::multiple_of_lanes(grain), threads,
        [&] {
            return vector_scratch(classes_in_lanes ? class_per_lane_vectors(M) : size + 2 * M);
        },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            if (invalid.found_up_to(begin)) return;
            const T* first = P + begin * size;
            const std::size_t count = end - begin;
            const ClosedForms own = out.from(begin);
            const std::size_t valid =
                classes_in_lanes ? CREDALENS_DISPATCH(closed_forms_class_per_lane, first, count, M,
                                                      K, own, tolerance, scratch.data())
                                 : CREDALENS_DISPATCH(closed_forms_instance_per_lane, first, count,
                                                      M, K, own, tolerance, scratch.data());
            if (begin + valid < end) invalid.record(begin + valid);
        });
    return invalid.value();
}

// Extremes and diameter one after the other, for blocks of instances that stay in the second-level
// cache.
template <class T>
std::int64_t in_two_passes(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                           PairMethod method, bool forced, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t work = size * (out.diameter ? 1 + M / 4 : 1);
    const std::size_t block = 1 + (std::size_t{1} << 18) / (size * sizeof(T));
    FirstInvalid invalid;
    parallel_for(
        n, Grain(1 + (std::size_t{1} << 17) / work), threads,
        [&] { return DiameterWorkspace(M, K, method, out.diameter != nullptr); },
        [&](DiameterWorkspace& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end && !invalid.found_up_to(i); i += block) {
                const std::size_t count = std::min(block, end - i);
                const T* first = P + i * size;
                if (out.has_bounds() || tolerance >= 0) {
                    const std::size_t valid =
                        CREDALENS_DISPATCH(extremes_class_per_lane, first, count, M, K, out.from(i),
                                           tolerance, ws.extremes.data());
                    if (valid < count) return invalid.record(i + valid);
                }
                if (out.diameter)
                    CREDALENS_DISPATCH(large_diameters, first, count, M, K, out.from(i), method,
                                       forced, ws);
            }
        });
    return invalid.value();
}

}  // namespace

template <class T>
std::int64_t closed_forms(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                          PairMethod method, int threads, double tolerance) {
    const bool forced = method != PairMethod::automatic;
    if (!forced) method = select_method(M, K);
    const std::size_t size = static_cast<std::size_t>(M) * K;
    // With few instances the extremes are the same in either layout, but not the order of sums, nor
    // the result for a NaN that is not validated.
    const bool few_entries =
        size <= (K < kMaxLanes ? kMaxShortExtremesPerLane : kMaxExtremesPerLane) &&
        (n >= kMinInstancesInLanes || out.lower_sum || tolerance < 0);
    // Signed sums of two or three classes with one instance per lane take O(M), as the extremes do.
    const bool few_classes = (K == 2 || K == 3) && size <= kMaxInstancePerLane && !out.pairs;
    const bool all_pairs = !forced && (few_classes || method == PairMethod::all_pairs);
    const bool classes_in_lanes =
        out.diameter && (size > kMaxInstancePerLane ||
                         (K >= kMinClassesInLanes && M <= kMaxMembersOfClassesInLanes));
    if (out.min_upper) return in_one_pass(P, n, M, K, out, false, threads, tolerance);
    if (out.diameter ? all_pairs && (K >= kMaxLanes || !classes_in_lanes) : few_entries)
        return in_one_pass(P, n, M, K, out, classes_in_lanes, threads, tolerance);
    return in_two_passes(P, n, M, K, out, method, forced, threads, tolerance);
}

template std::int64_t closed_forms(const float*, std::size_t, int, int, const ClosedForms&,
                                   PairMethod, int, double);
template std::int64_t closed_forms(const double*, std::size_t, int, int, const ClosedForms&,
                                   PairMethod, int, double);

}  // namespace credalens
