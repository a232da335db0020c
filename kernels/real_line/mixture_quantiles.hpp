// Quantiles of a mixture of distribution functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "real_line/real_line.hpp"

namespace credalens {

// Probabilities are compared up to this share, so that rounding of sums does not skip an atom.
constexpr double kEqualProbability = 1e-12;

// The smallest t at which the probability of values up to t is at least the level, for every level
// of `wanted`. `Members` has, besides count(),
//
//     double probability(int m, double t, bool including) const;   of values up to t, or below it
//     double quantile(int m, double level) const;
//
// The quantile of a mixture is between those of its members; it is found by bisection.
template <class Members>
void mixture_quantiles(const Members& members, double offset, const MixtureQuantiles& wanted) {
    constexpr int kMaxSteps = 200;
    const int M = members.count();
    const auto probability = [&](double t) {
        double sum = 0;
        for (int m = 0; m < M; ++m)
            sum += (wanted.weights ? wanted.weights[m] : 1.0 / M) * members.probability(m, t, true);
        return sum;
    };
    for (int k = 0; k < wanted.count; ++k) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (int m = 0; m < M; ++m) {
            if (wanted.weights && wanted.weights[m] == 0) continue;
            const double quantile = members.quantile(m, wanted.levels[k]);
            low = std::min(low, quantile);
            high = std::max(high, quantile);
        }
        const double level = wanted.levels[k] * (1 - kEqualProbability);
        if (probability(low) >= level) high = low;
        for (int step = 0; step < kMaxSteps; ++step) {
            const double middle = low + (high - low) / 2;
            if (!(low < middle && middle < high)) break;
            (probability(middle) >= level ? high : low) = middle;
        }
        wanted.quantiles[k] = high + offset;
    }
}

}  // namespace credalens
