// Risk-coverage curves of bootstrap resamples, for several scores on the same resamples.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// Rows, scores and the points at which a curve is read.
struct ScoredRows {
    std::size_t rows, scores, cuts;
    const std::int32_t* order;  // (scores, rows): rows by increasing uncertainty
    const std::uint8_t* last;   // (scores, rows): whether a row, in this order, ends a tie block
    const double* loss;         // (rows,)
    const double* weight;       // (rows,), or null for unit weights
    const double* cut;          // (cuts,): retained weights, increasing, positive
};

// Results for each resample. The risk after k retained units of weight is r_k, the loss of these
// units D_k. A sum over k from 1 to x is that over whole numbers, continued to real x by digamma.
struct ResampledSums {
    double* weight;       // (resamples,): total weight W
    double* loss;         // (resamples,): D_W
    double* risk;         // (scores, resamples): the sum of r_k over k <= W
    double* generalized;  // (scores, resamples): the sum of D_k over k <= W
    double* cut_loss;     // (scores, cuts, resamples): D at the cut
    double* cut_risk;     // (scores, cuts, resamples): the sum of r_k over k <= cut
};

// Draws resamples of as many rows, with replacement, and computes their sums. With weights, a cut
// is scaled by the weight of the resample relative to that of all rows. The result depends on the
// seed, not on the number of threads; seeds that differ by little share resamples.
void resampled_risks(const ScoredRows& rows, std::uint64_t seed, std::size_t resamples,
                     const ResampledSums& sums, int threads);

}  // namespace credalens
