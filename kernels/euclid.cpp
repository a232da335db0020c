#include "euclid.hpp"

#include <vector>

#include "lanes.hpp"
#include "parallel.hpp"

namespace credalens {

// The product with V is done here: a library's matrix product would start threads of its own, and
// they would still be waiting for work when ours want the cores.
template <class T>
void square_diameter(const T* P, std::size_t n, int M, int K, const double* V, int r,
                     double* square, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t entries = static_cast<std::size_t>(M) * (K + r);
    const std::size_t work = static_cast<std::size_t>(M) * r * (K + M / 2 + 8) / 8 + 1;
    parallel_for(
        n, Grain::of_lanes((std::size_t{1} << 19) / work), threads,
        [&] { return std::vector<double>(lanes_scratch(entries)); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            square_diameter_in_lanes(P + begin * size, end - begin, M, K, V, r, square + begin,
                                     scratch.data());
        });
}

template void square_diameter(const float*, std::size_t, int, int, const double*, int, double*,
                              int);
template void square_diameter(const double*, std::size_t, int, int, const double*, int, double*,
                              int);

}  // namespace credalens
