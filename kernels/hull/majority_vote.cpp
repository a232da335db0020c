#include "hull/majority_vote.hpp"

#include <algorithm>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "runtime/validate_rows.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Rows of so many classes or more are read one after the other, as for their validation.
constexpr int kMinLongRow = 48;
// Most members whose votes are compared with each other.
constexpr int kMaxComparedMembers = 16;
// Relative difference above which two sums do not change their order with the order of the terms.
constexpr double kClearDifference = 1e-9;

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "hull/majority_vote-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

template <class T>
struct VoteWorkspace {
    VoteWorkspace(int M, int K, bool lanes)
        : votes(K), tied(M), sums(M), values(M),
          scratch(vector_scratch(lanes ? M * (K + std::size_t{2}) + K : 0)) {}
    std::vector<std::int32_t> argmax;  // of some instances, unless they are an output
    std::vector<std::int32_t> votes;   // (K), 0 between two instances
    std::vector<std::int32_t> tied;    // the classes with the most votes
    std::vector<double> sums;          // of their probabilities
    std::vector<T> values;             // the probabilities of one class
    AlignedBuffer scratch;             // for votes in lanes
    std::vector<std::size_t> unclear;
};

// The sum of one column in increasing order, so that its rounding does not depend on the order of
// the members.
template <class T>
double sorted_sum(const T* column, int M, int K, std::vector<T>& values) {
    for (int m = 0; m < M; ++m) values[m] = column[static_cast<std::size_t>(m) * K];
    std::sort(values.begin(), values.end());
    double sum = 0;
    for (const T value : values) sum += value;
    return sum;
}

// The one of `count` tied classes with the largest sum, the first one on a tie.
template <class T>
std::int32_t largest_sum(const T* P, int M, int K, int count, VoteWorkspace<T>& ws) {
    const auto largest = [&] {
        int best = 0;
        for (int c = 1; c < count; ++c)
            if (ws.sums[c] > ws.sums[best] ||
                (ws.sums[c] == ws.sums[best] && ws.tied[c] < ws.tied[best]))
                best = c;
        return best;
    };
    std::fill_n(ws.sums.begin(), count, 0.0);
    for (int m = 0; m < M; ++m)
        for (int c = 0; c < count; ++c)
            ws.sums[c] += P[static_cast<std::size_t>(m) * K + ws.tied[c]];
    const int first = largest();
    const double close = ws.sums[first] * (1 - kClearDifference);
    int near = 0;
    for (int c = 0; c < count; ++c) near += !(ws.sums[c] < close);
    if (near == 1) return ws.tied[first];
    for (int c = 0; c < count; ++c) ws.sums[c] = sorted_sum(P + ws.tied[c], M, K, ws.values);
    return ws.tied[largest()];
}

template <class T>
std::int32_t count_votes(const T* P, int M, int K, const std::int32_t* argmax,
                         VoteWorkspace<T>& ws) {
    std::int32_t most = 0;
    int count = 0;
    for (int m = 0; m < M; ++m) most = std::max(most, ++ws.votes[argmax[m]]);
    for (int m = 0; m < M; ++m) {  // each class once
        std::int32_t& votes = ws.votes[argmax[m]];
        ws.tied[count] = argmax[m];
        count += votes == most;
        votes = 0;
    }
    return count == 1 ? ws.tied[0] : largest_sum(P, M, K, count, ws);
}

// `count` instances, in blocks that stay in the first-level cache after their rows were compared.
template <class T>
void vote_by_rows(const T* P, std::size_t count, int M, int K, std::int64_t* vote,
                  std::int32_t* argmax, VoteWorkspace<T>& ws) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const std::size_t block = cached_instances(size * sizeof(T));
    if (!argmax) ws.argmax.resize(std::min(block, count) * M);
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t part = std::min(block, count - first);
        const T* instances = P + first * size;
        std::int32_t* own = argmax ? argmax + first * M : ws.argmax.data();
        CREDALENS_DISPATCH(argmax_rows, instances, part * M, K, own);
        if (!vote) continue;
        for (std::size_t i = 0; i < part; ++i)
            vote[first + i] = count_votes(instances + i * size, M, K, own + i * M, ws);
    }
}

template <class T>
void vote_in_lanes(const T* P, std::size_t count, int M, int K, std::int64_t* vote,
                   VoteWorkspace<T>& ws) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    ws.unclear.resize(count);
    const std::size_t unclear = CREDALENS_DISPATCH(votes_in_lanes, P, count, M, K, vote,
                                                   ws.scratch.data(), ws.unclear.data());
    for (std::size_t j = 0; j < unclear; ++j) {
        const std::size_t i = ws.unclear[j];
        vote_by_rows(P + i * size, 1, M, K, vote + i, nullptr, ws);
    }
}

}  // namespace

template <class T>
void majority_vote(const T* P, std::size_t n, int M, int K, std::int64_t* vote,
                   std::int32_t* argmax, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    const bool lanes = vote && !argmax && M <= kMaxComparedMembers && K < kMinLongRow;
    parallel_for(
        n, Grain::multiple_of_lanes((std::size_t{1} << 17) / size), threads,
        [&] { return VoteWorkspace<T>(M, K, lanes); },
        [&](VoteWorkspace<T>& ws, std::size_t begin, std::size_t end) {
            const T* first = P + begin * size;
            std::int64_t* own = vote ? vote + begin : nullptr;
            if (lanes)
                vote_in_lanes(first, end - begin, M, K, own, ws);
            else
                vote_by_rows(first, end - begin, M, K, own, argmax ? argmax + begin * M : nullptr,
                             ws);
        });
}

template void majority_vote(const float*, std::size_t, int, int, std::int64_t*, std::int32_t*, int);
template void majority_vote(const double*, std::size_t, int, int, std::int64_t*, std::int32_t*,
                            int);

}  // namespace credalens
