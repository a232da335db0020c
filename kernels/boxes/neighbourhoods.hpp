// Neighbourhoods of a distribution: contamination classes {(1 - size) center + size q} and total
// variation balls.
//
// center (n, K) and size (n) in [0, 1], the share of the contamination or the radius of the ball.
// The value of an instance does not depend on other instances or the number of threads.
#pragma once

#include <cstddef>

namespace credalens {

enum class Neighbourhood { contamination = 0, ball = 1 };

// min over p in the ball of max_y p_y: the radius is taken from the largest classes. O(K) for each
// of a few Newton steps.
void ball_minimax(const double* center, const double* radius, std::size_t n, int K, double* value,
                  int threads);

// Total variation: total uncertainty and both aleatoric ends, (n) each, from the largest class; the
// upper end is not computed if it is nullptr. In a ball the upper end takes O(K) for each of a few
// Newton steps, otherwise everything is a function of the largest class and the size.
void neighbourhood_tv(Neighbourhood kind, const double* center, const double* size, std::size_t n,
                      int K, double* total, double* lower, double* upper, int threads);

// Bounds of the diameter of a ball in total variation, (n) each; see `balanced_partition`.
void ball_diameter(const double* center, const double* radius, std::size_t n, int K, double* least,
                   double* most, int threads);

// The generalized Hartley measure of a ball in bits; see `excess_sums`.
void ball_hartley(const double* center, const double* radius, std::size_t n, int K,
                  const double* size_weights, double* value, int threads);

// The sum of the lower probabilities of the classes, max(0, center - radius).
void ball_lower_sum(const double* center, const double* radius, std::size_t n, int K, double* value,
                    int threads);

// Upper or lower entropy in nats; `distribution` (n, K) may be nullptr. Upper: the size is added to
// the smallest classes, in a ball it is taken from the largest; O(K) for each of a few steps.
// Lower: the largest class receives the size, in a ball from the smallest ones; O(K) for each of
// these that becomes zero.
void neighbourhood_entropy(Neighbourhood kind, bool upper, const double* center, const double* size,
                           std::size_t n, int K, double* value, double* distribution, int threads);

}  // namespace credalens
