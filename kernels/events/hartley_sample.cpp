// Generalized Hartley measure by sampling chains of events.
//
// With w and C(K, b) as in events/hartley.hpp, v_b = w[b] C(K, b), and any member of the hull, here
// the mean of the generators, as a control variate,
//     GH = -sum_b v_b E[min_m D_m(B_b)],    D_m = P_m - mean,    B_b a random event of size b,
// since sum_b v_b b/K = log2 K. The prefixes of one random permutation give an event of each size.
// The prefixes of the reversed permutation are the complements, where min D = -max D: the
// antithetic half of a pair costs no more than a maximum. Sizes 1 and K - 1 are summed exactly.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "events/hartley.hpp"
#include "runtime/parallel_for.hpp"
#include "simd/aligned_buffer.hpp"

namespace credalens {
namespace {

// Instances of a block: they share the permutations, so that a step of a chain reads contiguous
// memory and needs no minimum over lanes. An unused lane holds zeros.
constexpr int kBlockLanes = 8;
constexpr std::int64_t kFirstRound = 32;   // the standard error of fewer pairs is not reliable
constexpr std::int64_t kDrawnAtOnce = 32;  // permutations, fewer for many classes
constexpr std::int64_t kDrawnNumbers = std::int64_t{1} << 19;
// Numbers of a block from which all threads process the same block, to save memory. Permutations
// take so long then that they are distributed as well as instances.
constexpr std::size_t kSharedNumbers = std::size_t{1} << 19;
// Numbers of a block that stay in the second-level cache. Of larger ones, the classes so many steps
// further on in a chain, at arbitrary addresses, are prefetched.
constexpr std::size_t kCachedNumbers = std::size_t{1} << 16;
constexpr int kAhead = 8;

std::uint64_t splitmix64(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Permutation number `index` of the seed, by Fisher and Yates. The index is the counter of the
// stream, so that permutations can be drawn in any order. A multiplication in place of a
// rejection biases a choice by less than K / 2^32.
void draw_permutation(std::uint64_t seed, std::int64_t index, int K, std::uint32_t* order) {
    std::uint64_t stream = splitmix64(seed) + static_cast<std::uint64_t>(index);
    std::uint64_t state = splitmix64(stream);
    for (int y = 0; y < K; ++y) order[y] = static_cast<std::uint32_t>(y);
    for (int left = K; left > 1; --left) {
        const std::uint64_t pick = (splitmix64(state) >> 32) * static_cast<std::uint64_t>(left);
        std::swap(order[left - 1], order[pick >> 32]);
    }
}

// A block of instances: their differences (K, M, kBlockLanes), the exact part, and the running
// moments of the sampled part (Welford's algorithm, accurate for a small variance of a large mean).
struct Block {
    Block(int M, int K) : d(static_cast<std::size_t>(K) * M * kBlockLanes) {}

    AlignedBuffer d;
    alignas(64) double exact[kBlockLanes] = {}, mean[kBlockLanes] = {}, squares[kBlockLanes] = {};
    std::size_t instance[kBlockLanes] = {};
    int filled = 0;
};

void add_pair(const double* total, std::int64_t count, Block& block) {
    for (int i = 0; i < kBlockLanes; ++i) {
        const double before = total[i] - block.mean[i];
        block.mean[i] += before / static_cast<double>(count);
        block.squares[i] += before * (total[i] - block.mean[i]);
    }
}

// The sizes 1 and K - 1, which for K = 2 are the same.
void exact_sizes(int M, int K, const double* v, Block& block) {
    for (int y = 0; y < K; ++y) {
        const double* d = block.d.data() + static_cast<std::size_t>(y) * M * kBlockLanes;
        for (int i = 0; i < kBlockLanes; ++i) {
            double most = 0.0, least = 0.0;
            for (int m = 0; m < M; ++m) {
                most = std::max(most, d[m * kBlockLanes + i]);
                least = std::min(least, d[m * kBlockLanes + i]);
            }
            block.exact[i] += ((K > 2 ? v[K - 1] * most : 0.0) - v[1] * least) / K;
        }
    }
}

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "events/hartley_sample-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// A group of blocks, which one thread processes or, if there are fewer groups than threads,
// `threads` threads, permutation by permutation.
template <class T>
class Group {
public:
    Group(const T* P, int M, int K, const double* v, const double* half_v, int threads)
        : P_(P), M_(M), K_(K), v_(v), half_v_(half_v), threads_(threads),
          drawn_at_once_(std::clamp<std::int64_t>(
              kDrawnNumbers / K, static_cast<std::int64_t>(resolve_threads(threads, kDrawnAtOnce)),
              kDrawnAtOnce)),
          rows_(static_cast<std::size_t>(M) * padded_size(K)),
          orders_(static_cast<std::size_t>(drawn_at_once_) * K) {}

    void fill(std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if ((i - begin) % kBlockLanes == 0) blocks_.push_back(std::make_unique<Block>(M_, K_));
            Block& block = *blocks_.back();
            const int lane = block.filled++;
            block.instance[lane] = i;
            load(i, lane, block);
        }
        for (auto& block : blocks_) exact_sizes(M_, K_, v_, *block);
    }

    // Samples pairs `done` to `count`.
    void sample(std::uint64_t seed, std::int64_t done, std::int64_t count) {
        const std::size_t sums = static_cast<std::size_t>(M_) * kBlockLanes;
        for (std::int64_t first = done; first < count; first += drawn_at_once_) {
            const std::size_t drawn = std::min(drawn_at_once_, count - first);
            AlignedBuffer totals(blocks_.size() * drawn * kBlockLanes);
            const auto order = [&](std::size_t j) { return orders_.data() + j * K_; };
            parallel_for(drawn, 1, threads_, [&](std::size_t begin, std::size_t end) {
                for (std::size_t j = begin; j < end; ++j)
                    draw_permutation(seed, first + static_cast<std::int64_t>(j), K_, order(j));
            });
            parallel_for(
                blocks_.size() * drawn, 1, threads_, [&] { return AlignedBuffer(sums); },
                [&](AlignedBuffer& scratch, std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i)
                        CREDALENS_DISPATCH(sample_pair, blocks_[i / drawn]->d.data(), M_, K_,
                                           half_v_, order(i % drawn), scratch.data(),
                                           totals.data() + i * kBlockLanes);
                });
            for (std::size_t i = 0; i < blocks_.size() * drawn; ++i)
                add_pair(totals.data() + i * kBlockLanes,
                         first + static_cast<std::int64_t>(i % drawn) + 1, *blocks_[i / drawn]);
        }
    }

