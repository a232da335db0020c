// The Python side of the kernels of second-order measures, scoring rules and possibilities.
#pragma once

#include <nanobind/nanobind.h>

namespace credalens {

void bind_second_order(nanobind::module_& m);

}  // namespace credalens
