#include "hull/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/instance_per_lane.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"

// Unrolled before it is vectorised, GCC leaves a loop over a few sums in pieces: eight times slower.
#if defined(__GNUC__) && !defined(__clang__)
#define CREDALENS_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define CREDALENS_KEEP_LOOP
#endif

namespace credalens {
namespace {

// Members in a column block of the matrix of distances: one vector of sums, or two.
constexpr int kColumns = kStep;
// In lanes, all distances of this many members are kept.
constexpr int kMostMembersInLanes = 64;

// Scratch memory of one thread, sized once for (M, K).
template <class T>
struct Workspace {
    Workspace(int M, int K)
        : first(K), second(K), holder(K),
          columns(static_cast<std::size_t>(whole_steps(M)) * K),
          distance(static_cast<std::size_t>(M) * whole_steps(M)) {}
    std::vector<T> first, second;   // the two smallest probabilities of each class
    std::vector<T> holder;          // the member with the smallest; a T, so that it vectorises
    std::vector<double> columns;    // the instance, kColumns members side by side
    std::vector<double> distance;   // (M, padded M), right of the diagonal
};

// The two smallest probabilities of each class, and whose the smallest is. Of equal ones the first
// member holds it, and the second smallest is the same number.
template <class T>
CREDALENS_INLINE void two_smallest(const T* P, int M, int K, Workspace<T>& ws) {
    T* CREDALENS_RESTRICT first = ws.first.data();
    T* CREDALENS_RESTRICT second = ws.second.data();
    T* CREDALENS_RESTRICT holder = ws.holder.data();
    for (int y = 0; y < K; ++y) {
        const T a = P[y], b = P[K + y];
        first[y] = b < a ? b : a;
        second[y] = b < a ? a : b;
        holder[y] = b < a ? T(1) : T(0);
    }
    for (int m = 2; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        const T name = static_cast<T>(m);
        for (int y = 0; y < K; ++y) {
            const T p = row[y], low = first[y], next = second[y];
            const T above = p < low ? low : p;
            second[y] = above < next ? above : next;
            holder[y] = p < low ? name : holder[y];
            first[y] = p < low ? p : low;
        }
    }
}

// Leaving out m raises the minimum of the classes that it holds, and of no other.
template <class T>
CREDALENS_INLINE double lower_without(const T* P, int M, int K, double* lower, Workspace<T>& ws) {
    two_smallest(P, M, K, ws);
    T best = ws.first[0];
    for (int y = 1; y < K; ++y) best = ws.first[y] > best ? ws.first[y] : best;
    for (int m = 0; m < M; ++m) lower[m] = best;
    for (int y = 0; y < K; ++y) {
        double& raised = lower[static_cast<int>(ws.holder[y])];
        raised = std::max(raised, static_cast<double>(ws.second[y]));
    }
    for (int m = 0; m < M; ++m) lower[m] -= static_cast<double>(best);
    return best;
}

// The first largest entry of each row, and the sum of its squares: what its Brier score needs.
template <class T>
CREDALENS_INLINE void describe_rows(const T* P, int M, int K, double* squares,
                                    std::int32_t* top) {
    for (int m = 0; m < M; ++m) {
        const T* row = P + static_cast<std::size_t>(m) * K;
        T best = row[0];
        for (int y = 1; y < K; ++y) best = row[y] > best ? row[y] : best;
        int first = 0;
        while (row[first] != best) ++first;
        top[m] = first;
        double sums[kColumns] = {}, rest = 0;
        int y = 0;
        for (; y + kColumns <= K; y += kColumns)
            CREDALENS_KEEP_LOOP
            for (int c = 0; c < kColumns; ++c) {
                const double p = row[y + c];
                sums[c] += p * p;
            }
        for (; y < K; ++y) rest += static_cast<double>(row[y]) * row[y];
        squares[m] = ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
                     ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest;
    }
}

// Distances of R rows, one below the other, to the kColumns members of one block.
template <int R, class T>
CREDALENS_INLINE void tile(const T* rows, int K, const double* block, double* distance,
                           int stride) {
    double sums[R][kColumns] = {};
    for (int y = 0; y < K; ++y) {
        const double* column = block + static_cast<std::size_t>(y) * kColumns;
        for (int r = 0; r < R; ++r) {
            const double p = rows[static_cast<std::size_t>(r) * K + y];
            CREDALENS_KEEP_LOOP
            for (int c = 0; c < kColumns; ++c) sums[r][c] += std::fabs(p - column[c]);
        }
    }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < kColumns; ++c)
            distance[static_cast<std::size_t>(r) * stride + c] = sums[r][c];
}

template <class T>
CREDALENS_INLINE void all_distances(const T* P, int M, int K, Workspace<T>& ws) {
    const int width = whole_steps(M);
    for (int j = 0; j < width; j += kColumns) {
        double* block = ws.columns.data() + static_cast<std::size_t>(j) * K;
        const T* row[kColumns];  // what stands beyond the last member is never read
        for (int c = 0; c < kColumns; ++c)
            row[c] = P + static_cast<std::size_t>(std::min(j + c, M - 1)) * K;
        for (int y = 0; y < K; ++y)
            for (int c = 0; c < kColumns; ++c)
                block[static_cast<std::size_t>(y) * kColumns + c] = row[c][y];
        const int rows = std::min(M, j + kColumns);  // below the diagonal nothing is needed
        const std::size_t down = K, across = width;
        double* distance = ws.distance.data() + j;
        int i = 0;
        for (; i + 4 <= rows; i += 4)
            tile<4>(P + i * down, K, block, distance + i * across, width);
        for (; i < rows; ++i) tile<1>(P + i * down, K, block, distance + i * across, width);
    }
}

// Largest distance of two members other than `out`.
CREDALENS_INLINE double largest_without(const double* distance, int M, int width, int out) {
    double best = 0;
    for (int i = 0; i < M; ++i) {
        if (i == out) continue;
        const double* row = distance + static_cast<std::size_t>(i) * width;
        for (int j = i + 1; j < out; ++j) best = row[j] > best ? row[j] : best;
        for (int j = std::max(i, out) + 1; j < M; ++j) best = row[j] > best ? row[j] : best;
    }
    return best;
}

// Only a member that is in every widest pair can narrow the set by leaving: at most two are asked.
template <class T>
CREDALENS_INLINE double spread_without(const T* P, int M, int K, double* spread,
                                       std::uint8_t* widest, Workspace<T>& ws) {
    all_distances(P, M, K, ws);
    const int width = whole_steps(M);
    const double* distance = ws.distance.data();
    const double best = largest_without(distance, M, width, M);
    int pairs = 0;
    for (int m = 0; m < M; ++m) spread[m] = 0, widest[m] = 0;
    if (!(best > 0)) return 0;
    for (int i = 0; i < M; ++i)
        for (int j = i + 1; j < M; ++j)
            if (distance[static_cast<std::size_t>(i) * width + j] >= kTie * best) {
                widest[i] = widest[j] = 1;
                spread[i] += 1, spread[j] += 1;
                ++pairs;
            }
    for (int m = 0; m < M; ++m)
        spread[m] = spread[m] == pairs ? best - largest_without(distance, M, width, m) : 0;
    return best;
}

template <class T>
CREDALENS_INLINE void process(const T* P, std::size_t begin, std::size_t end, int M, int K,
                              const LeaveOneOut& out, Workspace<T>& ws) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    for (std::size_t i = begin; i < end; ++i) {
        const T* instance = P + i * size;
        const std::size_t at = i * M;
        describe_rows(instance, M, K, out.squares + at, out.top + at);
        if (M == 1) {
            out.max_lower[i] = instance[out.top[at]];
            out.diameter[i] = out.lower[at] = out.spread[at] = 0, out.widest[at] = 0;
            continue;
        }
        out.max_lower[i] = lower_without(instance, M, K, out.lower + at, ws);
        out.diameter[i] =
            spread_without(instance, M, K, out.spread + at, out.widest + at, ws);
    }
}

