// Poisson counts, for one target.

// Poisson counts of all rows, and their sums. A 16-bit uniform number is compared with the
// distribution function, of which the lower 16 bits are rounded up or down at random for each row.
inline void draw_poisson(Streams& streams, const Poisson& poisson, std::uint64_t seed,
                         std::size_t rows, std::uint8_t* CREDALENS_RESTRICT counts,
                         std::uint64_t* CREDALENS_RESTRICT drawn) {
    Streams own = streams;
    constexpr std::size_t kPart = 4096;  // so many counts of at most kMost sum to less than 2^16
    for (std::size_t begin = 0; begin < rows; begin += kPart) {
        std::uint16_t part[kBatch] = {};
        const std::size_t end = std::min(rows, begin + kPart);
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t rounding = splitmix(seed) & 0xffff;
            std::uint64_t bits[kStreams];
            step(own, bits);
            std::uint16_t uniform[kBatch], count[kBatch] = {};
            std::memcpy(uniform, bits, sizeof bits);
            for (const std::uint32_t below : poisson.below) {
                const std::uint64_t limit = (below + rounding) >> 16;
                if (limit > 0xffff) break;
                for (int j = 0; j < kBatch; ++j)
                    count[j] += uniform[j] >= static_cast<std::uint16_t>(limit);
            }
            for (int j = 0; j < kBatch; ++j) {
                counts[i * kBatch + j] = static_cast<std::uint8_t>(count[j]);
                part[j] += count[j];
            }
        }
        for (int j = 0; j < kBatch; ++j) drawn[j] += part[j];
    }
    streams = own;
}
