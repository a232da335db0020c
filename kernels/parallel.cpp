#include "parallel.hpp"

#include <cstdlib>
#if defined(__linux__)
#include <sched.h>
#endif

namespace credalens {

int wanted_threads() {
    const char* text = std::getenv("CREDALENS_NUM_THREADS");
    if (text && *text) {
        long wanted = 0;
        for (; *text; ++text) {
            if (*text < '0' || *text > '9' || wanted > 100'000'000) return 0;
            wanted = 10 * wanted + (*text - '0');
        }
        return static_cast<int>(wanted);
    }
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
#endif
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace credalens
