#include "line/capacity_line.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "line/segment_minimum.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// Each representation computes lower probabilities of windows, i.e. intervals of ranks that grow
// at both ends: `inside` of the window, `outside` of the other classes. Windows have at least one
// class and not all of them.

class BoxWindows {
public:
    using Window = struct { double low, high; };

    BoxWindows(const double* low, const double* high, const Line& line)
        : low_(low), high_(high), line_(line), low_sum_(0), high_sum_(0) {
        for (int k = 0; k < line.size; ++k) low_sum_ += low[k], high_sum_ += high[k];
    }

    Window empty() const { return {0, 0}; }
    void add(Window& w, int rank) const {
        w.low += low_[line_.order[rank]];
        w.high += high_[line_.order[rank]];
    }
    double inside(const Window& w) const { return std::max(w.low, 1 - (high_sum_ - w.high)); }
    double outside(const Window& w) const { return std::max(low_sum_ - w.low, 1 - w.high); }

private:
    const double *low_, *high_;
    const Line& line_;
    double low_sum_, high_sum_;
};

class NeighbourhoodWindows {
public:
    using Window = struct { double mass; };

    NeighbourhoodWindows(bool is_ball, const double* center, double size, const Line& line)
        : center_(center), line_(line), scale_(is_ball ? 1 : 1 - size), loss_(is_ball ? size : 0),
          sum_(0) {
        for (int k = 0; k < line.size; ++k) sum_ += center[k];
    }

    Window empty() const { return {0}; }
    void add(Window& w, int rank) const { w.mass += center_[line_.order[rank]]; }
    double inside(const Window& w) const { return std::max(scale_ * w.mass - loss_, 0.0); }
    double outside(const Window& w) const {
        return std::max(scale_ * (sum_ - w.mass) - loss_, 0.0);
    }

private:
    const double* center_;
    const Line& line_;
    double scale_, loss_, sum_;
};

class PossibilityWindows {
public:
    using Window = struct { double most; int begin, end; };

    // `scratch` has 2 (K + 1) numbers: the largest degree before and from each rank on.
    PossibilityWindows(const double* contour, const Line& line, double* scratch)
        : contour_(contour), line_(line), before_(scratch), from_(scratch + line.size + 1) {
        const int K = line.size;
        scratch[0] = scratch[2 * K + 1] = 0;
        for (int k = 0; k < K; ++k) scratch[k + 1] = std::max(scratch[k], contour[line.order[k]]);
        double* from = scratch + K + 1;
        for (int k = K; k-- > 0;) from[k] = std::max(from[k + 1], contour[line.order[k]]);
    }

    Window empty() const { return {0, -1, -1}; }
    void add(Window& w, int rank) const {
        if (w.begin < 0) w.begin = w.end = rank;
        w.begin = std::min(w.begin, rank);
        w.end = std::max(w.end, rank + 1);
        w.most = std::max(w.most, contour_[line_.order[rank]]);
    }
    double inside(const Window& w) const { return 1 - std::max(before_[w.begin], from_[w.end]); }
    double outside(const Window& w) const { return 1 - w.most; }

private:
    const double* contour_;
    const Line& line_;
    const double *before_, *from_;
};

class EventWindows {
public:
    using Window = struct { std::size_t event; };

    EventWindows(const double* values, const Line& line)
        : values_(values), line_(line), all_((std::size_t{1} << line.size) - 1) {}

    Window empty() const { return {0}; }
    void add(Window& w, int rank) const { w.event |= std::size_t{1} << line_.order[rank]; }
    double inside(const Window& w) const { return values_[w.event]; }
    double outside(const Window& w) const { return values_[all_ ^ w.event]; }

private:
    const double* values_;
    const Line& line_;
    std::size_t all_;
};

// Visits the ranks in the order of their distance from y, which is between ranks j and j + 1:
// visit(rank, distance, whether it is the last one) returns whether to go on.
template <class Visit>
void visit_outward(const Line& line, double y, int j, const Visit& visit) {
    const double* x = line.position;
    int left = j, right = j + 1;
    for (int i = 1; i <= line.size; ++i) {
        const bool take_left = right == line.size || (left >= 0 && y - x[left] <= x[right] - y);
        const int rank = take_left ? left-- : right++;
        if (!visit(rank, std::fabs(x[rank] - y), i == line.size)) return;
    }
}

