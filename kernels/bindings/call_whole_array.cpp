#include "bindings/call_whole_array.hpp"

#include "bindings/array_view.hpp"

namespace nb = nanobind;

namespace credalens {
namespace {

nb::list allocate_outputs(npy_intp n, nb::sequence shapes) {
    nb::list outputs;
    for (nb::handle shape : shapes) {
        if (shape.is_none()) {
            outputs.append(shape);
            continue;
        }
        npy_intp lengths[NPY_MAXDIMS] = {n};
        int axes = 1;
        for (nb::handle length : nb::cast<nb::tuple>(shape)) {
            if (axes == NPY_MAXDIMS) throw nb::value_error("too many axes");
            lengths[axes++] = nb::cast<npy_intp>(length);
        }
        nb::object output = nb::steal(PyArray_SimpleNew(axes, lengths, NPY_DOUBLE));
        if (!output.is_valid()) throw nb::python_error();
        outputs.append(output);
    }
    return outputs;
}

// The instances of an array that a kernel can read as it is and that is not too large, or -1.
npy_intp count_instances(PyObject* object, std::size_t max_bytes) {
    if (!PyArray_Check(object)) return -1;
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const auto bytes = static_cast<std::size_t>(PyArray_NBYTES(array));
    // Results have the dtype of the blocks.
    const bool readable = PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) > 0 &&
                          PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array) &&
                          PyArray_ISNOTSWAPPED(array);
    return readable && bytes > 0 && bytes <= max_bytes ? PyArray_DIM(array, 0) : -1;
}

}  // namespace

nb::object call_whole_array(nb::handle kernel, nb::handle block, nb::sequence shapes,
                            std::size_t max_bytes, nb::tuple arguments) {
    constexpr std::size_t kMaxArguments = 16;
    PyObject* all[kMaxArguments];
    std::size_t count = 0;
    const auto add = [&](PyObject* argument) {
        if (count == kMaxArguments) throw nb::value_error("too many arguments");
        all[count++] = argument;
    };
    if (PyTuple_CheckExact(block.ptr())) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(block.ptr()); ++i)
            add(PyTuple_GET_ITEM(block.ptr(), i));
    } else {
        if (!is_view_of<const double, 3>(block.ptr())) return nb::none();
        add(block.ptr());
    }
    const npy_intp n = count ? count_instances(all[0], max_bytes) : -1;
    if (n < 0) return nb::none();
    for (std::size_t i = 1; i < count; ++i)
        if (count_instances(all[i], max_bytes) != n) return nb::none();
    const nb::list outputs = allocate_outputs(n, shapes);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(outputs.ptr()); ++i)
        add(PyList_GET_ITEM(outputs.ptr(), i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.ptr()); ++i)
        add(PyTuple_GET_ITEM(arguments.ptr(), i));
    const nb::object returned = nb::steal(PyObject_Vectorcall(kernel.ptr(), all, count, nullptr));
    if (!returned.is_valid()) throw nb::python_error();
    return nb::make_tuple(returned, outputs);
}

}  // namespace credalens
