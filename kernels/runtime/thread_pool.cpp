#include "runtime/parallel_for.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
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

// How long a thread looks out for more work before it sleeps: longer than a loop in Python takes
// from one call to the next. To wake a thread, and its core, takes longer than that.
constexpr auto kPatience = std::chrono::microseconds(100);

void breathe() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
    asm volatile("yield");
#endif
}

template <class Condition>
void look_out(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < until)
        for (int i = 0; i < 16 && !condition(); ++i) breathe();
}

// Keeps a thread off the core of those who call it. A virtual machine takes a core that sleeps for
// one that is not to be had, and would wake the thread on that of its caller, to wait there.
class Cores {
public:
#if defined(__linux__)
    static int current() { return sched_getcpu(); }

    void leave_out(int core) {
        cpu_set_t now;
        if (core == left_out_ || core < 0 || core >= CPU_SETSIZE ||
            sched_getaffinity(0, sizeof now, &now) != 0)
            return;
        if (left_out_ < 0 || !CPU_EQUAL(&now, &without_)) all_ = now;  // or as somebody else says
        without_ = all_;
        CPU_CLR(core, &without_);
        if (CPU_COUNT(&without_) > 0 && sched_setaffinity(0, sizeof without_, &without_) == 0)
            left_out_ = core;
    }

private:
    cpu_set_t all_, without_;
    int left_out_ = -1;
#else
    static int current() { return -1; }
    void leave_out(int) {}
#endif
};

// What a call asks of others: so many may still come, so many are at it.
struct Job {
    void (*work)(void*);
    void* what;
    std::size_t seats;
    std::atomic<std::size_t> busy{0};
};

// The threads of this process, which wait for work until it ends.
class Crew {
public:
    void run(std::size_t others, void (*work)(void*), void* what) {
        Job job{work, what, others};
        std::unique_lock<std::mutex> lock(door_);
        core_ = Cores::current();
        hire(others);
        jobs_.push_back(&job);
        seats_ += others;
        lock.unlock();
        for (std::size_t i = 0; i < others; ++i) called_.notify_one();
        work(what);
        lock.lock();
        jobs_.remove(&job);
        seats_ -= job.seats;
        lock.unlock();
        look_out([&] { return job.busy == 0; });
        lock.lock();
        done_.wait(lock, [&] { return job.busy == 0; });
    }

private:
    void hire(std::size_t wanted) {
        try {
            for (; size_ < wanted; ++size_) std::thread([this] { serve(); }).detach();
        } catch (const std::exception&) {
            // No more threads or memory to be had: those that are there do all of it.
        }
    }

    void serve() {
        for (Cores mine;;) {
            look_out([&] { return seats_ > 0; });
            mine.leave_out(core_);
            std::unique_lock<std::mutex> lock(door_);
            if (seats_ == 0) called_.wait(lock);
            if (seats_ == 0) continue;  // too late: it looks out for the next call
            Job* job = nullptr;
            for (Job* open : jobs_)
                if (open->seats > 0) job = open;
            --job->seats;
            --seats_;
            ++job->busy;
            lock.unlock();
            job->work(job->what);
            lock.lock();
            --job->busy;
            done_.notify_all();
        }
    }

    std::mutex door_;
    std::condition_variable called_, done_;
    std::list<Job*> jobs_;
    std::atomic<std::size_t> seats_{0};
    std::atomic<int> core_{-1};  // of the last who called
    std::size_t size_ = 0;
};

// Never destroyed: its threads use it until the process ends. After a fork the child has none of
// them, and makes a crew of its own.
std::atomic<Crew*> the_crew{nullptr};

Crew& crew() {
    static const bool once = [] {
#if !defined(_WIN32)
        pthread_atfork(nullptr, nullptr, [] { the_crew = nullptr; });
#endif
        return true;
    }();
    (void)once;
    Crew* mine = the_crew;
    if (!mine) {
        Crew* fresh = new Crew;
        mine = the_crew.compare_exchange_strong(mine, fresh) ? fresh : (delete fresh, mine);
    }
    return *mine;
}

}  // namespace

void work_together(std::size_t others, void (*work)(void*), void* what) {
    crew().run(others, work, what);
}

int default_num_threads() {
    const int told = told_threads();
    return told ? told : cores();
}

int threads_for(int threads, std::size_t useful) {
    if (threads > 0) return threads;
    const int told = told_threads();
    return told ? told : useful > 1 ? cores() : 1;
}

}  // namespace credalens
