#include "events/lower_probabilities.hpp"

#include "events/subset_tables.hpp"
#include "runtime/parallel_for.hpp"

#define CREDALENS_TARGET_INCLUDE "events/lower_probabilities-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void lower_probabilities(const T* P, std::size_t n, int M, int K, double* values, int threads) {
    const SubsetSplit split(K, M);
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n * split.chunks, split.grain(M), threads, [&] { return SubsetTables(split, M, K); },
        [&](SubsetTables& tables, std::size_t begin, std::size_t end) {
            for (std::size_t task = begin; task < end; ++task) {
                const std::size_t instance = task / split.chunks;
                if (task == begin || task % split.chunks == 0)
                    CREDALENS_DISPATCH(probability_tables, P + instance * size, M, K, tables);
                CREDALENS_DISPATCH(lower_chunk, tables, task % split.chunks,
                                   values + (instance << K));
            }
        });
}

template void lower_probabilities(const float*, std::size_t, int, int, double*, int);
template void lower_probabilities(const double*, std::size_t, int, int, double*, int);

}  // namespace credalens
