#include "hull/ordinal_diameters.hpp"

#include <algorithm>
#include <vector>

#include "simd/instance_per_lane.hpp"
#include "hull/closed_forms.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// across[e] = length_e P(side e) for each row; `sums` is scratch, (K + 1).
template <class T>
void send(const T* P, std::size_t rows, int K, const EdgeList& edges, double* sums,
          double* across) {
    for (std::size_t m = 0; m < rows; ++m) {
        const T* row = P + m * K;
        sums[0] = 0;
        for (int y = 0; y < K; ++y) sums[y + 1] = sums[y] + row[edges.order[y]];
        double* sent = across + m * edges.size;
        for (int e = 0; e < edges.size; ++e) {
            const std::int64_t start = edges.start[e], stop = edges.stop[e];
            const double side = stop == start + 1 ? row[edges.order[start]]
                                                  : sums[stop] - sums[start];
            sent[e] = edges.length[e] * side;
        }
    }
}

}  // namespace

template <class T>
void tree_wasserstein_diameter(const T* P, std::size_t n, int M, int K, const EdgeList& edges,
                   double* diameter, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t sent = static_cast<std::size_t>(M) * edges.size;
    const bool in_lanes = sent <= kMostInLanes;
    // Out of lanes, what a range sends across the edges stays in the second-level cache.
    const Grain grain = in_lanes ? Grain::of_lanes((std::size_t{1} << 20) / (sent * (6 + M / 2)))
                                 : Grain(1 + (std::size_t{1} << 15) / size);
    const std::size_t scratch =
        in_lanes ? lanes_scratch(2 * K + 1 + M + sent) : K + 1 + std::min(n, 2 * grain.piece) * sent;
    parallel_for(
        n, grain, threads, [&] { return std::vector<double>(scratch); },
        [&](std::vector<double>& ws, std::size_t begin, std::size_t end) {
            const T* here = P + begin * size;
            if (in_lanes) {
                tree_wasserstein_diameter_in_lanes(here, end - begin, M, K, edges, diameter + begin, ws.data());
                return;
            }
            double* across = ws.data() + K + 1;
            send(here, (end - begin) * M, K, edges, ws.data(), across);
            closed_forms(across, end - begin, M, edges.size, {nullptr, nullptr, diameter + begin},
                         PairMethod::automatic, 1);
        });
}

template <class T>
void kolmogorov_diameter(const T* P, std::size_t n, int M, int K, double* diameter, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, Grain::of_lanes((std::size_t{1} << 18) / size), threads,
        [&] { return std::vector<double>(lanes_scratch(3 * static_cast<std::size_t>(K))); },
        [&](std::vector<double>& ws, std::size_t begin, std::size_t end) {
            kolmogorov_diameter_in_lanes(P + begin * size, end - begin, M, K, diameter + begin,
                                         ws.data());
        });
}

template void kolmogorov_diameter(const float*, std::size_t, int, int, double*, int);
template void kolmogorov_diameter(const double*, std::size_t, int, int, double*, int);
template void tree_wasserstein_diameter(const float*, std::size_t, int, int, const EdgeList&, double*, int);
template void tree_wasserstein_diameter(const double*, std::size_t, int, int, const EdgeList&, double*, int);

}  // namespace credalens
