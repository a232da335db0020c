#include "evaluation/resampled_risks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/parallel_for.hpp"
#include "simd/target.hpp"
#include "evaluation/resample_counts.hpp"

namespace credalens {
namespace {

constexpr std::size_t kPrefetch = 24;
constexpr std::size_t kExact = 1024;  // first rows, whose harmonic numbers are not approximated
constexpr std::size_t kRange = 64;    // a range of rows is this much shorter than the rows before it

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
double harmonic_sum(double x) { return x * (harmonic(x) - 1.0); }

std::vector<double> harmonic_sums(std::size_t most) {
    std::vector<double> sums(most + 1);
    for (std::size_t k = 0; k <= most; ++k) sums[k] = harmonic_sum(static_cast<double>(k));
    return sums;
}

// ------------------------------------------------------------------------------------- curves

// In the order of a score, let each of the units of weight C + 1, ..., C + T have the loss m. The sum
// of r_k over k <= x is then the sum of m (H(x) - H(k - 1)) over the units k <= x, and the sum of D_k
// is that of m (x + 1 - k). Rows without loss change the position C only.
struct Curves {
    double weight[kLanes] = {};     // C
    double loss[kLanes] = {};       // the sum of m
    double harmonics[kLanes] = {};  // the sum of m H(k - 1)
    double positions[kLanes] = {};  // the sum of m k

    // Appends a block of equal scores, or one row, at the position C of a lane. `sums` is the table
    // of `harmonic_sum` for whole numbers, or null.
    CREDALENS_INLINE void append(int j, double C, double T, double block_loss, const double* sums) {
        const double end = C + T, mean = block_loss / T;
        harmonics[j] += mean * (sums ? sums[static_cast<std::size_t>(end)] -
                                           sums[static_cast<std::size_t>(C)]
                                     : harmonic_sum(end) - harmonic_sum(C));
        positions[j] += block_loss * (C + 0.5 * (T + 1.0));
        loss[j] += block_loss;
    }
};

// The rows with a loss of a range that is short relative to its distance from 0, as moments of their
// positions: harmonic numbers over such a range are a cubic to 1e-9.
struct Moments {
    double start[kLanes] = {};           // position at the first row
    double sums[4][kLanes] = {};         // of m t^q over the units start + 1 + t
    std::size_t first_row = 0, last_row = 0;

    CREDALENS_INLINE void begin(std::size_t row, const std::int32_t* position) {
        first_row = row;
        for (int j = 0; j < kLanes; ++j) start[j] = position[j];
    }

