// A persistent thread pool.
//
// Threads are kept from call to call, because to create one takes longer than to measure a thousand
// instances. No work outlives a call, so forking between calls is safe; the child creates its own
// pool. Concurrent calls from several Python threads share the pool.
#pragma once

#include <cstddef>

namespace credalens {

// The number of threads of set_num_threads, of the environment variable CREDALENS_NUM_THREADS, of
// OMP_NUM_THREADS, or the number of CPUs that this process may use by its affinity and its control
// group: the first of them that is set. Throws std::invalid_argument if CREDALENS_NUM_THREADS is
// not an integer >= 1.
int default_num_threads();

// Sets the default for this process; 0 removes it.
void set_num_threads(int threads);

// `threads` or, if that is 0, the default. The environment and the number of CPUs are not queried
// if `useful` is 1: that would take as long as a small instance.
int resolve_threads(int threads, std::size_t useful);

// Calls work(argument) on this thread and on up to `others` threads of the pool, and returns when
// all calls that have started are finished. A thread that has not started by then is not waited
// for. `work` must not throw.
void run_on_pool(std::size_t others, void (*work)(void*), void* argument);

}  // namespace credalens
