// Total variation measures of truncated predictions, with certified errors.
#pragma once

#include "topk/lumped_instance.hpp"

namespace credalens {

// Results (n) as in hull/tv_uncertainty.hpp, of the lumped distributions: the classes of the union
// and, for distances, the rest as one more class. The uncertainty of all K classes differs from
// each by at most its error; `lower` is exact, since the largest probability is listed.
struct TopkTv {
    double *total, *lower, *upper, *epistemic;
    double *total_error, *upper_error, *epistemic_error;
};

// O(M k + M^2 U) for each instance, where U <= M k is the size of the union, and a matrix game of M
// rows and U columns unless there is a pure saddle point.
template <class Id, class T>
void topk_tv(const Topk<Id, T>& P, const TopkTv& out, int threads);

}  // namespace credalens
