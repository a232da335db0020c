#include "evaluation/resample_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simd/target.hpp"

namespace credalens {
namespace {

constexpr int kStreams = kBatch / 4;  // a step of all streams gives 16 bits for each resample

std::uint64_t splitmix(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Independent generators xoshiro256++ (Blackman, Vigna 2021), one step of all at a time.
struct Streams {
    std::uint64_t state[4][kStreams];

    explicit Streams(std::uint64_t seed) {
        for (auto& word : state)
            for (auto& one : word) one = splitmix(seed);
    }
};

CREDALENS_INLINE std::uint64_t rotate(std::uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

CREDALENS_INLINE void step(Streams& streams, std::uint64_t* CREDALENS_RESTRICT out) {
    auto& s = streams.state;
    for (int j = 0; j < kStreams; ++j) {
        const std::uint64_t shifted = s[1][j] << 17;
        out[j] = rotate(s[0][j] + s[3][j], 23) + s[0][j];
        s[2][j] ^= s[0][j];
        s[3][j] ^= s[1][j];
        s[1][j] ^= s[2][j];
        s[0][j] ^= s[3][j];
        s[2][j] ^= shifted;
        s[3][j] = rotate(s[3][j], 45);
    }
}

// The Poisson distribution function in steps of 2^-32.
struct Poisson {
    static constexpr int kMost = 12;  // larger counts have a probability below 2^-32
    std::uint32_t below[kMost];

    explicit Poisson(double mean) {
        double term = std::exp(-mean), sum = 0.0;
        for (int k = 0; k < kMost; ++k) {
            sum += term;
            term *= mean / (k + 1);
            below[k] = static_cast<std::uint32_t>(std::min(sum * 0x1p32, 0x1p32 - 1.0));
        }
    }
};

}  // namespace
}  // namespace credalens

#define CREDALENS_TARGET_INCLUDE "evaluation/resample_counts-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {

// Exactly multinomial in each resample: independent Poisson counts are multinomial given their sum,
// and the draws that are missing are made one by one. The mean of the sum is five standard
// deviations below the number of draws; where it is exceeded nevertheless, all draws are made one
// by one.
void draw_resamples(std::uint64_t seed, std::size_t rows, std::uint8_t* counts) {
    Streams streams(seed);
    const double n = static_cast<double>(rows), mean = std::max(0.0, 1.0 - 5.0 / std::sqrt(n));
    std::uint64_t drawn[kBatch] = {};
    CREDALENS_DISPATCH(draw_poisson, streams, Poisson(mean), splitmix(seed), rows, counts, drawn);
    for (int j = 0; j < kBatch; ++j) {
        if (drawn[j] > rows) {
            for (std::size_t i = 0; i < rows; ++i) counts[i * kBatch + j] = 0;
            drawn[j] = 0;
        }
    }
    std::uint64_t bits[kStreams];
    int unused = 0;
    for (int j = 0; j < kBatch; ++j) {
        for (; drawn[j] < rows; ++drawn[j]) {
            if (unused == 0) step(streams, bits), unused = kStreams;
            const double uniform = static_cast<double>(bits[--unused] >> 11) * 0x1p-53;
            const auto row = std::min(static_cast<std::size_t>(uniform * n), rows - 1);
            ++counts[row * kBatch + j];
        }
    }
}

}  // namespace credalens
