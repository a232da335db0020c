#include <algorithm>
#include <vector>

#include "events/hartley.hpp"
#include "events/subset_tables.hpp"
#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

// Largest number of rows that is a template argument.
constexpr int kFewRows = 12;

// For each size p of the high subset, the weights of the maxima (w[K - b], that of the complement)
// and of the minima (w[b]) at every low subset, b = p + size of the low subset; 0 where the table
// is padded.
struct SubsetWeights {
    SubsetWeights(int K, const double* w, const SubsetSplit& split)
        : of_max((split.high + 1) * split.width), of_min((split.high + 1) * split.width) {
        for (int p = 0; p <= split.high; ++p) {
            for (std::size_t i = 0; i < std::size_t{1} << split.low; ++i) {
                const int b = p + __builtin_popcountll(i);
                of_max.data()[p * split.width + i] = b == 0 ? 0.0 : w[K - b];
                of_min.data()[p * split.width + i] = b == 0 ? 0.0 : w[b];
            }
        }
    }

    AlignedBuffer of_max, of_min;
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "events/hartley_exact-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void hartley_exact(const T* P, std::size_t n, int M, int K, const double* w, double* value,
                   int threads) {
    std::fill(value, value + n, 0.0);
    if (M == 1 || K == 1) return;
    const int rows = M - 1;
    const SubsetSplit split(K - 1, rows);
    const SubsetWeights weights(K, w, split);
    const std::size_t size = static_cast<std::size_t>(M) * K;
    // The sums of the chunks are stored and added in order, for a limited number of instances at a
    // time.
    const std::size_t block = split.chunks == 1 ? n : std::size_t{1} << 12;
    std::vector<double> partial(std::min(block, n) * split.chunks);
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t count = std::min(block, n - first);
        parallel_for(
            count * split.chunks, split.grain(rows), threads,
            [&] { return SubsetTables(split, rows, K); },
            [&](SubsetTables& tables, std::size_t begin, std::size_t end) {
                for (std::size_t task = begin; task < end; ++task) {
                    const T* instance = P + (first + task / split.chunks) * size;
                    if (task == begin || task % split.chunks == 0)
                        CREDALENS_DISPATCH(difference_tables, instance, M, K, tables);
                    partial[task] =
                        CREDALENS_DISPATCH(hartley_chunk, tables, weights, task % split.chunks);
                }
            });
        for (std::size_t task = 0; task < count * split.chunks; ++task)
            value[first + task / split.chunks] += partial[task];
    }
}

template void hartley_exact(const float*, std::size_t, int, int, const double*, double*, int);
template void hartley_exact(const double*, std::size_t, int, int, const double*, double*, int);

}  // namespace credalens
