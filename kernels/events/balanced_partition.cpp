#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "events/weighted_events.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Largest number of classes for which all events are enumerated, which is faster than to sort them.
constexpr int kMaxEnumeratedClasses = 10;

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "events/balanced_partition-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

constexpr std::size_t kMaxSums = std::size_t{1} << 20;       // sums of one half, exact search
constexpr std::size_t kMaxQuickSums = std::size_t{1} << 15;  // sums of one half, bounds only
constexpr double kRounding = 1e-15;

struct Group {
    double weight;
    int count;
};

// Appends the multiples of a group to the sorted sums: each new copy is merged with the old sums,
// so that equal weights add their number, not its power of two.
void add_group(const Group& group, std::vector<double>& sums, std::vector<double>& scratch) {
    const std::vector<double> base = sums;
    for (int copy = 0; copy < group.count; ++copy) {
        for (double& sum : sums) sum += group.weight;
        scratch.resize(base.size() + sums.size());
        std::merge(base.begin(), base.end(), sums.begin(), sums.end(), scratch.begin());
        sums.swap(scratch);
    }
}

// The largest subset sum that is at most `target`, of as many groups, taken from the end of the
// list, as have at most `max_sums` sums in each half; `used` is their number. Stops early at
// `enough`.
double best_below(const std::vector<Group>& groups, double target, double enough,
                  std::size_t max_sums, std::size_t& used) {
    std::vector<double> half[2] = {{0.0}, {0.0}}, scratch;
    used = 0;
    for (std::size_t g = groups.size(); g-- > 0; ++used) {
        auto& small = half[half[1].size() < half[0].size()];
        if (small.size() * (groups[g].count + 1) > max_sums) break;
        add_group(groups[g], small, scratch);
    }
    double best = 0.0;
    std::size_t j = half[1].size();
    for (double first : half[0]) {
        while (j > 0 && first + half[1][j - 1] > target) --j;
        if (j == 0) break;
        best = std::max(best, first + half[1][j - 1]);
        if (best >= enough) break;
    }
    return best;
}

void balanced_subset(const double* weights, double cap, int K, double& lower, double& upper) {
    std::vector<double> sorted;
    for (int y = 0; y < K; ++y) {
        if (weights[y] > 0.0) sorted.push_back(weights[y]);
    }
    std::sort(sorted.begin(), sorted.end(), std::greater<double>());
    const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    const auto score = [&](double s) { return std::min(std::min(s, total - s), cap); };
    // A weight of more than half of the total leaves less for the other side.
    const double other = sorted.empty() ? 0.0 : std::min(0.5 * total, total - sorted[0]);
    upper = std::max(0.0, std::min(cap, other));
    lower = 0.0;
    double filled = 0.0;
    for (double w : sorted) {
        lower = std::max(lower, score(filled + w));
        if (filled + w <= 0.5 * total) filled += w;
    }
    const double slack = kRounding * std::max(total, 1.0);
    if (lower >= upper - slack) {
        upper = lower;
        return;
    }
    std::vector<Group> groups;
    for (double w : sorted) {
        if (!groups.empty() && groups.back().weight == w) {
            ++groups.back().count;
        } else {
            groups.push_back({w, 1});
        }
    }
    // A subset and its complement score the same: one of them is at most half of the total.
    const double half = 0.5 * total + slack;
    double product = 1.0;
    for (const Group& group : groups) product *= group.count + 1;
    const bool may_fit = product <= static_cast<double>(kMaxSums) * kMaxSums;
    std::size_t used = 0;
    const double best = best_below(groups, half, upper, may_fit ? kMaxSums : kMaxQuickSums, used);
    lower = std::max(lower, score(best));
    if (used == groups.size()) {
        upper = lower;
        return;
    }
    // Too many: the large weights are added greedily, the small ones fill the rest.
    double greedy = 0.0;
    const double tail = [&] {
        double sum = 0.0;
        for (std::size_t g = groups.size() - used; g < groups.size(); ++g) {
            sum += groups[g].weight * groups[g].count;
        }
        return sum;
    }();
    for (std::size_t g = 0; g < groups.size() - used; ++g) {
        for (int copy = 0; copy < groups[g].count; ++copy) {
            if (greedy + groups[g].weight <= half - 0.5 * tail) greedy += groups[g].weight;
        }
    }
    const double rest = best_below(groups, half - greedy, upper - greedy, kMaxQuickSums, used);
    lower = std::min(upper, std::max(lower, score(greedy + rest)));
}

}  // namespace

void balanced_partition(const double* weights, const double* cap, std::size_t n, int K,
                        double* lower, double* upper, int threads) {
    if (K <= kMaxEnumeratedClasses) {
        parallel_for(n, Grain::of_duration(20.0 + (1 << K) / 8), threads,
                     [&](std::size_t begin, std::size_t end) {
                         CREDALENS_DISPATCH(balanced_range, weights, cap, begin, end, K, lower);
                         std::copy(lower + begin, lower + end, upper + begin);
                     });
        return;
    }
    const double cost = 300.0 + 10.0 * std::pow(2.0, std::min(K, 40) / 2);
    parallel_for(n, Grain::of_duration(cost), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            balanced_subset(weights + i * K, cap[i], K, lower[i], upper[i]);
        }
    });
}

}  // namespace credalens
