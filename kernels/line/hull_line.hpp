// Ordered classes: total and aleatoric uncertainty of hulls under the Wasserstein distance on a line,
// and expected costs on a tree, without a matrix of costs.
#pragma once

#include <cstddef>

#include "hull/ordinal_diameters.hpp"
#include "line/capacity_line.hpp"

namespace credalens {

// The mixture that attains the upper end, for its gradient: weights (n, M) and the real decision
// (n), both nullptr if they are not requested.
struct LineMixture {
    double *weights, *decision;
};

// For n instances P (n, M, K): min_y max_m, and min_y min_m, of E_m|x - x_y|, and
// max_w min_y of its mixture, the minimum over real y of max_m E_m|x - y| (see capacity_line.hpp).
// Between two neighbouring classes every member is a line, so that the minimum is found by cutting
// planes. O(M K); the diameter of the results is not computed.
template <class T>
void hull_line(const T* P, std::size_t n, int M, const Line& line, const LineResults& results,
               const LineMixture& mixture, int threads);

// Expected costs C (rows, K) of the distributions P (rows, K) on a line or tree:
// C_y = sum_e length_e P(the side of e without y). O(K) per row.
template <class T>
void tree_costs(const T* P, std::size_t rows, int K, const EdgeList& edges, double* costs,
                int threads);

}  // namespace credalens
