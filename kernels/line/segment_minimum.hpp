// The minimum of a convex function on a segment, by cutting planes.
#pragma once

#include <algorithm>
#include <limits>

namespace credalens {

// A line below a convex function, which it touches at `at`; `index` identifies it for the caller.
struct Cut {
    double at, value, slope;
    int index = 0;

    double operator()(double y) const { return value + slope * (y - at); }
};

// Certified bounds of a minimum, and the lines that attain the lower one: `left` does not increase,
// `right` does not decrease, and both have the value `lower` at `at`, unless `at` is an end of the
// segment.
struct SegmentMinimum {
    double lower, upper, at;
    Cut left, right;
};

// `cut(y)` returns the value of the function at y, and a line below the function on [a, b]. For a
// function that is the maximum of finitely many lines the bounds agree up to rounding after
// finitely many steps; each replaces the line of its sign.
template <class Function>
SegmentMinimum minimum_on_segment(double a, double b, const Function& cut) {
    constexpr int kMaxSteps = 200;
    constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
    Cut left = cut(a), right = cut(b);
    if (left.slope >= 0) return {left.value, left.value, a, left, left};
    if (right.slope <= 0) return {right.value, right.value, b, right, right};
    double upper = std::min(left.value, right.value), best = left.value < right.value ? a : b;
    for (int step = 0;; ++step) {
        const double crossing = (left.value - left.slope * left.at - right.value +
                                 right.slope * right.at) / (right.slope - left.slope);
        const double y = std::clamp(crossing, left.at, right.at);
        const Cut here = cut(y);
        if (here.value < upper) upper = here.value, best = y;
        const double lower = std::min(std::max(left(y), right(y)), upper);
        if (upper - lower <= kRounding * upper || y == left.at || y == right.at ||
            step == kMaxSteps)
            return {lower, upper, best, left, right};
        if (here.slope == 0) return {here.value, here.value, y, here, here};
        (here.slope < 0 ? left : right) = here;
    }
}

}  // namespace credalens
