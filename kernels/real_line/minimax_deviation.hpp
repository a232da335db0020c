// The decision with the smallest largest mean deviation of the members of one instance.
#pragma once

#include <algorithm>
#include <limits>

#include "line/segment_minimum.hpp"
#include "real_line/real_line.hpp"
#include "runtime/interrupt.hpp"

namespace credalens {

// The derivatives of a mean deviation g(t) on both sides of t, from -1 to 1.
struct Slopes {
    double left, right;

    // A subgradient: 0 if that is one, otherwise the one that is closest to 0.
    double nearest_zero() const { return right < 0 ? right : left > 0 ? left : 0.0; }
};

// Results of one instance. `Members` has
//
//     int count() const;                             the number of members
//     double size() const;                           entries that `deviations` reads
//     void deviations(double t, double* values);     g_m(t) of every member
//     double deviation(int m, double t);             that of one
//     Slopes slopes(int m, double t) const;
//     double median(int m) const;
//
// relative to the offset that `decision` is returned with. `values` has room for M numbers.
template <class Members>
void solve_deviation(const Members& members, double offset, double* values, const RealLineResults& out) {
    // Instances that are larger take long enough to be interrupted.
    constexpr double kUninterrupted = 1e5;
    const int M = members.count();
    double low = std::numeric_limits<double>::infinity(), high = -low, lower = low;
    for (int m = 0; m < M; ++m) {
        const double median = members.median(m);
        low = std::min(low, median);
        high = std::max(high, median);
        if (out.lower) lower = std::min(lower, members.deviation(m, median));
    }
    if (out.lower) *out.lower = lower;
    if (!out.needs_search()) return;
    const bool large = members.size() > kUninterrupted;
    const SegmentMinimum found = minimum_on_segment(low, high, [&](double t) {
        if (large) check_interrupt();
        members.deviations(t, values);
        const int m = static_cast<int>(std::max_element(values, values + M) - values);
        return Cut{t, values[m], members.slopes(m, t).nearest_zero(), m};
    });
    if (out.total) *out.total = found.upper;
    if (out.gap) *out.gap = found.upper - found.lower;
    if (out.decision) *out.decision = found.at + offset;
    if (!out.weights) return;
    std::fill_n(out.weights, M, 0.0);
    const double down = found.left.slope, up = found.right.slope;
    const double share = up > down ? up / (up - down) : 1.0;
    out.weights[found.left.index] += share;
    out.weights[found.right.index] += 1 - share;
}

}  // namespace credalens
