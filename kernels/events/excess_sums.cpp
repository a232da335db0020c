#include <algorithm>
#include <cmath>
#include <vector>

#include "events/weighted_events.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Largest number of classes for which all events are enumerated, which is faster than to sort them.
constexpr int kMaxEnumeratedClasses = 12;

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "events/excess_sums-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// The sums of the subsets of one half of the classes, sorted, for each size; `above` holds, beside
// every sum, that sum and all larger ones of its size added up.
struct SumsBySize {
    std::vector<std::vector<double>> sums, above;

    void fill(const double* weights, int count) {
        sums.assign(count + 1, {});
        sums[0] = {0.0};
        std::vector<double> moved, merged;
        for (int y = 0; y < count; ++y) {
            for (int size = y + 1; size > 0; --size) {
                moved = sums[size - 1];
                for (double& sum : moved) sum += weights[y];
                merged.resize(sums[size].size() + moved.size());
                std::merge(sums[size].begin(), sums[size].end(), moved.begin(), moved.end(),
                           merged.begin());
                sums[size].swap(merged);
            }
        }
        above = sums;
        for (auto& list : above) {
            for (std::size_t i = list.size() - 1; i-- > 0;) list[i] += list[i + 1];
        }
    }
};

double excess_sum(const SumsBySize& first, const SumsBySize& second, double threshold,
                  const double* size_weights) {
    double total = 0.0;
    for (std::size_t a = 0; a < first.sums.size(); ++a) {
        for (std::size_t b = 0; b < second.sums.size(); ++b) {
            const double weight = size_weights[a + b];
            if (weight == 0.0) continue;
            const auto &sums = second.sums[b], &above = second.above[b];
            std::size_t j = sums.size();
            double sum = 0.0;
            for (double x : first.sums[a]) {
                const double needed = threshold - x;
                while (j > 0 && sums[j - 1] > needed) --j;
                const std::size_t count = sums.size() - j;
                if (count > 0) sum += above[j] - static_cast<double>(count) * needed;
            }
            total += weight * sum;
        }
    }
    return total;
}

}  // namespace

void excess_sums(const double* weights, const double* threshold, std::size_t n, int K,
                 const double* size_weights, double* value, int threads) {
    if (K <= kMaxEnumeratedClasses) {
        std::vector<double> by_event(std::max(kMaxLanes, 1 << K));
        for (int event = 1; event < (1 << K) - 1; ++event)
            by_event[event] = size_weights[__builtin_popcount(event)];
        parallel_for(n, Grain::of_duration(20.0 + (1 << K) / 3), threads,
                     [&](std::size_t begin, std::size_t end) {
                         CREDALENS_DISPATCH(excess_range, weights, threshold, begin, end, K,
                                            by_event.data(), value);
                     });
        return;
    }
    const double cost = 2.0 * K * std::pow(2.0, K / 2);
    parallel_for(n, Grain::of_duration(cost), threads, [&](std::size_t begin, std::size_t end) {
        SumsBySize first, second;
        for (std::size_t i = begin; i < end; ++i) {
            first.fill(weights + i * K, K / 2);
            second.fill(weights + i * K + K / 2, K - K / 2);
            value[i] = excess_sum(first, second, threshold[i], size_weights);
        }
    });
}

}  // namespace credalens
