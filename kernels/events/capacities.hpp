// Set functions with one value per event, (n, 2^K): class y is bit y of the index.
//
// The value of an instance does not depend on other instances or the number of threads. Sums and
// differences are float64. Templates exist for float and double.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Validates lower probabilities: returns the first instance, or -1, with a value that is not
// finite, v(empty) further than `tolerance` from 0, v(all) from 1, or v(A + y) < v(A) - tolerance.
//
// two_monotone (n): whether v(A + i + j) - v(A + i) - v(A + j) + v(A) >= -limit for all A without i
// and j, where v(empty) and v(all) are replaced by 0 and 1. O(K^2 2^K).
template <class T>
std::int64_t check_capacities(const T* values, std::size_t n, int K, double tolerance, double limit,
                              std::uint8_t* two_monotone, int threads);

// The values of a belief function from its masses: the sum over the subsets of every event, at most
// 1, and 1 for the event of all classes. O(K 2^K).
template <class T>
void belief_values(const T* masses, std::size_t n, int K, T* values, int threads);

// The sum over all events of values times weights, in an order that depends on K alone.
template <class T>
void event_dot(const T* values, std::size_t n, int K, const double* weights, double* sum,
               int threads);

// The largest lower and the largest upper probability of a class, v(y) and 1 - v(all but y).
template <class T>
void max_class_bounds(const T* values, std::size_t n, int K, double* lower, double* upper,
                      int threads);

// max over A of 1 - v(A) - v(not A), the largest difference of upper and lower probability; at
// least 0.
template <class T>
void max_event_width(const T* values, std::size_t n, int K, double* width, int threads);

// The extreme point (n, K) of smallest entropy of 2-monotone lower probabilities, and its entropy
// (n) in nats: a shortest path through the events, where a step costs the entropy term of the
// probability of its class. O(K 2^K).
template <class T>
void capacity_min_entropy(const T* values, std::size_t n, int K, double* value,
                          double* extreme_point, int threads);

// The smallest largest class probability of 2-monotone sets, max over B of lower(B) / |B|, (n).
void max_event_mean(const double* values, std::size_t n, int K, double* value, int threads);

// The largest entropy in nats of 2-monotone sets: the event of the largest mean lower probability
// gets it, uniformly, and the same is repeated with the remaining classes. `distribution` (n, K)
// may be nullptr. O(2^K) in all.
void capacity_max_entropy(const double* values, std::size_t n, int K, double* value,
                          double* distribution, int threads);

}  // namespace credalens
