#include "parallel.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#if defined(__linux__)
#include <sched.h>
#endif

namespace credalens {
namespace {

// What CREDALENS_NUM_THREADS says, 0 if it is not set.
int told_threads() {
    const char* text = std::getenv("CREDALENS_NUM_THREADS");
    if (!text || !*text) return 0;
    long wanted = 0;
    for (const char* digit = text; *digit; ++digit) {
        const bool good = *digit >= '0' && *digit <= '9' && wanted <= 100'000'000;
        wanted = good ? 10 * wanted + (*digit - '0') : 0;
        if (!good) break;
    }
    if (wanted < 1) {
        throw std::invalid_argument(std::string("CREDALENS_NUM_THREADS: is '") + text +
                                    "'; set it to a whole number >= 1");
    }
    return static_cast<int>(wanted);
}

int cores() {
#if defined(__linux__)
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
#endif
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int wanted_threads() {
    const int told = told_threads();
    return told ? told : cores();
}

int threads_for(int threads, std::size_t useful) {
    if (threads > 0) return threads;
    const int told = told_threads();
    return told ? told : useful > 1 ? cores() : 1;
}

}  // namespace credalens
