#include "boxes/neighbourhoods.hpp"

#include <algorithm>
#include <cmath>

#include "events/weighted_events.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "boxes/neighbourhoods-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// From so many classes on, the classes of one ball are in lanes.
constexpr int kMinClassesInLanes = 48;

}  // namespace

void ball_minimax(const double* center, const double* radius, std::size_t n, int K, double* value,
                  int threads) {
    parallel_for(
        n, Grain::multiple_of_lanes(40000 / K), threads, [K] { return vector_scratch(K); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(ball_minimax_values, center + begin * K, radius + begin, end - begin,
                               K, value + begin, scratch.data());
        });
}

void neighbourhood_tv(Neighbourhood kind, const double* center, const double* size, std::size_t n,
                      int K, double* total, double* lower, double* upper, int threads) {
    const bool ball = kind == Neighbourhood::ball;
    if (K == 1) {
        for (double* values : {total, lower, upper})
            if (values) std::fill(values, values + n, 0.0);
        return;
    }
    parallel_for(
        n, Grain::multiple_of_lanes(40000 / K), threads, [K] { return vector_scratch(K); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const double *c = center + begin * K, *s = size + begin;
            const std::size_t count = end - begin;
            double *tops = total + begin, *games = upper ? upper + begin : nullptr;
            if (K >= kMinClassesInLanes)
                CREDALENS_DISPATCH(largest_classes, c, count, K, tops);
            else
                CREDALENS_DISPATCH(largest_classes_in_lanes, c, s, count, K, tops, scratch.data());
            if (games && ball)
                CREDALENS_DISPATCH(ball_minimax_values, c, s, count, K, games, scratch.data());
            for (std::size_t i = 0; i < count; ++i) {
                const double top = tops[i], share = (1.0 - s[i]) * top;
                const double low = ball ? std::max(top - s[i], 0.0) : share;
                const double high = std::min((ball ? top : share) + s[i], 1.0);
                const double most = std::max(1.0 - low, 0.0), least = std::max(1.0 - high, 0.0);
                tops[i] = most;
                lower[begin + i] = least;
                if (!games) continue;
                const double game = ball ? games[i] : std::max(share, 1.0 / K);
                games[i] = std::min(std::max(1.0 - game, least), most);
            }
        });
}

void ball_diameter(const double* center, const double* radius, std::size_t n, int K, double* least,
                   double* most, int threads) {
    if (K == 1) {
        for (double* values : {least, most}) std::fill(values, values + n, 0.0);
        return;
    }
    balanced_partition(center, radius, n, K, least, most, threads);
    for (double* values : {least, most})
        for (std::size_t i = 0; i < n; ++i) values[i] = std::min(radius[i] + values[i], 1.0);
}

void ball_hartley(const double* center, const double* radius, std::size_t n, int K,
                  const double* size_weights, double* value, int threads) {
    excess_sums(center, radius, n, K, size_weights, value, threads);
    const double bits = std::log2(K);
    for (std::size_t i = 0; i < n; ++i) value[i] = std::max(bits - value[i], 0.0);
}

void ball_lower_sum(const double* center, const double* radius, std::size_t n, int K, double* value,
                    int threads) {
    parallel_for(
        n, Grain::multiple_of_lanes(40000 / K), threads, [K] { return vector_scratch(K); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(ball_lower_sums, center + begin * K, radius + begin, end - begin, K,
                               value + begin, scratch.data());
        });
}

void neighbourhood_entropy(Neighbourhood kind, bool upper, const double* center, const double* size,
                           std::size_t n, int K, double* value, double* distribution, int threads) {
    const bool ball = kind == Neighbourhood::ball, many = K >= kMinClassesInLanes;
    const int classes = !upper ? 10000 : ball && many ? 40000 : 20000;  // in 50 microseconds
    parallel_for(
        n, Grain::multiple_of_lanes(classes / K), threads, [K] { return vector_scratch(K); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const double *c = center + begin * K, *s = size + begin;
            double *v = value + begin, *p = distribution ? distribution + begin * K : nullptr;
            double* ws = scratch.data();
            const std::size_t count = end - begin;
            if (ball && upper && many)
                CREDALENS_DISPATCH(ball_max_entropy_many_classes, c, s, count, K, v, p);
            else if (ball && upper)
                CREDALENS_DISPATCH(ball_max_entropy_few_classes, c, s, count, K, v, p, ws);
            else if (ball)
                CREDALENS_DISPATCH(ball_min_entropy, c, s, count, K, v, p, ws);
            else if (upper)
                CREDALENS_DISPATCH(contamination_max_entropy, c, s, count, K, v, p, ws);
            else
                CREDALENS_DISPATCH(contamination_min_entropy, c, s, count, K, v, p, ws);
        });
}

}  // namespace credalens
