// Credal sets that are boxes, {p : l <= p <= u, sum p = 1}, and the two sums over events that they
// share with total variation balls.
//
// low and high are (n, K), row-major: the bounds of each class. They are finite, in [0, 1], and
// feasible and reachable up to rounding; sums that rounding has left on the
// wrong side of 1 are treated as 1. A value depends on its own instance only, whatever the batch
// and the number of threads. Outputs that may be null say so.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// max(u - l, 0) of every class, (n, K), and the sums of the lower and of the upper bounds, (n) each.
void box_widths(const double* low, const double* high, std::size_t n, int K, double* widths,
                double* lows, double* highs, int threads);

// min over p of max_y p_y = max(max l, t), with t the smallest solution of sum min(u, t) = 1. O(K) a
// step of Newton's and a few steps.
void box_minimax(const double* low, const double* high, std::size_t n, int K, double* value,
                 int threads);

// Upper entropy in nats: p = clip(t, l, u) with t such that sum p = 1. `distribution` (n, K) may be
// null. O(K) a step and a few steps.
void box_max_entropy(const double* low, const double* high, std::size_t n, int K, double* value,
                     double* distribution, int threads);

// The neighbourhoods of a distribution, center (n, K), with a size (n) in [0, 1].
enum class Neighbourhood { contamination = 0, ball = 1 };

// min over p in the ball of max_y p_y: the radius is cut from the top. O(K) a step and a few steps.
void ball_minimax(const double* center, const double* radius, std::size_t n, int K, double* value,
                  int threads);

// The sum of the lower probabilities of the classes, max(0, center - radius).
void ball_lower_sum(const double* center, const double* radius, std::size_t n, int K, double* value,
                    int threads);

// Upper or lower entropy in nats; `distribution` (n, K) may be null. The upper one is O(K) a step
// and a few steps: the size fills up the smallest classes, in a ball at the cost of the largest. For
// the lower one the largest class receives all, in a ball from the smallest ones: O(K) for each of
// these that is emptied.
void neighbourhood_entropy(Neighbourhood kind, bool largest, const double* center,
                           const double* size, std::size_t n, int K, double* value,
                           double* distribution, int threads);

// Lower entropy in nats by best-first branch and bound. The secants of -p ln p over the intervals of
// a node give a fractional knapsack, whose one fractional class is split where it stands.
//
//   value         (n): H(p) at the p that was found, hence an upper bound.
//   error         (n): the minimum lies in [value - error, value]; at most 1e-12 unless max_nodes
//                 were opened.
//   distribution  (n, K) or null: p itself.
//
// A class whose interval dominates another one's is filled first (an exchange never raises a
// concave sum), so that equal and nested intervals do not multiply the nodes.
void box_min_entropy(const double* low, const double* high, std::size_t n, int K,
                     std::int64_t max_nodes, double* value, double* error, double* distribution,
                     int threads);

// max over A of min(w(A), w(all) - w(A), cap), w(A) = sum of the weights in A: the total variation
// diameter of a box (w = u - l) and of a ball. weights (n, K) >= 0, cap (n) >= 0.
//
// lower <= maximum <= upper, equal where one weight is more than half of all, where a greedy subset
// reaches min(cap, w(all) / 2), and where both halves of the classes have at most 2^20
// different sums (K <= 40, or equal weights): there the maximum is found by meeting in the middle; up
// to 10 classes by looking at all events.
void balanced_partition(const double* weights, const double* cap, std::size_t n, int K,
                      double* lower, double* upper, int threads);

// sum over 0 < |B| < K of size_weights[|B|] max(0, w(B) - threshold), by meeting in the middle:
// O(K 2^(K/2)) time and 2^(K/2 + 1) doubles a thread; up to 12 classes over all events. size_weights
// has K + 1 entries.
void excess_sums(const double* weights, const double* threshold, std::size_t n, int K,
                 const double* size_weights, double* value, int threads);

}  // namespace credalens
