// Entropies of truncated predictions in nats, with certified errors.
#pragma once

#include "topk/lumped_instance.hpp"

namespace credalens {

// The largest entropy over the hull of the lumped distributions, and the largest distance of that
// over all K classes from it, (n): the duality gap included.
template <class Id, class T>
void topk_max_entropy(const Topk<Id, T>& P, double* value, double* error, int threads);

// The smallest entropy, attained by a member.
template <class Id, class T>
void topk_min_entropy(const Topk<Id, T>& P, double* value, double* error, int threads);

// Results (n) as in second_order/second_order.hpp for the logarithmic or the zero-one loss, of the
// lumped distributions, and their errors.
struct TopkSecondOrder {
    double *total, *aleatoric, *epistemic;
    double *total_error, *aleatoric_error, *epistemic_error;
};

// `weights` (n, M) sum to 1 for each instance; nullptr for equal weights.
template <class Id, class T>
void topk_information(const Topk<Id, T>& P, const double* weights, const TopkSecondOrder& out,
                      int threads);
template <class Id, class T>
void topk_zero_one(const Topk<Id, T>& P, const double* weights, const TopkSecondOrder& out,
                   int threads);

}  // namespace credalens
