#include "decisions/maximal_actions.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Rows of one instance, padded, and a list of vectors of actions.
struct ActionsWorkspace {
    int M, D, stride;
    std::vector<int> first;        // index of the first action of each listed vector
    std::vector<unsigned> better;  // one bit per lane

    ActionsWorkspace(int members, int actions)
        : M(members), D(actions), stride(padded_size(actions)), first(stride), better(stride),
          storage_((static_cast<std::size_t>(members) + 1) * stride) {}

    double* row(int m) { return storage_.data() + static_cast<std::size_t>(m) * stride; }
    double* favourable() { return row(M); }  // a member for each action

private:
    AlignedBuffer storage_;
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "decisions/maximal_actions-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

template <class T>
void maximal_actions(const T* U, std::size_t n, int M, int D, double tolerance, std::uint8_t* status,
                     int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * D;
    parallel_for(
        n, Grain::of_duration(0.3 * static_cast<double>(size) + 0.4 * D * D), threads,
        [&] { return ActionsWorkspace(M, D); },
        [&](ActionsWorkspace& ws, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                CREDALENS_DISPATCH(action_status, U + i * size, tolerance, ws, status + i * D);
        });
}

template void maximal_actions(const float*, std::size_t, int, int, double, std::uint8_t*, int);
template void maximal_actions(const double*, std::size_t, int, int, double, std::uint8_t*, int);

}  // namespace credalens
