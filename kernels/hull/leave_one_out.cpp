#include "hull/leave_one_out.hpp"

#include <algorithm>

#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Members of which all distances are kept with one instance per lane.
constexpr int kMaxMembersPerLane = 64;

// Distances whose ratio is at least this are equal up to rounding, such as those of disjoint
// supports.
constexpr double kTie = 1 - 1e-12;

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "hull/leave_one_out-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void leave_one_out(const T* P, std::size_t n, int M, int K, const LeaveOneOut& out, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const bool small = M == 1 || (M <= kMaxMembersPerLane && size <= kMaxInstancePerLane);
    const std::size_t work = small ? size * (16 + M / 2) : size * (8 + 2 * M);
    const std::size_t count = (std::size_t{1} << 20) / work;
    if (small) {
        const std::size_t vectors = size + static_cast<std::size_t>(M) * (M + 1);
        parallel_for(
            n, Grain::multiple_of_lanes(count), threads, [&] { return vector_scratch(vectors); },
            [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
                CREDALENS_DISPATCH(small_instances, P + begin * size, end - begin, M, K,
                                   out.from(begin, M), scratch.data());
            });
        return;
    }
    const std::size_t scratch_size =
        static_cast<std::size_t>(K) * kMaxLanes + static_cast<std::size_t>(M) * padded_size(M);
    parallel_for(
        n, Grain(1 + count), threads, [&] { return AlignedBuffer(scratch_size); },
        [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                CREDALENS_DISPATCH(large_instance, P + i * size, M, K, out.from(i, M),
                                   scratch.data());
        });
}

template void leave_one_out(const float*, std::size_t, int, int, const LeaveOneOut&, int);
template void leave_one_out(const double*, std::size_t, int, int, const LeaveOneOut&, int);

}  // namespace credalens
