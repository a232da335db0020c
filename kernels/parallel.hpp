// Spreads independent instances over threads.
//
// Threads are started for each call and joined before it returns: nothing outlives a call, so a
// process may fork afterwards, and two Python threads may call at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace credalens {

// The number of threads to use: what CREDALENS_NUM_THREADS says, 0 if that is no whole number above
// 0; without it the cores that this process may use.
int wanted_threads();

// A grain for work of about so many nanoseconds on each instance.
inline std::size_t grain_of(double nanoseconds) {
    return 1 + static_cast<std::size_t>(50000.0 / nanoseconds);
}

// Calls body(workspace, begin, end) on disjoint ranges that cover [0, n), each thread with a
// workspace of its own from make(). A range holds `grain` instances or up to twice as many, so that
// none is left that is not worth a thread; that should be some hundred microseconds, as a thread
// takes tens of them to start. Where the grain is a multiple of eight, ranges begin at multiples.
template <class Make, class Body>
void parallel_for(std::size_t n, std::size_t grain, int threads, const Make& make,
                  const Body& body) {
    if (n == 0) return;
    grain = std::max<std::size_t>(grain, 1);
    const std::size_t most = std::max<std::size_t>(n / grain, 1);
    std::size_t share = (n + most - 1) / most;
    if (grain % 8 == 0) share = (share + 7) / 8 * 8;
    const std::size_t ranges = (n + share - 1) / share;
    const std::size_t workers = std::min<std::size_t>(std::max(threads, 1), ranges);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    auto work = [&] {
        try {
            auto workspace = make();
            for (;;) {
                const std::size_t range = next.fetch_add(1, std::memory_order_relaxed);
                if (range >= ranges || failed.load(std::memory_order_relaxed)) return;
                body(workspace, range * share, std::min(n, (range + 1) * share));
            }
        } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };
    std::vector<std::thread> pool;
    for (std::size_t i = 1; i < workers; ++i) pool.emplace_back(work);
    work();
    for (auto& thread : pool) thread.join();
    if (failure) std::rethrow_exception(failure);
}

// The same for a body(begin, end) that needs no workspace.
template <class Body>
void parallel_for(std::size_t n, std::size_t grain, int threads, const Body& body) {
    parallel_for(
        n, grain, threads, [] { return 0; },
        [&](int, std::size_t begin, std::size_t end) { body(begin, end); });
}

}  // namespace credalens
