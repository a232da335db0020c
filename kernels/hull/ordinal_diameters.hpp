// Diameters on ordered classes: Wasserstein's on a line or a tree, by what pairs of members send
// across its edges, and Kolmogorov's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace credalens {

// A line or tree with K classes on it. With the classes in `order`, edge e has the classes
// order[start[e]] .. order[stop[e] - 1] on one side.
struct EdgeList {
    const std::int64_t* order;
    const std::int64_t* start;
    const std::int64_t* stop;
    const double* length;
    int size;
};

// For each of n instances P (n, M, K), C-contiguous, the largest over pairs of members of
// sum_e length_e |P_m(side e) - P_m'(side e)|.
template <class T>
void tree_wasserstein_diameter(const T* P, std::size_t n, int M, int K, const EdgeList& edges,
                   double* diameter, int threads);

// The largest over pairs of members and classes y of |P_m(up to y) - P_m'(up to y)|.
template <class T>
void kolmogorov_diameter(const T* P, std::size_t n, int M, int K, double* diameter, int threads);

}  // namespace credalens
