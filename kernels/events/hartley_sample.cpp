// Generalized Hartley by sampling chains of events.
//
// With w and C(K, b) as in events/subset_sums.hpp, v_b = w[b] C(K, b), and any member of the hull, here the
// mean of the generators, as a control variate,
//     GH = -sum_b v_b E[min_m D_m(B_b)],    D_m = P_m - mean,    B_b a random event of size b,
// since sum_b v_b b/K = log2 K. The prefixes of one random permutation give an event of each
// size. The prefixes of the reversed permutation are the complements, where min D = -max D: the
// antithetic half of a pair costs no more than a maximum. Sizes 1 and K - 1 are summed exactly.
#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"
#include "events/subset_sums.hpp"

namespace credalens {
namespace {

// Instances are the lanes of the vectors: they share the permutations, so a step along a chain
// reads contiguous memory and needs no horizontal minimum. An unused lane holds zeros.
constexpr int lanes = 8;
constexpr std::int64_t first_round = 32;  // fewer, and the standard error itself is a guess
constexpr std::int64_t tile = 32;         // permutations that are drawn at a time

std::uint64_t splitmix64(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Permutation number `index` of the seed, by Fisher and Yates. The index is the counter of the
// stream, so that it does not matter who draws which permutation. A multiplication in place of a
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

// Adds the next class to the sums of G members and takes their maximum and minimum.
template <int G>
CREDALENS_INLINE void advance(const double* CREDALENS_RESTRICT d, double* CREDALENS_RESTRICT sums,
                              double* CREDALENS_RESTRICT most, double* CREDALENS_RESTRICT least) {
    for (int i = 0; i < lanes; ++i) {
        double high = most[i], low = least[i];
#pragma GCC unroll 8
        for (int g = 0; g < G; ++g) {
            const double sum = sums[g * lanes + i] + d[g * lanes + i];
            sums[g * lanes + i] = sum;
            high = high < sum ? sum : high;
            low = sum < low ? sum : low;
        }
        most[i] = high;
        least[i] = low;
    }
}

template <int G>
CREDALENS_INLINE void advance_rest(int members, const double* d, double* sums, double* most,
                                   double* least) {
    if constexpr (G > 0) {
        if (members == G) {
            advance<G>(d, sums, most, least);
        } else {
            advance_rest<G - 1>(members, d, sums, most, least);
        }
    }
}

// One block of lanes: its differences (K, M, lanes), the exact part, and the running moments of
// the sampled part (Welford's, so that a small variance survives a large mean).
struct Block {
    Block(int M, int K) : d(static_cast<std::size_t>(K) * M * lanes) {}

    AlignedBuffer d;
    alignas(64) double exact[lanes] = {}, mean[lanes] = {}, squares[lanes] = {};
    std::size_t instance[lanes] = {};
    int filled = 0;
};

// One pair of chains: the terms of the sizes 2 to K - 2. The ends start from 0, the control
// variate's own difference. `sums` has room for M + 2 vectors: the ends live there because GCC
// takes local arrays apart into scalars between the groups of members.
CREDALENS_CLONES void sample_pair(const double* d, int M, int K, const double* half_v,
                                  const std::uint32_t* order, double* CREDALENS_RESTRICT sums,
                                  double* CREDALENS_RESTRICT total) {
    const std::size_t size = static_cast<std::size_t>(M) * lanes;
    double *most = sums + size, *least = most + lanes;
    for (std::size_t i = 0; i < size; ++i) sums[i] = d[order[0] * size + i];
    for (int i = 0; i < lanes; ++i) total[i] = 0.0;
    for (int b = 2; b <= K - 2; ++b) {
        const double* step = d + order[b - 1] * size;
        for (int i = 0; i < lanes; ++i) most[i] = least[i] = 0.0;
        int m = 0;
        for (; m + 8 <= M; m += 8) {
            advance<8>(step + m * lanes, sums + m * lanes, most, least);
        }
        advance_rest<7>(M - m, step + m * lanes, sums + m * lanes, most, least);
        for (int i = 0; i < lanes; ++i) {
            total[i] += half_v[K - b] * most[i] - half_v[b] * least[i];
        }
    }
}

void add_pair(const double* total, std::int64_t count, Block& block) {
    for (int i = 0; i < lanes; ++i) {
        const double before = total[i] - block.mean[i];
        block.mean[i] += before / static_cast<double>(count);
        block.squares[i] += before * (total[i] - block.mean[i]);
    }
}

// The sizes 1 and K - 1, which for K = 2 are the same.
void exact_sizes(int M, int K, const double* v, Block& block) {
    for (int y = 0; y < K; ++y) {
        const double* d = block.d.data() + static_cast<std::size_t>(y) * M * lanes;
        for (int i = 0; i < lanes; ++i) {
            double most = 0.0, least = 0.0;
            for (int m = 0; m < M; ++m) {
                most = std::max(most, d[m * lanes + i]);
                least = std::min(least, d[m * lanes + i]);
            }
            block.exact[i] += ((K > 2 ? v[K - 1] * most : 0.0) - v[1] * least) / K;
        }
    }
}

// Puts an instance into a lane. Differences from row 0 come first: for equal rows they are
// exactly zero, which the differences from a rounded mean are not.
template <class T>
void fill_lane(const T* P, int M, int K, int lane, double* rows, double* d) {
    const std::size_t stride = whole_steps(K);
    normalised_rows(P, M, K, rows);
    for (int y = 0; y < K; ++y) {
        double mean = 0.0;
        for (int m = 1; m < M; ++m) mean += rows[m * stride + y] - rows[y];
        mean /= M;
        for (int m = 0; m < M; ++m) {
            d[(static_cast<std::size_t>(y) * M + m) * lanes + lane] =
                (rows[m * stride + y] - rows[y]) - mean;
        }
    }
}

// A group of blocks: one thread takes all its instances to the end.
template <class T>
class Group {
public:
    Group(const T* P, int M, int K, const double* v, const double* half_v)
        : P_(P), M_(M), K_(K), v_(v), half_v_(half_v), rows_(M * whole_steps(K)),
          sums_((static_cast<std::size_t>(M) + 2) * lanes), orders_(tile * K) {}

    void fill(std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if ((i - begin) % lanes == 0) blocks_.push_back(std::make_unique<Block>(M_, K_));
            Block& block = *blocks_.back();
            const int lane = block.filled++;
            block.instance[lane] = i;
            load(i, lane, block);
        }
        for (auto& block : blocks_) exact_sizes(M_, K_, v_, *block);
    }

    // Takes the number of pairs from `done` to `count`.
    void sample(std::uint64_t seed, std::int64_t done, std::int64_t count) {
        alignas(64) double total[lanes];
        for (std::int64_t first = done; first < count; first += tile) {
            const std::int64_t drawn = std::min(tile, count - first);
            for (std::int64_t j = 0; j < drawn; ++j) {
                draw_permutation(seed, first + j, K_, orders_.data() + j * K_);
            }
            for (auto& block : blocks_) {
                for (std::int64_t j = 0; j < drawn; ++j) {
                    sample_pair(block->d.data(), M_, K_, half_v_, orders_.data() + j * K_,
                                sums_.data(), total);
                    add_pair(total, first + j + 1, *block);
                }
            }
        }
    }

    // Calls finished(instance, value, standard error) for each instance and closes the gaps that
    // those leave for which it returns true.
    template <class Finished>
    void report(std::int64_t count, const Finished& finished) {
        std::size_t kept = 0;
        for (std::size_t from = 0; from < blocks_.size() * lanes; ++from) {
            const Block& source = *blocks_[from / lanes];
            const int lane = static_cast<int>(from % lanes);
            if (lane >= source.filled) break;  // only the last block has empty lanes
            const double pairs = static_cast<double>(count);
            const double variance =
                count > 1 ? source.squares[lane] / (pairs * (pairs - 1.0)) : 0.0;
            if (finished(source.instance[lane], source.exact[lane] + source.mean[lane],
                         std::sqrt(variance))) {
                continue;
            }
            if (from != kept) move(source, lane, *blocks_[kept / lanes], kept % lanes);
            ++kept;
        }
        blocks_.resize((kept + lanes - 1) / lanes);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            blocks_[b]->filled = static_cast<int>(std::min<std::size_t>(kept - b * lanes, lanes));
        }
    }

