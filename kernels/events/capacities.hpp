// Set functions of one number an event, (n, 2^K): class y is bit y of the index.
//
// A value depends on its own instance only, whatever the batch and the number of threads. Sums and
// differences are in float64. Templates exist for float and double.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Are they lower probabilities? Returns the first instance, or -1, with a value that is not finite,
// v(none) further than tolerance from 0, v(all) from 1, or v(A + y) < v(A) - tolerance.
//
// two_monotone (n) says of each whether v(A + i + j) - v(A + i) - v(A + j) + v(A) >= -limit for all
// A without i and j, with v(none) and v(all) taken as 0 and 1. O(K^2 2^K).
template <class T>
std::int64_t check_capacities(const T* values, std::size_t n, int K, double tolerance, double limit,
                              std::uint8_t* two_monotone, int threads);

// The sum over the subsets of every event, at most 1, and 1 for the sure event: from the masses of
// a belief function its values. O(K 2^K).
template <class T>
void belief_values(const T* masses, std::size_t n, int K, T* values, int threads);

// sum over the events of values times weights, in an order that K alone decides.
template <class T>
void event_dot(const T* values, std::size_t n, int K, const double* weights, double* sum,
               int threads);

// The largest lower and the largest upper probability of a class, v(y) and 1 - v(all but y).
template <class T>
void max_class_bounds(const T* values, std::size_t n, int K, double* lower, double* upper, int threads);

// max over A of 1 - v(A) - v(not A), the largest difference of upper and lower probability, over
// events that are neither impossible nor sure; at least 0.
template <class T>
void max_event_width(const T* values, std::size_t n, int K, double* width, int threads);

// The corner of the smallest entropy of each 2-monotone lower probability, (n, K): a shortest path
// through the events, each step the entropy of the probability that its class gets. O(K 2^K). The
// value, (n), is in nats.
template <class T>
void capacity_min_entropy(const T* values, std::size_t n, int K, double* value, double* corner, int threads);

}  // namespace credalens
