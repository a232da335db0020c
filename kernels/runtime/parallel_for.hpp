// Spreads independent instances over threads.
//
// The threads of a process are kept from call to call, as one takes longer to start than a thousand
// instances take to be measured. What a call has begun is done when it returns. A process may fork
// between calls, and two Python threads may call at once: they share the threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>

namespace credalens {

// The number of threads to use: what CREDALENS_NUM_THREADS says, without it the cores that this
// process may use. Throws std::invalid_argument if it says no whole number above 0.
int default_num_threads();

// The same where the caller did not say how many, with 0. The system is only asked for its cores if
// there is work for several, since asking takes as long as a small instance.
int threads_for(int threads, std::size_t useful);

// Calls work() here and on up to so many other threads, and returns when all who came have returned.
// A thread that is late, while the others have done everything, is not waited for. Nothing may be
// thrown.
void work_together(std::size_t others, void (*work)(void*), void* what);

// A grain for work of about so many nanoseconds on each instance.
inline std::size_t grain_of(double nanoseconds) {
    return 1 + static_cast<std::size_t>(50000.0 / nanoseconds);
}

// How work is cut up. So many instances are worth a thread, which takes tens of microseconds to
// come where its core has to be woken: they should take about fifty. A piece is what a thread takes
// at a time: by default as many, fewer where pieces cost nothing of their own, since the others go on
// while a thread is late.
struct Grain {
    std::size_t worth, piece;

    Grain(std::size_t worth) : Grain(worth, worth) {}
    Grain(std::size_t worth, std::size_t piece)
        : worth(std::max<std::size_t>(worth, 1)), piece(std::max<std::size_t>(piece, 1)) {}

    // Whole groups of eight instances, in eight pieces for each thread.
    static Grain of_lanes(std::size_t worth) {
        return {8 * (worth / 8 + 1), 8 * (worth / 64 + 1)};
    }
};

// Calls body(workspace, begin, end) on disjoint ranges that cover [0, n), each thread with a
// workspace of its own from make(). A range is a piece or up to twice as much. Where pieces are
// multiples of eight, ranges begin at multiples.
template <class Make, class Body>
void parallel_for(std::size_t n, Grain grain, int threads, const Make& make, const Body& body) {
    if (n == 0) return;
    const std::size_t most = std::max<std::size_t>(n / grain.piece, 1);
    std::size_t share = (n + most - 1) / most;
    if (grain.piece % 8 == 0) share = (share + 7) / 8 * 8;
    const std::size_t ranges = (n + share - 1) / share;
    const std::size_t useful = std::min(std::max<std::size_t>(n / grain.worth, 1), ranges);
    const std::size_t wanted = static_cast<std::size_t>(threads_for(threads, useful));
    const std::size_t workers = std::min(wanted, useful);
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
    if (workers > 1)
        work_together(
            workers - 1, [](void* what) { (*static_cast<decltype(work)*>(what))(); }, &work);
    else
        work();
    if (failure) std::rethrow_exception(failure);
}

// The same for a body(begin, end) that needs no workspace.
template <class Body>
void parallel_for(std::size_t n, Grain grain, int threads, const Body& body) {
    parallel_for(
        n, grain, threads, [] { return 0; },
        [&](int, std::size_t begin, std::size_t end) { body(begin, end); });
}

}  // namespace credalens
