// Loops over independent instances that are shared by threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>

#include "runtime/interrupt.hpp"
#include "runtime/thread_pool.hpp"

namespace credalens {

// How a loop is divided. A further thread is used for every `per_thread` instances: they should
// take about 50 microseconds, since to wake a thread takes tens of them. A thread takes `chunk`
// instances at a time: as many by default, fewer where a chunk has no cost of its own, so that the
// others continue while one thread is late.
struct Grain {
    std::size_t per_thread, chunk;

    Grain(std::size_t per_thread) : Grain(per_thread, per_thread) {}
    Grain(std::size_t per_thread, std::size_t chunk)
        : per_thread(std::max<std::size_t>(per_thread, 1)), chunk(std::max<std::size_t>(chunk, 1)) {
    }

    // Multiples of eight instances, which fill the lanes of every target; eight chunks per thread.
    static Grain multiple_of_lanes(std::size_t per_thread) {
        return {8 * (per_thread / 8 + 1), 8 * (per_thread / 64 + 1)};
    }

    // For instances that take about so many nanoseconds each.
    static Grain of_duration(double nanoseconds) {
        return Grain(1 + static_cast<std::size_t>(50000.0 / nanoseconds));
    }
};

// Calls body(workspace, begin, end) on disjoint ranges that cover [0, n), where each thread has a
// workspace of its own from make(). A range has between one and two chunks. If a chunk is a
// multiple of eight, every range begins at one. Throws Interrupted if a signal raises an error.
template <class Make, class Body>
void parallel_for(std::size_t n, Grain grain, int threads, const Make& make, const Body& body) {
    if (n == 0) return;
    const std::size_t chunks = std::max<std::size_t>(n / grain.chunk, 1);
    std::size_t length = (n + chunks - 1) / chunks;
    if (grain.chunk % 8 == 0) length = (length + 7) / 8 * 8;
    const std::size_t ranges = (n + length - 1) / length;
    const std::size_t useful = std::min(std::max<std::size_t>(n / grain.per_thread, 1), ranges);
    const std::size_t allowed = static_cast<std::size_t>(resolve_threads(threads, useful));
    const std::size_t workers = std::min(allowed, useful);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    InterruptibleCall own, *outer = InterruptibleCall::current();
    InterruptibleCall* const call = outer ? outer : &own;
    const auto caller = std::this_thread::get_id();
    auto work = [&] {
        const bool is_caller = std::this_thread::get_id() == caller;
        try {
            const InterruptibleCall::Scope scope(call, is_caller && !outer);
            auto workspace = make();
            for (;;) {
                const std::size_t range = next.fetch_add(1, std::memory_order_relaxed);
                if (range >= ranges || failed.load(std::memory_order_relaxed)) return;
                if (range > 0) check_interrupt();
                body(workspace, range * length, std::min(n, (range + 1) * length));
            }
        } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };
    if (workers > 1)
        run_on_pool(
            workers - 1, [](void* argument) { (*static_cast<decltype(work)*>(argument))(); },
            &work);
    else
        work();
    if (failure) std::rethrow_exception(failure);
}

// The same for a body(begin, end) without a workspace.
template <class Body>
void parallel_for(std::size_t n, Grain grain, int threads, const Body& body) {
    parallel_for(
        n, grain, threads, [] { return 0; },
        [&](int, std::size_t begin, std::size_t end) { body(begin, end); });
}

}  // namespace credalens
