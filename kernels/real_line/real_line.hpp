// Real-valued targets: uncertainty of hulls of M distributions on the real line under the
// Wasserstein distance.
//
// The distance from p to the Dirac measure at t is g_p(t) = E_p|Y - t|, linear in p and convex in
// t. By the minimax theorem the total uncertainty min_t max_m g_m(t) is also the upper aleatoric
// end max_p min_t g_p(t). It is a minimum over one variable, between the smallest and the largest
// median of a member, by cutting planes (line/segment_minimum.hpp). The lower aleatoric end is the
// smallest mean deviation of a member from its own median: min_t g_p(t) is concave in p. The
// distance of two distributions is the L1 distance of their quantile functions.
//
// Values of an instance are taken relative to one of them, so that a common offset cancels before
// anything is summed.
#pragma once

#include <cstddef>

namespace credalens {

// Results of n instances, each (n) or nullptr.
struct RealLineResults {
    // The total uncertainty, which a decision attains; the lower aleatoric end; how far the total
    // may be above the minimum; the decision; the largest distance of two members.
    double *total, *lower, *gap, *decision, *diameter;
    // (n, M) or nullptr: the mixture whose mean deviation from any t is at least total - gap.
    double* weights;

    RealLineResults from(std::size_t i, int M) const {
        const auto at = [i](double* x) { return x ? x + i : nullptr; };
        return {at(total),    at(lower),    at(gap),
                at(decision), at(diameter), weights ? weights + i * M : nullptr};
    }
    bool needs_search() const { return total || gap || decision || weights; }
};

// Quantiles of the mixture of the members of each instance.
struct MixtureQuantiles {
    const double* weights;  // (n, M), of sum 1; nullptr for equal weights
    const double* levels;   // (count)
    int count;
    double* quantiles;      // (n, count)

    MixtureQuantiles from(std::size_t i, int M) const {
        return {weights ? weights + i * M : nullptr, levels, count, quantiles + i * count};
    }
};

// Samples (n, M, S) of equal weight, in any order.
template <class T>
void sample_uncertainty(const T* x, std::size_t n, int M, int S, const RealLineResults& results,
                        int threads);
template <class T>
void sample_quantiles(const T* x, std::size_t n, int M, int S, const MixtureQuantiles& wanted,
                      int threads);

// Quantiles (n, M, L) at increasing levels, which do not decrease: quantile functions that are
// linear between the levels and constant outside of them.
template <class T>
void piecewise_uncertainty(const T* x, std::size_t n, int M, int L, const double* levels,
                          const RealLineResults& results, int threads);
template <class T>
void piecewise_quantiles(const T* x, std::size_t n, int M, int L, const double* levels,
                        const MixtureQuantiles& wanted, int threads);

// Normal distributions (n, M, 2): their means and standard deviations.
template <class T>
void normal_uncertainty(const T* x, std::size_t n, int M, const RealLineResults& results,
                        int threads);
// `z` (count) has the quantiles of the standard normal distribution at the levels.
template <class T>
void normal_quantiles(const T* x, std::size_t n, int M, const double* z,
                      const MixtureQuantiles& wanted, int threads);

}  // namespace credalens