// The largest E_p|x - y|, with the slope of its maximiser on the segment between ranks j and j + 1.
template <class Windows>
Cut largest_distance(const Windows& windows, const Line& line, double y, int j) {
    auto window = windows.empty();
    double before = 0, value = 0, slope = 0;
    visit_outward(line, y, j, [&](int rank, double distance, bool last) {
        windows.add(window, rank);
        const double now = last ? 1 : windows.inside(window), mass = now - before;
        value += mass * distance;
        slope += rank <= j ? mass : -mass;
        before = now;
        return true;
    });
    return {y, value, slope};
}

// The smallest E_p|x - x_j|, or some number of at least `limit` if it is not below that.
template <class Windows>
double smallest_distance(const Windows& windows, const Line& line, int j, double limit) {
    auto window = windows.empty();
    double before = 0, value = 0;
    visit_outward(line, line.position[j], j, [&](int rank, double distance, bool last) {
        if (value + (1 - before) * distance >= limit) {  // all of the rest is at least so far away
            value = limit;
            return false;
        }
        windows.add(window, rank);
        const double now = last ? 1 : 1 - windows.outside(window);
        value += (now - before) * distance;
        before = now;
        return true;
    });
    return value;
}

// The rank with the smallest of the largest distances, a convex sequence.
template <class Windows>
int best_rank(const Windows& windows, const Line& line, double& value) {
    const auto at = [&](int j) {
        return largest_distance(windows, line, line.position[j], j).value;
    };
    int low = 0, high = line.size - 1;
    while (high - low > 8) {
        const int middle = (low + high) / 2;
        const double here = at(middle), next = at(middle + 1);
        if (here <= next) high = middle;
        if (here >= next) low = here == next ? middle : middle + 1;  // equal: both are the minimum
    }
    int best = low;
    value = at(low);
    for (int j = low + 1; j <= high; ++j) {
        const double here = at(j);
        if (here < value) value = here, best = j;
    }
    return best;
}

template <class Windows>
void ordinal_upper(const Windows& windows, const Line& line, int j, double total, double& upper,
                   double& gap) {
    const double* x = line.position;
    double least = total, most = total;
    const RankRange same = equal_positions(line, j);
    for (int segment : {same.first - 1, same.last}) {
        if (segment < 0 || segment + 1 >= line.size) continue;
        const auto found = minimum_on_segment(x[segment], x[segment + 1], [&](double y) {
            return largest_distance(windows, line, y, segment);
        });
        least = std::min(least, found.lower);
        most = std::min(most, found.upper);
    }
    upper = std::min(least, total);
    gap = std::max(most - least, 0.0);
}

// The sum (Wasserstein) or the maximum (Kolmogorov) of the widths of the initial sections.
template <class Windows>
double section_widths(const Windows& windows, const Line& line, bool sum) {
    auto window = windows.empty();
    double result = 0;
    for (int k = 0; k + 1 < line.size; ++k) {
        windows.add(window, k);
        const double width = std::max(1 - windows.outside(window) - windows.inside(window), 0.0);
        result = sum ? result + (line.position[k + 1] - line.position[k]) * width
                     : std::max(result, width);
    }
    return result;
}

template <class Windows>
void wasserstein(const Windows& windows, const Line& line, const LineResults& results,
                 std::size_t i) {
    if (results.diameter) results.diameter[i] = section_widths(windows, line, true);
    if (!results.total && !results.lower && !results.upper) return;
    double total;
    const int j = best_rank(windows, line, total);
    double lower = total;
    if (results.lower)
        for (int k = 0; k < line.size; ++k)
            lower = std::min(lower, smallest_distance(windows, line, k, lower));
    if (results.total) results.total[i] = total;
    if (results.lower) results.lower[i] = lower;
    if (!results.upper) return;
    ordinal_upper(windows, line, j, total, results.upper[i], results.gap[i]);
    results.upper[i] = std::max(results.upper[i], lower);
}

