#include "hull/class_bounds.hpp"

#include "runtime/parallel_for.hpp"

#define CREDALENS_TARGET_INCLUDE "hull/class_bounds-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void class_bounds(const T* P, std::size_t n, int M, int K, double* lower, double* upper,
                  int threads) {
    const Grain grain(1 + (std::size_t{1} << 19) / (static_cast<std::size_t>(M) * K + 1));
    parallel_for(n, grain, threads, [&](std::size_t begin, std::size_t end) {
        CREDALENS_DISPATCH(class_bounds_range, P, begin, end, M, K, lower, upper);
    });
}

template void class_bounds(const float*, std::size_t, int, int, double*, double*, int);
template void class_bounds(const double*, std::size_t, int, int, double*, double*, int);

}  // namespace credalens
