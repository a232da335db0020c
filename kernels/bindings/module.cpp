#define CREDALENS_IMPORTS_ARRAY_API
#include "bindings/arguments.hpp"
#include "bindings/call_whole_array.hpp"
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

}  // namespace
}  // namespace credalens

NB_MODULE(_kernels, m) {
    using namespace credalens;
    if (_import_array() < 0) throw nb::python_error();
    bind_hull(m);
    bind_solvers(m);
    bind_events(m);
    bind_boxes(m);
    bind_second_order(m);
    bind_evaluation(m);
    m.def("call_whole_array", &call_whole_array, "kernel"_a, "block"_a, "shapes"_a, "max_bytes"_a,
          "arguments"_a = nb::tuple());
    m.def("instruction_set", &instruction_set);
    m.def("default_num_threads", &default_num_threads);
}
