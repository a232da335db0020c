#include "hull/ordinal_diameters.hpp"

#include <algorithm>
#include <vector>

#include "hull/closed_forms.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "hull/ordinal_diameters-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// flows[e] = length_e P(side e) for each row; `sums` (K + 1) is scratch memory.
template <class T>
void edge_flows(const T* P, std::size_t rows, int K, const EdgeList& edges, double* sums,
                double* flows) {
    for (std::size_t m = 0; m < rows; ++m) {
        const T* row = P + m * K;
        sums[0] = 0;
        for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + row[edges.order[y]];
        double* flow = flows + m * edges.size;
        for (int e = 0; e < edges.size; ++e) {
            const std::int64_t start = edges.start[e], stop = edges.stop[e];
            const double side =
                stop == start + 1 ? row[edges.order[start]] : sums[stop] - sums[start];
            flow[e] = edges.length[e] * side;
        }
    }
}

// The L1 diameter of the flows of a range, which stay in the second-level cache.
template <class T>
void large_tree_diameters(const T* P, std::size_t n, int M, int K, const EdgeList& edges,
                          double* diameter, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t flows = static_cast<std::size_t>(M) * edges.size;
    const Grain grain(1 + (std::size_t{1} << 15) / size);
    const std::size_t scratch = K + 1 + std::min(n, 2 * grain.chunk) * flows;
    parallel_for(
        n, grain, threads, [&] { return std::vector<double>(scratch); },
        [&](std::vector<double>& ws, std::size_t begin, std::size_t end) {
            double* range = ws.data() + K + 1;
            edge_flows(P + begin * size, (end - begin) * M, K, edges, ws.data(), range);
            closed_forms(range, end - begin, M, edges.size, {nullptr, nullptr, diameter + begin},
                         PairMethod::automatic, 1);
        });
}

}  // namespace

template <class T>
void tree_wasserstein_diameter(const T* P, std::size_t n, int M, int K, const EdgeList& edges,
                               double* diameter, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t flows = static_cast<std::size_t>(M) * edges.size;
    if (flows > kMaxInstancePerLane)
        return large_tree_diameters(P, n, M, K, edges, diameter, threads);
    parallel_for(
        n, Grain::multiple_of_lanes((std::size_t{1} << 20) / (flows * (6 + M / 2))), threads,
        [&] { return vector_scratch(2 * K + 1 + flows); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(tree_diameters, P + begin * size, end - begin, M, K, edges,
                               diameter + begin, scratch.data());
        });
}

template <class T>
void kolmogorov_diameter(const T* P, std::size_t n, int M, int K, double* diameter, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, Grain::multiple_of_lanes((std::size_t{1} << 18) / size), threads,
        [&] { return vector_scratch(3 * static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(cumulative_diameters, P + begin * size, end - begin, M, K,
                               diameter + begin, scratch.data());
        });
}

template void kolmogorov_diameter(const float*, std::size_t, int, int, double*, int);
template void kolmogorov_diameter(const double*, std::size_t, int, int, double*, int);
template void tree_wasserstein_diameter(const float*, std::size_t, int, int, const EdgeList&,
                                        double*, int);
template void tree_wasserstein_diameter(const double*, std::size_t, int, int, const EdgeList&,
                                        double*, int);

}  // namespace credalens
