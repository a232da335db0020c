#include "euclid.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"
#include "vectors.hpp"

namespace credalens {
namespace {

// Scratch memory of one thread: members as points (M, r), and the same as columns (r, width),
// padded to whole vectors.
struct Workspace {
    Workspace(std::size_t M, std::size_t r)
        : width((M + kLanes - 1) / kLanes * kLanes), points(M * r), turned(width * r) {}
    std::size_t width;
    std::vector<double> points, turned;
};

// points = P V, a class at a time. A library's matrix product would start threads of its own, and
// they would still be waiting for work when ours want the cores.
template <class T>
CREDALENS_INLINE void mix(const T* P, int M, int K, const double* V, int r,
                          double* CREDALENS_RESTRICT points) {
    std::fill(points, points + static_cast<std::size_t>(M) * r, 0.0);
    for (int y = 0; y < K; ++y) {
        const double* CREDALENS_RESTRICT vertex = V + static_cast<std::size_t>(y) * r;
        for (int m = 0; m < M; ++m) {
            const double share = P[static_cast<std::size_t>(m) * K + y];
            double* CREDALENS_RESTRICT point = points + static_cast<std::size_t>(m) * r;
            for (int k = 0; k < r; ++k) point[k] += share * vertex[k];
        }
    }
}

// Eight partners of a member at once, one a lane, so that no sum runs across lanes; the last lanes
// hold the first member once more.
CREDALENS_INLINE double widest(const double* points, int M, int r, std::size_t width,
                               double* turned) {
    for (int k = 0; k < r; ++k)
        for (std::size_t m = 0; m < width; ++m)
            turned[k * width + m] = points[(m < static_cast<std::size_t>(M) ? m : 0) * r + k];
    Double8 best = {};
    for (int m = 1; m < M; ++m) {
        const double* point = points + static_cast<std::size_t>(m) * r;
        for (int first = 0; first < m; first += kLanes) {
            Double8 sum = {};
            for (int k = 0; k < r; ++k) {
                const Double8 apart = load8(turned + k * width + first) - point[k];
                sum += apart * apart;
            }
            best = max8(best, sum);
        }
    }
    return largest8(best);
}

template <class T>
CREDALENS_INLINE void each(const T* P, std::size_t n, int M, int K, const double* V, int r,
                           Workspace& ws, double* square) {
    for (std::size_t i = 0; i < n; ++i) {
        mix(P + i * M * K, M, K, V, r, ws.points.data());
        square[i] = widest(ws.points.data(), M, r, ws.width, ws.turned.data());
    }
}

CREDALENS_CLONES void some(const float* P, std::size_t n, int M, int K, const double* V, int r,
                           Workspace& ws, double* square) {
    each(P, n, M, K, V, r, ws, square);
}

CREDALENS_CLONES void some(const double* P, std::size_t n, int M, int K, const double* V, int r,
                           Workspace& ws, double* square) {
    each(P, n, M, K, V, r, ws, square);
}

}  // namespace

template <class T>
void square_diameter(const T* P, std::size_t n, int M, int K, const double* V, int r,
                     double* square, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t work = static_cast<std::size_t>(M) * r * (K + M / 2 + kLanes) / kLanes + 1;
    parallel_for(
        n, 1 + (std::size_t{1} << 16) / work, threads, [&] { return Workspace(M, r); },
        [&](Workspace& ws, std::size_t begin, std::size_t end) {
            some(P + begin * size, end - begin, M, K, V, r, ws, square + begin);
        });
}

template void square_diameter(const float*, std::size_t, int, int, const double*, int, double*,
                              int);
template void square_diameter(const double*, std::size_t, int, int, const double*, int, double*,
                              int);

}  // namespace credalens
