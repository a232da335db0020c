#include "second_order/second_order.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/validate_rows.hpp"
#include "simd/instance_per_lane.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// (member value, weight) of one class, or (slope, length) of one step of q.
using Step = std::pair<double, double>;

struct Workspace {
    std::vector<double> scratch;
    std::vector<Step> pairs, steps;
};

// Steps of all classes in the order of their slopes; equal weights if `weights` is nullptr.
template <class T>
double with_weights(const T* P, const double* weights, int M, int K, Workspace& ws) {
    ws.pairs.resize(M);
    ws.steps.clear();
    double at = 0, mass = 0;
    for (int y = 0; y < K; ++y) {
        for (int m = 0; m < M; ++m) {
            const double p = P[static_cast<std::size_t>(m) * K + y];
            ws.pairs[m] = {p, weights ? weights[m] : 1.0 / M};
            mass += ws.pairs[m].second * p;
        }
        std::sort(ws.pairs.begin(), ws.pairs.end());
        at += ws.pairs[0].first;
        double below = 0;
        for (int j = 1; j < M; ++j) {
            below += ws.pairs[j - 1].second;
            ws.steps.emplace_back(below - 0.5, ws.pairs[j].first - ws.pairs[j - 1].first);
        }
    }
    std::sort(ws.steps.begin(), ws.steps.end());
    // From the smallest values up to the mass of q.
    double value = (mass - at) / 2;
    for (const auto& [slope, length] : ws.steps) {
        if (at >= mass) break;
        value += slope * std::min(length, mass - at);
        at += length;
    }
    return value < 0 ? 0 : value;
}

// Runs body(scratch, first, count) over groups of instances that stay in the cache, until one of them
// returns less than count: the first of its instances with an invalid row.
template <class T, class Body>
std::int64_t over_groups(std::size_t n, int M, int K, std::size_t entries, int threads,
                         const Body& body) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t few = 8 * (1 + (std::size_t{1} << 15) / (size * sizeof(T)));
    FirstBad bad;
    parallel_for(
        n, Grain::of_lanes((std::size_t{1} << 15) / size), threads,
        [&] { return std::vector<double>(lanes_scratch(entries)); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end && !bad.before(i); i += few) {
                const std::size_t count = std::min(few, end - i);
                const std::size_t valid = body(scratch.data(), i, count);
                if (valid < count) return bad.see(i + valid);
            }
        });
    return bad.value();
}

SecondOrder from(const SecondOrder& out, std::size_t place) {
    const auto at = [&](double* x) { return x ? x + place : nullptr; };
    return {at(out.total), at(out.aleatoric), at(out.epistemic)};
}

}  // namespace

template <class T>
std::int64_t second_order(Loss loss, const T* P, const double* weights, std::size_t n, int M, int K,
                          const SecondOrder& out, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    return over_groups<T>(n, M, K, 2 * static_cast<std::size_t>(K), threads,
                          [&](double* scratch, std::size_t first, std::size_t count) {
                              return second_order_in_lanes(
                                  loss, P + first * size, weights ? weights + first * M : nullptr,
                                  count, M, K, from(out, first), tolerance, scratch);
                          });
}

template <class T>
std::int64_t labelwise(Loss loss, const T* P, const double* weights, std::size_t n, int M, int K,
                       const SecondOrder& out, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    return over_groups<T>(n, M, K, 3 * static_cast<std::size_t>(K), threads,
                          [&](double* scratch, std::size_t first, std::size_t count) {
                              return labelwise_in_lanes(
                                  loss, P + first * size, weights ? weights + first * M : nullptr,
                                  count, M, K, from(out, first * K), tolerance, scratch);
                          });
}

template <class T>
std::int64_t median_distance(const T* P, const double* weights, std::size_t n, int M, int K,
                             double* value, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const bool in_lanes = !weights && size <= kMostInLanes;
    const std::size_t worth = grain_of((in_lanes ? 0.5 : 8.0) * static_cast<double>(size));
    FirstBad bad;
    parallel_for(
        n, in_lanes ? Grain::of_lanes(worth) : Grain(worth), threads,
        [&] { return Workspace{std::vector<double>(in_lanes ? lanes_scratch(size) : 0), {}, {}}; },
        [&](Workspace& ws, std::size_t begin, std::size_t end) {
            checked_in_passing(
                P, begin, end, M, K, tolerance, bad, [&](std::size_t first, std::size_t last) {
                    if (in_lanes)
                        return median_distance_in_lanes(P + first * size, last - first, M, K,
                                                        value + first, ws.scratch.data());
                    for (std::size_t i = first; i < last; ++i)
                        value[i] = with_weights(P + i * size, weights ? weights + i * M : nullptr,
                                                M, K, ws);
                });
        });
    return bad.value();
}

#define CREDALENS_INSTANTIATE(T)                                                               \
    template std::int64_t second_order(Loss, const T*, const double*, std::size_t, int, int,   \
                                       const SecondOrder&, int, double);                       \
    template std::int64_t labelwise(Loss, const T*, const double*, std::size_t, int, int,      \
                                    const SecondOrder&, int, double);                          \
    template std::int64_t median_distance(const T*, const double*, std::size_t, int, int,      \
                                          double*, int, double);
CREDALENS_INSTANTIATE(float)
CREDALENS_INSTANTIATE(double)
#undef CREDALENS_INSTANTIATE

}  // namespace credalens
