#include "profile.hpp"

#include <algorithm>

#include "first_bad.hpp"
#include "game.hpp"
#include "parallel.hpp"

namespace credalens {
namespace {

// Instances whose data fill about half of a small second-level cache: what the closed forms read
// from memory, the game then finds in the cache.
std::size_t cache_block(std::size_t instance_bytes) {
    return 1 + (std::size_t{1} << 18) / instance_bytes;
}

}  // namespace

template <class T>
std::int64_t tv_profile(const T* P, std::size_t n, int M, int K, const ClosedForms& out,
                        double* value, double* gap, int threads, double tolerance) {
    const std::size_t size = static_cast<std::size_t>(M) * K;
    FirstBad first;
    parallel_for(n, cache_block(size * sizeof(T)), threads,
                 [&](std::size_t begin, std::size_t end) {
        if (first.before(begin)) return;
        const T* block = P + begin * size;
        const std::int64_t bad = closed_forms(block, end - begin, M, K, out.from(begin),
                                              PairMethod::automatic, 1, tolerance);
        if (bad >= 0) return first.see(begin + bad);
        solve_games(block, end - begin, M, K, value + begin, gap + begin, nullptr, nullptr, 1);
        // True by definition: rounding must not break it.
        for (std::size_t i = begin; i < end; ++i)
            value[i] = std::min(std::max(value[i], out.max_lower[i]), out.max_upper[i]);
    });
    return first.value();
}

template std::int64_t tv_profile(const float*, std::size_t, int, int, const ClosedForms&, double*,
                                 double*, int, double);
template std::int64_t tv_profile(const double*, std::size_t, int, int, const ClosedForms&, double*,
                                 double*, int, double);

}  // namespace credalens
