#include "second_order/second_order.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "runtime/validate_rows.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "second_order/second_order-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// Rows of so many classes fill vectors: 2 times faster at K = 100 with classes in lanes than with
// one instance per lane.
constexpr int kMinClassesInLanes = 48;

// (member value, weight) of one class, or (slope, length) of one step of q.
using Step = std::pair<double, double>;

struct MedianWorkspace {
    AlignedBuffer scratch;
    std::vector<Step> pairs, steps;
};

// Median distance of one instance with weights, equal ones if `weights` is nullptr.
template <class T>
double weighted_median_distance(const T* P, const double* weights, int M, int K,
                                MedianWorkspace& ws) {
    ws.pairs.resize(M);
    ws.steps.clear();
    double position = 0, mass = 0;
    for (int y = 0; y < K; ++y) {
        for (int m = 0; m < M; ++m) {
            const double p = P[static_cast<std::size_t>(m) * K + y];
            ws.pairs[m] = {p, weights ? weights[m] : 1.0 / M};
            mass += ws.pairs[m].second * p;
        }
        std::sort(ws.pairs.begin(), ws.pairs.end());
        position += ws.pairs[0].first;
        double below = 0;
        for (int j = 1; j < M; ++j) {
            below += ws.pairs[j - 1].second;
            ws.steps.emplace_back(below - 0.5, ws.pairs[j].first - ws.pairs[j - 1].first);
        }
    }
    std::sort(ws.steps.begin(), ws.steps.end());
    // From the smallest values up to the mass of q.
    double value = (mass - position) / 2;
    for (const auto& [slope, length] : ws.steps) {
        if (position >= mass) break;
        value += slope * std::min(length, mass - position);
        position += length;
    }
    return value < 0 ? 0 : value;
}

SecondOrder from(const SecondOrder& out, std::size_t offset) {
    const auto moved = [&](double* x) { return x ? x + offset : nullptr; };
    return {moved(out.total), moved(out.aleatoric), moved(out.epistemic)};
}

const double* from(const double* weights, std::size_t offset) {
    return weights ? weights + offset : nullptr;
}

Grain entries_grain(std::size_t size) {
    return Grain::multiple_of_lanes((std::size_t{1} << 15) / size);
}

}  // namespace

template <class T>
std::int64_t second_order(Loss loss, const T* P, const double* weights, std::size_t n, int M, int K,
                          const SecondOrder& out, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid invalid;
    parallel_for(
        n, entries_grain(size), threads,
        [&] { return vector_scratch(2 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const auto few = [&](std::size_t first, std::size_t last) {
                CREDALENS_DISPATCH(second_order_few_classes, loss, P + first * size,
                                   from(weights, first * M), last - first, M, K, from(out, first),
                                   scratch.data());
            };
            if (K < kMinClassesInLanes)
                return for_each_validated_block(P, begin, end, M, K, tolerance, invalid, few);
            if (invalid.found_up_to(begin)) return;
            const std::size_t valid = CREDALENS_DISPATCH(
                second_order_many_classes, loss, P + begin * size, from(weights, begin * M),
                end - begin, M, K, from(out, begin), tolerance, scratch.data());
            if (begin + valid < end) invalid.record(begin + valid);
        });
    return invalid.value();
}

template <class T>
std::int64_t labelwise(Loss loss, const T* P, const double* weights, std::size_t n, int M, int K,
                       const SecondOrder& out, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid invalid;
    parallel_for(
        n, entries_grain(size), threads,
        [&] { return vector_scratch(3 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const auto body = [&](std::size_t first, std::size_t last) {
                CREDALENS_DISPATCH(labelwise_instances, loss, P + first * size,
                                   from(weights, first * M), last - first, M, K,
                                   from(out, first * K), scratch.data());
            };
            for_each_validated_block(P, begin, end, M, K, tolerance, invalid, body);
        });
    return invalid.value();
}

template <class T>
std::int64_t median_distance(const T* P, const double* weights, std::size_t n, int M, int K,
                             double* value, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const bool in_lanes = !weights && size <= kMaxInstancePerLane;
    const Grain grain = Grain::of_duration((in_lanes ? 0.5 : 8.0) * static_cast<double>(size));
    FirstInvalid invalid;
    parallel_for(
        n, in_lanes ? Grain::multiple_of_lanes(grain.per_thread) : grain, threads,
        [&] { return MedianWorkspace{vector_scratch(in_lanes ? size : 0), {}, {}}; },
        [&](MedianWorkspace& ws, std::size_t begin, std::size_t end) {
            const auto body = [&](std::size_t first, std::size_t last) {
                if (in_lanes) {
                    CREDALENS_DISPATCH(median_distances, P + first * size, last - first, M, K,
                                       value + first, ws.scratch.data());
                    return;
                }
                for (std::size_t i = first; i < last; ++i)
                    value[i] =
                        weighted_median_distance(P + i * size, from(weights, i * M), M, K, ws);
            };
            for_each_validated_block(P, begin, end, M, K, tolerance, invalid, body);
        });
    return invalid.value();
}

#define CREDALENS_INSTANTIATE(T)                                                                   \
    template std::int64_t second_order(Loss, const T*, const double*, std::size_t, int, int,       \
                                       const SecondOrder&, int, double);                           \
    template std::int64_t labelwise(Loss, const T*, const double*, std::size_t, int, int,          \
                                    const SecondOrder&, int, double);                              \
    template std::int64_t median_distance(const T*, const double*, std::size_t, int, int, double*, \
                                          int, double);
CREDALENS_INSTANTIATE(float)
CREDALENS_INSTANTIATE(double)
#undef CREDALENS_INSTANTIATE

}  // namespace credalens
