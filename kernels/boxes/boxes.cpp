#include "boxes/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "events/weighted_events.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

constexpr int kMaxLevelSteps = 200;

// From so many classes on, the classes of one instance are in lanes.
constexpr int kMinClassesInLanes = 56;

double sum_of(const double* x, int K) {
    double sum = 0.0;
    for (int y = 0; y < K; ++y) sum += x[y];
    return sum;
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "boxes/boxes-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

void box_widths(const double* low, const double* high, std::size_t n, int K, double* widths,
                double* lower_sum, double* upper_sum, int threads) {
    parallel_for(n, Grain::of_duration(3.0 * K), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double *l = low + i * K, *u = high + i * K;
            for (int y = 0; y < K; ++y) widths[i * K + y] = std::max(u[y] - l[y], 0.0);
            lower_sum[i] = sum_of(l, K);
            upper_sum[i] = sum_of(u, K);
        }
    });
}

void box_minimax(const double* low, const double* high, std::size_t n, int K, double* value,
                 int threads) {
    parallel_for(
        n, Grain::multiple_of_lanes(40000 / K), threads,
        [K] { return vector_scratch(2 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(minimax_values, low + begin * K, high + begin * K, end - begin, K,
                               value + begin, nullptr, nullptr, nullptr, scratch.data());
        });
}

void box_tv(const double* low, const double* high, std::size_t n, int K, double* total,
            double* lower, double* upper, int threads) {
    if (K == 1) {
        for (double* values : {total, lower, upper}) std::fill(values, values + n, 0.0);
        return;
    }
    parallel_for(
        n, Grain::multiple_of_lanes(40000 / K), threads,
        [K] { return vector_scratch(2 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(minimax_values, low + begin * K, high + begin * K, end - begin, K,
                               nullptr, total + begin, lower + begin, upper + begin,
                               scratch.data());
        });
}

void box_diameter(const double* low, const double* high, std::size_t n, int K, double* least,
                  double* most, int threads) {
    std::vector<double> widths(n * K), sums(2 * n);
    double *lows = sums.data(), *caps = lows + n;
    box_widths(low, high, n, K, widths.data(), lows, caps, threads);
    for (std::size_t i = 0; i < n; ++i)
        caps[i] = std::max(std::min(caps[i] - 1.0, 1.0 - lows[i]), 0.0);
    balanced_partition(widths.data(), caps, n, K, least, most, threads);
}

void box_hartley(const double* low, const double* high, std::size_t n, int K,
                 const double* size_weights, double* value, int threads) {
    std::vector<double> widths(n * K), sums(2 * n);
    double *lows = sums.data(), *excess = lows + n;
    box_widths(low, high, n, K, widths.data(), lows, excess, threads);
    for (std::size_t i = 0; i < n; ++i) excess[i] = std::max(excess[i] - 1.0, 0.0);
    excess_sums(widths.data(), excess, n, K, size_weights, value, threads);
    const double bits = std::log2(K);
    for (std::size_t i = 0; i < n; ++i)
        value[i] = std::max((1.0 - lows[i]) * bits - value[i], 0.0);
}

void box_max_entropy(const double* low, const double* high, std::size_t n, int K, double* value,
                     double* distribution, int threads) {
    parallel_for(
        n, Grain::multiple_of_lanes(40000 / K), threads,
        [K] { return vector_scratch(2 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const double *l = low + begin * K, *u = high + begin * K;
            double* p = distribution ? distribution + begin * K : nullptr;
            if (K < kMinClassesInLanes)
                CREDALENS_DISPATCH(max_entropy_few_classes, l, u, end - begin, K, value + begin, p,
                                   scratch.data());
            else
                CREDALENS_DISPATCH(max_entropy_many_classes, l, u, end - begin, K, value + begin,
                                   p);
        });
}

}  // namespace credalens
