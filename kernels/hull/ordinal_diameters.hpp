// Wasserstein diameters on a line or tree of classes, and Kolmogorov diameters.
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

// For n instances P (n, M, K), C-contiguous: the maximum over pairs of members of
// sum_e length_e |P_m(side e) - P_m'(side e)|, the Wasserstein distance of the tree.
template <class T>
void tree_wasserstein_diameter(const T* P, std::size_t n, int M, int K, const EdgeList& edges,
                               double* diameter, int threads);

// The maximum over pairs of members and classes y of |F_m(y) - F_m'(y)|, F the cumulative sums.
template <class T>
void kolmogorov_diameter(const T* P, std::size_t n, int M, int K, double* diameter, int threads);

}  // namespace credalens
