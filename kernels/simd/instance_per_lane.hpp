// Vectors as wide as the machine has them.
//
// Rows of few classes do not fill vectors, and a sum over the lanes of each costs more than what it
// sums up. So most functions here go through several instances, or rows, at once: a lane belongs to
// one of them from beginning to end, nothing is summed over lanes, and the result does not depend on
// the neighbours. Those that say so go through one instance at a time, with its classes in lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hull/ordinal_diameters.hpp"
#include "boxes/boxes.hpp"
#include "hull/leave_one_out.hpp"
#include "hull/closed_forms.hpp"
#include "second_order/second_order.hpp"

namespace credalens {

// Up to this many entries of an instance it pays; more do not stay in the caches.
constexpr std::size_t kMostInLanes = 16384;

// Boxes and balls of so many classes or more are looked at one after the other.
constexpr int kMinSetsAlong = 48;

// Doubles of scratch memory that so many entries of an instance need.
std::size_t lanes_scratch(std::size_t entries);

// As `closed_forms` for `count` instances in one thread, pair by pair; M (K + 1) entries. Returns
// the first instance that is not good, `count` if there is none.
template <class T>
std::size_t closed_forms_in_lanes(const T* P, std::size_t count, int M, int K,
                                  const ClosedForms& out, double tolerance, double* scratch);

// The same for at least 8 classes, an instance at a time, with classes in lanes; `along_scratch`
// doubles.
template <class T>
std::size_t closed_forms_along(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                               double tolerance, double* scratch);
std::size_t along_scratch(int M, int K);

// Its extremes alone, an instance at a time: classes, or members, in lanes; M + 2 K entries.
template <class T>
std::size_t extremes_in_lanes(const T* P, std::size_t count, int M, int K, const ClosedForms& out,
                              double tolerance, double* scratch);

// As `leave_one_out` for `count` instances in one thread; M (K + M + 3) entries.
template <class T>
void leave_one_out_in_lanes(const T* P, std::size_t count, int M, int K, const LeaveOneOut& out,
                            double* scratch);

// As `tree_wasserstein_diameter`, for `count` instances in one thread; 2 K + 1 + M E entries.
template <class T>
void tree_wasserstein_diameter_in_lanes(const T* P, std::size_t count, int M, int K, const EdgeList& edges,
                            double* diameter, double* scratch);

// As `kolmogorov_diameter` of hull/ordinal_diameters.hpp, for `count` instances in one thread; 3 K entries.
template <class T>
void kolmogorov_diameter_in_lanes(const T* P, std::size_t count, int M, int K, double* diameter,
                                  double* scratch);

// As `squared_euclidean_diameter` of hull/euclidean_diameter.hpp, for `count` instances in one thread; M (K + r) entries.
template <class T>
void squared_euclidean_diameter_in_lanes(const T* P, std::size_t count, int M, int K, const double* V, int r,
                              double* square, double* scratch);

// The least entropy of the members of each instance, rows divided by their sums, and, unless it is
// nullptr, which member has it; K entries.
template <class T>
void least_entropy(const T* P, std::size_t count, int M, int K, double* value,
                   std::int64_t* member, double* scratch);

// One instance class by class, (K, list) with room for whole vectors of members: rows divided by
// their sums, what is less than `tiny` of a row left out, zeros in the places after the last member.
template <class T>
void normalised_by_class(const T* P, int M, int K, double tiny, double* out, int list);

// As the functions of boxes/boxes.hpp without `_in_lanes`, for `count` instances in one thread; 2 K
// entries for a box, 4 K for its entropy, K for a neighbourhood. The upper entropies of boxes and
// balls of many classes go through one at a time.
void box_minimax_in_lanes(const double* low, const double* high, std::size_t count, int K,
                          double* value, double* scratch);
void box_max_entropy_in_lanes(const double* low, const double* high, std::size_t count, int K,
                              double* value, double* distribution, double* scratch);
void ball_minimax_in_lanes(const double* center, const double* radius, std::size_t count, int K,
                           double* value, double* scratch);
void ball_lower_sum_in_lanes(const double* center, const double* radius, std::size_t count, int K,
                             double* value, double* scratch);
void neighbourhood_entropy_in_lanes(Neighbourhood kind, bool largest, const double* center,
                                    const double* size, std::size_t count, int K, double* value,
                                    double* distribution, double* scratch);

// As `reachable_bounds` of boxes/reachable_bounds.hpp, for `count` instances in one thread; 2 K entries. Returns the
// first instance that is not good, `count` if there is none.
template <class T>
std::size_t reachable_bounds_in_lanes(const T* low, const T* high, std::size_t count, int K,
                                      double slack, double tolerance, T* lower, T* upper,
                                      T* tops, double* scratch);

// As `check_bounds` of boxes/reachable_bounds.hpp, in the same way.
template <class T>
std::size_t check_bounds_in_lanes(const T* low, const T* high, std::size_t count, int K,
                                  double slack, double tolerance, T* tops, std::uint8_t* loose,
                                  double* scratch);

// As the functions of second_order.hpp without `_in_lanes`, for `count` instances in one thread; 2 K
// entries, 3 K for label-wise measures. Returns the first instance with an invalid row, `count` if
// there is none.
template <class T>
std::size_t second_order_in_lanes(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                                  int K, const SecondOrder& out, double tolerance, double* scratch);
template <class T>
std::size_t labelwise_in_lanes(Loss loss, const T* P, const double* weights, std::size_t count, int M,
                               int K, const SecondOrder& out, double tolerance, double* scratch);

// As `median_distance` of second_order.hpp with equal weights, for `count` valid instances in one
// thread; M K entries.
template <class T>
void median_distance_in_lanes(const T* P, std::size_t count, int M, int K, double* value,
                              double* scratch);

// The first of (rows, K) that is not a distribution, `rows` if there is none.
template <class T>
std::size_t first_bad_in_lanes(const T* P, std::size_t rows, int K, double tolerance);

}  // namespace credalens
