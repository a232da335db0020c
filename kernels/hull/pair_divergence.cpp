#include "hull/pair_divergence.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "runtime/validate_rows.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

constexpr double kMinFastLog = 1e-300;

// Buffers for instances of one shape; rows are padded with zeros.
struct DivergenceWorkspace {
    int M, K, stride;
    std::vector<double> norm;  // (M)

    DivergenceWorkspace(int members, int classes)
        : M(members), K(classes), stride(padded_size(classes)), norm(members),
          storage_((2 * static_cast<std::size_t>(members) + 1) * stride) {}

    double* row(int m) { return storage_.data() + static_cast<std::size_t>(m) * stride; }
    double* log_row(int m) { return row(M + m); }
    double* marks() { return row(2 * M); }  // (stride)

private:
    AlignedBuffer storage_;
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "hull/pair_divergence-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
std::int64_t pair_divergence(Divergence kind, const T* P, std::size_t n, int M, int K,
                             double* value, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid invalid;
    parallel_for(
        n, Grain::of_duration(0.2 * static_cast<double>(size) * (M + 8)), threads,
        [&] { return DivergenceWorkspace(M, K); },
        [&](DivergenceWorkspace& ws, std::size_t begin, std::size_t end) {
            for_each_validated_block(
                P, begin, end, M, K, tolerance, invalid, [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; ++i)
                        value[i] = CREDALENS_DISPATCH(max_divergence, kind, P + i * size, ws);
                });
        });
    return invalid.value();
}

template std::int64_t pair_divergence(Divergence, const float*, std::size_t, int, int, double*, int,
                                      double);
template std::int64_t pair_divergence(Divergence, const double*, std::size_t, int, int, double*,
                                      int, double);

}  // namespace credalens
