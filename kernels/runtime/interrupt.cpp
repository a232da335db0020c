#include "runtime/interrupt.hpp"

namespace credalens {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kInterval = std::chrono::milliseconds(50);

struct ThreadState {
    InterruptibleCall* call = nullptr;
    bool handles_signals = false;
    Clock::time_point next{};
};

thread_local ThreadState state;
std::atomic<bool (*)()> signal_handler{nullptr};

}  // namespace

void set_signal_handler(bool (*handle)()) {
    signal_handler = handle;
}

InterruptibleCall* InterruptibleCall::current() {
    return state.call;
}

InterruptibleCall::Scope::Scope(InterruptibleCall* call, bool handles_signals)
    : previous_(state.call), previous_handles_(state.handles_signals) {
    if (call == state.call) return;
    state = {call, handles_signals, {}};
}

InterruptibleCall::Scope::~Scope() {
    state.call = previous_;
    state.handles_signals = previous_handles_;
}

void check_interrupt() {
    InterruptibleCall* call = state.call;
    if (!call) return;
    if (call->stopped.load(std::memory_order_relaxed)) throw Interrupted();
    if (!state.handles_signals) return;
    const Clock::time_point now = Clock::now();
    if (now < state.next) return;
    const bool first = state.next == Clock::time_point{};
    state.next = now + kInterval;
    bool (*handle)() = signal_handler;
    if (first || !handle || !handle()) return;
    call->stopped = true;
    throw Interrupted();
}

}  // namespace credalens
