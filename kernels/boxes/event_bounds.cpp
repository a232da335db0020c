#include "boxes/event_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

constexpr int kMaxSteps = 200;

// The centre (g, h), tilted towards the first side by s > 0.
struct Tilted {
    double first, second, divergence;

    Tilted(double g, double h, double s) {
        const double decay = std::exp(-s), sum = g + h * decay;
        first = g / sum;
        second = h * decay / sum;
        // Without cancellation of the larger side, whose logarithm is small.
        if (h < g)
            divergence = -s * second - std::log1p(h * std::expm1(-s));
        else if (s < 1.0)
            divergence = s * first - std::log1p(g * std::expm1(s));
        else
            divergence = -s * second - std::log(sum);
    }
};

double tilted_share(double g, double h, double radius, bool first) {
    if (std::isinf(radius)) return first ? 1.0 : 0.0;  // all distributions
    if (h <= 0.0) return first ? 1.0 : 0.0;
    if (g <= 0.0) return first ? 0.0 : 1.0;
    if (!(radius > 0.0)) return first ? g : h;
    if (radius >= -std::log(g)) return first ? 1.0 : 0.0;
    double low = 0.0, high = std::sqrt(2.0 * radius / (g * h));
    if (!(high < 1e3)) high = 1.0;
    while (high < 1e6 && Tilted(g, h, high).divergence < radius) low = high, high *= 2.0;
    double s = 0.5 * (low + high);
    const double root = std::sqrt(radius);
    Tilted found(g, h, s);
    for (int step = 0; step < kMaxSteps; ++step) {
        const double excess = found.divergence - radius;
        if (excess == 0.0) break;
        (excess < 0.0 ? low : high) = s;
        const double own = std::sqrt(std::max(found.divergence, 0.0));
        double next = s - 2.0 * own * (own - root) / (s * found.first * found.second);
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (next == s || !(next > low && next < high)) break;
        const bool last = std::abs(next - s) <= 1e-16 * s;
        s = next;
        found = Tilted(g, h, s);
        if (last) break;
    }
    return first ? found.first : found.second;
}

}  // namespace

void event_bounds(const double* mass, const double* rest, const double* radius, std::size_t n,
                  bool upper, double* bound, int threads) {
    parallel_for(n, Grain::of_duration(500.0), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double sum = mass[i] + rest[i], event = mass[i] / sum, other = rest[i] / sum;
            bound[i] = upper ? tilted_share(event, other, radius[i], true)
                             : tilted_share(other, event, radius[i], false);
        }
    });
}

}  // namespace credalens
