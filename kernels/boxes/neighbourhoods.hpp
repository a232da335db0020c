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
