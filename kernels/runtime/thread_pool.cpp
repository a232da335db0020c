#include "runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace credalens {
namespace {

// CREDALENS_NUM_THREADS, 0 if it is not set.
int requested_threads() {
    const char* text = std::getenv("CREDALENS_NUM_THREADS");
    if (!text || !*text) return 0;
    long number = 0;
    for (const char* digit = text; *digit; ++digit) {
        const bool valid = *digit >= '0' && *digit <= '9' && number <= 100'000'000;
        number = valid ? 10 * number + (*digit - '0') : 0;
        if (!valid) break;
    }
    if (number < 1) {
        throw std::invalid_argument(std::string("CREDALENS_NUM_THREADS: is '") + text +
                                    "'; set it to a whole number >= 1");
    }
    return static_cast<int>(number);
}

// The first number of OMP_NUM_THREADS, which joblib and Dask set in their workers; 0 if it has none.
int openmp_threads() {
    const char* text = std::getenv("OMP_NUM_THREADS");
    const long number = text ? std::strtol(text, nullptr, 10) : 0;
    return number >= 1 && number <= 100'000'000 ? static_cast<int>(number) : 0;
}

// CPUs that the control group of this process may use, INT_MAX without a limit: "quota period" in
// one file (version 2), or one file each.
int control_group_cpus() {
#if defined(__linux__)
    const auto read = [](const char* path, double* quota, double* period) {
        std::ifstream file(path);
        return static_cast<bool>(period ? file >> *quota >> *period : file >> *quota);
    };
    double quota = 0, period = 0;
    const bool known = read("/sys/fs/cgroup/cpu.max", &quota, &period) ||
                       (read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, nullptr) &&
                        read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, nullptr));
    if (known && quota > 0 && period > 0) return std::max(1, static_cast<int>(quota / period + 0.5));
#endif
    return std::numeric_limits<int>::max();
}

int available_cpus() {
    static const int limit = control_group_cpus();
    int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cpus = CPU_COUNT(&allowed);
#endif
    return std::min(cpus, limit);
}

std::atomic<int> thread_limit{0};  // of set_num_threads

// How long a thread spins before it sleeps: longer than a loop in Python takes from one call to the
// next. To wake a thread, and an idle CPU, takes longer.
constexpr auto kSpinTime = std::chrono::microseconds(100);

void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
    asm volatile("yield");
#endif
}

// Returns when the condition holds or the time is over.
template <class Condition>
void spin_until(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + kSpinTime;
    while (!condition() && std::chrono::steady_clock::now() < end)
        for (int i = 0; i < 16 && !condition(); ++i) cpu_pause();
}

// Removes the CPU of the calling thread from the affinity mask of a worker, if
// CREDALENS_AVOID_CALLER_CPU=1. Under KVM the scheduler takes a halted virtual CPU for a preempted
// one, and wakes workers on the CPU of their caller.
class AffinityMask {
public:
#if defined(__linux__)
    static bool enabled() {
        static const bool on = [] {
            const char* text = std::getenv("CREDALENS_AVOID_CALLER_CPU");
            return text && std::strcmp(text, "1") == 0;
        }();
        return on;
    }

    static int current_cpu() { return enabled() ? sched_getcpu() : -1; }

    void exclude(int cpu) {
        cpu_set_t now;
        if (cpu == excluded_ || cpu < 0 || cpu >= CPU_SETSIZE ||
            sched_getaffinity(0, sizeof now, &now) != 0)
            return;
        if (excluded_ < 0 || !CPU_EQUAL(&now, &reduced_)) all_ = now;  // it was set from outside
        reduced_ = all_;
        CPU_CLR(cpu, &reduced_);
        if (CPU_COUNT(&reduced_) > 0 && sched_setaffinity(0, sizeof reduced_, &reduced_) == 0)
            excluded_ = cpu;
    }

private:
    cpu_set_t all_, reduced_;
    int excluded_ = -1;
#else
    static int current_cpu() { return -1; }
    void exclude(int) {}
#endif
};

struct Job {
    void (*work)(void*);
    void* argument;
    std::size_t open;  // threads that may still join
    std::atomic<std::size_t> running{0};
};

class ThreadPool {
public:
    void run(std::size_t others, void (*work)(void*), void* argument) {
        Job job{work, argument, others};
        std::unique_lock<std::mutex> lock(mutex_);
        caller_cpu_ = AffinityMask::current_cpu();
        spawn(others);
        jobs_.push_back(&job);
        open_ += others;
        lock.unlock();
        for (std::size_t i = 0; i < others; ++i) job_added_.notify_one();
        work(argument);
        lock.lock();
        jobs_.remove(&job);
        open_ -= job.open;
        lock.unlock();
        spin_until([&] { return job.running == 0; });
        lock.lock();
        finished_.wait(lock, [&] { return job.running == 0; });
    }

private:
    void spawn(std::size_t wanted) {
        try {
            for (; size_ < wanted; ++size_) std::thread([this] { worker_loop(); }).detach();
        } catch (const std::exception&) {
            // The system has no more threads or memory: the existing threads do all of the work.
        }
    }

    void worker_loop() {
        for (AffinityMask affinity;;) {
            spin_until([&] { return open_ > 0; });
            affinity.exclude(caller_cpu_);
            std::unique_lock<std::mutex> lock(mutex_);
            if (open_ == 0) job_added_.wait(lock);
            if (open_ == 0) continue;  // the job is over
            Job* job = nullptr;
            for (Job* candidate : jobs_)
                if (candidate->open > 0) job = candidate;
            --job->open;
            --open_;
            ++job->running;
            lock.unlock();
            job->work(job->argument);
            lock.lock();
            --job->running;
            finished_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable job_added_, finished_;
    std::list<Job*> jobs_;
    std::atomic<std::size_t> open_{0};  // of all jobs
    std::atomic<int> caller_cpu_{-1};
    std::size_t size_ = 0;
};

// Never destroyed: its threads use it until the process ends. After a fork the child has none of
// them and creates a new pool.
std::atomic<ThreadPool*> the_pool{nullptr};

ThreadPool& pool() {
    static const bool registered = [] {
#if !defined(_WIN32)
        pthread_atfork(nullptr, nullptr, [] { the_pool = nullptr; });
#endif
        return true;
    }();
    (void)registered;
    ThreadPool* existing = the_pool;
    if (!existing) {
        ThreadPool* created = new ThreadPool;
        if (the_pool.compare_exchange_strong(existing, created))
            existing = created;
        else
            delete created;
    }
    return *existing;
}

}  // namespace

void run_on_pool(std::size_t others, void (*work)(void*), void* argument) {
    pool().run(others, work, argument);
}

void set_num_threads(int threads) {
    thread_limit = threads;
}

int default_num_threads() {
    for (const int threads : {thread_limit.load(), requested_threads(), openmp_threads()})
        if (threads > 0) return threads;
    return available_cpus();
}

int resolve_threads(int threads, std::size_t useful) {
    if (threads > 0) return threads;
    return useful > 1 ? default_num_threads() : 1;
}

}  // namespace credalens
