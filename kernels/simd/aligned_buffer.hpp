// Padded rows and aligned scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace credalens {

// Doubles in the widest vector. Rows that are padded to a multiple of it need no remainder loop on
// any target, and every row of an aligned matrix is aligned.
constexpr int kMaxLanes = 8;

// Entries of the largest instance that kernels process with one instance per lane: eight of them
// fit into a second-level cache of 1 MB.
constexpr std::size_t kMaxInstancePerLane = 16384;

constexpr int padded_size(int size) {
    return (size + kMaxLanes - 1) / kMaxLanes * kMaxLanes;
}

// Zeroed doubles on a 64-byte boundary.
class AlignedBuffer {
public:
    explicit AlignedBuffer(std::size_t size) : storage_(size + kMaxLanes - 1) {
        const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
        data_ = storage_.data() + (64 - address % 64) % 64 / sizeof(double);
    }
    AlignedBuffer(const AlignedBuffer&) = delete;
    AlignedBuffer& operator=(const AlignedBuffer&) = delete;
    double* data() { return data_; }
    const double* data() const { return data_; }

private:
    std::vector<double> storage_;
    double* data_;
};

// Scratch memory for so many vectors, on any target.
inline AlignedBuffer vector_scratch(std::size_t vectors) {
    return AlignedBuffer(kMaxLanes * vectors);
}

}  // namespace credalens
