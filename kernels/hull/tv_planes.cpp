#include "hull/tv_planes.hpp"

#include <algorithm>
#include <vector>

#include "games/small_games.hpp"
#include "games/two_class_games.hpp"
#include "hull/closed_forms.hpp"
#include "runtime/first_invalid.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Instances of which a thread keeps the results in double precision in the first-level cache.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kInstancesPerThread = std::size_t{1} << 12;

// Results of a block in double precision.
struct PlaneScratch {
    double *total, *lower, *upper, *epistemic, *gap;
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "hull/tv_planes-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// Buffers of one thread.
template <class T>
struct Workspace {
    Workspace(int M, int K)
        : results(5 * kBlock),
          vectors(vector_scratch(static_cast<std::size_t>(M) * (K + 2))),
          games(kBlock * M * K),
          index(kBlock),
          lower(kBlock),
          value(kBlock),
          gap(kBlock) {}

    PlaneScratch scratch() {
        double* first = results.data();
        return {first, first + kBlock, first + 2 * kBlock, first + 3 * kBlock, first + 4 * kBlock};
    }

    AlignedBuffer results, vectors;
    std::vector<T> games;  // (count, M, K): those without a saddle point
    std::vector<std::uint32_t> index;
    std::vector<double> lower, value, gap;
};

template <class T>
void solve_listed_games(const T* P, std::size_t count, int M, int K, std::ptrdiff_t member_stride,
                        std::ptrdiff_t class_stride, const PlaneScratch& own, Workspace<T>& ws) {
    T* entry = ws.games.data();
    for (std::size_t j = 0; j < count; ++j) {
        const std::size_t i = ws.index[j];
        for (int m = 0; m < M; ++m)
            for (int y = 0; y < K; ++y) *entry++ = P[i + m * member_stride + y * class_stride];
        ws.lower[j] = own.total[i];
        ws.gap[j] = own.upper[i];
    }
    if (K == 2)
        solve_two_class_games(ws.games.data(), count, M, ws.lower.data(), ws.value.data(),
                              ws.gap.data());
    else
        solve_small_games(ws.games.data(), count, M, K,
                          {ws.lower.data(), ws.value.data(), ws.gap.data()});
    for (std::size_t j = 0; j < count; ++j) {
        own.upper[ws.index[j]] = ws.value[j];
        own.gap[ws.index[j]] = ws.gap[j];
    }
}

}  // namespace

template <class T>
std::int64_t tv_planes(const T* P, std::size_t n, int M, int K, std::ptrdiff_t member_stride,
                       std::ptrdiff_t class_stride, const PlaneUncertainty<T>& out, int threads,
                       double tolerance) {
    FirstInvalid first;
    parallel_for(
        n, Grain::multiple_of_lanes(kInstancesPerThread), threads,
        [&] { return Workspace<T>(M, K); },
        [&](Workspace<T>& ws, std::size_t begin, std::size_t end) {
            const PlaneScratch own = ws.scratch();
            const ClosedForms forms{
                own.total, own.lower, out.epistemic ? own.epistemic : nullptr, nullptr, nullptr,
                own.gap};
            for (std::size_t i = begin; i < end && !first.found_up_to(i); i += kBlock) {
                const std::size_t count = std::min(kBlock, end - i);
                const T* block = P + i;
                const std::size_t valid =
                    CREDALENS_DISPATCH(closed_forms_of_planes, block, count, M, K, member_stride,
                                       class_stride, forms, tolerance, ws.vectors.data());
                if (valid < count) return first.record(i + valid);
                const std::size_t games =
                    CREDALENS_DISPATCH(games_without_saddle, own, count, ws.index.data());
                if (games)
                    solve_listed_games(block, games, M, K, member_stride, class_stride, own, ws);
                const PlaneUncertainty<T> to{out.total + i, out.lower + i, out.upper + i,
                                             out.epistemic ? out.epistemic + i : nullptr,
                                             out.gap + i};
                CREDALENS_DISPATCH(write_uncertainty, own, count, K, to);
            }
        });
    return first.value();
}

template std::int64_t tv_planes(const float*, std::size_t, int, int, std::ptrdiff_t, std::ptrdiff_t,
                                const PlaneUncertainty<float>&, int, double);
template std::int64_t tv_planes(const double*, std::size_t, int, int, std::ptrdiff_t,
                                std::ptrdiff_t, const PlaneUncertainty<double>&, int, double);

}  // namespace credalens
