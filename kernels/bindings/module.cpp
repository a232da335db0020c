#define CREDALENS_IMPORTS_ARRAY_API
#include "bindings/arguments.hpp"
#include "bindings/call_whole_array.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/thread_pool.hpp"
#include "simd/target.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace credalens {
namespace {

const char* instruction_set() {
    switch (best_target()) {
        case Target::x86_64_v4: return "x86-64-v4";
        case Target::x86_64_v3: return "x86-64-v3";
        default: return "baseline";
    }
}

// Runs the Python handlers of pending signals. Kernels run without the GIL.
bool handle_signals() {
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return raised;
}

void translate_interrupt(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const Interrupted&) {
        // The error of the signal handler is already set.
    }
}

}  // namespace
}  // namespace credalens

NB_MODULE(_kernels, m) {
    using namespace credalens;
    if (_import_array() < 0) throw nb::python_error();
    set_signal_handler(handle_signals);
    nb::register_exception_translator(translate_interrupt);
    bind_hull(m);
    bind_solvers(m);
    bind_events(m);
    bind_boxes(m);
    bind_line(m);
    bind_real_line(m);
    bind_second_order(m);
    bind_evaluation(m);
    bind_topk(m);
    m.def("call_whole_array", &call_whole_array, "kernel"_a, "block"_a, "shapes"_a, "max_bytes"_a,
          "arguments"_a = nb::tuple());
    m.def("instruction_set", &instruction_set);
    m.def("default_num_threads", &default_num_threads);
    m.def("set_num_threads", &set_num_threads, "threads"_a);
}
