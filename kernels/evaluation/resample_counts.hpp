// How often each row is drawn in bootstrap resamples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace credalens {

// Resamples that are drawn together: the counts of a row in them are one cache line, so that rows
// can be visited in any order.
constexpr int kBatch = 64;

// The counts of all rows in the resamples of a batch, (rows, kBatch). Rows are aligned to cache
// lines.
class Counts {
public:
    explicit Counts(std::size_t rows)
        : data_(static_cast<std::uint8_t*>(::operator new(rows* kBatch, kAlignment))) {}
    Counts(Counts&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    ~Counts() { ::operator delete(data_, kAlignment); }

    std::uint8_t* data() { return data_; }
    const std::uint8_t* data() const { return data_; }

private:
    static constexpr std::align_val_t kAlignment{kBatch};
    std::uint8_t* data_;
};

// Draws `rows` rows with replacement for each resample of a batch.
void draw_resamples(std::uint64_t seed, std::size_t rows, std::uint8_t* counts);

}  // namespace credalens
