// Types of arguments, and the functions that bind the kernels of each directory.
//
// Bindings define dtypes and shapes and release the GIL. Arrays are C-contiguous and validated by
// the caller, who also allocates the outputs; an output that is None is not computed.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>

#include "bindings/array_view.hpp"

namespace credalens {

template <class T>
using Members = View<const T, 3>;  // (n, M, K)
template <class T>
using Rows = View<const T, 2>;  // (n, K)
template <class T>
using OutRows = View<T, 2>;
using Vector = View<const double, 1>;
using Indices = View<const std::int64_t, 1>;
using Out1 = View<double, 1>;
using Out2 = View<double, 2>;
using OutIndices = View<std::int64_t, 1>;
using OutPairs = View<std::int64_t, 2>;
using OutFlags = View<bool, 1>;

// The name of an argument that may be None.
inline auto optional(const char* name) {
    return nanobind::arg(name).none();
}

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

template <class Array>
int axis_size(const Array& array, int axis) {
    return static_cast<int>(array.shape(axis));
}

void bind_boxes(nanobind::module_& m);
void bind_events(nanobind::module_& m);
void bind_evaluation(nanobind::module_& m);
void bind_hull(nanobind::module_& m);
void bind_line(nanobind::module_& m);
void bind_real_line(nanobind::module_& m);
void bind_second_order(nanobind::module_& m);
void bind_solvers(nanobind::module_& m);
void bind_topk(nanobind::module_& m);

}  // namespace credalens
