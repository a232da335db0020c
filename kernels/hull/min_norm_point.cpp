#include "hull/min_norm_point.hpp"

#include <algorithm>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "runtime/validate_rows.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// The gap at which an instance is solved, relative to |p|^2: above the rounding of the products.
constexpr double kGapGoal = 1e-14;

// Ridge of the Gram matrix. At weights between 0 and 1 it changes <p, P_m> by at max_active this
// share.
constexpr double kRidge = 1e-14;

// A weight below this is 0.
constexpr double kNoWeight = 1e-15;

// Buffers for instances of one shape, reused from one to the next.
struct MinNormWorkspace {
    int M, K, stride, max_active;         // max_active: largest number of active members
    std::vector<double> rows, p;          // (M, stride) and (stride), padded with zeros
    std::vector<double> w, gram, matrix;  // by member; Gram matrix by slot; linear system
    std::vector<double> solution, dots;   // by position in `active`; by member
    std::vector<int> active, slot;        // members, and their slots in `gram`
    std::vector<char> is_active;

    MinNormWorkspace(int members, int classes)
        : M(members), K(classes), stride(padded_size(classes)),
          max_active(std::min(members, classes + 1) + 1),
          rows(static_cast<std::size_t>(M) * stride), p(stride), w(M),
          gram(static_cast<std::size_t>(max_active) * max_active),
          matrix(static_cast<std::size_t>(max_active) * padded_size(max_active + 1)),
          solution(padded_size(max_active)), dots(M), is_active(M) {
        active.reserve(max_active), slot.reserve(max_active);
    }

    const double* row(int m) const { return rows.data() + static_cast<std::size_t>(m) * stride; }
    double& product(int i, int j) { return gram[static_cast<std::size_t>(i) * max_active + j]; }
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "hull/min_norm_point-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
std::int64_t min_norm_point(const T* P, std::size_t n, int M, int K, double* value, double* gap,
                            double* weights, double* point, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstInvalid invalid;
    parallel_for(
        n, Grain::of_duration(200.0 + 4.0 * static_cast<double>(size)), threads,
        [&] { return MinNormWorkspace(M, K); },
        [&](MinNormWorkspace& ws, std::size_t begin, std::size_t end) {
            for_each_validated_block(
                P, begin, end, M, K, tolerance, invalid, [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; ++i) {
                        CREDALENS_DISPATCH(solve_min_norm, P + i * size, ws, value[i], gap[i]);
                        if (weights) std::copy(ws.w.begin(), ws.w.end(), weights + i * M);
                        if (point) std::copy(ws.p.begin(), ws.p.begin() + K, point + i * K);
                    }
                });
        });
    return invalid.value();
}

template std::int64_t min_norm_point(const float*, std::size_t, int, int, double*, double*, double*,
                                     double*, int, double);
template std::int64_t min_norm_point(const double*, std::size_t, int, int, double*, double*,
                                     double*, double*, int, double);

}  // namespace credalens
