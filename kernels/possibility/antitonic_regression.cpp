#include "possibility/antitonic_regression.hpp"

#include <vector>

#include "runtime/parallel_for.hpp"

namespace credalens {
namespace {

struct Pool {
    double sum;
    int size;
    double mean() const { return sum / size; }
};

void pool_adjacent_violators(const double* values, int K, std::vector<Pool>& pools,
                             double* result) {
    pools.clear();
    for (int y = 0; y < K; ++y) {
        Pool last{values[y], 1};
        while (!pools.empty() && pools.back().mean() <= last.mean()) {
            last.sum += pools.back().sum, last.size += pools.back().size;
            pools.pop_back();
        }
        pools.push_back(last);
    }
    for (const Pool& pool : pools)
        for (int i = 0; i < pool.size; ++i) *result++ = pool.mean();
}

}  // namespace

void antitonic_regression(const double* values, std::size_t n, int K, double* result, int threads) {
    parallel_for(
        n, Grain::of_duration(4.0 * K), threads, [] { return std::vector<Pool>(); },
        [&](std::vector<Pool>& pools, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                pool_adjacent_violators(values + i * K, K, pools, result + i * K);
        });
}

}  // namespace credalens
