#include "boxes/neighbourhoods.hpp"

#include <algorithm>

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
