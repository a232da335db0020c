#include "euclid.hpp"

#include <vector>

#include "parallel.hpp"
#include "vectors.hpp"

namespace credalens {
namespace {

// Eight partners of a point at once, one a lane: `turned` (r, width) holds the points as columns,
// padded to whole vectors with the first one, so that no sum runs across lanes.
CREDALENS_CLONES void widest(const double* x, std::size_t n, int M, int r, double* turned,
                             double* square) {
    const std::size_t width = (static_cast<std::size_t>(M) + kLanes - 1) / kLanes * kLanes;
    for (std::size_t i = 0; i < n; ++i) {
        const double* points = x + i * M * r;
        for (int k = 0; k < r; ++k)
            for (std::size_t m = 0; m < width; ++m)
                turned[k * width + m] = points[(m < static_cast<std::size_t>(M) ? m : 0) * r + k];
        Double8 best = {};
        for (int m = 1; m < M; ++m) {
            const double* point = points + static_cast<std::size_t>(m) * r;
            for (int first = 0; first < m; first += kLanes) {
                Double8 sum = {};
                for (int k = 0; k < r; ++k) {
                    const Double8 d = load8(turned + k * width + first) - point[k];
                    sum += d * d;
                }
                best = max8(best, sum);
            }
        }
        square[i] = largest8(best);
    }
}

}  // namespace

void square_diameter(const double* x, std::size_t n, int M, int r, double* square, int threads) {
    const std::size_t work = static_cast<std::size_t>(M) * (M + kLanes) * r / kLanes + 1;
    parallel_for(
        n, 1 + (std::size_t{1} << 16) / work, threads,
        [&] { return std::vector<double>(static_cast<std::size_t>(M + kLanes) * r); },
        [&](std::vector<double>& turned, std::size_t begin, std::size_t end) {
            widest(x + begin * M * r, end - begin, M, r, turned.data(), square + begin);
        });
}

}  // namespace credalens
