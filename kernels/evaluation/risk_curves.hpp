// Risk-coverage curves of a batch of resamples, accumulated row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "evaluation/resample_counts.hpp"
#include "simd/target.hpp"

namespace credalens {
namespace {

constexpr std::size_t kPrefetchDistance = 24;  // rows
constexpr std::size_t kExact = 1024;  // first rows, whose harmonic numbers are not approximated
constexpr std::size_t kRange = 64;  // a range of rows is this much shorter than the rows before it

// ------------------------------------------------------------------------------ harmonic sums

// H(x) = digamma(x + 1) + gamma, which continues the harmonic numbers to real x >= 0: up to 12 by
// the recurrence H(x) = H(x + 1) - 1 / (x + 1), above by the asymptotic series in x + 1/2.
double harmonic(double x) {
    double sum = 0.57721566490153286061;
    for (; x < 12.0; x += 1.0) sum -= 1.0 / (x + 1.0);
    const double u = 1.0 / ((x + 0.5) * (x + 0.5));
    return sum + std::log(x + 0.5) +
           u * (1.0 / 24 - u * (7.0 / 960 - u * (31.0 / 8064 - u * (127.0 / 30720))));
}

// The sum of H(k) over whole k from 0 to x - 1, continued to real x.
double harmonic_sum(double x) {
    return x * (harmonic(x) - 1.0);
}

// ------------------------------------------------------------------------------------- curves

// In the order of a score, let each of the units of weight C + 1, ..., C + T have the loss m. The
// sum of r_k over k <= x is then the sum of m (H(x) - H(k - 1)) over the units k <= x, and the sum
// of D_k is that of m (x + 1 - k). Rows without loss change the position C only.
struct Curves {
    double weight[kBatch] = {};     // C
    double loss[kBatch] = {};       // the sum of m
    double harmonics[kBatch] = {};  // the sum of m H(k - 1)
    double positions[kBatch] = {};  // the sum of m k

    // Appends a block of equal scores, or one row, at the position C of resample j. `sums` is the
    // table of `harmonic_sum` for whole numbers, or null.
    CREDALENS_INLINE void append(int j, double C, double T, double block_loss, const double* sums) {
        const double end = C + T, mean = block_loss / T;
        harmonics[j] +=
            mean * (sums ? sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(C)]
                         : harmonic_sum(end) - harmonic_sum(C));
        positions[j] += block_loss * (C + 0.5 * (T + 1.0));
        loss[j] += block_loss;
    }
};

// The rows with a loss of a range that is short relative to its distance from 0, as moments of
// their positions: harmonic numbers over such a range are a cubic to 1e-9.
struct Moments {
    double start[kBatch] = {};    // position at the first row
    double sums[4][kBatch] = {};  // of m t^q over the units start + 1 + t
    std::size_t first_row = 0, last_row = 0;

    CREDALENS_INLINE void begin(std::size_t row, const std::int32_t* position) {
        first_row = row;
        for (int j = 0; j < kBatch; ++j) start[j] = position[j];
    }

    // Adds a block of count(j) units with the loss loss(j) together.
    template <class Count, class Loss>
    CREDALENS_INLINE void add(std::size_t row, const std::int32_t* position, const Count& count,
                              const Loss& loss) {
        last_row = row;
        for (int j = 0; j < kBatch; ++j) {
            const double T = count(j), S = loss(j), spread = (T * T - 1.0) / 12.0;
            const double t = position[j] - start[j] + 0.5 * (T - 1.0);  // the mean of the units
            sums[0][j] += S;
            sums[1][j] += S * t;
            sums[2][j] += S * (t * t + spread);
            sums[3][j] += S * t * (t * t + 3.0 * spread);
        }
    }

    void flush(Curves& c, int j) {
        const double m0 = sums[0][j], m1 = sums[1][j], m2 = sums[2][j], m3 = sums[3][j];
        if (m0 == 0.0 && m1 == 0.0 && m2 == 0.0) return;
        const double d = 0.5 * static_cast<double>(last_row - first_row);  // the centre
        const double u = 1.0 / (start[j] + d + 0.5);
        const double first = m1 - d * m0, second = m2 - 2.0 * d * m1 + d * d * m0;
        const double third = m3 - 3.0 * d * (m2 - d * m1) - d * d * d * m0;
        c.harmonics[j] += m0 * harmonic(start[j] + d) + first * u * (1.0 - u * u / 12.0) -
                          0.5 * second * u * u + third * u * u * u / 3.0;
        c.positions[j] += m0 * (start[j] + 1.0) + m1;
        c.loss[j] += m0;
        for (auto& sum : sums) sum[j] = 0.0;
    }
};

// Reads the curves of one score at the cuts.
struct CutReader {
    const double* cut;
    std::size_t cuts;
    double* cut_loss;  // (cuts, resamples), at the first resample of the batch
    double* cut_risk;
    std::size_t resamples;
    int count;  // resamples in this batch
    double scale[kBatch];
    std::size_t index[kBatch] = {};
    double next[kBatch];  // the next cut, infinite if none is left

    void start(const double* scales) {
        std::copy(scales, scales + kBatch, scale);
        for (int j = 0; j < kBatch; ++j) next[j] = cuts ? cut[0] * scale[j] : INFINITY;
    }

    // Reads resample j at the cuts up to the end of a block that begins at C.
    void read(const Curves& c, int j, double C, double mean, double end) {
        while (next[j] <= end) {
            const double x = next[j], part = std::max(x - C, 0.0);
            const double inside = part > 0.0 ? harmonic_sum(x) - harmonic_sum(C) : 0.0;
            store(j, c.loss[j] + mean * part, c.harmonics[j] + mean * inside);
        }
    }

    void finish(const Curves& c, int j) {  // at the cuts after the last row with a loss
        while (index[j] < cuts) store(j, c.loss[j], c.harmonics[j]);
    }

private:
    void store(int j, double loss, double harmonics) {
        if (j < count) {
            cut_loss[index[j] * resamples + j] = loss;
            cut_risk[index[j] * resamples + j] = loss * harmonic(next[j]) - harmonics;
        }
        ++index[j];
        next[j] = index[j] < cuts ? cut[index[j]] * scale[j] : INFINITY;
    }
};

// What a row is in the order of a score: its tie block has a loss, it does not begin the block, it
// does not end it.
constexpr std::uint8_t kLoss = 1, kInside = 2, kOpen = 4;

struct Ranking {
    std::size_t rows;
    const std::int32_t* order;
    const std::uint8_t* kind;
    const double* loss;  // in the original order of the rows
    const double* weight;
};

}  // namespace
}  // namespace credalens
