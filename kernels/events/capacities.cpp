#include "events/capacities.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "events/capacities-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// Events of a row that is repeated so that every target has two vectors.
std::size_t padded_events(int K) {
    return std::size_t{1} << std::max(K, 4);
}

// Instances that take some tens of microseconds, if an event takes `work` operations.
Grain events_grain(int K, int work) {
    return Grain(1 + (std::size_t{1} << 17) / (work * padded_events(K)));
}

double entropy_term(double p) {
    return p > 0.0 ? -p * std::log(p) : 0.0;
}

// Shortest paths through the events, for one instance at a time.
class ShortestPath {
public:
    explicit ShortestPath(int K) : K_(K), cost_(std::size_t{1} << K), last_(std::size_t{1} << K) {}

    template <class T>
    double solve(const T* v, double* extreme_point) {
        const std::size_t size = std::size_t{1} << K_;
        for (std::size_t event = 1; event < size; ++event) {
            double best = INFINITY;
            for (int y = 0; y < K_; ++y) {
                const std::size_t before = event ^ (std::size_t{1} << y);
                if (before > event) continue;
                const double step = static_cast<double>(v[event]) - v[before];
                const double through = cost_[before] + entropy_term(step);
                if (through < best) {
                    best = through;
                    last_[event] = static_cast<std::uint8_t>(y);
                }
            }
            cost_[event] = best;
        }
        double entropy = 0.0;
        for (std::size_t event = size - 1; event != 0;) {
            const int y = last_[event];
            const std::size_t before = event ^ (std::size_t{1} << y);
            extreme_point[y] = std::max(static_cast<double>(v[event]) - v[before], 0.0);
            entropy += entropy_term(extreme_point[y]);
            event = before;
        }
        return std::max(entropy, 0.0);
    }

private:
    const int K_;
    std::vector<double> cost_;
    std::vector<std::uint8_t> last_;
};

}  // namespace

template <class T>
std::int64_t check_capacities(const T* values, std::size_t n, int K, double tolerance, double limit,
                              std::uint8_t* two_monotone, int threads) {
    FirstInvalid invalid;
    parallel_for(
        n, events_grain(K, std::max(K, 1)), threads,
        [&] { return AlignedBuffer(padded_events(K) * 3 / 2); },
        [&](AlignedBuffer& row, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(check_range, values, begin, end, K, tolerance, limit, row.data(),
                               two_monotone, invalid);
        });
    return invalid.value();
}

template <class T>
void belief_values(const T* masses, std::size_t n, int K, T* values, int threads) {
    parallel_for(
        n, events_grain(K, 2), threads, [&] { return AlignedBuffer(padded_events(K)); },
        [&](AlignedBuffer& row, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(belief_range, masses, begin, end, K, row.data(), values);
        });
}

template <class T>
void event_dot(const T* values, std::size_t n, int K, const double* weights, double* sum,
               int threads) {
    parallel_for(n, events_grain(K, 1), threads, [&](std::size_t begin, std::size_t end) {
        CREDALENS_DISPATCH(dot_range, values, begin, end, K, weights, sum);
    });
}

template <class T>
void max_class_bounds(const T* values, std::size_t n, int K, double* lower, double* upper,
                      int threads) {
    const std::size_t size = std::size_t{1} << K;
    parallel_for(n, 1 + (std::size_t{1} << 14) / K, threads,
                 [&](std::size_t begin, std::size_t end) {
                     for (std::size_t i = begin; i < end; ++i) {
                         const T* own = values + i * size;
                         T largest = own[1], smallest = own[size - 2];
                         for (std::size_t one = 2; one < size; one *= 2) {
                             largest = std::max(largest, own[one]);
                             smallest = std::min(smallest, own[size - 1 - one]);
                         }
                         lower[i] = largest;
                         upper[i] = 1.0 - static_cast<double>(smallest);
                     }
                 });
}

template <class T>
void max_event_width(const T* values, std::size_t n, int K, double* width, int threads) {
    parallel_for(n, events_grain(K, 1), threads, [&](std::size_t begin, std::size_t end) {
        CREDALENS_DISPATCH(width_range, values, begin, end, K, width);
    });
}

template <class T>
void capacity_min_entropy(const T* values, std::size_t n, int K, double* value,
                          double* extreme_point, int threads) {
    parallel_for(
        n, 1 + (std::size_t{1} << 13) / (padded_events(K) * K), threads,
        [&] { return ShortestPath(K); },
        [&](ShortestPath& path, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                value[i] = path.solve(values + (i << K), extreme_point + i * K);
        });
}

void max_event_mean(const double* values, std::size_t n, int K, double* value, int threads) {
    parallel_for(n, events_grain(K, 1), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double* v = values + (i << K);
            double best = 0.0;
            for (unsigned event = 1; event < 1u << K; ++event)
                best = std::max(best, v[event] / __builtin_popcount(event));
            value[i] = best;
        }
    });
}

namespace {

// Means that differ by less are equal: their events are taken together.
constexpr double kEqualMeans = 1e-13;

double largest_entropy(const double* v, int K, double* p) {
    const unsigned all = (1u << K) - 1;
    double entropy = 0.0;
    for (unsigned given = 0; given != all;) {
        const unsigned rest = all & ~given;
        const auto mean = [&](unsigned more) {
            return (v[given | more] - v[given]) / __builtin_popcount(more);
        };
        double top = mean(rest);
        for (unsigned more = rest; more; more = (more - 1) & rest) top = std::max(top, mean(more));
        unsigned chosen = 0;  // of several best events the largest: their union is one of them
        for (unsigned more = rest; more; more = (more - 1) & rest)
            if (mean(more) >= top - kEqualMeans &&
                __builtin_popcount(more) > __builtin_popcount(chosen))
                chosen = more;
        if (!chosen) chosen = rest;  // not a number
        const double share = std::max(mean(chosen), 0.0);
        if (share > 0.0) entropy -= __builtin_popcount(chosen) * share * std::log(share);
        if (p)
            for (int y = 0; y < K; ++y)
                if (chosen >> y & 1u) p[y] = share;
        given |= chosen;
    }
    return std::max(entropy, 0.0);
}

}  // namespace

void capacity_max_entropy(const double* values, std::size_t n, int K, double* value,
                          double* distribution, int threads) {
    parallel_for(n, events_grain(K, 8), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            value[i] = largest_entropy(values + (i << K), K,
                                       distribution ? distribution + i * K : nullptr);
    });
}

template std::int64_t check_capacities(const float*, std::size_t, int, double, double,
                                       std::uint8_t*, int);
template std::int64_t check_capacities(const double*, std::size_t, int, double, double,
                                       std::uint8_t*, int);
template void belief_values(const float*, std::size_t, int, float*, int);
template void belief_values(const double*, std::size_t, int, double*, int);
template void event_dot(const float*, std::size_t, int, const double*, double*, int);
template void event_dot(const double*, std::size_t, int, const double*, double*, int);
template void max_class_bounds(const float*, std::size_t, int, double*, double*, int);
template void max_class_bounds(const double*, std::size_t, int, double*, double*, int);
template void max_event_width(const float*, std::size_t, int, double*, int);
template void max_event_width(const double*, std::size_t, int, double*, int);
template void capacity_min_entropy(const float*, std::size_t, int, double*, double*, int);
template void capacity_min_entropy(const double*, std::size_t, int, double*, double*, int);

}  // namespace credalens
