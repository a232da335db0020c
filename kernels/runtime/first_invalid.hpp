// The first invalid instance that any thread has found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace credalens {

class FirstInvalid {
public:
    void record(std::size_t instance) {
        const auto found = static_cast<std::int64_t>(instance);
        std::int64_t first = first_.load(std::memory_order_relaxed);
        while (found < first && !first_.compare_exchange_weak(first, found)) {}
    }

    // Whether this instance or an earlier one is recorded: then it need not be processed.
    bool found_up_to(std::size_t instance) const {
        return first_.load(std::memory_order_relaxed) <= static_cast<std::int64_t>(instance);
    }

    // -1 if none is recorded.
    std::int64_t value() const { return first_ == INT64_MAX ? -1 : first_.load(); }

private:
    std::atomic<std::int64_t> first_{INT64_MAX};
};

}  // namespace credalens