// d(p, delta_y) = max(p(< y), p(> y)). Its minimum over p is attained by a mixture of the two:
// max over t of lower(t 1_{< y} + (1 - t) 1_{> y}), which is linear in t on both sides of 1/2.
template <class Windows>
void kolmogorov(const Windows& windows, const Line& line, const LineResults& results,
                std::size_t i) {
    auto section = windows.empty();
    double before_low = 0, before_high = 0, total = 1, lower = 1, upper = 0, diameter = 0;
    for (int y = 0; y < line.size; ++y) {
        auto one = windows.empty();
        windows.add(one, y);
        windows.add(section, y);
        const bool last = y + 1 == line.size;
        const double low = last ? 1 : windows.inside(section);          // of the classes up to y
        const double after_low = last ? 0 : windows.outside(section);   // of those after y
        const double high = 1 - after_low;
        total = std::min(total, std::max(before_high, 1 - low));
        const double others = line.size == 1 ? 0 : windows.outside(one);
        lower = std::min(lower, std::max({before_low, after_low, others / 2}));
        if (!last) {
            const double nearest = std::clamp(0.5, std::min(low, high), std::max(low, high));
            upper = std::max(upper, std::min(nearest, 1 - nearest));
            diameter = std::max(diameter, high - low);
        }
        before_low = low;
        before_high = high;
    }
    if (results.diameter) results.diameter[i] = diameter;
    if (results.total) results.total[i] = total;
    if (results.lower) results.lower[i] = std::min(lower, total);
    if (results.upper) {
        results.upper[i] = std::clamp(upper, std::min(lower, total), total);
        results.gap[i] = 0;
    }
}

// `windows(i, scratch)` returns those of instance i; `scratch` numbers of memory are its own.
template <class Make>
void for_each_instance(LineDistance distance, std::size_t n, const Line& line,
                       const LineResults& results, std::size_t scratch, int threads,
                       const Make& windows) {
    const double K = line.size, ns = distance == LineDistance::kolmogorov ? 5 * K : 4 * K * K;
    parallel_for(
        n, Grain::of_duration(20 + ns), threads, [&] { return std::vector<double>(scratch); },
        [&](std::vector<double>& memory, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const auto own = windows(i, memory.data());
                if (distance == LineDistance::kolmogorov)
                    kolmogorov(own, line, results, i);
                else
                    wasserstein(own, line, results, i);
            }
        });
}

}  // namespace

void box_line(LineDistance distance, const double* low, const double* high, std::size_t n,
              const Line& line, const LineResults& results, int threads) {
    const std::size_t K = static_cast<std::size_t>(line.size);
    for_each_instance(distance, n, line, results, 0, threads, [&](std::size_t i, double*) {
        return BoxWindows(low + i * K, high + i * K, line);
    });
}

void neighbourhood_line(LineDistance distance, bool is_ball, const double* center,
                        const double* size, std::size_t n, const Line& line,
                        const LineResults& results, int threads) {
    const std::size_t K = static_cast<std::size_t>(line.size);
    for_each_instance(distance, n, line, results, 0, threads, [&](std::size_t i, double*) {
        return NeighbourhoodWindows(is_ball, center + i * K, size[i], line);
    });
}

void possibility_line(LineDistance distance, const double* contour, std::size_t n, const Line& line,
                      const LineResults& results, int threads) {
    const std::size_t K = static_cast<std::size_t>(line.size);
    for_each_instance(distance, n, line, results, 2 * (K + 1), threads,
                      [&](std::size_t i, double* memory) {
                          return PossibilityWindows(contour + i * K, line, memory);
                      });
}

void events_line(LineDistance distance, const double* values, std::size_t n, const Line& line,
                 const LineResults& results, int threads) {
    for_each_instance(distance, n, line, results, 0, threads, [&](std::size_t i, double*) {
        return EventWindows(values + (i << line.size), line);
    });
}

}  // namespace credalens
