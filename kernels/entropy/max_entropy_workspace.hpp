// Constants and buffers of max_entropy.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Every p is mixed with this much of the mean member. It changes H by less than rounding and keeps
// p_y > 0 for every class of some member: the optimal weight of a member with a class of its own
// can be e^-2000, where p_y would underflow and -ln p_y be infinite.
constexpr double kMixing = 1e-18;

// A class below this in every member contributes less than 1e-18 nats and is dropped.
constexpr double kNegligible = 1e-20;

// An entry below this is lost in the floor of its class (at least kMixing * kNegligible / M). It is
// set to zero, because products with it are subnormal, and a hundred times slower.
constexpr double kTiny = 1e-50;

// Ridge relative to each diagonal entry: a global one exceeds the curvature of members of small
// weight.
constexpr double kRidge = 1e-13;

constexpr double kGapGoal = 1e-11;      // duality gap at which the solver stops, in nats
constexpr double kAcceptedGap = 3e-10;  // the same after kGoalIterations
constexpr int kGoalIterations = 60;
constexpr int kMaxIterations = 2000;
constexpr double kNoWeight = 1e-15;   // a change of weights by this changes H by rounding only
constexpr double kMaxDecrease = 0.1;  // p_y keeps at least this share of itself in one step

// A distribution, its logarithm and its entropy.
struct Point {
    double *p, *log_p;
    double entropy;
};

// Buffers for instances of one shape. Generators are the M members and, for M >= K, their mean.
struct MaxEntropyWorkspace {
    int M, K, stride;            // stride: padded K
    int classes = 0, width = 0;  // classes of the present instance that are not dropped; padded
    int generators = 0;          // M, or M + 1 with the mean as row M
    int active_count = 0;
    double* rows;             // (M + 1, stride)
    double *w, *trial_w, *g;  // by generator; weights are zero outside `active`
    double* direction;        // by position in `active`
    double *floor, *inverse_p, *scaled, *step_p, *lowest_p;  // by class
    Point here, there;  // the present point and the trial point
    std::vector<int> active, kept;
    std::vector<char> is_active;
    std::vector<double> matrix;

    // Many members of few classes are stored class by class, (K, list), padded with zeros; `rows`
    // then holds only the generators that have been active.
    bool many;
    int list;
    std::vector<double> by_class;

    MaxEntropyWorkspace(int members, int classes_in)
        : M(members), K(classes_in), stride(padded_size(classes_in)),
          many(members >= 2 * classes_in), list(padded_size(members + 1)),
          storage_((M + 10) * static_cast<std::size_t>(stride) +
                   4 * static_cast<std::size_t>(list)) {
        const std::size_t row = stride;
        if (many) by_class.resize(static_cast<std::size_t>(K) * list);
        double* next = storage_.data();
        const auto take = [&](std::size_t size) { return next += size, next - size; };
        rows = take((M + 1) * row);
        floor = take(row), inverse_p = take(row), scaled = take(row);
        step_p = take(row), lowest_p = take(row);
        here.p = take(row), here.log_p = take(row), there.p = take(row), there.log_p = take(row);
        w = take(list), trial_w = take(list), g = take(list), direction = take(list);
        active.resize(M + 1), kept.resize(K), is_active.resize(M + 1);
    }

    // Makes `matrix` large enough for a linear system.
    void reserve_matrix(int size, int columns) {
        const std::size_t needed = static_cast<std::size_t>(size) * columns;
        if (matrix.size() < needed) matrix.resize(2 * needed);
    }

    double* row(int m) { return rows + static_cast<std::size_t>(m) * stride; }
    double* members_of(int y) { return by_class.data() + static_cast<std::size_t>(y) * list; }

private:
    AlignedBuffer storage_;
};

}  // namespace
}  // namespace credalens
