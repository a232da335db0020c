#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "boxes/boxes.hpp"
#include "simd/shuffles.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// ------------------------------------------------------------------------------ all events

// Most classes for which all events are looked at, which then takes less than to sort them.
constexpr int kBalancedClasses = 10, kExcessClasses = 12;

// The weights of all events over K classes, at least three: what is missing weighs nothing.
CREDALENS_INLINE void weigh_events(const double* weights, int K, double* sums) {
    Double8 first = {};
    for (int y = 0; y < 3 && y < K; ++y) first += lanes_with(Double8{} + weights[y], 1 << y);
    store8(sums, first);
    for (int y = 3; y < K; ++y) {
        for (int s = 0; s < 1 << y; s += kLanes) {
            store8(sums + s + (1 << y), load8(sums + s) + weights[y]);
        }
    }
}

// Of an event and its complement, which score the same, the one without the last class.
CREDALENS_CLONES void balanced_range(const double* weights, const double* cap, std::size_t begin,
                                     std::size_t end, int K, double* best) {
    alignas(64) double sums[1 << (kBalancedClasses - 1)];
    const int count = std::max(kLanes, 1 << (K - 1));
    for (std::size_t i = begin; i < end; ++i) {
        const double* own = weights + i * K;
        weigh_events(own, K - 1, sums);
        const double total = sums[count - 1] + own[K - 1];
        Double8 most = {};
        for (int s = 0; s < count; s += kLanes) {
            const Double8 x = load8(sums + s);
            most = max8(min8(x, total - x), most);
        }
        best[i] = std::min(top8(most), cap[i]);
    }
}

CREDALENS_CLONES void excess_range(const double* weights, const double* threshold,
                                   std::size_t begin, std::size_t end, int K,
                                   const double* event_weights, double* value) {
    alignas(64) double sums[1 << kExcessClasses];
    const int count = std::max(kLanes, 1 << K);
    for (std::size_t i = begin; i < end; ++i) {
        weigh_events(weights + i * K, K, sums);
        Double8 total = {};
        for (int s = 0; s < count; s += kLanes) {
            const Double8 above = load8(sums + s) - threshold[i];
            total += max8(above, Double8{}) * load8(event_weights + s);
        }
        value[i] = sum8(total);
    }
}

// ------------------------------------------------------------------------- balanced subsets

constexpr std::size_t kMostSums = std::size_t{1} << 20;   // sums of one half, exact search
constexpr std::size_t kQuickSums = std::size_t{1} << 15;  // sums of one half, bounds only
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
// list, as have at most `most` sums in each half; `used` says how many. Stops early at `enough`.
double best_below(const std::vector<Group>& groups, double target, double enough,
                  std::size_t most, std::size_t& used) {
    std::vector<double> half[2] = {{0.0}, {0.0}}, scratch;
    used = 0;
    for (std::size_t g = groups.size(); g-- > 0; ++used) {
        auto& small = half[half[1].size() < half[0].size()];
        if (small.size() * (groups[g].count + 1) > most) break;
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
    const bool may_fit = product <= static_cast<double>(kMostSums) * kMostSums;
    std::size_t used = 0;
    const double best = best_below(groups, half, upper, may_fit ? kMostSums : kQuickSums, used);
    lower = std::max(lower, score(best));
    if (used == groups.size()) {
        upper = lower;
        return;
    }
    // Too many: the large weights are dealt out greedily, the small ones then fill up the rest.
    double dealt = 0.0;
    const double tail = [&] {
        double sum = 0.0;
        for (std::size_t g = groups.size() - used; g < groups.size(); ++g) {
            sum += groups[g].weight * groups[g].count;
        }
        return sum;
    }();
    for (std::size_t g = 0; g < groups.size() - used; ++g) {
        for (int copy = 0; copy < groups[g].count; ++copy) {
            if (dealt + groups[g].weight <= half - 0.5 * tail) dealt += groups[g].weight;
        }
    }
    const double rest = best_below(groups, half - dealt, upper - dealt, kQuickSums, used);
    lower = std::min(upper, std::max(lower, score(dealt + rest)));
}

// ------------------------------------------------------------------------------- excess sums

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

void balanced_partition(const double* weights, const double* cap, std::size_t n, int K,
                      double* lower, double* upper, int threads) {
    if (K <= kBalancedClasses) {
        parallel_for(n, grain_of(20.0 + (1 << K) / 8), threads,
                     [&](std::size_t begin, std::size_t end) {
            balanced_range(weights, cap, begin, end, K, lower);
            std::copy(lower + begin, lower + end, upper + begin);
        });
        return;
    }
    const double cost = 300.0 + 10.0 * std::pow(2.0, std::min(K, 40) / 2);
    parallel_for(n, grain_of(cost), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            balanced_subset(weights + i * K, cap[i], K, lower[i], upper[i]);
        }
    });
}

void excess_sums(const double* weights, const double* threshold, std::size_t n, int K,
                 const double* size_weights, double* value, int threads) {
    if (K <= kExcessClasses) {
        std::vector<double> by_event(std::max(kLanes, 1 << K));
        for (int event = 1, size; event < (1 << K) - 1; ++event) {
            size = 0;
            for (int rest = event; rest != 0; rest &= rest - 1) ++size;
            by_event[event] = size_weights[size];
        }
        parallel_for(n, grain_of(20.0 + (1 << K) / 3), threads,
                     [&](std::size_t begin, std::size_t end) {
            excess_range(weights, threshold, begin, end, K, by_event.data(), value);
        });
        return;
    }
    const double cost = 2.0 * K * std::pow(2.0, K / 2);
    parallel_for(n, grain_of(cost), threads, [&](std::size_t begin, std::size_t end) {
        SumsBySize first, second;
        for (std::size_t i = begin; i < end; ++i) {
            first.fill(weights + i * K, K / 2);
            second.fill(weights + i * K + K / 2, K - K / 2);
            value[i] = excess_sum(first, second, threshold[i], size_weights);
        }
    });
}

}  // namespace credalens