    // Adds a block of count(j) units with the loss loss(j) together.
    template <class Count, class Loss>
    CREDALENS_INLINE void add(std::size_t row, const std::int32_t* position, const Count& count,
                              const Loss& loss) {
        last_row = row;
        for (int j = 0; j < kLanes; ++j) {
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
    int lanes;  // resamples in this batch
    double scale[kLanes];
    std::size_t index[kLanes] = {};
    double next[kLanes];  // the next cut, infinite if none is left

    void start(const double* scales) {
        std::copy(scales, scales + kLanes, scale);
        for (int j = 0; j < kLanes; ++j) next[j] = cuts ? cut[0] * scale[j] : INFINITY;
    }

    // Reads a lane at the cuts up to the end of a block that begins at C.
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
        if (j < lanes) {
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

// Reads the cuts that a block reaches, and returns the number of rows before the next can be reached.
CREDALENS_INLINE std::size_t read_cuts(CutReader& cuts, Moments& moments, Curves& c,
                                       const std::int32_t* position, const std::int32_t* count,
                                       const double* loss) {
    double gap = INFINITY;
    for (int j = 0; j < kLanes; ++j) {
        const double end = position[j] + count[j];
        if (cuts.next[j] <= end) {
            moments.flush(c, j);
            cuts.read(c, j, position[j], count[j] > 0 ? loss[j] / count[j] : 0.0, end);
        }
        gap = std::min(gap, cuts.next[j] - end);
    }
    return static_cast<std::size_t>(std::min(gap / 255.0, 1e15));  // no count is above 255
}

// The counts of a row in the order of a score; those of a row further on are fetched.
CREDALENS_INLINE const std::uint8_t* row_counts(const Ranking& ranking, const std::uint8_t* counts,
                                                std::size_t i) {
#if defined(__GNUC__)
    const std::size_t ahead = std::min(i + kPrefetch, ranking.rows - 1);
    __builtin_prefetch(counts + static_cast<std::size_t>(ranking.order[ahead]) * kLanes);
#endif
    return counts + static_cast<std::size_t>(ranking.order[i]) * kLanes;
}

// Adds the counts of rows without ties and without loss from i on, and returns the first other row.
CREDALENS_INLINE std::size_t pass_rows(const Ranking& ranking, const std::uint8_t* counts,
                                       std::size_t i, std::int32_t* position) {
    std::uint16_t sum[kLanes] = {};
    const std::size_t end = std::min(ranking.rows, i + 256);  // 256 counts sum to less than 2^16
    for (; i < end && ranking.kind[i] == 0; ++i) {
        const std::uint8_t* count = row_counts(ranking, counts, i);
        for (int j = 0; j < kLanes; ++j) sum[j] += count[j];
    }
    for (int j = 0; j < kLanes; ++j) position[j] += sum[j];
    return i;
}

// Unit weights. Rows without ties and without loss, usually most, cost one vector addition.
CREDALENS_CLONES void trace_counts(const Ranking& ranking, const std::uint8_t* counts,
                                   const double* sums, Curves& c, CutReader& cuts) {
    Moments moments;
    std::int32_t position[kLanes] = {}, block[kLanes] = {};
    double loss[kLanes] = {};  // of the block
    std::size_t first = 0, next_range = kExact, next_cut = 0;
    for (std::size_t i = 0; i < ranking.rows; ++i) {
        const std::uint8_t kind = ranking.kind[i];
        if (kind == 0) {
            i = pass_rows(ranking, counts, i, position) - 1;
            continue;
        }
        if (!(kind & kInside)) first = i;
        const std::uint8_t* count = row_counts(ranking, counts, i);
        const double own = ranking.loss[ranking.order[i]];
        // Blocks that are short relative to their position.
        const bool brief = first >= kExact && i - first <= first / kRange;
        if (brief && !(kind & kOpen) && i >= next_range) {
            for (int j = 0; j < kLanes; ++j) moments.flush(c, j);
            moments.begin(i, position);
            next_range = i + i / kRange;
        }
        if (kind == kLoss && brief && i < next_cut) {
            moments.add(i, position, [&](int j) { return count[j]; },
                        [&](int j) { return own * count[j]; });
            for (int j = 0; j < kLanes; ++j) position[j] += count[j];
            continue;
        }
        for (int j = 0; j < kLanes; ++j) block[j] += count[j];
        if (own != 0.0)
            for (int j = 0; j < kLanes; ++j) loss[j] += own * count[j];
        if (kind & kOpen) continue;
        if (i >= next_cut) next_cut = i + 1 + read_cuts(cuts, moments, c, position, block, loss);
        if (brief) {
            moments.add(i, position, [&](int j) { return block[j]; },
                        [&](int j) { return loss[j]; });
        } else {
            for (int j = 0; j < kLanes; ++j)
                if (block[j] > 0) c.append(j, position[j], block[j], loss[j], sums);
        }
        for (int j = 0; j < kLanes; ++j) {
            position[j] += block[j];
            block[j] = 0;
            loss[j] = 0.0;
        }
    }
    for (int j = 0; j < kLanes; ++j) {
        moments.flush(c, j);
        c.weight[j] = position[j];
    }
}

void trace_weights(const Ranking& ranking, const std::uint8_t* counts, Curves& c, CutReader& cuts) {
    double weight[kLanes] = {}, loss[kLanes] = {};  // of the block
    for (std::size_t i = 0; i < ranking.rows; ++i) {
        const std::size_t row = static_cast<std::size_t>(ranking.order[i]);
        for (int j = 0; j < kLanes; ++j) {
            const double own = counts[row * kLanes + j] * ranking.weight[row];
            weight[j] += own;
            loss[j] += own * ranking.loss[row];
        }
        if (ranking.kind[i] & kOpen) continue;
        for (int j = 0; j < kLanes; ++j) {
            if (weight[j] <= 0.0) continue;
            const double end = c.weight[j] + weight[j];
            cuts.read(c, j, c.weight[j], loss[j] / weight[j], end);
            c.append(j, c.weight[j], weight[j], loss[j], nullptr);
            c.weight[j] = end;
            weight[j] = loss[j] = 0.0;
        }
    }
}

// One batch of resamples: all scores on the same counts.
class Batch {
public:
    Batch(const ScoredRows& data, const std::vector<std::uint8_t>& kind,
          const std::vector<double>& table, const ResampledSums& sums, std::size_t resamples)
        : data_(data), kind_(kind), table_(table), sums_(sums), resamples_(resamples) {}

    void run(std::size_t first, const Counts& counts) const {
        double scale[kLanes];
        cut_scales(counts, scale);
        for (std::size_t s = 0; s < data_.scores; ++s) trace(s, first, counts, scale);
    }

private:
    // The weight of each resample relative to that of all rows.
    void cut_scales(const Counts& counts, double* scale) const {
        std::fill(scale, scale + kLanes, data_.weight ? 0.0 : 1.0);
        if (!data_.weight) return;
        double whole = 0.0;
        for (std::size_t i = 0; i < data_.rows; ++i) {
            whole += data_.weight[i];
            for (int j = 0; j < kLanes; ++j) scale[j] += counts.data()[i * kLanes + j] * data_.weight[i];
        }
        for (int j = 0; j < kLanes; ++j) scale[j] /= whole;
    }

    void trace(std::size_t s, std::size_t first, const Counts& counts,
               const double* scale) const {
        const std::size_t n = data_.rows, at = s * resamples_ + first;
        const std::size_t cut_at = s * data_.cuts * resamples_ + first;
        const int lanes = static_cast<int>(std::min<std::size_t>(kLanes, resamples_ - first));
        const Ranking ranking{n, data_.order + s * n, kind_.data() + s * n, data_.loss, data_.weight};
        CutReader cuts{data_.cut, data_.cuts, sums_.cut_loss + cut_at, sums_.cut_risk + cut_at,
                       resamples_, lanes, {}, {}, {}};
        cuts.start(scale);
        Curves c;
        if (data_.weight)
            trace_weights(ranking, counts.data(), c, cuts);
        else
            trace_counts(ranking, counts.data(), table_.data(), c, cuts);
        for (int j = 0; j < lanes; ++j) {
            cuts.finish(c, j);
            const double W = c.weight[j], D = c.loss[j];
            sums_.weight[first + j] = W;
            sums_.loss[first + j] = D;
            sums_.risk[at + j] = D * harmonic(W) - c.harmonics[j];
            sums_.generalized[at + j] = D * (W + 1.0) - c.positions[j];
        }
    }

    const ScoredRows& data_;
    const std::vector<std::uint8_t>& kind_;
    const std::vector<double>& table_;
    const ResampledSums& sums_;
    std::size_t resamples_;
};

// The kind of each row in the order of each score; rows of a block without loss are rows without ties.
std::vector<std::uint8_t> kinds(const ScoredRows& data) {
    std::vector<std::uint8_t> kind(data.scores * data.rows);
    for (std::size_t first = 0, end = 0; first < kind.size(); first = end) {
        std::uint8_t loss = 0;
        do loss |= data.loss[data.order[end]] != 0.0 ? kLoss : 0;
        while (!data.last[end++]);
        for (std::size_t i = first; loss && i < end; ++i)
            kind[i] = static_cast<std::uint8_t>(loss | (i > first ? kInside : 0) |
                                                (i + 1 < end ? kOpen : 0));
    }
    return kind;
}

}  // namespace

void resampled_risks(const ScoredRows& data, std::uint64_t seed, std::size_t resamples,
                     const ResampledSums& sums, int threads) {
    const std::vector<std::uint8_t> kind = kinds(data);
    const std::vector<double> table = harmonic_sums(data.weight ? 0 : data.rows);
    const Batch batch(data, kind, table, sums, resamples);
    auto body = [&](Counts& counts, std::size_t begin, std::size_t end) {
        for (std::size_t b = begin; b < end; ++b) {
            draw_resamples(seed + b, data.rows, counts.data());
            batch.run(b * kLanes, counts);
        }
    };
    parallel_for((resamples + kLanes - 1) / kLanes, Grain(1), threads,
                 [&] { return Counts(data.rows); }, body);
}

}  // namespace credalens
