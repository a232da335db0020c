// Interruption of running kernels by a signal, such as that of Ctrl-C.
//
// Loops that may run for long inside of one instance call check_interrupt(), which throws. The
// thread that has called the kernel looks for signals, at most every 50 milliseconds; the other
// threads stop when it has found one. A kernel that is called from another Python thread than the
// main one is not interrupted: signals are handled by the main thread.
#pragma once

#include <atomic>
#include <chrono>

namespace credalens {

// Thrown by interrupted kernels. The Python error is already set.
struct Interrupted {};

// Sets the function that handles pending signals and returns whether one of them raised an error.
void set_signal_handler(bool (*handle)());

// The state of one outermost call of parallel_for, which nested calls share.
class InterruptibleCall {
public:
    // The call that this thread works for, nullptr for none.
    static InterruptibleCall* current();

    // Makes this thread work for a call while the object exists. Without one, as in the thread that
    // calls a kernel, for a call of its own.
    class Scope {
    public:
        explicit Scope(InterruptibleCall* call, bool handles_signals);
        ~Scope();
        Scope(const Scope&) = delete;

    private:
        InterruptibleCall* previous_;
        bool previous_handles_;
    };

    std::atomic<bool> stopped{false};
};

// Throws Interrupted if the call that this thread works for is interrupted. It takes about 30
// nanoseconds.
void check_interrupt();

}  // namespace credalens
