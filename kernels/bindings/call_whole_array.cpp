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

}  // namespace

nb::object call_whole_array(nb::handle kernel, nb::handle block, nb::sequence shapes,
                            std::size_t max_bytes, nb::tuple arguments) {
    if (!is_view_of<const double, 3>(block.ptr())) return nb::none();
    auto* array = reinterpret_cast<PyArrayObject*>(block.ptr());
    if (PyArray_TYPE(array) != NPY_DOUBLE)
        return nb::none();  // results have the dtype of the block
    const auto bytes = static_cast<std::size_t>(PyArray_NBYTES(array));
    if (bytes == 0 || bytes > max_bytes) return nb::none();
    const nb::list outputs = allocate_outputs(PyArray_DIM(array, 0), shapes);
    constexpr std::size_t kMaxArguments = 16;
    PyObject* all[kMaxArguments] = {block.ptr()};
    const std::size_t results = nb::len(outputs), count = 1 + results + arguments.size();
    if (count > kMaxArguments) throw nb::value_error("too many arguments");
    for (std::size_t i = 0; i < results; ++i)
        all[1 + i] = PyList_GET_ITEM(outputs.ptr(), static_cast<Py_ssize_t>(i));
    for (std::size_t i = 0; i < arguments.size(); ++i)
        all[1 + results + i] = PyTuple_GET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(i));
    const nb::object returned = nb::steal(PyObject_Vectorcall(kernel.ptr(), all, count, nullptr));
    if (!returned.is_valid()) throw nb::python_error();
    return nb::make_tuple(returned, outputs);
}

}  // namespace credalens
