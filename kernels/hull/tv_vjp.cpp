#include "hull/tv_vjp.hpp"

#include <algorithm>
#include <vector>

#include "runtime/parallel_for.hpp"

#define CREDALENS_TARGET_INCLUDE "hull/tv_vjp-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void tv_vjp(const T* P, std::size_t n, int M, int K, const TvCotangents& loss, T* gradient,
            int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    parallel_for(
        n, Grain(1 + (std::size_t{1} << 16) / size), threads,
        [&] { return std::vector<double>(size + K); },
        [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
            CREDALENS_DISPATCH(tv_gradients, P, begin, end, M, K, loss, gradient,
                               scratch.data() + size, scratch.data());
        });
}

template void tv_vjp(const float*, std::size_t, int, int, const TvCotangents&, float*, int);
template void tv_vjp(const double*, std::size_t, int, int, const TvCotangents&, double*, int);

}  // namespace credalens