CREDALENS_CLONES void process_range(const float* P, std::size_t begin, std::size_t end, int M,
                                    int K, const LeaveOneOut& out, Workspace<float>& ws) {
    process(P, begin, end, M, K, out, ws);
}

CREDALENS_CLONES void process_range(const double* P, std::size_t begin, std::size_t end, int M,
                                    int K, const LeaveOneOut& out, Workspace<double>& ws) {
    process(P, begin, end, M, K, out, ws);
}

}  // namespace

template <class T>
void leave_one_out(const T* P, std::size_t n, int M, int K, const LeaveOneOut& out, int threads) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    if (M <= kMostMembersInLanes && size <= kMostInLanes) {
        const std::size_t entries = size + static_cast<std::size_t>(M) * (M + 3);
        parallel_for(
            n, Grain::of_lanes((std::size_t{1} << 20) / (size * (16 + M / 2))), threads,
            [&] { return std::vector<double>(lanes_scratch(entries)); },
            [&](std::vector<double>& scratch, std::size_t begin, std::size_t end) {
                leave_one_out_in_lanes(P + begin * size, end - begin, M, K, out.from(begin, M),
                                       scratch.data());
            });
        return;
    }
    const std::size_t work = size * (1 + M / 4);
    const std::size_t grain = 1 + (std::size_t{1} << 17) / work;
    parallel_for(
        n, grain, threads, [&] { return Workspace<T>(M, K); },
        [&](Workspace<T>& ws, std::size_t begin, std::size_t end) {
            process_range(P, begin, end, M, K, out, ws);
        });
}

template void leave_one_out(const float*, std::size_t, int, int, const LeaveOneOut&, int);
template void leave_one_out(const double*, std::size_t, int, int, const LeaveOneOut&, int);

}  // namespace credalens
