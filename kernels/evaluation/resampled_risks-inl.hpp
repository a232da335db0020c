// Curves of resamples with unit weights, for one target.

// Reads the cuts that a block reaches, and returns the number of rows before the next can be
// reached.
CREDALENS_INLINE std::size_t read_cuts(CutReader& cuts, Moments& moments, Curves& c,
                                       const std::int32_t* position, const std::int32_t* count,
                                       const double* loss) {
    double gap = INFINITY;
    for (int j = 0; j < kBatch; ++j) {
        const double end = position[j] + count[j];
        if (cuts.next[j] <= end) {
            moments.flush(c, j);
            cuts.read(c, j, position[j], count[j] > 0 ? loss[j] / count[j] : 0.0, end);
        }
        gap = std::min(gap, cuts.next[j] - end);
    }
    return static_cast<std::size_t>(std::min(gap / 255.0, 1e15));  // no count is above 255
}

// The counts of a row in the order of a score; those of a later row are prefetched.
CREDALENS_INLINE const std::uint8_t* row_counts(const Ranking& ranking, const std::uint8_t* counts,
                                                std::size_t i) {
    const std::size_t ahead = std::min(i + kPrefetchDistance, ranking.rows - 1);
    prefetch(counts + static_cast<std::size_t>(ranking.order[ahead]) * kBatch);
    return counts + static_cast<std::size_t>(ranking.order[i]) * kBatch;
}

// Adds the counts of rows without ties and without loss from i on, and returns the first other row.
CREDALENS_INLINE std::size_t pass_rows(const Ranking& ranking, const std::uint8_t* counts,
                                       std::size_t i, std::int32_t* position) {
    std::uint16_t sum[kBatch] = {};
    const std::size_t end = std::min(ranking.rows, i + 256);  // 256 counts sum to less than 2^16
    for (; i < end && ranking.kind[i] == 0; ++i) {
        const std::uint8_t* count = row_counts(ranking, counts, i);
        for (int j = 0; j < kBatch; ++j) sum[j] += count[j];
    }
    for (int j = 0; j < kBatch; ++j) position[j] += sum[j];
    return i;
}

// Unit weights. Rows without ties and without loss, usually most, cost one vector addition.
inline void trace_counts(const Ranking& ranking, const std::uint8_t* counts, const double* sums,
                         Curves& c, CutReader& cuts) {
    Moments moments;
    std::int32_t position[kBatch] = {}, block[kBatch] = {};
    double loss[kBatch] = {};  // of the block
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
            for (int j = 0; j < kBatch; ++j) moments.flush(c, j);
            moments.begin(i, position);
            next_range = i + i / kRange;
        }
        if (kind == kLoss && brief && i < next_cut) {
            moments.add(
                i, position, [&](int j) { return count[j]; },
                [&](int j) { return own * count[j]; });
            for (int j = 0; j < kBatch; ++j) position[j] += count[j];
            continue;
        }
        for (int j = 0; j < kBatch; ++j) block[j] += count[j];
        if (own != 0.0)
            for (int j = 0; j < kBatch; ++j) loss[j] += own * count[j];
        if (kind & kOpen) continue;
        if (i >= next_cut) next_cut = i + 1 + read_cuts(cuts, moments, c, position, block, loss);
        if (brief) {
            moments.add(
                i, position, [&](int j) { return block[j]; }, [&](int j) { return loss[j]; });
        } else {
            for (int j = 0; j < kBatch; ++j)
                if (block[j] > 0) c.append(j, position[j], block[j], loss[j], sums);
        }
        for (int j = 0; j < kBatch; ++j) {
            position[j] += block[j];
            block[j] = 0;
            loss[j] = 0.0;
        }
    }
    for (int j = 0; j < kBatch; ++j) {
        moments.flush(c, j);
        c.weight[j] = position[j];
    }
}
