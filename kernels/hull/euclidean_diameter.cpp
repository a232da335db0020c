#include "hull/euclidean_diameter.hpp"

#include <algorithm>
#include <vector>

#include "simd/instance_per_lane.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

// points = P V for one instance: some rows at a time, which share what is read of V.
template <class T>
CREDALENS_INLINE void multiply(const T* P, int M, int K, const double* V, int r, double* points) {
    constexpr int kRows = 4;
    std::fill(points, points + static_cast<std::size_t>(M) * r, 0.0);
    for (int first = 0; first < M; first += kRows)
        for (int y = 0; y < K; ++y) {
            const double* CREDALENS_RESTRICT column = V + static_cast<std::size_t>(y) * r;
            for (int m = first; m < std::min(first + kRows, M); ++m) {
                const double share = P[static_cast<std::size_t>(m) * K + y];
                double* CREDALENS_RESTRICT point = points + static_cast<std::size_t>(m) * r;
                for (int k = 0; k < r; ++k) point[k] += share * column[k];
            }
        }
}

CREDALENS_INLINE double widest(const double* points, int M, int r) {
    double best = 0;
    for (int i = 0; i < M; ++i)
        for (int j = i + 1; j < M; ++j) {
            const double *a = points + static_cast<std::size_t>(i) * r;
            const double *b = points + static_cast<std::size_t>(j) * r;
            double sum = 0;
            for (int k = 0; k < r; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
            best = std::max(best, sum);
        }
    return best;
}

CREDALENS_CLONES double square_of_one(const float* P, int M, int K, const double* V, int r,
                                      double* points) {
    multiply(P, M, K, V, r, points);
    return widest(points, M, r);
}

CREDALENS_CLONES double square_of_one(const double* P, int M, int K, const double* V, int r,
                                      double* points) {
    multiply(P, M, K, V, r, points);
    return widest(points, M, r);
}

}  // namespace

// The product with V is done here: a library's matrix product would start threads of its own, and
// they would still be waiting for work when ours want the cores.
template <class T>
void squared_euclidean_diameter(const T* P, std::size_t n, int M, int K, const double* V, int r,
                     double* square, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t entries = static_cast<std::size_t>(M) * (K + r);
    const std::size_t work = static_cast<std::size_t>(M) * r * (K + M / 2 + 8) / 8 + 1;
    const std::size_t worth = (std::size_t{1} << 19) / work;
    if (entries > kMostInLanes) {
        parallel_for(
            n, Grain(worth), threads,
            [&] { return std::vector<double>(static_cast<std::size_t>(M) * r); },
            [&](std::vector<double>& points, std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i)
                    square[i] = square_of_one(P + i * size, M, K, V, r, points.data());
            });
        return;
    }
    parallel_for(
        n, Grain::of_lanes(worth), threads,
        [&] { return std::vector<double>(lanes_scratch(entries)); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            squared_euclidean_diameter_in_lanes(P + begin * size, end - begin, M, K, V, r, square + begin,
                                     scratch.data());
        });
}

template void squared_euclidean_diameter(const float*, std::size_t, int, int, const double*, int, double*,
                              int);
template void squared_euclidean_diameter(const double*, std::size_t, int, int, const double*, int, double*,
                              int);

}  // namespace credalens