    bool empty() const { return blocks_.empty(); }

private:
    void load(std::size_t instance, int lane, Block& block) {
        fill_lane(P_ + instance * M_ * K_, M_, K_, lane, rows_.data(), block.d.data());
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
    AlignedBuffer rows_, sums_;
    std::vector<std::uint32_t> orders_;
    std::vector<std::unique_ptr<Block>> blocks_;
};

// Instances in a group: enough to share the drawing of the permutations, few enough to occupy
// all threads and to keep the differences within some 16 MB.
std::size_t group_size(std::size_t n, int M, int K, int threads) {
    const std::size_t fair = n / (2 * static_cast<std::size_t>(std::max(threads, 1)));
    const std::size_t fitting = (std::size_t{1} << 21) / (static_cast<std::size_t>(M) * K);
    const std::size_t wanted = std::min<std::size_t>({fair, fitting, 64});
    return std::max<std::size_t>(wanted / lanes, 1) * lanes;
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
    parallel_for(n, group_size(n, M, K, threads), threads,
                 [&](std::size_t begin, std::size_t end) {
        Group<T> group(P, M, K, v.data(), half_v.data());
        group.fill(begin, end);
        std::int64_t done = 0;
        std::int64_t count = adaptive ? std::min(first_round, last) : last;
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
    });
}

template void hartley_sample(const float*, std::size_t, int, int, const double*, std::uint64_t,
                             std::int64_t, double, double, std::int64_t, double*, double*, int);
template void hartley_sample(const double*, std::size_t, int, int, const double*, std::uint64_t,
                             std::int64_t, double, double, std::int64_t, double*, double*, int);

}  // namespace credalens
