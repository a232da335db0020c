// Fast path for one call of a kernel on a whole array.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace credalens {

// Calls kernel(block, *results, *arguments) and returns (return value, results) if `block` is a
// C-contiguous float64 array of three axes with at most max_bytes bytes; otherwise returns None.
// A tuple of such arrays, of any number of axes with as many instances each, is passed as several
// arguments.
// The results are allocated: for each shape, which is that of one instance, a float64 array with
// one axis more; None for None. In Python this would take as long as a small instance.
nanobind::object call_whole_array(nanobind::handle kernel, nanobind::handle block,
                                  nanobind::sequence shapes, std::size_t max_bytes,
                                  nanobind::tuple arguments);

}  // namespace credalens
