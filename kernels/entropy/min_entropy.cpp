#include "entropy/min_entropy.hpp"

#include "runtime/parallel_for.hpp"
#include "runtime/validate_rows.hpp"
#include "simd/aligned_buffer.hpp"

#define CREDALENS_TARGET_INCLUDE "entropy/min_entropy-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
std::int64_t min_entropy(const T* P, std::size_t n, int M, int K, double* value,
                         std::int64_t* member, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid invalid;
    parallel_for(
        n, Grain::multiple_of_lanes((std::size_t{1} << 15) / size), threads,
        [&] { return vector_scratch(static_cast<std::size_t>(K)); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            const auto body = [&](std::size_t first, std::size_t last) {
                CREDALENS_DISPATCH(min_entropies, P + first * size, last - first, M, K,
                                   value + first, member ? member + first : nullptr,
                                   scratch.data());
            };
            for_each_validated_block(P, begin, end, M, K, tolerance, invalid, body);
        });
    return invalid.value();
}

template std::int64_t min_entropy(const float*, std::size_t, int, int, double*, std::int64_t*, int,
                                  double);
template std::int64_t min_entropy(const double*, std::size_t, int, int, double*, std::int64_t*, int,
                                  double);

}  // namespace credalens