    // Calls finished(instance, value, standard error) for each instance; removes those for which it
    // returns true, and moves the others together.
    template <class Finished>
    void report(std::int64_t count, const Finished& finished) {
        std::size_t kept = 0;
        for (std::size_t from = 0; from < blocks_.size() * kBlockLanes; ++from) {
            const Block& source = *blocks_[from / kBlockLanes];
            const int lane = static_cast<int>(from % kBlockLanes);
            if (lane >= source.filled) break;  // only the last block has empty lanes
            const double pairs = static_cast<double>(count);
            const double variance =
                count > 1 ? source.squares[lane] / (pairs * (pairs - 1.0)) : 0.0;
            if (finished(source.instance[lane], source.exact[lane] + source.mean[lane],
                         std::sqrt(variance))) {
                continue;
            }
            if (from != kept) move(source, lane, *blocks_[kept / kBlockLanes], kept % kBlockLanes);
            ++kept;
        }
        blocks_.resize((kept + kBlockLanes - 1) / kBlockLanes);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            blocks_[b]->filled =
                static_cast<int>(std::min<std::size_t>(kept - b * kBlockLanes, kBlockLanes));
        }
    }

    bool empty() const { return blocks_.empty(); }

private:
    void load(std::size_t instance, int lane, Block& block) {
        CREDALENS_DISPATCH(load_differences, P_ + instance * static_cast<std::size_t>(M_) * K_, M_,
                           K_, lane, rows_.data(), block.d.data());
    }

    void move(const Block& source, int lane, Block& target, int to) {
        target.instance[to] = source.instance[lane];
        target.exact[to] = source.exact[lane];
        target.mean[to] = source.mean[lane];
        target.squares[to] = source.squares[lane];
        load(target.instance[to], to, target);
    }

    const T* P_;
    int M_, K_;
    const double *v_, *half_v_;
    int threads_;
    std::int64_t drawn_at_once_;
    AlignedBuffer rows_;
    std::vector<std::uint32_t> orders_;
    std::vector<std::unique_ptr<Block>> blocks_;
};

// Instances of a group: enough to share the permutations, few enough to occupy all threads and to
// keep the differences within 16 MB.
std::size_t group_size(std::size_t n, int M, int K, int threads) {
    const std::size_t fair = n / (2 * static_cast<std::size_t>(std::max(threads, 1)));
    const std::size_t fitting = (std::size_t{1} << 21) / (static_cast<std::size_t>(M) * K);
    const std::size_t wanted = std::min<std::size_t>({fair, fitting, 64});
    return std::max<std::size_t>(wanted / kBlockLanes, 1) * kBlockLanes;
}

}  // namespace

template <class T>
void hartley_sample(const T* P, std::size_t n, int M, int K, const double* log_v,
                    std::uint64_t seed, std::int64_t n_pairs, double rtol, double atol,
                    std::int64_t max_pairs, double* value, double* standard_error, int threads) {
    std::vector<double> v(K + 1), half_v(K + 1);
    for (int b = 1; b < K; ++b) {
        v[b] = std::exp(log_v[b]);
        half_v[b] = 0.5 * v[b];
    }
    const bool sampled = K > 3 && M > 1;
    const bool adaptive = n_pairs == 0;
    const std::int64_t wanted = std::max<std::int64_t>(adaptive ? max_pairs : n_pairs, 2);
    const std::int64_t last = sampled ? wanted : 0;
    const std::size_t size = group_size(n, M, K, threads), groups = (n + size - 1) / size;
    const std::size_t numbers = static_cast<std::size_t>(M) * K * kBlockLanes;
    const bool few = numbers > kSharedNumbers ||
                     groups < static_cast<std::size_t>(resolve_threads(threads, 2));
    parallel_for(n, size, few ? 1 : threads, [&](std::size_t begin, std::size_t end) {
        Group<T> group(P, M, K, v.data(), half_v.data(), few ? threads : 1);
        for (std::size_t first = begin; first < end; first += size) {  // a range may be longer
            group.fill(first, std::min(end, first + size));
            std::int64_t done = 0;
            std::int64_t count = adaptive ? std::min(kFirstRound, last) : last;
            while (!group.empty()) {
                group.sample(seed, done, count);
                group.report(count, [&](std::size_t i, double estimate, double error) {
                    value[i] = estimate;
                    standard_error[i] = error;
                    return count >= last || error <= std::max(rtol * estimate, atol);
                });
                done = count;
                count = std::min(2 * count, last);
            }
        }
    });
}

template void hartley_sample(const float*, std::size_t, int, int, const double*, std::uint64_t,
                             std::int64_t, double, double, std::int64_t, double*, double*, int);
template void hartley_sample(const double*, std::size_t, int, int, const double*, std::uint64_t,
                             std::int64_t, double, double, std::int64_t, double*, double*, int);

}  // namespace credalens
