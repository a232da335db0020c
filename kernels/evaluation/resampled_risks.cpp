#include "evaluation/resampled_risks.hpp"

#include <algorithm>
#include <vector>

#include "evaluation/resample_counts.hpp"
#include "evaluation/risk_curves.hpp"
#include "runtime/parallel_for.hpp"

#define CREDALENS_TARGET_INCLUDE "evaluation/resampled_risks-inl.hpp"
#include "simd/foreach_target.hpp"

namespace credalens {
namespace {

// The table of `harmonic_sum` for whole numbers.
std::vector<double> harmonic_sums(std::size_t largest) {
    std::vector<double> sums(largest + 1);
    for (std::size_t k = 0; k <= largest; ++k) sums[k] = harmonic_sum(static_cast<double>(k));
    return sums;
}

// Any weights.
void trace_weights(const Ranking& ranking, const std::uint8_t* counts, Curves& c, CutReader& cuts) {
    double weight[kBatch] = {}, loss[kBatch] = {};  // of the block
    for (std::size_t i = 0; i < ranking.rows; ++i) {
        const std::size_t row = static_cast<std::size_t>(ranking.order[i]);
        for (int j = 0; j < kBatch; ++j) {
            const double own = counts[row * kBatch + j] * ranking.weight[row];
            weight[j] += own;
            loss[j] += own * ranking.loss[row];
        }
        if (ranking.kind[i] & kOpen) continue;
        for (int j = 0; j < kBatch; ++j) {
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
        double scale[kBatch];
        cut_scales(counts, scale);
        for (std::size_t s = 0; s < data_.scores; ++s) trace(s, first, counts, scale);
    }

private:
    // The weight of each resample relative to that of all rows.
    void cut_scales(const Counts& counts, double* scale) const {
        std::fill(scale, scale + kBatch, data_.weight ? 0.0 : 1.0);
        if (!data_.weight) return;
        double whole = 0.0;
        for (std::size_t i = 0; i < data_.rows; ++i) {
            whole += data_.weight[i];
            for (int j = 0; j < kBatch; ++j)
                scale[j] += counts.data()[i * kBatch + j] * data_.weight[i];
        }
        for (int j = 0; j < kBatch; ++j) scale[j] /= whole;
    }

    void trace(std::size_t s, std::size_t first, const Counts& counts, const double* scale) const {
        const std::size_t n = data_.rows, at = s * resamples_ + first;
        const std::size_t cut_at = s * data_.cuts * resamples_ + first;
        const int count = static_cast<int>(std::min<std::size_t>(kBatch, resamples_ - first));
        const Ranking ranking{n, data_.order + s * n, kind_.data() + s * n, data_.loss,
                              data_.weight};
        CutReader cuts{data_.cut,
                       data_.cuts,
                       sums_.cut_loss + cut_at,
                       sums_.cut_risk + cut_at,
                       resamples_,
                       count,
                       {},
                       {},
                       {}};
        cuts.start(scale);
        Curves c;
        if (data_.weight)
            trace_weights(ranking, counts.data(), c, cuts);
        else
            CREDALENS_DISPATCH(trace_counts, ranking, counts.data(), table_.data(), c, cuts);
        for (int j = 0; j < count; ++j) {
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

// The kind of each row in the order of each score; rows of a block without loss are rows without
// ties.
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
            batch.run(b * kBatch, counts);
        }
    };
    parallel_for((resamples + kBatch - 1) / kBatch, Grain(1), threads,
                 [&] { return Counts(data.rows); }, body);
}

}  // namespace credalens
