// The first instance that is wrong, whichever thread sees it first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace credalens {

class FirstBad {
public:
    void see(std::size_t instance) {
        const auto found = static_cast<std::int64_t>(instance);
        std::int64_t seen = first_.load(std::memory_order_relaxed);
        while (found < seen && !first_.compare_exchange_weak(seen, found)) {
        }
    }

    // Whether one before this instance was seen: then nobody needs to look further.
    bool before(std::size_t instance) const {
        return first_.load(std::memory_order_relaxed) <= static_cast<std::int64_t>(instance);
    }

    // -1 if none was seen.
    std::int64_t value() const { return first_ == INT64_MAX ? -1 : first_.load(); }

private:
    std::atomic<std::int64_t> first_{INT64_MAX};
};

}  // namespace credalens
