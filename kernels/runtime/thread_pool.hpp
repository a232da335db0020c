// A persistent thread pool.
//
// Threads are kept from call to call, because to create one takes longer than to measure a thousand
// instances. No work outlives a call, so forking between calls is safe; the child creates its own
// pool. Concurrent calls from several Python threads share the pool.
#pragma once

#include <cstddef>

namespace credalens {

// The value of the environment variable CREDALENS_NUM_THREADS or, if it is not set, the number of
// CPUs that this process may use. Throws std::invalid_argument if the value is not an integer >= 1.
int default_num_threads();

// `threads` or, if that is 0, the default. The number of CPUs is not queried if `useful` is 1: the
// system call takes as long as a small instance.
int resolve_threads(int threads, std::size_t useful);

// Calls work(argument) on this thread and on up to `others` threads of the pool, and returns when
// all calls that have started are finished. A thread that has not started by then is not waited
// for. `work` must not throw.
void run_on_pool(std::size_t others, void (*work)(void*), void* argument);

}  // namespace credalens
